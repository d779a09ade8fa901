"""The default method: what it recovers, and what it does not depend on."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from napinn.data.readings import read_table
from napinn.engines.catalogue import METHODS
from napinn.engines.fitting import fit
from napinn.engines.network.methods import compressed, law_pinn, na_pinn
from napinn.engines.network.model import network_of
from napinn.engines.network.objective import unknown_values
from napinn.engines.network.training import SOAP, loop, prepare_data
from napinn.engines.network.training.data import ENOUGH_TO_HOLD_OUT, draw
from napinn.field.backbones import MLP
from napinn.noise.density import EBM
from napinn.noise.likelihood import Likelihood
from napinn.problem import Problem, Unknown
from napinn.results.recipe import decode_method
from napinn.storage.settings import encode

SIZES = dict(backbone=MLP(16, 2), collocation_batch=64, reading_batch=128, optimiser=SOAP(5e-3), log_every=500)
SMALL_EBM = EBM(width=8, depth=1, nodes=64)
SMALL = dict(estimator=compressed(SMALL_EBM), **SIZES)


def rod(count: int = 300, length: float = 1.0, time: float = 1.0, size: float = 1.0, offset: float = 0.0):
    """Heat in a rod with skewed noise of median zero and one outlier in seven, in any units."""
    rng = np.random.default_rng(0)
    x, t = rng.uniform(0, 1, count), rng.uniform(0, 1, count)
    noise = 0.1 * (rng.exponential(size=count) - np.log(2.0))
    outlier = np.arange(count) % 7 == 0
    noise[outlier] = rng.uniform(0.4, 1.0, outlier.sum())
    true = np.exp(-0.1 * np.pi**2 * t) * np.cos(np.pi * x) + 0.3 * x
    table = pd.DataFrame({"x": length * x, "t": time * t, "u": size * (true + noise + offset)})
    return heated(length, time), read_table(table, ("x", "t"), ("u",)), true, outlier


@functools.cache
def heated(length: float, time: float) -> Problem:
    """One problem for all tests in the same units, so that their fits share programs."""
    box = {"x": (0.0, length), "t": (0.0, time)}
    return Problem(box, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.5 * length**2 / time, low=0.0)})


def test_the_heat_equation_cannot_hold_a_constant_and_the_anchor_does():
    problem, readings, _, outlier = rod(ENOUGH_TO_HOLD_OUT)
    result = fit(problem, readings, law_pinn(1500, law_steps=300, **SMALL))
    assert result.unknowns["D"] == pytest.approx(0.1, rel=0.2)
    # The noise has median zero and a deviation of about 0.1; least absolute deviations would sit 0.02 too high.
    assert abs(np.median(result.misfits[~outlier])) < 0.015
    assert result.flagged[outlier].mean() > 0.95
    assert result.flagged[~outlier].mean() < 0.1


def test_other_units_are_the_same_problem():
    """Metres or millimetres, seconds or hours, kelvins or something with an offset: the same training to rounding."""
    found = []
    for units in ({}, dict(length=1e-3, time=7200.0, size=1e5, offset=2.0)):
        problem, readings, _, _ = rod(1000, **units)
        result = fit(problem, readings, law_pinn(60, law_steps=20, double=True, **SMALL))
        scale = units.get("length", 1.0) ** 2 / units.get("time", 1.0)
        found.append((result.unknowns["D"] / scale, result.misfits / units.get("size", 1.0), result.reliability))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_an_unknown_without_a_start_begins_at_the_size_that_matters():
    problem, readings, _, _ = rod(200, length=1e-3)
    free = dataclasses.replace(problem, unknowns={"D": Unknown(low=0.0)})
    result = fit(free, readings, law_pinn(1500, law_steps=200, **SMALL))
    assert result.unknowns["D"] == pytest.approx(1e-7, rel=0.15)


def test_held_out_readings_are_never_drawn():
    problem, readings, _, _ = rod(ENOUGH_TO_HOLD_OUT)
    data, place = prepare_data(problem, readings, jnp.dtype(jnp.float64), held_out=0.1)
    assert (data.held, data.trained) == (100, 900)
    judged = {tuple(point) for point in np.asarray(data.points[900:])}
    for number in range(20):
        batch = draw(data, None, law_pinn(), jax.random.key(number))
        assert not judged & {tuple(point) for point in np.asarray(batch.points)}
    np.testing.assert_array_equal(np.asarray(data.values).reshape(-1)[place], readings.values)
    few, _ = prepare_data(*rod(ENOUGH_TO_HOLD_OUT - 1)[:2], jnp.dtype(jnp.float64), held_out=0.1)
    assert few.held == 0


def test_a_stalled_score_ends_the_joint_phase_and_the_cooling_follows(monkeypatch):
    monkeypatch.setattr(loop, "held_out_score", lambda method, state, data: 0.0)
    problem, readings, _, _ = rod(ENOUGH_TO_HOLD_OUT)
    method = law_pinn(400, law_steps=10, **{**SMALL, "log_every": 20})
    impatient = tuple(dataclasses.replace(phase, patience=20) if phase.patience else phase for phase in method.phases)
    history = fit(problem, readings, dataclasses.replace(method, phases=impatient)).history
    steps = history.groupby("phase", sort=False)["step"].count()
    assert steps["joint"] == 2
    assert steps["cooling"] == 12
    assert history["held_out"].notna().all()


@pytest.mark.parametrize("entry", METHODS.values(), ids=list(METHODS))
def test_every_method_survives_a_file(entry):
    method = entry.make(*([10] if entry.steps else []))
    assert decode_method(encode(method)) == method
    assert decode_method(encode(method, brief=True)) == method
    assert len(str(encode(method, brief=True))) <= len(str(encode(method)))


def test_the_likelihood_works_inside_napinn_too(decay_problem, decay_readings):
    method = na_pinn(400, loss=Likelihood(), estimator=SMALL_EBM, **SIZES)
    result = fit(decay_problem, decay_readings, method)
    assert result.unknowns["k"] == pytest.approx(0.8, rel=0.1)
    values = unknown_values(decay_problem, network_of(result).learned)
    assert float(values["k"]) == pytest.approx(result.unknowns["k"])
