"""The stream operations against calculus done by hand: linearity, product and chain rule, mixed seconds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from napinn.field.streams import (
    SmoothFunction,
    Stream,
    add,
    concatenate,
    cosine,
    elementwise,
    linear,
    multiply,
    scale,
    seed,
    shift,
    shift_and_scale,
    silu,
    sine,
    subtract,
    tanh,
)

LAPLACIAN = ((0, 0), (1, 1))
MIXED = ((0, 1),)
SECONDS = [LAPLACIAN, MIXED, ((0, 0),)]

POINTS = jnp.asarray(np.random.default_rng(0).normal(size=(11, 2)))
X, Y = np.asarray(POINTS[:, :1]), np.asarray(POINTS[:, 1:])


def coordinates() -> tuple[Stream, Stream]:
    """The stream of x and the stream of y, each with one column."""
    both = seed(POINTS, [0, 1], SECONDS)
    unit = jnp.eye(2)
    x, y = linear(both, unit[:, :1]), linear(both, unit[:, 1:])
    assert isinstance(x, Stream)
    assert isinstance(y, Stream)
    return x, y


def assert_stream(found, value, first_x, first_y, xx, yy, xy):
    """All parts of a stream; a second that is None must be zero."""
    assert isinstance(found, Stream)
    np.testing.assert_allclose(found.value, value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(*np.broadcast_arrays(found.firsts[0], first_x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(*np.broadcast_arrays(found.firsts[1], first_y), rtol=1e-12, atol=1e-12)
    for pairs, expected in {LAPLACIAN: xx + yy, MIXED: xy, ((0, 0),): xx}.items():
        second = found.seconds[pairs]
        second = 0.0 if second is None else second
        np.testing.assert_allclose(*np.broadcast_arrays(second, expected), rtol=1e-12, atol=1e-12)


def test_seed_has_unit_firsts_and_no_seconds():
    x, y = coordinates()
    assert_stream(x, X, 1.0, 0.0, 0.0, 0.0, 0.0)
    assert_stream(y, Y, 0.0, 1.0, 0.0, 0.0, 0.0)


def test_seed_adds_the_firsts_that_seconds_need():
    assert set(seed(POINTS, [], [MIXED]).firsts) == {0, 1}
    assert set(seed(POINTS, [1], []).firsts) == {1}


def test_product_rule():
    x, y = coordinates()
    assert_stream(multiply(x, y), X * Y, Y, X, 0.0, 0.0, 1.0)
    square = multiply(x, x)
    assert_stream(square, X**2, 2.0 * X, 0.0, 2.0, 0.0, 0.0)
    # Both factors curved: x²y · xy = x³y².
    product = multiply(multiply(square, y), multiply(x, y))
    assert_stream(product, X**3 * Y**2, 3 * X**2 * Y**2, 2 * X**3 * Y, 6 * X * Y**2, 2 * X**3, 6 * X**2 * Y)


def test_chain_rule_on_a_curved_argument():
    x, y = coordinates()
    found = add(elementwise(multiply(x, y), sine), multiply(x, x))
    s, c = np.sin(X * Y), np.cos(X * Y)
    assert_stream(found, s + X**2, Y * c + 2 * X, X * c, 2 - Y**2 * s, -(X**2) * s, c - X * Y * s)


def test_chain_rule_twice():
    x, y = coordinates()
    found = elementwise(elementwise(add(x, scale(y, 2.0)), sine), cosine)
    z = X + 2 * Y
    slope = -np.sin(np.sin(z)) * np.cos(z)
    curve = -np.cos(np.sin(z)) * np.cos(z) ** 2 + np.sin(np.sin(z)) * np.sin(z)
    assert_stream(found, np.cos(np.sin(z)), slope, 2 * slope, curve, 4 * curve, 2 * curve)


def test_linear_operations():
    x, y = coordinates()
    curved = multiply(x, x)
    assert_stream(subtract(curved, y), X**2 - Y, 2 * X, -1.0, 2.0, 0.0, 0.0)
    assert_stream(subtract(y, curved), Y - X**2, -2 * X, 1.0, -2.0, 0.0, 0.0)
    assert_stream(scale(curved, jnp.asarray(3.0)), 3 * X**2, 6 * X, 0.0, 6.0, 0.0, 0.0)
    assert_stream(shift(curved, jnp.array([5.0])), X**2 + 5, 2 * X, 0.0, 2.0, 0.0, 0.0)
    moved = shift_and_scale(curved, jnp.array([5.0]), jnp.array([3.0]))
    assert_stream(moved, 3 * (X**2 + 5), 6 * X, 0.0, 6.0, 0.0, 0.0)


def test_concatenate_fills_rows_and_zeros():
    """One side curved, the other still with constant rows and no seconds."""
    x, y = coordinates()
    one, zero = np.ones_like(X), np.zeros_like(X)

    def row(*columns):
        return np.concatenate(columns, axis=1)

    expected = (row(zero, 2 * X), row(one, zero), row(zero, 2 * one), row(zero, zero), row(zero, zero))
    assert_stream(concatenate(y, multiply(x, x)), row(Y, X**2), *expected)
    both = concatenate(x, y)
    assert isinstance(both, Stream)
    assert all(second is None for second in both.seconds.values())


def test_linear_mixes_columns():
    x, y = coordinates()
    weight, bias = jnp.array([[2.0, -1.0], [3.0, 4.0]]), jnp.array([0.5, -0.5])
    found = linear(concatenate(multiply(x, x), multiply(x, y)), weight, bias)
    assert_stream(
        found,
        np.concatenate([2 * X**2 + 3 * X * Y + 0.5, -(X**2) + 4 * X * Y - 0.5], axis=1),
        np.concatenate([4 * X + 3 * Y, -2 * X + 4 * Y], axis=1),
        np.concatenate([3 * X, 4 * X], axis=1),
        np.array([[4.0, -2.0]]),
        np.zeros((1, 2)),
        np.array([[3.0, 4.0]]),
    )


def test_plain_arrays_get_the_values_of_streams():
    def expression(x, y):
        curved = subtract(elementwise(multiply(x, y), silu), scale(elementwise(x, tanh), 0.7))
        return shift(concatenate(add(curved, y), elementwise(y, cosine)), jnp.array([1.0, -2.0]))

    stream = expression(*coordinates())
    assert isinstance(stream, Stream)
    found = expression(POINTS[:, :1], POINTS[:, 1:])
    assert not isinstance(found, Stream)
    np.testing.assert_array_equal(found, stream.value)


@pytest.mark.parametrize("operation", [add, multiply, subtract, concatenate])
def test_an_array_is_not_taken_for_a_stream(operation):
    x, _ = coordinates()
    with pytest.raises(AssertionError):
        operation(x, POINTS[:, 1:])
    with pytest.raises(AssertionError):
        operation(POINTS[:, 1:], x)


@pytest.mark.parametrize("function", [tanh, sine, cosine, silu])
def test_closed_forms_agree_with_automatic_differentiation(function: SmoothFunction):
    points = jnp.linspace(-30.0, 30.0, 241)
    value, slope, curve = function.with_derivatives(points)
    np.testing.assert_allclose(function(points), value, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(slope, jax.jit(jax.vmap(jax.grad(function)))(points), rtol=1e-11, atol=1e-13)
    twice = jax.jit(jax.vmap(jax.grad(jax.grad(function))))(points)
    np.testing.assert_allclose(curve, twice, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("function", [tanh, sine, cosine, silu])
def test_derivatives_can_be_differentiated_again(function: SmoothFunction):
    """Training needs the gradient of the second derivative: the third, and finite far out."""
    points = jnp.array([-1e3, -3.0, 0.0, 0.5, 1e3])
    third = jax.jit(jax.vmap(jax.grad(lambda x: function.with_derivatives(x)[2])))(points)
    expected = jax.jit(jax.vmap(jax.grad(jax.grad(jax.grad(function)))))(points)
    assert bool(jnp.isfinite(third).all())
    np.testing.assert_allclose(third, expected, rtol=1e-10, atol=1e-12)
