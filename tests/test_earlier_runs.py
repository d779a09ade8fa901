"""Run folders that version 0.1 wrote, before modules and settings moved, give the numbers that they gave then.

`expected.json` in each folder was written beside the run, from the result in memory."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import napinn
from napinn.diagnostics.findings import CheckOutcome
from napinn.evaluation.held_out import check_held_out
from napinn.runs.request import read_request

RUNS = sorted((Path(__file__).parent / "earlier_runs").iterdir())
TIMES = np.linspace(0.0, 3.0, 5)


@pytest.fixture(params=RUNS, ids=lambda path: path.name)
def run(request, tmp_path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "run"))


def test_an_earlier_run_gives_the_same_numbers(run):
    expected, result = json.loads((run / "expected.json").read_text()), napinn.load(run)
    assert (dict(result.unknowns), result.status.name) == (expected["unknowns"], expected["status"])
    assert int(result.flagged.sum()) == expected["flagged"]
    # Compiled programs differ between processors in the last bits of single precision.
    np.testing.assert_allclose(result.field.at(t=TIMES)["u"], expected["field"], rtol=1e-5)
    np.testing.assert_allclose(result.noise["u"].pdf(np.array([-0.02, 0.0, 0.05])), expected["noise"], rtol=1e-4)
    assert result.uncertainty is not None
    interval = result.uncertainty.intervals["k"]
    assert [interval.low, interval.high] == expected["interval"]
    np.testing.assert_allclose(result.uncertainty.spread(TIMES[:, None]).ravel(), expected["spread"], rtol=1e-4)


def test_an_earlier_run_can_be_saved_and_fitted_again(run, tmp_path):
    result = napinn.load(run)
    napinn.save(result, tmp_path / "again")
    again = napinn.load(tmp_path / "again")
    assert (again.method, again.unknowns) == (result.method, result.unknowns)
    asked = read_request(run)
    assert (asked.method, asked.seed, len(asked.readings)) == (result.method, 0, 48)


def test_the_readings_that_were_held_out_are_part_of_a_run(finished, tmp_path):
    held = np.arange(len(finished.readings)) % 7 == 3
    napinn.save(dataclasses.replace(finished, held_out=held), tmp_path)
    np.testing.assert_array_equal(napinn.load(tmp_path).held_out, held)
    path = tmp_path / "result.json"
    told = json.loads(path.read_text())
    for wrong in ("-1", str(len(held)), "many", "9" * 5000):
        path.write_text(json.dumps({**told, "held_out": wrong}))
        with pytest.raises(napinn.InputError):
            napinn.load(tmp_path)


def test_runs_that_do_not_say_what_was_held_out_still_know(run):
    result = napinn.load(run)
    assert result.held_out is None
    assert check_held_out(result).outcome is CheckOutcome.CANNOT
