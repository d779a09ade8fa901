"""Tensor-product splines: grids, designs, refinement and bandwidth agree with each other and with closed forms."""

import numpy as np
import pytest
import scipy.sparse as sparse

from napinn.engines.splines.model import fields_at
from napinn.field.splines.axis import Axis, uniform_axis
from napinn.field.splines.banded import Banded
from napinn.field.splines.space import Space, box_grid, face_grid

GRADED = Axis(np.array([0.0, 0.2, 0.3, 0.8, 1.0]), 4)
SPACES = {
    "one axis": Space((uniform_axis(0.0, 2.0, 7, 4),), 2),
    "two axes": Space((GRADED, uniform_axis(-1.0, 1.0, 6, 5)), 2),
    "a periodic axis": Space((uniform_axis(-1.0, 1.0, 9, 4), GRADED), 2, frozenset({0})),
    "three axes": Space((GRADED, uniform_axis(0.0, 1.0, 2, 4), uniform_axis(-1.0, 1.0, 5, 3)), 1),
}


@pytest.fixture(params=SPACES.values(), ids=SPACES.keys())
def space(request):
    return request.param


def coefficients_of(space, seed=0):
    return np.random.default_rng(seed).normal(size=space.size)


def points_of(grid):
    return np.stack([along.ravel() for along in grid.coordinates], axis=1)


def orders_of(space):
    """The value, a first derivative along each axis, and a mixed derivative."""
    count = len(space.axes)
    return [(0,) * count, *map(tuple, np.eye(count, dtype=int).tolist()), (2, *[1] * (count - 1))]


def random_points(space, count=60):
    low, high = (np.array([axis.breaks[end] for axis in space.axes]) for end in (0, -1))
    return low + (high - low) * np.random.default_rng(5).uniform(size=(count, len(space.axes)))


def test_values_on_a_grid_are_those_of_the_design_matrix(space):
    coefficients = coefficients_of(space)
    for grid in (box_grid(space, 2), face_grid(space, {0: float(space.axes[0].breaks[-1])})):
        points = points_of(grid)
        for orders in orders_of(space):
            for field in range(space.fields):
                found = grid.values(coefficients, field, orders)
                wanted = (space.design(points, field, orders) @ coefficients).reshape(grid.cells, grid.points)
                np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


def test_the_jacobian_of_a_grid_has_the_columns_of_the_design_matrix(space):
    grid, part = box_grid(space, 2), slice(1, None)
    single, random = space.with_fields(1), np.random.default_rng(3)
    terms, wanted = [], 0.0
    for orders in orders_of(space):
        full = single.design(points_of(grid), 0, orders).toarray().reshape(grid.cells, grid.points, -1)
        columns = grid.first[:, None] + space.offsets
        slope = random.normal(size=(grid.cells, grid.points))
        own = np.stack([row[:, column] for row, column in zip(full, columns, strict=True)]) * slope[..., None]
        terms, wanted = [*terms, (orders, slope[part])], wanted + own
        alone = grid.jacobian([(orders, slope[part])], part)
        np.testing.assert_allclose(alone, own[part], rtol=1e-12, atol=1e-12 * np.abs(own).max())
    np.testing.assert_allclose(grid.jacobian(terms, part), wanted[part], rtol=1e-12, atol=1e-11 * np.abs(wanted).max())  # pyright: ignore[reportIndexIssue]


def test_transposed_is_the_adjoint_of_values(space):
    grid, coefficients = box_grid(space, 3), coefficients_of(space)
    weights = np.random.default_rng(1).normal(size=(grid.cells, grid.points))
    for orders in orders_of(space):
        for field in range(space.fields):
            forward = np.sum(weights * grid.values(coefficients, field, orders))
            own = coefficients.reshape(space.functions, space.fields)[:, field]
            assert forward == pytest.approx(grid.transposed(weights, orders) @ own, rel=1e-10)


def test_weights_of_the_box_and_of_a_face_sum_to_one(space):
    for grid in (box_grid(space, 2), face_grid(space, {0: 0.25})):
        assert grid.weights.sum() == pytest.approx(1.0, abs=1e-13)
        assert grid.weights.shape == (grid.cells, grid.points)


def test_a_face_has_its_coordinate_fixed(space):
    grid = face_grid(space, {0: 0.25})
    assert (grid.coordinates[0] == 0.25).all()


def test_prolongation_keeps_every_field_and_derivative(space):
    marks = [np.arange(axis.cells) % 2 == number % 2 for number, axis in enumerate(space.axes)]
    finer = space.bisected(marks)
    coefficients, points = coefficients_of(space), random_points(space)
    raised = space.prolonged(coefficients, finer)
    assert finer.size > space.size
    for orders in orders_of(space):
        wanted = fields_at(space, coefficients, points, orders)
        np.testing.assert_allclose(fields_at(finer, raised, points, orders), wanted, atol=1e-10 * np.abs(wanted).max())


def test_prolongation_keeps_the_field_where_another_axis_becomes_the_slow_one():
    space = SPACES["two axes"]
    finer = space.bisected([np.ones(4, bool), np.zeros(6, bool)])
    assert finer.order != space.order
    coefficients, points = coefficients_of(space), random_points(space)
    found = fields_at(finer, space.prolonged(coefficients, finer), points, (0, 0))
    np.testing.assert_allclose(found, fields_at(space, coefficients, points, (0, 0)), atol=1e-11)


def test_a_product_of_polynomials_is_reproduced():
    """Coefficients of x^2 along one axis and t^3 along the other multiply."""
    space = Space((GRADED, uniform_axis(-1.0, 1.0, 6, 5)), 1)
    along = []
    for axis, power in zip(space.axes, (2, 3), strict=True):
        line = Space((axis,), 1)
        places = np.linspace(axis.breaks[0], axis.breaks[-1], 4 * axis.size)
        along.append(np.linalg.lstsq(line.design(places[:, None], 0).toarray(), places**power)[0])
    coefficients = np.multiply.outer(*(along[axis] for axis in space.order)).ravel()
    points = random_points(space)
    x, t = points.T
    np.testing.assert_allclose(fields_at(space, coefficients, points, (0, 0))[:, 0], x**2 * t**3, atol=1e-11)
    np.testing.assert_allclose(fields_at(space, coefficients, points, (1, 2))[:, 0], 2 * x * 6 * t, atol=1e-8)


def test_coefficients_that_share_a_cell_are_within_the_bandwidth(space):
    grid = box_grid(space, 2)
    fields = [np.abs(space.design(points_of(grid), field).toarray()) for field in range(space.fields)]
    rows = np.sum(fields, axis=0)
    touched = sparse.coo_array(rows.T @ rows > 0)
    assert np.abs(touched.row - touched.col).max() <= space.bandwidth
    assert int(space.all_offsets[-1]) <= space.bandwidth


def test_both_ends_of_a_periodic_axis_are_within_the_bandwidth():
    space = SPACES["a periodic axis"]
    # As the longer axis it would be the slow one, and the band the whole matrix.
    assert space.order == (1, 0)
    assert space.bandwidth < space.size - 1
    for order in (0, 1, 3):
        ends = [points_of(face_grid(space, {0: place})) for place in (-1.0, 1.0)]
        low, high = (space.design(end, 1, (order, 0)) for end in ends)
        jump = sparse.csr_array(high - low)
        square = sparse.csr_array(jump.T @ jump)
        coupled = square.tocoo()
        assert np.abs(coupled.row - coupled.col).max() <= space.bandwidth
        band = Banded(space.size, space.bandwidth)
        band.add_sparse(square)
        vector = coefficients_of(space)
        np.testing.assert_allclose(band.times(vector), square @ vector, atol=1e-9 * np.abs(square @ vector).max())


def test_fields_are_separate():
    space = SPACES["two axes"]
    coefficients = np.zeros((space.functions, 2))
    coefficients[:, 1] = 3.0
    found = fields_at(space, coefficients.ravel(), random_points(space), (0, 0))
    np.testing.assert_allclose(found, np.tile([0.0, 3.0], (60, 1)), atol=1e-13)
