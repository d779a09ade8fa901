"""Standard errors are the scatter of estimates; a field that follows the noise is noticed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, read_table
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.descent import PRECISION_LOST, precision_lost
from napinn.engines.splines.doubts import FAR_FROM_BOUND, DoubtKind, doubts_of
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.points import MOST_SPENT, point_of, with_noise_level
from napinn.engines.splines.smoothing import Start, first_space
from napinn.engines.splines.solver import solve
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.uncertainty import noise_precision, uncertainty_of
from napinn.field.splines.banded import Banded
from napinn.noise.laws import Cauchy, Gaussian
from napinn.noise.mixture import learn_mixture

SIGMA, RATE, COUNT = 0.05, 0.8, 60


def solved(law, seed, count=COUNT, draw=np.random.Generator.standard_normal, high=None):
    """A decay with noise on a mesh that resolves it, at the given law."""
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.7, high=high)})
    times = np.linspace(0.0, 3.0, count)
    values = np.exp(-RATE * times) + SIGMA * draw(np.random.default_rng(seed), count)
    task = Task(problem, read_table(pd.DataFrame({"t": times, "u": values}), ("t",), ("u",)))
    space = first_space(task, (6,), 1)
    state = State(np.full(space.size, 0.5), np.array([0.7]), np.zeros(1), np.array([SIGMA]), (law,))
    system = System(task, space, 2, np.ones(count, bool), Meter())
    return point_of(solve(system, measured_units(system, state), 1e-3, state, steps=30, least_gain=1e-6))


@pytest.mark.parametrize("law", [Gaussian(), Cauchy()], ids=["gaussian", "cauchy"])
def test_the_standard_error_is_the_scatter_of_estimates(law):
    points = [solved(law, seed) for seed in range(60)]
    found = np.array([point.state.unknowns[0] for point in points])
    errors = [np.sqrt(noise_precision(point).variance * point.solution.covariance[0, 0]) for point in points]
    # A deviation of 60 draws is known to 9 %; the curvature that steps take for granted would be off by 20 %.
    assert np.std(found) / np.median(errors) == pytest.approx(1.0, abs=0.18)


def test_a_law_that_was_learned_from_its_own_misfits_does_not_look_sharper_than_it_is():
    def uniform(random, count):
        return random.uniform(-1.7, 1.7, count)

    point = solved(Gaussian(), 3, 400, uniform)
    law = learn_mixture(point.system.standardised(point.state), 0.05)
    units = measured_units(point.system, point.state)
    sharp = point_of(solve(point.system, units, 1e-3, replace(point.state, laws=(law,)), steps=3))
    assert noise_precision(sharp).variance > 1.0


def test_steady_laws_have_the_normal_matrix_of_equal_weights():
    system = solved(Gaussian(), 0).system
    steady, summed = (Banded(system.space.size, system.space.bandwidth) for _ in range(2))
    system.add_constant_normal(steady, np.array([2.5]))
    system.rows.add_normal(summed, np.full(system.count, 2.5))
    np.testing.assert_allclose(steady.entries, summed.entries, rtol=1e-13, atol=1e-13)


def test_a_field_that_uses_up_its_readings_keeps_its_noise_level():
    point = solved(Gaussian(), 0, count=120)
    loud = replace(point, solution=replace(point.solution, state=replace(point.state, sigma=np.array([0.2]))))
    free, spent = (replace(loud, shares=np.array([share])) for share in (MOST_SPENT - 0.01, MOST_SPENT + 0.01))
    assert with_noise_level(free).state.sigma[0] < 0.1
    assert with_noise_level(spent).state.sigma[0] == 0.2


@pytest.mark.parametrize(("share", "doubted"), [(MOST_SPENT - 0.01, False), (MOST_SPENT + 0.01, True)])
def test_a_field_that_follows_the_noise_is_doubted(share, doubted):
    point = replace(solved(Gaussian(), 0), share=share)
    found = doubts_of(point, Start((6,), 1e-3, 1.0, (1.0,)), np.array([0.7]), np.array([1.0]))
    assert any(doubt.kind is DoubtKind.LOOSE for doubt in found) == doubted


@pytest.mark.parametrize(("errors_away", "doubted"), [(FAR_FROM_BOUND - 0.1, True), (FAR_FROM_BOUND + 0.1, False)])
def test_an_unknown_many_standard_errors_from_its_bound_is_not_at_it(errors_away, doubted):
    """However large its size was expected to be."""
    free = solved(Gaussian(), 0)
    point = solved(Gaussian(), 0, high=free.state.unknowns[0] + errors_away * free.solution.errors[0])
    found = doubts_of(point, Start((6,), 1e-3, 1.0, (1.0,)), np.array([1e9]), np.array([1e9]))
    assert any(doubt.kind is DoubtKind.AT_BOUND for doubt in found) == doubted


@pytest.mark.parametrize(("growth", "lost"), [(0.9 * PRECISION_LOST, False), (1.1 * PRECISION_LOST, True)])
def test_errors_that_grow_a_thousandfold_are_rounding(growth, lost):
    before = np.array([0.1, np.nan, np.inf, 2.0])
    assert precision_lost(before, before * np.array([growth, 1.0, 1.0, 1.0])) is lost
    # Where nothing was known before, nothing is lost.
    assert not precision_lost(np.array([np.inf, np.nan]), np.array([1.0, 1e9]))


def test_unmet_equations_widen_an_interval_by_the_most_that_they_can_move_its_estimate():
    """Residuals that cost eight nats have a norm of four, in standard errors."""
    met = solved(Gaussian(), 0)
    assert met.equation_cost < 0.1
    unmet = replace(met, solution=replace(met.solution, value=replace(met.solution.value, equation_cost=8.0)))
    narrow, wide = (uncertainty_of(point, np.zeros(1)).intervals["k"] for point in (met, unmet))
    by_noise = (narrow.high - narrow.low) / 2.0
    assert by_noise == pytest.approx(1.96 * narrow.error, rel=0.05)
    assert (wide.high - wide.low) / 2.0 == pytest.approx(np.hypot(by_noise, 4.0 * narrow.error), rel=0.05)
    assert wide.error == narrow.error
