"""With few readings, misfits of several modes are noticed where the answer depends on them."""

import numpy as np
import pandas as pd
import pytest

from napinn import FitStatus, Problem, Unknown, bsplines, fit, read_table
from napinn.engines.splines.law_check import main_mode

RATE, COUNT = 0.5, 300


def decay_with(noise, count=COUNT):
    problem = Problem({"t": (0.0, 5.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.2, low=0.0)})
    times = np.linspace(0.0, 5.0, count)
    table = pd.DataFrame({"t": times, "u": 2.0 * np.exp(-RATE * times) + noise})
    return fit(problem, read_table(table, ("t",), ("u",)), bsplines())


def test_a_mode_on_one_side_that_moves_the_rate_is_doubted():
    """A third of the readings lie 0.4 too high; a symmetric law finds 0.44 in place of 0.5."""
    random = np.random.default_rng(2)
    result = decay_with(random.choice([0.0, 0.4], COUNT, p=[0.65, 0.35]) + 0.02 * random.normal(size=COUNT))
    interval = result.uncertainty.intervals["k"]
    assert not interval.low < RATE < interval.high
    assert result.status is FitStatus.DOUBTFUL
    assert "moves 'k'" in next(note for note in result.notes if "several modes" in note)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_hundred_readings_with_a_lighter_mode_are_doubted(seed):
    random = np.random.default_rng([seed, 100, 7])
    result = decay_with(random.choice([0.0, 0.4], 100, p=[0.65, 0.35]) + 0.02 * random.normal(size=100), 100)
    assert result.unknowns["k"] < 0.95 * RATE
    assert result.status is FitStatus.DOUBTFUL


@pytest.mark.parametrize(
    ("places", "weights", "mode"),
    [
        ((-0.5, 1.5), (0.65, 0.35), -0.5),
        ((-0.5, 1.5), (0.52, 0.48), 0.0),
        ((0.0, 0.8), (0.65, 0.35), 0.0),
        ((0.0, 0.0), (0.65, 0.35), 0.0),
    ],
    ids=["main mode", "equal weights", "no valley", "one mode"],
)
def test_the_main_mode_is_heavier_and_has_a_valley_beside_it(places, weights, mode):
    random = np.random.default_rng(4)
    standard = np.concatenate([
        random.normal(place, 0.25, int(200 * weight)) for place, weight in zip(places, weights, strict=True)
    ])  # fmt: skip
    assert main_mode(standard, 0.2) == pytest.approx(mode, abs=0.1)


@pytest.mark.parametrize(
    "law",
    [
        lambda random: random.choice([-0.15, 0.15], COUNT) + 0.02 * random.normal(size=COUNT),
        lambda random: 0.03 * random.normal(size=COUNT) + np.where(random.random(COUNT) < 0.1, 0.6, 0.0),
    ],
    ids=["equal modes", "outliers on one side"],
)
def test_modes_that_do_not_move_the_rate_are_no_doubt(law):
    result = decay_with(law(np.random.default_rng(3)))
    assert result.unknowns["k"] == pytest.approx(RATE, rel=0.05)
    assert result.status is FitStatus.CONVERGED
