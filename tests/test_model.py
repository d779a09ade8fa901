"""A fit by anything but a network: everything that reads a result works through the model interface alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

from exact_backend import Exact
from napinn import (
    FitStatus,
    InputError,
    Problem,
    Unknown,
    compare,
    estimate_uncertainty,
    fit,
    fit_seeds,
    load,
    pinn,
    plot,
    predict,
    save,
    verify,
    write_report,
)
from napinn.diagnostics.findings import CheckOutcome
from napinn.diagnostics.forward.check import check_forward
from napinn.diagnostics.status import judge_fit, sensitivities
from napinn.engines.base import estimate
from napinn.engines.network.model import network_of
from napinn.problem.equations import wanted
from napinn.results import recipe
from napinn.runs.export import EXPORTS

RATE = 0.8


@pytest.fixture
def listed(monkeypatch):
    monkeypatch.setattr(recipe, "HOMES", {**recipe.HOMES, "Exact": "exact_backend"})


@pytest.fixture(scope="module")
def exact(decay_problem, decay_readings):
    return fit(decay_problem, decay_readings, Exact(RATE))


def test_a_method_finds_its_backend(exact, decay_problem, decay_readings):
    assert exact.status is FitStatus.CONVERGED
    assert exact.unknowns == {"k": RATE}
    assert exact.flagged.sum() == 40
    assert estimate(decay_problem, decay_readings, exact.method).seconds == 0.5
    assert len(fit_seeds(decay_problem, decay_readings, Exact(), seeds=2).results) == 2


def test_a_run_survives_the_disk(exact, listed, tmp_path):
    sure = replace(exact, uncertainty=estimate_uncertainty(exact))
    save(sure, tmp_path)
    told = json.loads((tmp_path / "result.json").read_text())
    assert told["method"]["type"] == "Exact"
    assert told["correlation"] == [[1.0]]
    assert told["undetermined"] == ["'k' and 'c' trade off."]
    assert told["device"] == "cpu"
    back = load(tmp_path)
    assert back.method == exact.method
    points = np.linspace(0.0, 3.0, 7)[:, None]
    np.testing.assert_array_equal(back.field(points), exact.field(points))
    np.testing.assert_array_equal(back.noise["u"].pdf(points), exact.noise["u"].pdf(points))
    np.testing.assert_array_equal(back.uncertainty.spread(points), np.full((7, 1), 0.01))
    np.testing.assert_array_equal(back.uncertainty.correlation, [[1.0]])
    assert back.uncertainty.intervals == sure.uncertainty.intervals
    assert back.uncertainty.undetermined == ("'k' and 'c' trade off.",)


def test_a_kind_of_method_that_is_not_listed_is_refused(exact, tmp_path):
    save(exact, tmp_path)
    with pytest.raises(InputError, match="unknown type 'Exact'"):
        load(tmp_path)


def test_a_correlation_of_another_size_is_refused(exact, listed, tmp_path):
    save(replace(exact, uncertainty=estimate_uncertainty(exact)), tmp_path)
    path = tmp_path / "result.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "correlation": [[1.0, 0.0], [0.0, 1.0]]}))
    with pytest.raises(InputError, match="not a complete run"):
        load(tmp_path)


def test_prediction_grid_and_report_read_the_model(exact, tmp_path):
    sure = replace(exact, uncertainty=estimate_uncertainty(exact))
    found = predict(sure, sure.readings.table[["t"]])
    np.testing.assert_allclose(found["u"], np.exp(-RATE * found["t"]))
    np.testing.assert_array_equal(found["u_spread"], 0.01)
    assert sure.grid(11)["u"].shape == (11,)
    write_report(sure, tmp_path / "report.html")
    assert "exact" in (tmp_path / "report.html").read_text()
    # Profiles and source terms are drawn once they were computed, and functions where an unknown varies.
    for name in set(plot.FIGURES) - {"profile", "unknowns", "discrepancy"}:
        assert plot.FIGURES[name](sure, None)
    for name in ("profile", "unknowns", "discrepancy"):
        with pytest.raises(InputError, match=r"this (run|problem) has no"):
            plot.FIGURES[name](sure, None)
    for name in ("field", "readings"):
        EXPORTS[name](sure, tmp_path / name)
    _, scored = compare(sure.problem, sure.readings, {"exact": sure.method})
    assert scored[0].log_density is not None


def test_what_needs_a_network_refuses_in_one_sentence(exact, tmp_path):
    for refused in (lambda: network_of(exact), lambda: EXPORTS["model"](exact, tmp_path / "model")):
        with pytest.raises(InputError, match="a fit by the method 'exact' has no network"):
            refused()
    with pytest.raises(InputError, match="no posterior"):
        exact.field.spread(np.zeros((1, 1)))
    assert network_of(fit(exact.problem, exact.readings, pinn(2))).law is None


def test_the_equation_is_solved_forward_from_the_model(exact, decay_problem, decay_readings):
    checks = {check.name: check for check in verify(exact).checks}
    assert checks["forward solution"].outcome is CheckOutcome.PASS
    assert checks["forward solution"].numbers["difference"]["u"] < 1e-3
    assert checks["held-out readings"].outcome is CheckOutcome.CANNOT
    wrong = replace(exact, unknowns={"k": 2.0 * RATE})
    assert check_forward(wrong)[0].outcome is CheckOutcome.DOUBT


def test_sensitivities_are_those_of_the_closed_form(exact):
    found = sensitivities(exact)
    points = np.random.default_rng(0).uniform(0.0, 3.0, (512, 1))
    np.testing.assert_allclose(found, np.exp(-RATE * points))
    blind = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -0.8*u + 0*k",), {"k": Unknown(0.3)})
    status, notes = judge_fit(replace(exact, problem=blind), settled=True)
    assert status is FitStatus.NOT_IDENTIFIABLE
    assert "do not depend on 'k'" in notes[0]


def test_a_network_has_the_same_derivatives_through_the_interface(finished):
    points = np.linspace(0.0, 3.0, 5)[:, None]
    terms = wanted(finished.problem.system)
    found = finished.model.derivatives(points, terms)
    assert set(found) == set(terms) == {((),), (("t",),)}
    np.testing.assert_allclose(found[((),)], finished.field(points), rtol=1e-6)
    step = 1e-2
    measured = (finished.field(points + step) - finished.field(points - step)) / (2.0 * step)
    np.testing.assert_allclose(found[(("t",),)], measured, atol=1e-3 * np.abs(measured).max() + 1e-4)
    assert finished.model.derivatives(points, ()) == {}
