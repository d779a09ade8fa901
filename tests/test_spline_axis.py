"""B-splines along one coordinate: values, derivatives, quadrature and refinement against closed forms and SciPy."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from napinn.field.splines.axis import Axis, uniform_axis

GRADED = np.array([-1.0, -0.7, -0.6, -0.55, 0.1, 0.4, 2.0])


def places_on(axis, count=157):
    """Places all over an axis, its breaks and both ends among them."""
    low, high = axis.breaks[[0, -1]]
    return np.sort(np.concatenate([np.linspace(low, high, count), axis.breaks]))


def matrix_of(axis, places, order=0):
    """(n, size): the derivative of every B-spline at every place."""
    full = np.zeros((len(places), axis.size))
    columns = axis.cell_of(places)[:, None] + np.arange(axis.degree + 1)
    np.put_along_axis(full, columns, axis.basis(places, order), axis=1)
    return full


def interpolated(axis, function):
    """The coefficients of the spline that agrees with a function at the Greville places."""
    greville = np.array([axis.knots[first + 1 : first + axis.degree + 1].mean() for first in range(axis.size)])
    return np.linalg.solve(matrix_of(axis, greville), function(greville))


@pytest.mark.parametrize("degree", [1, 2, 4, 5])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_values_and_derivatives_are_those_of_scipy(degree, order):
    axis = Axis(GRADED, degree)
    coefficients = np.random.default_rng(degree).normal(size=axis.size)
    # SciPy takes the right limit at a break too, and its last cell is closed as well.
    places = places_on(axis)[:-1]
    found = matrix_of(axis, places, order) @ coefficients
    theirs = BSpline(axis.knots, coefficients, degree)(places, nu=order) if order <= degree else np.zeros(len(places))
    np.testing.assert_allclose(found, theirs, rtol=1e-10, atol=1e-9 * np.abs(theirs).max(initial=1.0))


def test_a_derivative_above_the_degree_is_zero():
    axis = Axis(GRADED, 2)
    assert not axis.basis(places_on(axis), 3).any()


@pytest.mark.parametrize("degree", [1, 3, 4, 6])
def test_the_b_splines_are_positive_and_sum_to_one_up_to_the_ends(degree):
    axis = Axis(GRADED, degree)
    values = axis.basis(places_on(axis))
    assert (values >= -1e-15).all()
    np.testing.assert_allclose(values.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(axis.basis(places_on(axis), 1).sum(axis=1), 0.0, atol=1e-11)


def test_a_place_beyond_an_end_counts_as_the_end():
    axis = Axis(GRADED, 4)
    np.testing.assert_array_equal(axis.basis(np.array([-5.0, 9.0])), axis.basis(np.array([-1.0, 2.0])))
    np.testing.assert_array_equal(axis.cell_of(np.array([-5.0, 9.0])), [0, axis.cells - 1])


@pytest.mark.parametrize("degree", [2, 4, 5])
def test_polynomials_up_to_the_degree_are_reproduced_with_their_derivatives(degree):
    axis, places = Axis(GRADED, degree), places_on(Axis(GRADED, degree))
    polynomial = np.polynomial.Polynomial(np.random.default_rng(0).normal(size=degree + 1))
    coefficients = interpolated(axis, polynomial)
    for order in range(degree + 1):
        found = matrix_of(axis, places, order) @ coefficients
        wanted = polynomial.deriv(order)(places) if order else polynomial(places)
        np.testing.assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.parametrize("degree", [3, 4])
def test_interpolation_converges_with_one_order_more_than_the_degree(degree):
    places, errors = np.linspace(0.0, 2.0, 1001), []
    for cells in (10, 20, 40):
        axis = uniform_axis(0.0, 2.0, cells, degree)
        difference = matrix_of(axis, places) @ interpolated(axis, np.sin) - np.sin(places)
        errors.append(np.abs(difference).max())
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (orders > degree + 0.7).all()


def test_refinement_keeps_the_function():
    coarse = Axis(GRADED, 4)
    finer = coarse.bisected(np.array([True, False, True, True, False, True]))
    finest = finer.bisected(np.ones(finer.cells, bool))
    assert finer.cells == coarse.cells + 4
    places = places_on(coarse)
    coefficients = np.random.default_rng(1).normal(size=coarse.size)
    for fine in (finer, finest):
        raised = coarse.prolongation(fine) @ coefficients
        for order in (0, 1, 3):
            found, wanted = matrix_of(fine, places, order) @ raised, matrix_of(coarse, places, order) @ coefficients
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11 * np.abs(wanted).max())


def test_an_axis_that_is_not_refined_keeps_its_coefficients():
    axis = Axis(GRADED, 4)
    same = axis.prolongation(axis.bisected(np.zeros(axis.cells, bool)))
    np.testing.assert_allclose(same.toarray(), np.eye(axis.size), atol=1e-13)


@pytest.mark.parametrize("points", [2, 3])
def test_quadrature_is_exact_for_its_degree_and_its_weights_sum_to_one(points):
    axis = Axis(GRADED, 4)
    places, weights = axis.gauss(points)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    power = 2 * points - 1
    mean = (2.0 ** (power + 1) - (-1.0) ** (power + 1)) / (power + 1) / axis.length
    assert np.sum(weights * places**power) == pytest.approx(mean, rel=1e-12)
    assert (axis.cell_of(places.ravel()).reshape(places.shape) == np.arange(axis.cells)[:, None]).all()
