"""Runs of earlier versions name settings that are gone: they are read as they were, and refuse to train."""

import json
import shutil

import numpy as np
import pytest

from napinn import InputError, estimate_uncertainty, fit, load, save
from napinn.engines.network.training import Retired
from napinn.results.recipe import decode_method
from napinn.storage.settings import encode

IDLE = {"afresh": False, "averaging": 0.0, "chooses": False}
NEWTON = {"type": "GaussNewton", "damping": 0.01, "points": 512}
POLISH = {
    "type": "Phase", "name": "polish", "kind": {"type": "Kind", "value": "polish"}, "steps": 20, "averaging": 0.0,
    "loss": {"type": "Likelihood"}, "optimiser": {"type": "LBFGS", "memory": 20, "searches": 20},
}  # fmt: skip
SECOND = {"type": "Phase", "name": "two", "kind": {"type": "Kind", "value": "plain"}, "steps": 1, "afresh": True}


def with_idle_entries(method: dict) -> dict:
    """As earlier versions wrote every method of a network."""
    gating = {**method["gating"], "through_score": False}
    return {**method, "phases": [{**phase, **IDLE} for phase in method["phases"]], "gating": gating}


def of_few_readings(method: dict) -> dict:
    """As earlier versions wrote a method for few readings: two starts, a law with a prior, a last phase by Newton."""
    phases = [{**phase, **IDLE} for phase in method["phases"]]
    second = {**phases[0], "name": "heavy warm-up", "afresh": True, "chooses": True}
    polish = {"type": "Kind", "value": "polish"}
    last = {**phases[-1], "name": "refinement", "kind": polish, "optimiser": NEWTON, "equation_factors": [1.0, 100.0]}
    density = {"type": "Shrunk", "inner": method["gating"]["density"], "share": 0.2}
    return {
        **method,
        "phases": [phases[0], second, *phases[1:], last],
        "gating": {**method["gating"], "density": density},
    }


@pytest.fixture
def old_run(finished_run, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(finished_run, folder)
    path = folder / "result.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "method": of_few_readings(content["method"])}))
    return folder


def test_entries_that_changed_nothing_are_left_out(finished):
    assert decode_method(with_idle_entries(encode(finished.method))) == finished.method


def test_a_run_with_retired_settings_is_read_as_it_was(old_run, finished, tmp_path):
    result = load(old_run)
    times = np.linspace(0.0, 3.0, 9)
    np.testing.assert_array_equal(result.field.at(t=times)["u"], finished.field.at(t=times)["u"])
    np.testing.assert_array_equal(result.noise["u"].pdf(times), finished.noise["u"].pdf(times))
    np.testing.assert_array_equal(result.reliability, finished.reliability)
    assert (result.unknowns, result.status) == (finished.unknowns, finished.status)
    assert np.isfinite(estimate_uncertainty(result).intervals["k"].error)
    save(result, tmp_path / "again")
    assert load(tmp_path / "again").method == result.method


@pytest.mark.parametrize(
    "retired",
    [
        {"collocation": {"type": "Latin"}},
        {"optimiser": NEWTON},
        {"gating": {"type": "Gating", "density": {"type": "Shrunk", "inner": {"type": "GMM"}, "share": 0.2}}},
        {"phases": [SECOND]},
        {"phases": [POLISH]},
        {"phases": [{**SECOND, "afresh": False, "averaging": 0.998}]},
    ],
    ids=["points", "optimiser", "law", "start", "polish", "averaging"],
)  # fmt: skip
def test_a_method_that_can_no_longer_be_trained_says_so(finished, retired):
    method = decode_method({**encode(finished.method), **retired})
    with pytest.raises(InputError, match="can no longer be trained"):
        fit(finished.problem, finished.readings, method)


def test_of_a_scale_only_entries_that_mattered_refuse(finished):
    scale = {"type": "RunningSpread", "centred": True, "shared": 0.0}
    gating = {"type": "Gating", "density": {"type": "GMM"}, "scale": scale}
    kept = decode_method({**encode(finished.method), "gating": gating})
    assert not isinstance(kept.optimiser, Retired)  # pyright: ignore[reportAttributeAccessIssue]
    gone = decode_method({**encode(finished.method), "gating": {**gating, "scale": {**scale, "centred": False}}})
    assert isinstance(gone.optimiser, Retired)  # pyright: ignore[reportAttributeAccessIssue]
