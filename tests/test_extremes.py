"""Extreme but honest input: it is fitted or refused in a sentence, and no number that is not finite comes out."""

import re

import numpy as np
import pandas as pd
import pytest

from napinn import FitStatus, InputError, Problem, Unknown, fit, read_table
from napinn.diagnostics.preflight import inspect_readings
from napinn.engines.network.methods import na_pinn
from napinn.engines.network.training import Adam, loop
from napinn.engines.network.training.optimisers import Slowed
from napinn.engines.request import check_readings
from napinn.field.backbones import MLP
from napinn.noise.density import GMM

pytestmark = pytest.mark.usefixtures("compiled_once")
SMALL = na_pinn(
    16, warm_up=8, law_steps=0, estimator=GMM(), optimiser=Adam(1e-3), backbone=MLP(4, 1), collocation_batch=16,
    reading_batch=16, log_every=4,
)  # fmt: skip
TIMES = np.linspace(0.0, 3.0, 30)
DECAY = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})


def fitted(values, times=TIMES, problem=DECAY, **columns):
    table = pd.DataFrame({"t": times, "u": values, **columns})
    result = fit(problem, read_table(table, tuple(problem.coordinates), problem.fields), SMALL)
    assert result.status is not FitStatus.DIVERGED
    assert np.isfinite([*result.unknowns.values(), *result.predicted, *result.reliability]).all()
    assert np.isfinite(result.history[["total", "equation", "data", *result.unknowns]].to_numpy()).all()
    return result


def test_five_readings():
    assert len(fitted(np.exp(-TIMES[:5]), TIMES[:5]).readings_table()) == 5


def test_all_readings_equal():
    result = fitted(np.full(30, 7.0))
    assert result.field.at(t=1.5)["u"] == pytest.approx(7.0, abs=2.0)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_tiny_and_huge_values_are_fitted_as_those_of_order_one_are(unit, of_order_one):
    result = fitted(unit * np.exp(-0.8 * TIMES))
    assert result.unknowns["k"] == pytest.approx(of_order_one.unknowns["k"], rel=1e-3)
    np.testing.assert_allclose(result.predicted / unit, of_order_one.predicted, atol=1e-2)


@pytest.fixture(scope="module")
def of_order_one():
    return fitted(np.exp(-0.8 * TIMES))


def test_values_beyond_the_precision_are_refused_in_a_sentence():
    with pytest.raises(InputError, match=re.escape("beyond single precision; use --double")):
        fitted(1e39 * np.exp(-TIMES))


def test_a_coordinate_too_far_from_zero_is_refused_in_a_sentence():
    """Julian dates: single precision counts them in quarters of a day."""
    dates = Problem({"t": (2_460_000.0, 2_460_003.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})
    said = "'t' runs from 2460000 to 2460003, too far from zero for single precision to distinguish its values"
    with pytest.raises(InputError, match=re.escape(said)):
        fitted(np.exp(-TIMES), 2_460_000.0 + TIMES, dates)
    table = read_table(pd.DataFrame({"t": 2_460_000.0 + TIMES, "u": TIMES}), ("t",), ("u",))
    check_readings(dates, table, double=True)
    assert any(said in finding.text for finding in inspect_readings(dates, table))
    assert not any(said in finding.text for finding in inspect_readings(dates, table, double=True))


def test_one_sensor_at_one_place():
    problem = Problem({"x": (0.0, 1.0), "t": (0.0, 3.0)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown(1.0, low=0.0)})
    result = fitted(np.exp(-TIMES), problem=problem, x=0.5)
    assert len(result.sensors_table()) == 1


def test_ten_unknowns():
    names = [f"c{n}" for n in range(10)]
    terms = " + ".join(f"{name}*t**{n}" for n, name in enumerate(names))
    problem = Problem({"t": (0.0, 3.0)}, ("u",), (f"u_t = {terms}",), {name: Unknown(0.1) for name in names})
    result = fitted(np.exp(-TIMES), problem=problem)
    assert list(result.unknowns) == names


def test_a_chunk_that_is_not_finite_sends_the_fit_back_at_a_smaller_rate(monkeypatch, of_order_one):
    """The second chunk of the joint phase fails until the rate is a tenth; the fit then runs to its end and says so."""
    original = loop.chunk_runner

    def failing(problem, method, phase):
        run = original(problem, method, phase)
        share = phase.schedule.share if isinstance(phase.schedule, Slowed) else 1.0

        def chunk(state, data, cached, count, begin_phase, each):
            after, losses, finite = run(state, data, cached, count, begin_phase, each)
            return after, losses, finite & (phase.name != "joint" or begin_phase != 0.5 or share < 0.1)

        return chunk

    monkeypatch.setattr(loop, "chunk_runner", failing)
    result = fit(of_order_one.problem, of_order_one.readings, SMALL)
    assert result.status is not FitStatus.DIVERGED
    assert result.history["step"].tolist() == sorted(set(result.history["step"]))
    rate = result.history.set_index("step")["rate"]
    assert np.isnan(rate[12])
    np.testing.assert_allclose(rate[16:], 0.09)
    assert [note.split("; ")[1] for note in result.notes[:2]] == [
        "training returned to step 12 and continued at 0.3 of the rate.",
        "training returned to step 12 and continued at 0.09 of the rate.",
    ]


def test_after_three_attempts_the_fit_ends_with_what_it_has():
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*sqrt(u - 5)",), {"k": Unknown(0.3)})
    table = pd.DataFrame({"t": TIMES, "u": np.exp(-TIMES)})
    result = fit(problem, read_table(table, ("t",), ("u",)), SMALL)
    assert result.status is FitStatus.DIVERGED
    assert ["returned to" in note for note in result.notes] == [True, True, True, False]
    assert result.unknowns["k"] == pytest.approx(0.3)
    assert np.isfinite(result.predicted).all()
