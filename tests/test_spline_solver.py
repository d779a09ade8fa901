"""Gauss–Newton steps: gradient, normal matrix and standard errors against finite differences and dense algebra."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, read_table
from napinn.engines.splines.bisection import SMALLEST_CELL, wide_enough
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.normal_equations import LOCATION_PRIOR, _weight, evaluate, linearise
from napinn.engines.splines.smoothing import first_space
from napinn.engines.splines.solver import NEARER_TO_BOUND, inverse, solve, spent
from napinn.engines.splines.state import State
from napinn.engines.splines.system import CONDITION_TOLERANCE, System
from napinn.engines.splines.task import Task
from napinn.noise.laws import Cauchy, Huber
from napinn.noise.mixture import Mixture

TOLERANCE = 0.1
LAW = Mixture(np.array([0.5, 0.3, 0.15]), np.array([-0.4, 0.6, 0.1]), np.array([0.5, 0.7, 3.0]), 0.05)
LEAST_SQUARES = Huber(1e12)


def reaction():
    """Two nonlinear equations, periodic in x, with an unknown that is only in a condition, and uneven readings."""
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 2.0)},
        ("u", "v"),
        ("u_t = D*u_xx - k*u*v + sin(u)", "v_t = k*u**2 - exp(D*v) + x*v"),
        {"D": Unknown(0.2, low=0.0), "k": Unknown(0.7), "a": Unknown(1.3)},
        conditions=("u = a*cos(2*pi*x) at t = 0", "v_t + a*v = 0.5 at t = 2"),
        periodic=("x",),
    )
    random = np.random.default_rng(2)
    table = pd.DataFrame(
        {"x": random.uniform(0, 1, 50), "t": random.uniform(0, 2, 50), "u": random.normal(size=50),
         "v": random.normal(1.0, 2.0, 50), "sigma": random.uniform(0.5, 2.0, 50)}
    )  # fmt: skip
    return Task(problem, read_table(table, ("x", "t"), ("u", "v")))


def decay(equation="u_t = -k*u", unknowns=None, rate=0.8, count=60):
    """Readings of an exponential with a little noise."""
    problem = Problem({"t": (0.0, 3.0)}, ("u",), (equation,), unknowns or {"k": Unknown(0.3)})
    times = np.linspace(0.0, 3.0, count)
    noise = np.random.default_rng(0).normal(0.0, 0.02, count)
    return Task(problem, read_table(pd.DataFrame({"t": times, "u": np.exp(-rate * times) + noise}), ("t",), ("u",)))


def started(task, cells, law, coefficients=None):
    """A system with all readings, and a state on it."""
    space = first_space(task, cells, task.fields)
    random = np.random.default_rng(4)
    state = State(
        random.normal(size=space.size) if coefficients is None else coefficients(space),
        np.array([unknown.started() for unknown in task.problem.unknowns.values()]),
        np.full(task.measured, 0.1) if law.located else np.zeros(task.measured),
        np.linspace(0.3, 0.5, task.measured),
        (law,),
    )
    return System(task, space, 2, np.ones(len(task.readings), bool), Meter()), state


def fitted_decay(task, cells=12, sigma=0.02, **options):
    system, state = started(task, (cells,), LEAST_SQUARES, lambda space: np.full(space.size, 0.4))
    state = replace(state, sigma=np.array([sigma]))
    units = measured_units(system, state)
    return solve(system, units, 1e-2, state, steps=40, least_gain=1e-9, **options)


def parameters(state):
    return np.concatenate([state.coefficients, state.unknowns, state.offsets])


def at(state, vector):
    """The state with all its parameters replaced."""
    size, unknowns = len(state.coefficients), len(state.unknowns)
    return state.moved(vector[:size], vector[size : size + unknowns], vector[size + unknowns :])


def weighted_residuals(system, units, state):
    """A vector whose half square is the objective without the readings' part."""
    value = evaluate(system, units, TOLERANCE, state)
    rows = []
    for residual, unit, weight in zip(value.residuals, units.equations, system.equation_weights, strict=True):
        rows.append(np.sqrt(2.0 * _weight(system, TOLERANCE) * weight) * residual.value / unit)
    tight = 2.0 * _weight(system, min(TOLERANCE, CONDITION_TOLERANCE))
    for face, unit in zip(value.faces, units.conditions, strict=True):
        rows.append(np.sqrt(tight * face.grid.weights) * face.value / unit)
    rows += [np.sqrt(tight) * (jump @ state.coefficients) for jump in system.jumps]
    rows.append(state.offsets / (LOCATION_PRIOR * state.sigma))
    return np.concatenate([row.ravel() for row in rows])


def jacobian(function, vector, step=1e-6):
    """Central differences, a column a parameter."""
    columns = [
        (function(vector + step * unit) - function(vector - step * unit)) / (2 * step) for unit in np.eye(len(vector))
    ]
    return np.stack(columns, axis=1)


def whole_matrix(normal, floor=0.0):
    """The normal matrix of coefficients and active border parameters, dense."""
    size = normal.matrix.size
    inner = np.stack([normal.matrix.times(unit) for unit in np.eye(size)], axis=1) + np.diag(
        np.broadcast_to(floor, size)
    )
    border = normal.border[:, normal.active]
    return np.block([[inner, border], [border.T, normal.corner[np.ix_(normal.active, normal.active)]]])


@pytest.fixture(scope="module")
def linearised():
    system, state = started(reaction(), (3, 2), LAW)
    units = measured_units(system, state)
    value = evaluate(system, units, TOLERANCE, state)
    return system, units, state, value, linearise(system, units, TOLERANCE, state, value)


def test_the_gradient_is_the_derivative_of_the_objective(linearised):
    system, units, state, _, normal = linearised
    gradient = np.concatenate([normal.gradient, normal.border_gradient])
    vector, step = parameters(state), 1e-6
    random = np.random.default_rng(0)
    border = np.eye(len(vector))[len(normal.gradient) :]
    for direction in (*random.normal(size=(12, len(vector))), *border):
        ends = [
            evaluate(system, units, TOLERANCE, at(state, vector + side * step * direction)).total for side in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2.0 * step)
        assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5 * np.abs(gradient).max())


def test_the_normal_matrix_is_that_of_all_residuals_and_readings(linearised):
    system, units, state, _, normal = linearised
    vector = parameters(state)
    rows = jacobian(lambda moved: weighted_residuals(system, units, at(state, moved)), vector)
    readings = jacobian(lambda moved: system.standardised(at(state, moved)), vector)
    curvature = LAW.curvature(system.standardised(state))
    wanted = rows.T @ rows + readings.T @ (curvature[:, None] * readings)
    assert normal.active.all()
    unit = 1.0 / np.sqrt(np.diag(wanted))
    scaled = unit[:, None] * unit[None, :]
    np.testing.assert_allclose(scaled * whole_matrix(normal), scaled * wanted, atol=2e-6)


def test_the_objective_is_the_sum_of_its_parts(linearised):
    system, units, state, value, _ = linearised
    data = LAW.loss(system.standardised(state)).sum()
    assert value.data == pytest.approx(data)
    others = 0.5 * np.sum(weighted_residuals(system, units, state) ** 2)
    assert value.total == pytest.approx(data + others, rel=1e-12)


def test_readings_count_by_their_known_spread(linearised):
    system, _, state, _, _ = linearised
    values, spread = system.task.readings.values, system.task.readings.spread
    field = system.task.readings.field_index
    predicted = system.everywhere @ state.coefficients
    wanted = ((values - predicted) / spread - state.offsets[field]) / state.sigma[field]
    np.testing.assert_allclose(system.standardised(state), wanted, rtol=1e-12)


def test_only_the_readings_that_count_are_in_the_objective(linearised):
    system, _, state, _, _ = linearised
    used = np.arange(system.count) % 3 > 0
    fewer = system.using(used)
    np.testing.assert_allclose(fewer.standardised(state), system.standardised(state)[used])
    assert fewer.count == used.sum()


def test_steps_never_raise_the_objective_and_reach_a_stationary_point():
    system, state = started(reaction(), (3, 2), Cauchy())
    units = measured_units(system, state)
    totals = [evaluate(system, units, TOLERANCE, state).total]
    for _ in range(25):
        solution = solve(system, units, TOLERANCE, state, steps=1, least_gain=0.0)
        state = solution.state
        totals.append(solution.value.total)
    assert all(after <= before * (1.0 + 1e-8) for before, after in itertools.pairwise(totals))
    end = linearise(system, units, TOLERANCE, state, solution.value)  # pyright: ignore[reportPossiblyUnboundVariable]
    # The gain that a further step promises.
    full = np.concatenate([end.gradient, end.border_gradient[end.active]])
    assert 0.5 * full @ np.linalg.solve(whole_matrix(end, end.floor), full) < 1e-3 * (totals[0] - totals[-1])


def test_a_linear_problem_is_solved_in_one_step():
    task = decay()
    system, state = started(task, (8,), LEAST_SQUARES)
    units = measured_units(system, state)
    before = linearise(system, units, TOLERANCE, state, evaluate(system, units, TOLERANCE, state))
    solution = solve(system, units, TOLERANCE, state, steps=1, free=False)
    after = linearise(system, units, TOLERANCE, solution.state, solution.value)
    np.testing.assert_array_equal(solution.state.unknowns, state.unknowns)
    assert np.abs(after.gradient).max() < 1e-4 * np.abs(before.gradient).max()


def test_standard_errors_are_those_of_the_dense_normal_matrix():
    solution = fitted_decay(decay())
    dense = np.linalg.inv(whole_matrix(solution.normal, solution.normal.floor))
    np.testing.assert_allclose(solution.covariance, dense[-1:, -1:], rtol=1e-5)
    assert solution.errors[0] == pytest.approx(np.sqrt(dense[-1, -1]), rel=1e-5)


def test_the_standard_error_of_a_rate_is_that_of_least_squares():
    """Of u = A exp(-k t), fitted with A and k both free: the equations are tight, the mesh is fine."""
    task = decay()
    solution = fitted_decay(task)
    times, k = task.points[:, 0], float(solution.state.unknowns[0])
    sensitivity = np.stack([np.exp(-k * times), -times * np.exp(-k * times)], axis=1) / 0.02
    wanted = np.sqrt(np.linalg.inv(sensitivity.T @ sensitivity)[1, 1])
    assert solution.errors[0] == pytest.approx(wanted, rel=0.05)
    assert abs(k - 0.8) < 4.0 * wanted


def test_covariances_have_the_order_of_the_border():
    system, state = started(reaction(), (3, 2), LAW)
    units = measured_units(system, state)
    solution = solve(system, units, TOLERANCE, state, steps=30, least_gain=1e-9)
    dense = np.linalg.inv(whole_matrix(solution.normal, solution.normal.floor))[-5:, -5:]
    unit = 1.0 / np.sqrt(np.diag(dense))
    scaled = unit[:, None] * unit[None, :]
    np.testing.assert_allclose(scaled * solution.covariance, scaled * dense, atol=1e-6)
    np.testing.assert_allclose(solution.errors, np.sqrt(np.diag(dense))[:3], rtol=1e-6)


def test_a_direction_that_nothing_determines_gets_a_huge_variance():
    unknowns = {"a": Unknown(0.3), "b": Unknown(0.2)}
    alone, both = fitted_decay(decay()), fitted_decay(decay("u_t = -(a + b)*u", unknowns))
    assert np.isfinite(both.covariance).all()
    total = np.ones(2) @ both.covariance @ np.ones(2)
    difference = np.array([1.0, -1.0]) @ both.covariance @ np.array([1.0, -1.0])
    assert total == pytest.approx(alone.covariance[0, 0], rel=0.05)
    assert difference > 1e6 * total
    assert both.state.unknowns.sum() == pytest.approx(alone.state.unknowns[0], abs=0.1 * alone.errors[0])


def test_the_inverse_is_exact_for_parameters_of_very_different_size():
    random = np.random.default_rng(6)
    rows, unit = random.normal(size=(10, 4)), np.array([1e-9, 1.0, 1e7, 1e-3])
    matrix = (rows / unit).T @ (rows / unit)
    wanted = np.linalg.inv(rows.T @ rows)
    np.testing.assert_allclose(inverse(matrix) / unit[:, None] / unit[None, :], wanted, rtol=1e-9)


def test_the_inverse_of_a_singular_matrix_is_finite_and_huge_where_it_is_singular():
    found = inverse(np.array([[2.0, 2.0], [2.0, 2.0]]))
    assert np.isfinite(found).all()
    assert np.array([1.0, -1.0]) @ found @ np.array([1.0, -1.0]) > 1e12
    assert inverse(np.zeros((0, 0))).shape == (0, 0)


def test_an_unknown_never_leaves_its_bounds():
    """The readings grow, so the rate would be negative; its bound is zero."""
    bounded = fitted_decay(decay(unknowns={"k": Unknown(0.3, low=0.0)}, rate=-0.5), sigma=0.05)
    assert bounded.state.unknowns[0] > 0.0
    assert bounded.state.unknowns[0] < 0.01
    free = fitted_decay(decay(rate=-0.5), sigma=0.05)
    assert free.state.unknowns[0] == pytest.approx(-0.5, abs=0.02)


def test_a_step_keeps_its_share_of_the_distance_to_a_bound():
    task = decay(unknowns={"k": Unknown(0.3, low=0.0, high=0.4)}, rate=3.0)
    system, state = started(task, (8,), LEAST_SQUARES, lambda space: np.full(space.size, 0.4))
    units = measured_units(system, state)
    for _ in range(6):
        after = solve(system, units, 1e-2, state, steps=1).state
        assert after.unknowns[0] >= NEARER_TO_BOUND * state.unknowns[0]
        assert 0.4 - after.unknowns[0] >= NEARER_TO_BOUND * (0.4 - state.unknowns[0]) * (1.0 - 1e-12)
        state = after


def test_an_equation_without_a_value_is_infinite_and_steps_avoid_it():
    task = decay("u_t = -k*sqrt(u)", rate=0.2)
    system, state = started(task, (8,), LEAST_SQUARES, lambda space: np.full(space.size, 0.5))
    units = measured_units(system, state)
    bad = replace(state, coefficients=-state.coefficients)
    assert evaluate(system, units, TOLERANCE, bad).total == np.inf
    solution = solve(system, units, TOLERANCE, state, steps=20)
    assert np.isfinite(solution.value.total)
    assert solution.value.total < evaluate(system, units, TOLERANCE, state).total


def test_spent_parameters_are_the_trace_of_the_hat_matrix():
    solution = fitted_decay(decay(count=200))
    system = solution.system
    weight = 1.0 / solution.state.sigma[0] ** 2
    design = system.rows.matrix.toarray()
    normal = whole_matrix(solution.normal, solution.normal.floor)[:-1, :-1]
    exact = weight * np.trace(design @ np.linalg.solve(normal, design.T))
    found, readings = spent(solution, probes=200)
    assert found.sum() == pytest.approx(exact, rel=0.3)
    assert readings == pytest.approx([200.0])


def test_periodicity_holds_at_the_solution():
    system, state = started(reaction(), (3, 2), Cauchy())
    units = measured_units(system, state)
    before = max(np.abs(jump @ state.coefficients).max() for jump in system.jumps)
    solution = solve(system, units, 1e-3, state, steps=30)
    after = max(np.abs(jump @ solution.state.coefficients).max() for jump in system.jumps)
    assert after < 1e-2 * before
    # Value and slope of both fields, along the whole of t.
    assert len(system.jumps) == 4


def test_cells_below_the_smallest_are_not_bisected():
    breaks = 7.0 + 3.0 * np.array([0.0, 0.9 * SMALLEST_CELL, 2.1 * SMALLEST_CELL, 0.5, 1.0])
    assert wide_enough(breaks).tolist() == [False, True, True, True]


def test_promised_gain_is_that_of_a_step_where_everything_is_linear():
    task = decay("u_t = k")
    system, state = started(task, (6,), LEAST_SQUARES, lambda space: np.full(space.size, 0.4))
    units = measured_units(system, state)
    before = solve(system, units, TOLERANCE, state, steps=0)
    after = solve(system, units, TOLERANCE, state, steps=30, least_gain=1e-12)
    assert before.promised_gain == pytest.approx(before.value.total - after.value.total, rel=1e-6)
    again = solve(system, units, TOLERANCE, after.state, steps=0)
    assert again.promised_gain == pytest.approx(0.0, abs=1e-6)
