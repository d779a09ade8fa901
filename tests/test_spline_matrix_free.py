"""Matrix-free steps: products against formed matrices, conjugate gradients, and agreement with banded steps."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, read_table
from napinn.engines.splines import matrix_free
from napinn.engines.splines import system as systems
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.matrix_free import (
    DAMPING,
    Iterative,
    MatrixFree,
    Preconditioner,
    SingleFactor,
    _factored,
    conjugate_gradients,
)
from napinn.engines.splines.normal_equations import evaluate, linearise
from napinn.engines.splines.smoothing import smoothed
from napinn.engines.splines.solver import NEARER_TO_BOUND, _step, solve, spent
from napinn.engines.splines.task import Task
from napinn.field.splines.axis import Axis
from napinn.field.splines.banded import Banded, Factor, NotPositiveError
from napinn.field.splines.factorised import LEAST_FILLED, FactorisedGrid, ResidualRows, table_of
from napinn.field.splines.space import Space, box_grid
from test_spline_solver import LAW, LEAST_SQUARES, TOLERANCE, reaction, started

SPACE = Space((Axis(np.array([0.0, 0.3, 1.0]), 3), Axis(np.linspace(0.0, 2.0, 5), 4), Axis(np.array([0.0, 1.0]), 2)), 2)


@pytest.fixture
def always(monkeypatch):
    """Matrix-free steps on meshes of any size."""
    monkeypatch.setattr(systems, "MATRIX_FREE_FROM", 0.0)


def heat(sensors=6, times=20):
    """Two rods that exchange heat, measured at fixed sensors with a common clock, some readings missing."""
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 1.0)},
        ("u", "v"),
        ("u_t = D*u_xx + k*(v - u)", "v_t = k*(u - v)"),
        {"D": Unknown(0.05, low=0.0), "k": Unknown(0.5)},
    )
    x, t = (each.ravel() for each in np.meshgrid(np.linspace(0, 1, sensors), np.linspace(0, 1, times), indexing="ij"))
    wave, random = np.cos(np.pi * x) * np.exp(-t), np.random.default_rng(3)
    table = pd.DataFrame({"x": x, "t": t, "u": wave, "v": 0.6 * wave + 0.2})
    table[["u", "v"]] += random.normal(0.0, 0.02, (len(table), 2))
    return Task(problem, read_table(table.drop(index=[4, 17, 60]), ("x", "t"), ("u", "v")))


def dense(matrix):
    """All entries of a banded matrix."""
    return np.stack([matrix.times(column) for column in np.eye(matrix.size)], axis=1)


def test_sum_factorised_products_are_those_of_the_dense_jacobian():
    grid, random = box_grid(SPACE, 2), np.random.default_rng(0)
    points = np.stack([along.ravel() for along in grid.coordinates], axis=1)
    slopes = random.normal(size=(3, *grid.weights.shape))
    terms = [[(0, (0, 0, 0), slopes[0]), (1, (2, 0, 0), slopes[1])], [(0, (0, 1, 1), slopes[2])]]
    jacobian = np.concatenate(
        [
            sum(slope.reshape(-1, 1) * SPACE.design(points, field, orders).toarray() for field, orders, slope in each)
            for each in terms
        ]
    )
    ordered = [[(field, orders, grid.by_axis(slope)) for field, orders, slope in each] for each in terms]
    rows = ResidualRows(FactorisedGrid(grid), ordered)
    vector, values = random.normal(size=SPACE.size), random.normal(size=(2, *grid.weights.shape))
    expected = (jacobian @ vector).reshape(2, *grid.weights.shape)
    for found, each in zip(rows.times(vector), expected, strict=True):
        np.testing.assert_allclose(found, grid.by_axis(each), atol=1e-9)
    found = rows.transposed([grid.by_axis(each) for each in values])
    np.testing.assert_allclose(found, jacobian.T @ values.ravel(), atol=1e-9)


def grid_of_readings(share, seed=0):
    """Points and fields of a share of all readings of nine places at seven instants."""
    places, instants = np.meshgrid(np.arange(9), np.linspace(0.0, 1.0, 7), indexing="ij")
    where = np.stack([(places % 3) / 2.0, (places // 3) * 1.0, instants], axis=-1).reshape(-1, 3)
    points, field = np.tile(where, (2, 1)), np.repeat([0, 1], len(where))
    kept = np.sort(np.random.default_rng(seed).permutation(len(points))[: round(share * len(points))])
    return points[kept], field[kept]


def test_a_table_of_places_and_instants_gives_what_single_readings_do():
    points, field = grid_of_readings(0.8)
    table, design = table_of(SPACE, points, field), SPACE.design(points, field)
    assert table is not None
    random = np.random.default_rng(1)
    vector, values = random.normal(size=SPACE.size), random.normal(size=len(points))
    np.testing.assert_allclose(table.times(vector), design @ vector, atol=1e-12)
    np.testing.assert_allclose(table.transposed(values), design.T @ values, atol=1e-12)


def test_readings_are_a_table_only_where_enough_of_it_is_filled():
    assert table_of(SPACE, *grid_of_readings(LEAST_FILLED + 0.02)) is not None
    assert table_of(SPACE, *grid_of_readings(LEAST_FILLED - 0.02)) is None
    scattered = np.random.default_rng(0).uniform(size=(40, 3))
    assert table_of(SPACE, scattered, np.zeros(40, int)) is None


@pytest.mark.parametrize("law", [LAW, LEAST_SQUARES])
def test_the_normal_equations_are_those_of_the_banded_matrix(always, law):
    task = reaction()
    system, state = started(task, (5, 4), law)
    units = measured_units(system, state)
    value = evaluate(system, units, TOLERANCE, state)
    free = linearise(system, units, TOLERANCE, state, value)
    direct = linearise(system, units, TOLERANCE, state, value, direct=True)
    assert isinstance(free.matrix, MatrixFree)
    assert isinstance(direct.matrix, Banded)
    vector = np.random.default_rng(5).normal(size=system.space.size)
    np.testing.assert_allclose(free.matrix.times(vector), direct.matrix.times(vector), rtol=1e-9, atol=1e-6)
    for name in ("gradient", "border", "corner", "border_gradient", "active"):
        np.testing.assert_allclose(getattr(free, name), getattr(direct, name), rtol=1e-9, atol=1e-7, err_msg=name)


def solved(task):
    """From the smoothed readings, until steps gain nothing."""
    system, state = started(
        task,
        (5, 4),
        LEAST_SQUARES,
        lambda space: smoothed(task, space, 1e-3, Meter(), np.ones(len(task.readings), bool)),
    )
    state = replace(state, sigma=np.full(2, 0.02))
    return solve(system, measured_units(system, state), 0.1, state, steps=15, least_gain=1e-6)


def test_matrix_free_steps_end_where_banded_ones_do(monkeypatch):
    task = heat()
    direct = solved(task)
    monkeypatch.setattr(systems, "MATRIX_FREE_FROM", 0.0)
    free = solved(task)
    assert isinstance(direct.factor, Factor)
    assert isinstance(free.factor, Iterative)
    assert free.system.table is not None
    assert free.value.total == pytest.approx(direct.value.total, abs=0.01)
    np.testing.assert_allclose(free.state.unknowns, direct.state.unknowns, atol=0.02 * direct.errors.min())
    np.testing.assert_allclose(free.errors, direct.errors, rtol=0.01)
    # Two probes in place of eight: about twice the random error of the trace.
    assert spent(free)[0].sum() == pytest.approx(spent(direct)[0].sum(), rel=0.4)


def test_a_step_that_a_bound_stops_is_the_banded_one(always):
    whole = heat()
    # Bounds so near that the step would take D beyond one of them.
    unknowns = {"D": Unknown(0.05, low=0.049, high=0.0505), "k": Unknown(0.5)}
    task = Task(replace(whole.problem, unknowns=unknowns), whole.readings)
    system, state = started(
        task,
        (4, 3),
        LEAST_SQUARES,
        lambda space: smoothed(task, space, 1e-3, Meter(), np.ones(len(task.readings), bool)),
    )
    units = measured_units(system, state)
    value = evaluate(system, units, TOLERANCE, state)
    free, direct = (_step(system, state, linearise(system, units, TOLERANCE, state, value, direct=each), 1e-6)
                    for each in (False, True))  # fmt: skip
    bounds = (0.049 + NEARER_TO_BOUND * 0.001, 0.0505 - NEARER_TO_BOUND * 0.0005)
    assert direct.unknowns[0] == pytest.approx(min(bounds, key=lambda bound: abs(bound - direct.unknowns[0])))
    np.testing.assert_allclose(free.unknowns, direct.unknowns, rtol=0.02)
    size = np.linalg.norm(direct.coefficients - state.coefficients)
    assert np.linalg.norm(free.coefficients - direct.coefficients) < 0.05 * size


def test_draws_have_the_covariance_of_the_banded_factor(monkeypatch):
    task, white = heat(), np.random.default_rng(0).normal(size=(220, 3))
    system, state = started(task, (6, 5), LEAST_SQUARES)
    direct = solve(system, measured_units(system, state), 0.1, state, steps=0)
    monkeypatch.setattr(systems, "MATRIX_FREE_FROM", 0.0)
    system, state = started(task, (6, 5), LEAST_SQUARES)
    free = solve(system, measured_units(system, state), 0.1, state, steps=0)
    white = white[: system.space.size]
    np.testing.assert_allclose(free.factor.half_solved(white), direct.factor.half_solved(white), rtol=1e-9)
    lower = np.linalg.cholesky(dense(direct.normal.matrix) + np.diag(direct.normal.floor))
    np.testing.assert_allclose(direct.factor.half_solved(white), np.linalg.solve(lower.T, white), rtol=1e-5)


def test_steps_are_matrix_free_from_a_cost_on(monkeypatch):
    system, _ = started(heat(), (6, 5), LEAST_SQUARES)
    seconds = system.step_seconds
    for limit, free in ((1.01 * seconds, False), (0.99 * seconds, True)):
        monkeypatch.setattr(systems, "MATRIX_FREE_FROM", limit)
        assert started(heat(), (6, 5), LEAST_SQUARES)[0].matrix_free is free


def random_matrix(size, seed=0):
    square = np.random.default_rng(seed).normal(size=(size, size))
    return square @ square.T + 0.1 * np.eye(size)


def banded_of(matrix):
    found = Banded(len(matrix), len(matrix) - 1)
    for column in range(len(matrix)):
        found.entries.reshape(len(matrix), -1)[column, : len(matrix) - column] = matrix[column:, column]
    return found


def test_conjugate_gradients_solve_and_an_exact_inverse_takes_one_iteration():
    matrix, right = random_matrix(20), np.arange(20.0)
    expected = np.linalg.solve(matrix, right)
    found, count = conjugate_gradients(lambda v: matrix @ v, lambda v: v, right, np.zeros(20), 1e-10)
    assert 1 < count <= 60
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    inverse = np.linalg.inv(matrix)
    found, count = conjugate_gradients(lambda v: matrix @ v, lambda v: inverse @ v, right, np.zeros(20), 1e-6)
    assert count == 1
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert conjugate_gradients(lambda v: matrix @ v, lambda v: inverse @ v, right, expected, 1e-6)[1] == 0


def test_conjugate_gradients_end_at_the_most_iterations_and_refuse_a_negative_matrix():
    matrix = random_matrix(30)
    assert conjugate_gradients(lambda v: matrix @ v, lambda v: v, np.ones(30), np.zeros(30), 1e-12, most=3)[1] == 3
    with pytest.raises(NotPositiveError):
        conjugate_gradients(lambda v: -v, lambda v: v, np.ones(3), np.zeros(3), 1e-6)


def test_a_factor_in_single_precision_solves_to_its_precision_in_any_units():
    units = 10.0 ** np.linspace(-8.0, 8.0, 12)
    matrix = random_matrix(12) * units[:, None] * units[None, :]
    damped = matrix + DAMPING * np.diag(np.diag(matrix))
    right = matrix @ (1.0 / units)
    found = SingleFactor(banded_of(matrix)).solve(right)
    np.testing.assert_allclose(found * units, np.linalg.solve(damped, right) * units, rtol=2e-3)


def test_double_precision_takes_over_where_single_has_no_factor(monkeypatch):
    monkeypatch.setattr(matrix_free, "DAMPING", 0.0)
    values, vectors = np.linalg.eigh(random_matrix(12))
    # Eigenvalues that are lost in single precision and kept in double.
    stretched = (vectors * np.append(np.full(6, 1e-9), values[6:])) @ vectors.T
    assert isinstance(_factored(banded_of(random_matrix(12))), SingleFactor)
    assert isinstance(_factored(banded_of(stretched)), Factor)


def test_a_preconditioner_serves_its_tolerance_and_parameters_until_it_is_stale():
    matrix, columns = banded_of(random_matrix(8)), np.ones((8, 2))
    kept = Preconditioner(matrix, columns, np.diag([100.0, 0.0]), 0.1)
    only, both = np.array([True, False]), np.array([True, True])
    assert kept.serves(0.1, only)
    assert not kept.serves(0.03, only)
    assert not kept.serves(0.1, both)
    kept.iterations = 10**6
    assert not kept.serves(0.1, only)


def test_the_inverse_of_a_bordered_matrix_is_exact_at_its_own_state():
    own, columns = random_matrix(8), np.random.default_rng(1).normal(size=(8, 2))
    corner = columns.T @ np.linalg.solve(own, columns) + np.eye(2)
    whole = np.block([[own, columns], [columns.T, corner]])
    kept = Preconditioner(banded_of(own), columns, corner, 0.1)
    right = np.arange(10.0)
    np.testing.assert_allclose(kept.bordered(np.array([True, True]))(right), np.linalg.solve(whole, right), rtol=0.02)
