"""Fits with splines end to end: recovered numbers, and kept promises about inputs."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from napinn import Clock, Columns, FitStatus, Problem, Table, Unknown, fit
from napinn.engines.splines.method import bsplines
from spline_cases import DECAY, decaying, fitted, small_decay


def covers(result, truth):
    """Whether the interval of every unknown holds its true value."""
    intervals = result.uncertainty.intervals
    return all(intervals[name].low <= value <= intervals[name].high for name, value in truth.items())


@pytest.fixture(scope="module")
def clean():
    """A fit of few readings, shared by tests that only read it."""
    return fitted(small_decay(), decaying(40, 0.02))


@pytest.fixture(scope="module")
def decayed(decay_problem, decay_readings):
    """A fit of 400 readings, every tenth a gross error: enough to learn the noise law."""
    return fit(decay_problem, decay_readings, bsplines())


# ---- recovered numbers -----------------------------------------------------------------------------------------------
def test_a_rate_is_recovered_within_a_narrow_interval(clean):
    assert clean.status is FitStatus.CONVERGED
    assert covers(clean, {"k": DECAY})
    interval = clean.uncertainty.intervals["k"]
    assert interval.high - interval.low < 0.15 * DECAY
    grid = np.linspace(0.0, 3.0, 50)
    assert np.abs(clean.field.at(t=grid)["u"] - np.exp(-DECAY * grid)).max() < 0.02
    assert not clean.flagged.any()


def test_the_noise_law_is_learned_and_gross_errors_are_flagged(decayed):
    outlier = np.arange(400) % 10 == 0
    assert decayed.status is FitStatus.CONVERGED
    assert covers(decayed, {"k": DECAY})
    assert decayed.unknowns["k"] == pytest.approx(DECAY, rel=0.02)
    assert decayed.flagged[outlier].all()
    assert decayed.flagged[~outlier].mean() <= 0.03
    noise = decayed.noise["u"]
    places = np.linspace(-0.1, 0.1, 2001)
    density = np.exp(noise.log_prob(places))
    peak = places[np.argmax(density)]
    assert abs(peak) < 0.01
    # Nine readings of ten are Gaussian with a deviation of 0.02.
    assert density.max() == pytest.approx(0.9 / (0.02 * np.sqrt(2.0 * np.pi)), rel=0.25)


def test_the_spread_of_the_field_is_its_error(clean):
    grid = np.linspace(0.0, 3.0, 50)[:, None]
    spread = clean.uncertainty.spread(grid)[:, 0]
    error = np.abs(clean.field(grid)[:, 0] - np.exp(-DECAY * grid[:, 0]))
    assert (error < 4.0 * spread).all()
    assert (spread < 0.02).all()


def test_a_heat_equation_with_outliers():
    random = np.random.default_rng(5)
    x, t = random.uniform(0.0, 1.0, 300), random.uniform(0.0, 1.0, 300)
    values = np.sin(np.pi * x) * np.exp(-0.1 * np.pi**2 * t) + random.normal(0.0, 0.02, 300)
    outlier = np.arange(300) % 20 == 7
    values[outlier] += random.choice([-1.0, 1.0], outlier.sum()) * random.uniform(0.4, 1.0, outlier.sum())
    problem = Problem({"x": (0.0, 1.0), "t": (0.0, 1.0)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown(1.0, low=0.0)})
    result = fitted(problem, pd.DataFrame({"x": x, "t": t, "u": values}))
    assert result.status.trusted
    assert covers(result, {"D": 0.1})
    assert result.unknowns["D"] == pytest.approx(0.1, rel=0.1)
    assert result.flagged[outlier].all()
    assert result.flagged[~outlier].mean() <= 0.03


def test_a_hidden_field_is_found():
    """An oscillator whose position alone is measured."""
    random = np.random.default_rng(1)
    times = np.linspace(0.0, 6.0, 150)
    table = pd.DataFrame({"t": times, "p": np.cos(2.0 * times) + random.normal(0.0, 0.03, 150)})
    problem = Problem({"t": (0.0, 6.0)}, ("p",), ("p_t = v", "v_t = -s*p"), {"s": Unknown(2.0, low=0.0)}, hidden=("v",))
    result = fitted(problem, table)
    assert covers(result, {"s": 4.0})
    assert result.unknowns["s"] == pytest.approx(4.0, rel=0.02)
    grid = np.linspace(0.0, 6.0, 50)
    assert np.abs(result.field.at(t=grid)["v"] + 2.0 * np.sin(2.0 * grid)).max() < 0.1


# ---- inputs ----------------------------------------------------------------------------------------------------------
def test_dates_are_as_good_as_numbers(clean):
    table = clean.readings.table
    moments = pd.Timestamp("2024-02-28") + pd.to_timedelta(table["t"], unit="D")
    dated = fitted(small_decay(), table.assign(t=moments), Columns(clocks={"t": Clock("days", "2024-02-28")}))
    assert dated.unknowns["k"] == pytest.approx(clean.unknowns["k"], rel=1e-6)


def test_known_deviations_weigh_the_readings():
    """Every second reading scatters ten times as much, and says so."""
    table = decaying(120, 0.01, seed=2)
    sigma = np.where(np.arange(120) % 2, 0.1, 0.01)
    table["u"] = np.exp(-DECAY * table["t"]) + sigma * np.random.default_rng(3).normal(size=120)
    told = fitted(small_decay(), table.assign(sigma=sigma))
    untold = fitted(small_decay(), table)
    assert covers(told, {"k": DECAY})
    assert told.uncertainty.intervals["k"].error < untold.uncertainty.intervals["k"].error
    assert told.flagged.mean() <= 0.03
    assert untold.flagged[1::2].mean() > 0.1


def test_a_condition_holds():
    table = decaying(120, 0.03)
    problem = Problem(
        {"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3, low=0.0)}, conditions=("u = 1 at t = 0",)
    )
    held, free = fitted(problem, table), fitted(small_decay(), table)
    assert float(held.field.at(t=0.0)["u"]) == pytest.approx(1.0, abs=1e-3)
    assert covers(held, {"k": DECAY})
    # A known start tells more of the rate.
    assert held.uncertainty.intervals["k"].error < free.uncertainty.intervals["k"].error


def test_an_unknown_of_a_condition_is_found():
    problem = Problem(
        {"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3, low=0.0), "a": Unknown(2.0)},
        conditions=("u = a at t = 0",),
    )  # fmt: skip
    result = fitted(problem, decaying(120, 0.03))
    assert covers(result, {"k": DECAY, "a": 1.0})
    assert result.uncertainty.correlation is not None


def test_a_periodic_wave_repeats_itself():
    random = np.random.default_rng(7)
    x, t = random.uniform(0.0, 1.0, 200), random.uniform(0.0, 0.5, 200)
    values = np.sin(2.0 * np.pi * (x - 0.7 * t)) + random.normal(0.0, 0.03, 200)
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 0.5)}, ("u",), ("u_t = -c*u_x",), {"c": Unknown(0.3)}, periodic=("x",)
    )
    result = fitted(problem, pd.DataFrame({"x": x, "t": t, "u": values}))
    assert covers(result, {"c": 0.7})
    times = np.linspace(0.0, 0.5, 20)
    ends = [result.field.at(x=place, t=times)["u"] for place in (0.0, 1.0)]
    np.testing.assert_allclose(ends[0], ends[1], atol=5e-3)


def test_a_table_is_a_known_forcing():
    """u' = q - k u with q = 2 t: u = 2 t / k - 2 / k² (1 - exp(-k t)) from rest."""
    times = np.linspace(0.0, 3.0, 120)
    exact = 2.0 * times / DECAY - 2.0 / DECAY**2 * (1.0 - np.exp(-DECAY * times))
    noisy = exact + np.random.default_rng(4).normal(0.0, 0.02, 120)
    nodes = np.linspace(0.0, 3.0, 31)
    problem = Problem(
        {"t": (0.0, 3.0)}, ("u",), ("u_t = q - k*u",), {"k": Unknown(0.3, low=0.0)},
        tables={"q": Table(("t",), (nodes,), 2.0 * nodes)},
    )  # fmt: skip
    result = fitted(problem, pd.DataFrame({"t": times, "u": noisy}))
    assert covers(result, {"k": DECAY})
    assert result.unknowns["k"] == pytest.approx(DECAY, rel=0.02)


def test_two_unknowns_that_only_count_together_are_named():
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -(a + b)*u",), {"a": Unknown(0.3), "b": Unknown(0.2)})
    result = fitted(problem, decaying(120, 0.03))
    assert not result.status.trusted
    assert sum(result.unknowns.values()) == pytest.approx(DECAY, rel=0.05)
    assert any("'a'" in note and "'b'" in note for note in (*result.uncertainty.undetermined, *result.notes))


# ---- the same again --------------------------------------------------------------------------------------------------
def test_the_same_seed_gives_the_same_numbers(clean):
    again = fit(clean.problem, clean.readings, bsplines(), seed=0)
    assert again.unknowns == clean.unknowns
    np.testing.assert_array_equal(again.predicted, clean.predicted)
    np.testing.assert_array_equal(again.reliability, clean.reliability)
    assert again.uncertainty.intervals == clean.uncertainty.intervals


def test_a_fit_needs_no_jax(tmp_path):
    script = """
import sys
import numpy as np, pandas as pd
import napinn
from napinn.engines.splines.method import bsplines
t = np.linspace(0.0, 3.0, 30)
u = np.exp(-0.8 * t) + np.random.default_rng(0).normal(0.0, 0.02, 30)
problem = napinn.Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(0.3)})
result = napinn.fit(problem, napinn.read_table(pd.DataFrame({"t": t, "u": u}), ("t",), ("u",)), bsplines())
napinn.save(result, sys.argv[1])
assert napinn.load(sys.argv[1]).unknowns == result.unknowns
assert napinn.estimate_uncertainty(result).intervals
assert not [name for name in ("jax", "equinox", "optax", "diffrax") if name in sys.modules]
"""
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
