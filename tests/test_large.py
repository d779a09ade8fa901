"""What is done in pieces, or told apart by hashes, is what is done whole; a large table comes back from Parquet."""

import numpy as np
import pandas as pd
import pytest

from napinn import load, read_table, save
from napinn.data.readings import at_the_same_place, repeated
from napinn.engines.network.training import data as batches
from napinn.engines.network.training import prepare_data as on_device
from napinn.field.chunks import in_chunks
from napinn.runs import request as requests


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 23])
def test_pieces_make_the_whole_and_have_one_length(count):
    lengths = set()

    def doubled(piece):
        lengths.add(len(piece))
        return 2.0 * piece

    rows = np.arange(3.0 * count).reshape(count, 3)
    np.testing.assert_array_equal(in_chunks(doubled, rows, 8), 2.0 * rows)
    assert lengths == {min(count, 8)}


def test_repeats_are_those_that_pandas_finds():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"sensor": rng.choice(["a", "b"], 400), "x": rng.choice([0.0, -0.0, 0.5], 400), "t": rng.choice(5, 400) / 4,
         "u": rng.choice(3, 400).astype(float)}
    )  # fmt: skip
    unique = read_table(table.drop_duplicates(), ("x", "t"), ("u",))
    assert not repeated(unique).any()
    place = table.drop_duplicates()[["sensor", "x", "t"]]
    np.testing.assert_array_equal(at_the_same_place(unique), place.duplicated())


def test_sensors_without_a_name_are_numbered_as_their_places_first_appear():
    table = pd.DataFrame({"x": [2, 1, 2, 1, 2], "y": [0, 0, 1, 0, 0], "t": range(5), "u": np.arange(5.0)})
    assert read_table(table, ("x", "y", "t"), ("u",)).sensors.tolist() == ["s1", "s2", "s3", "s2", "s1"]


def test_the_readings_that_judge_are_bounded(decay_problem, decay_readings, monkeypatch):
    monkeypatch.setattr(batches, "ENOUGH_TO_HOLD_OUT", 100)
    monkeypatch.setattr(batches, "MOST_HELD_OUT", 30)
    held = [on_device(decay_problem, decay_readings, np.dtype(float), share)[0].held for share in (0.05, 0.5)]
    assert held == [20, 30]


def test_a_run_of_many_readings_is_kept_as_parquet_and_comes_back(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(requests, "MOST_IN_TEXT", 100)
    save(finished, tmp_path)
    assert (tmp_path / "readings.parquet").exists()
    assert not (tmp_path / "readings.csv").exists()
    again = load(tmp_path)
    np.testing.assert_array_equal(again.predicted, finished.predicted)
    np.testing.assert_array_equal(again.reliability, finished.reliability)
    assert again.readings.sensors.tolist() == finished.readings.sensors.tolist()


@pytest.mark.parametrize("sizes", [(3, 9), (9, 3)])
def test_the_table_that_was_written_last_is_the_one_that_is_read(tmp_path, monkeypatch, sizes):
    monkeypatch.setattr(requests, "MOST_IN_TEXT", 5)
    for size in sizes:
        requests.write_readings(pd.DataFrame({"t": np.arange(size)}), tmp_path)
    assert len(requests.read_saved_readings(tmp_path)) == sizes[-1]
    assert len(list(tmp_path.iterdir())) == 1
