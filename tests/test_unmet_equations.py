"""How far residuals of the equations may move an estimate, against dense least squares."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, read_table
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.descent import point_of
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.normal_equations import equation_roots
from napinn.engines.splines.smoothing import first_space
from napinn.engines.splines.solver import Solution, solve
from napinn.engines.splines.state import State
from napinn.engines.splines.system import CONDITION_TOLERANCE, System
from napinn.engines.splines.task import Task
from napinn.engines.splines.uncertainty import uncertainty_of
from napinn.engines.splines.unmet import most_moved_by_residuals, weights_on_equations
from napinn.noise.laws import Gaussian
from napinn.problem.prior import Prior

SIGMA, COUNT = 0.05, 30


def solved(tolerance=0.05, prior=None, log=False):
    """Forced decay on four cells, which cannot meet the equation: two unknowns, a condition, and a prior if asked."""
    unknowns = {"k": Unknown(0.7, low=0.0, prior=prior, log=log), "a": Unknown(0.5)}
    problem = Problem(
        {"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u + a + sin(3*t)",), unknowns, conditions=("u = 1 at t = 0",)
    )
    times = np.linspace(0.0, 3.0, COUNT)
    values = (
        np.exp(-0.8 * times) + (1.0 - np.cos(3.0 * times)) / 3.0 + SIGMA * np.random.default_rng(0).normal(size=COUNT)
    )
    task = Task(problem, read_table(pd.DataFrame({"t": times, "u": values}), ("t",), ("u",)))
    space = first_space(task, (4,), 1)
    state = State(np.full(space.size, 0.5), np.array([0.7, 0.5]), np.zeros(1), np.array([SIGMA]), (Gaussian(),))
    system = System(task, space, 3, np.ones(COUNT, bool), Meter())
    units = measured_units(system, state)
    solution = solve(system, units, tolerance, state, steps=60, least_gain=1e-10)
    return solve(system, units, tolerance, solution.state, steps=0)


def dense_rows(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of all whitened rows along coefficients and unknowns (as steps take them) by central
    differences: rows of the equation, and all others."""
    system, state, task = solution.system, solution.state, solution.system.task
    tight = np.sqrt(system.count) / min(solution.tolerance, CONDITION_TOLERANCE)
    (root,) = equation_roots(system, solution.units, solution.tolerance)

    def rows(step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        coefficients = state.coefficients + step[: system.space.size]
        unknowns = task.after_moves(state.unknowns, step[system.space.size :])
        (residual,) = system.residuals(coefficients, unknowns)
        (face,) = system.face_residuals(coefficients, unknowns)
        held = tight * np.sqrt(system.face_weights[0]) * face.value / solution.units.conditions[0]
        readings = system.misfits(coefficients) / SIGMA
        priors = task.prior_terms(unknowns)[0] if task.has_priors else np.zeros(0)
        return (root * residual.value).ravel(), np.concatenate([held.ravel(), readings, priors])

    size, width = system.space.size + len(state.unknowns), 1e-5
    pairs = [(rows(width * along), rows(-width * along)) for along in np.eye(size)]
    equations, others = ([(high[n] - low[n]) / (2.0 * width) for high, low in pairs] for n in (0, 1))
    return np.stack(equations, axis=1), np.stack(others, axis=1)


def estimates(equations: np.ndarray, others: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The two unknowns by dense least squares, for a right side of the equation rows."""
    rows = np.concatenate([equations, others])
    whole = np.concatenate([right, np.zeros(len(others))])
    return np.linalg.lstsq(rows, whole, rcond=None)[0][-2:]


CASES = [
    {},
    {"tolerance": 0.5},
    {"tolerance": 1e-3},
    {"prior": Prior("normal", 0.7, 0.1)},
    {"log": True},
]


@pytest.mark.parametrize("case", CASES, ids=["plain", "loose", "tight", "prior", "logarithm"])
def test_weights_are_those_of_dense_least_squares(case):
    solution = solved(**case)
    equations, others = dense_rows(solution)
    rows = np.concatenate([equations, others])
    weights = (np.linalg.pinv(rows)[-2:, : len(equations)]) ** 2
    np.testing.assert_allclose(weights_on_equations(solution), np.sqrt(weights.sum(axis=1)), rtol=1e-5)
    # The norm over all rows is the standard error; the equations have a part of it.
    errors = np.sqrt(np.diag(solution.covariance))
    np.testing.assert_allclose(np.linalg.norm(np.linalg.pinv(rows)[-2:], axis=1), errors, rtol=1e-5)
    assert np.all(weights_on_equations(solution) < errors)


def test_no_change_of_the_equations_of_that_cost_moves_an_unknown_further():
    solution = solved()
    equations, others = dense_rows(solution)
    norm, most = np.sqrt(2.0 * solution.value.equation_cost), most_moved_by_residuals(solution)
    assert norm > 1.0
    random = np.random.default_rng(3)
    for _ in range(200):
        right = random.normal(size=len(equations))
        moved = estimates(equations, others, norm * right / np.linalg.norm(right))
        assert np.all(np.abs(moved) <= most)
    # There is a change that moves it as far, so the bound is no wider than it must be.
    worst = np.linalg.pinv(np.concatenate([equations, others]))[-2, : len(equations)]
    moved = estimates(equations, others, norm * worst / np.linalg.norm(worst))
    assert abs(moved[0]) == pytest.approx(most[0], rel=1e-4)


def test_an_interval_is_widened_by_that_bound_and_its_standard_error_is_not():
    point = point_of(solved())
    met = replace(point, solution=replace(point.solution, value=replace(point.solution.value, equation_cost=0.0)))
    wide, narrow = (uncertainty_of(each, np.zeros(2)).intervals["k"] for each in (point, met))
    halves = [(each.high - each.low) / 2.0 for each in (wide, narrow)]
    assert halves[0] == pytest.approx(np.hypot(halves[1], most_moved_by_residuals(point.solution)[0]), rel=1e-6)
    assert wide.error == narrow.error
