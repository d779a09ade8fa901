"""Methods are compared on readings that none of them saw, by numbers that outliers do not move."""

import errno
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import numpy as np
import pandas as pd
import pytest

from known_results import with_network
from napinn import FitStatus, read_table
from napinn.cli import main
from napinn.data.readings import Columns
from napinn.engines.network.methods import mad_pinn, pinn
from napinn.engines.network.model import network_of
from napinn.errors import InputError
from napinn.evaluation import comparison
from napinn.evaluation.comparison import compare, ranked, score, split, table
from napinn.field.backbones import MLP

PROBLEM = "coordinates: {t: [0, 3]}\nfields: [u]\nunknowns: {k: 0.3}\nequations: ['u_t = -k*u']\n"
TINY = {"backbone": MLP(8, 1), "collocation_batch": 16, "reading_batch": 64}


def napinn(monkeypatch, capfd, *arguments) -> tuple[object, str, str]:
    monkeypatch.setattr(sys, "argv", ["napinn", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main.run()
    return stop.value.code, *capfd.readouterr()


def test_whole_sensors_are_held_out_where_there_are_several():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"sensor": np.repeat(list("abcdefghij"), 7), "t": rng.random(70), "u": rng.random(70)})
    readings = read_table(rows, ("t",), ("u",))
    parts = split(readings, seed=1)
    assert len(parts.sensors) == 2
    assert set(parts.held.sensors) == set(parts.sensors)
    assert not set(parts.held.sensors) & set(parts.fitted.sensors)
    assert len(parts.held) + len(parts.fitted) == 70
    again = split(readings, seed=1)
    np.testing.assert_array_equal(again.held.values, parts.held.values)


def test_single_rows_are_held_out_of_few_sensors_with_all_their_fields():
    rows = pd.DataFrame({"t": np.linspace(0, 1, 50), "u": np.arange(50.0), "v": -np.arange(50.0)})
    parts = split(read_table(rows, ("t",), ("u", "v")), seed=0)
    assert (parts.sensors, len(parts.held), len(parts.fitted)) == ((), 20, 80)
    held = parts.held.values.reshape(-1, 2)
    np.testing.assert_array_equal(held[:, 0], -held[:, 1])


def test_sensors_with_a_column_each_are_held_out_by_their_columns():
    places = {f"s{number}": {"x": float(number)} for number in range(5)}
    rows = pd.DataFrame({"t": np.arange(30), **{name: np.arange(30) + 100 * i for i, name in enumerate(places)}})
    rows.loc[3, "s0"] = -999
    readings = read_table(rows, ("x", "t"), ("u",), Columns(missing=(-999.0,), places=places))
    parts = split(readings, seed=0)
    assert len(parts.sensors) == 1
    assert set(parts.held.sensors) == set(parts.sensors)
    assert set(parts.fitted.sensors) == set(places) - set(parts.sensors)
    assert len(parts.held) + len(parts.fitted) == 149
    assert len(parts.fitted.table) == 30
    assert parts.fitted.table[parts.sensors[0]].isna().all()
    assert rows.notna().all(axis=None)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sensors_of_v", [1, 2])
def test_no_field_is_held_out_as_a_whole(seed, sensors_of_v):
    """Fields read by sensors of their own: a draw may meet all of one field's, or none."""
    of = ["u"] * 8 + ["v"] * sensors_of_v
    rows = [(f"s{i}", field, t, i + t) for i, field in enumerate(of) for t in np.linspace(0.0, 1.0, 4)]
    readings = read_table(pd.DataFrame(rows, columns=["sensor", "field", "t", "value"]), ("t",), ("u", "v"))
    parts = split(readings, seed)
    assert set(parts.fitted.field_index) == {0, 1}
    assert len(parts.sensors) == 2
    assert len(parts.held) + len(parts.fitted) == len(rows)


def test_where_every_sensor_is_the_only_one_of_its_field_single_readings_are_held_out():
    rows = [(name, t, ord(name) + t) for name in "pquv" for t in np.linspace(0.0, 1.0, 5)]
    table_of_four = pd.DataFrame(rows, columns=["field", "t", "value"]).assign(sensor=lambda rows: rows["field"])
    parts = split(read_table(table_of_four, ("t",), tuple("pquv")), seed=0)
    assert (parts.sensors, len(parts.held), len(parts.fitted)) == ((), 4, 16)
    with pytest.raises(InputError, match="at least two rows of every field"):
        split(read_table(table_of_four[::5], ("t",), tuple("pquv")), seed=0)


def test_scores_are_medians_of_what_the_field_misses(finished):
    readings = finished.readings
    scored = score("again", finished, readings)
    assert scored.median_misfits == pytest.approx({"u": np.median(np.abs(finished.misfits))}, rel=1e-3)
    assert scored.log_density == pytest.approx(np.median(finished.noise["u"].log_prob(finished.misfits)), abs=1e-2)
    gross = replace(readings, values=np.where(np.arange(len(readings)) % 5, readings.values, 1e6))
    assert score("gross", finished, gross).median_misfits["u"] < 2 * scored.median_misfits["u"] + 0.1
    worse = replace(readings, values=readings.values + 3.0)
    assert [each.name for each in ranked([score("worse", finished, worse), scored])] == ["again", "worse"]


def test_readings_of_known_deviation_are_judged_by_their_own_law(finished, weighed):
    plain = score("plain", finished, finished.readings)
    assert score("weighed", weighed, weighed.readings).log_density == pytest.approx(plain.log_density, abs=1e-2)
    # Held-out readings may all be less certain than those of the fit.
    spread = weighed.readings.sigma == 2.0
    uncertain = score("uncertain", weighed, weighed.readings.only(spread))
    alike = score("alike", finished, finished.readings.only(spread))
    assert uncertain.log_density == pytest.approx(alike.log_density, abs=1e-2)


def test_every_method_meets_the_same_split(decay_problem, decay_readings):
    methods = {"plain": pinn(20, **TINY), "screened": mad_pinn(20, **TINY)}
    parts, scored = compare(decay_problem, decay_readings, methods)
    assert {each.name for each in scored} == set(methods)
    for each in scored:
        assert len(each.result.readings) == len(parts.fitted) == 320
        assert len(each.misfits) == 80
    assert set(table(scored)["method"]) == {"pinn", "mad_pinn"}


def test_finished_runs_side_by_side(finished_run, tmp_path, monkeypatch, capfd):
    out = tmp_path / "out"
    code, told, _ = napinn(monkeypatch, capfd, "compare", finished_run, finished_run, "-o", out, "--json")
    assert code == 0
    rows = json.loads(told)["rows"]
    assert rows[0] == rows[1]
    assert {path.name for path in out.iterdir()} == {"comparison.csv", "comparison.png"}
    assert pd.read_csv(out / "comparison.csv")["k"].nunique() == 1
    assert "already exists" in napinn(monkeypatch, capfd, "compare", finished_run, finished_run, "-o", out)[2]
    again = napinn(monkeypatch, capfd, "compare", finished_run, finished_run, "-o", out, "--overwrite")
    assert (again[0], "log-density" in again[1]) == (0, True)


def test_methods_on_ones_own_readings(decay_table, tmp_path, monkeypatch, capfd):
    decay_table.to_csv(tmp_path / "readings.csv", index=False)
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    files = tmp_path / "problem.yaml", tmp_path / "readings.csv"
    out = tmp_path / "out"
    code, told, _ = napinn(monkeypatch, capfd, "compare", *files, "-m", "pinn", "--steps", 5, "-o", out, "--json")
    assert code == 0
    assert "80 readings that no method saw" in json.loads(told)["how"]
    assert (out / "pinn" / "report.html").exists()


def test_an_interrupt_ends_the_comparison_and_the_stopped_method_comes_last(
    decay_table, finished, tmp_path, monkeypatch, capfd
):
    """The stopped fit predicts better, by chance; the method after it is not begun."""
    decay_table.rename(columns={"t": "hour"}).to_parquet(tmp_path / "readings.parquet")
    (tmp_path / "problem.yaml").write_text(f"{PROBLEM}columns: {{rename: {{t: hour}}}}\n")
    begun = []

    def fit(problem, readings, method, **_):
        begun.append(method.name)
        if method.name == "mad_pinn":
            return replace(finished, status=FitStatus.INTERRUPTED)
        worse = eqx.tree_at(
            lambda learned: learned.field.frame.gain, network_of(finished).learned, replace_fn=lambda gain: 9 * gain
        )
        return with_network(finished, learned=worse)

    monkeypatch.setattr(comparison, "fit", fit)
    files, out = (tmp_path / "problem.yaml", tmp_path / "readings.parquet"), tmp_path / "out"
    code, told, _ = napinn(monkeypatch, capfd, "compare", *files, "-m", "pinn,mad_pinn,na_pinn", "-o", out, "--json")
    assert (code, begun) == (130, ["pinn", "mad_pinn"])
    rows = json.loads(told)["rows"]
    assert [row["name"] for row in rows] == begun
    assert rows[1]["status"] == "INTERRUPTED"
    assert rows[1]["median_misfit_u"] < rows[0]["median_misfit_u"]
    code = napinn(monkeypatch, capfd, "compare", out / "mad_pinn", out / "pinn", "-o", tmp_path / "again")[0]
    assert (code, pd.read_csv(tmp_path / "again" / "comparison.csv")["name"].tolist()) == (0, begun)


@pytest.mark.parametrize("name", ["report.html", "comparison.csv"])
def test_a_disk_that_is_full_after_the_fits_is_one_sentence(decay_table, finished, tmp_path, monkeypatch, capfd, name):
    decay_table.to_csv(tmp_path / "readings.csv", index=False)
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    original = os.replace

    def full(source, target):
        if Path(target).name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(source, target)

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(comparison, "fit", lambda *_, **__: finished)
    files = tmp_path / "problem.yaml", tmp_path / "readings.csv"
    code, told, err = napinn(monkeypatch, capfd, "compare", *files, "-m", "pinn", "-o", tmp_path / "out")
    assert (code, told) == (1, "")
    assert "could not be written to" in err
    assert err.endswith(": No space left on device.\n")
    assert not (tmp_path / "out" / name).exists()


def test_units_are_shown_as_they_are_written(decay_table, finished, tmp_path, monkeypatch, capfd):
    """A unit in brackets is no style of the terminal."""
    decay_table.to_csv(tmp_path / "readings.csv", index=False)
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    named = replace(finished, problem=replace(finished.problem, units={"u": "m", "k": "1/s"}))
    monkeypatch.setattr(comparison, "fit", lambda *_, **__: named)
    monkeypatch.setenv("COLUMNS", "200")
    files = tmp_path / "problem.yaml", tmp_path / "readings.csv"
    code, told, _ = napinn(monkeypatch, capfd, "compare", *files, "-m", "pinn", "-o", tmp_path / "out")
    assert code == 0
    assert "misfit of u [m]" in told
    assert "k [1/s]" in told


def test_what_was_guessed_of_the_readings_is_said(decay_table, finished, tmp_path, monkeypatch, capfd):
    decay_table.to_csv(tmp_path / "readings.csv", index=False, sep=";", decimal=",")
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    monkeypatch.setattr(comparison, "fit", lambda *_, **__: finished)
    files = tmp_path / "problem.yaml", tmp_path / "readings.csv"
    code, _, err = napinn(monkeypatch, capfd, "compare", *files, "-m", "pinn", "-o", tmp_path / "out")
    assert (code, "separator: semicolon" in err) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["RUN"], "one run cannot be compared"),
        (["RUN", __file__], "a problem file (.yaml) and a table of readings, or two or more run folders"),
        (["RUN", "runs/mistyped"], "runs/mistyped does not exist"),
        (["a.yaml", "a.csv", "-m", "pin"], "there is no method 'pin'"),
        (["a.yaml", "a.csv", "-m", ","], "no method is named"),
        (["a.yaml", "a.csv"], "does not exist"),
    ],
)
def test_a_wrong_comparison_is_one_sentence(finished_run, monkeypatch, capfd, arguments, said):
    wish = [str(finished_run) if word == "RUN" else word for word in arguments]
    code, out, err = napinn(monkeypatch, capfd, "compare", *wish)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
