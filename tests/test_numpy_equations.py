"""Equations in NumPy agree with the same equations in JAX, to rounding."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from napinn import InputError, Problem, Table, Unknown
from napinn.problem.equations import Derivative, UnknownLeaf

BOX = {"x": (0.0, 2.0), "t": (0.0, 1.0)}
RANDOM = np.random.default_rng(0)
POINTS = RANDOM.uniform((0.0, 0.0), (2.0, 1.0), (50, 2))
MAP = Table(("x", "t"), (np.array([0.0, 0.3, 2.0]), np.array([0.0, 0.4, 1.0])), RANDOM.uniform(size=(3, 3)))
SOURCE = Table(("t",), (np.linspace(0.0, 1.0, 5),), RANDOM.uniform(size=5))
TEXT = "u_t + c*u*u_x = D*u_xx + m*sin(2)*exp(-k*t) + q*max(u, 0.2)**1.5 - abs(x - 1)"


def function(point, fields, unknowns):
    left = fields.u_t + 0.7 * fields.u * fields.u_x
    right = unknowns.D * fields.u_xx + point.m * jnp.sin(2.0) * jnp.exp(-unknowns.k * point.t)
    return left - right - point.q * jnp.maximum(fields.u, 0.2) ** 1.5 + jnp.abs(point.x - 1)


def problem(equation) -> Problem:
    constants = {"c": 0.7} if isinstance(equation, str) else {}
    unknowns = {"D": Unknown(0.3), "k": Unknown(0.5)}
    return Problem(BOX, ("u",), (equation,), unknowns, constants, tables={"m": MAP, "q": SOURCE})


VALUES = {terms: RANDOM.uniform(0.1, 1.0, (50, 1)) for terms in problem(TEXT).wanted}
FOUND = {"D": 0.35, "k": 0.45}


def test_residuals_in_numpy_are_those_in_jax():
    plain = problem(TEXT).residuals(POINTS, VALUES, FOUND)
    assert isinstance(plain, np.ndarray)
    known = {terms: jnp.asarray(array) for terms, array in VALUES.items()}
    traced = problem(TEXT).residuals(jnp.asarray(POINTS), known, {name: jnp.asarray(x) for name, x in FOUND.items()})
    assert not isinstance(traced, np.ndarray)
    np.testing.assert_allclose(plain, traced, rtol=1e-12, atol=1e-13)


def test_a_python_function_is_linearised_as_the_same_text():
    (equation,), (other,) = problem(TEXT).system, problem(function).system
    value, partials = problem(TEXT).linearised(equation, POINTS, VALUES, FOUND)
    again, others = problem(function).linearised(other, POINTS, VALUES, FOUND)
    np.testing.assert_allclose(value, again, rtol=1e-10)
    leaves = {Derivative("u", terms) for terms in VALUES} | {UnknownLeaf("D"), UnknownLeaf("k")}
    assert set(partials) == set(others) == leaves
    for leaf, slope in partials.items():
        np.testing.assert_allclose(np.broadcast_to(slope, 50), others[leaf], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("beyond", [-0.5, 2.5])
def test_a_table_stays_what_it_is_beyond_its_last_node(beyond):
    inside, outside = (MAP.at([np.array([x]), np.array([0.2])]) for x in (np.clip(beyond, 0.0, 2.0), beyond))
    np.testing.assert_array_equal(inside, outside)
    np.testing.assert_allclose(outside, MAP.at([jnp.asarray([beyond]), jnp.asarray([0.2])]), rtol=1e-12)


@pytest.mark.parametrize(
    "unknown", [Unknown(0.3), Unknown(0.3, low=0.0), Unknown(0.3, high=1.0), Unknown(0.3, 0.1, 0.9)]
)
@pytest.mark.parametrize("raw", [-40.0, -1.5, 0.0, 2.0, 40.0])
def test_an_unknown_is_the_same_number_in_numpy(unknown, raw):
    assert float(unknown.value(raw, 2.0)) == pytest.approx(float(unknown.value(jnp.asarray(raw), 2.0)), rel=1e-12)


def test_the_place_of_a_condition_is_exact():
    box = {"x": (0.0, 2.0 * math.pi)}
    (placed,) = Problem(box, ("u",), ("u_x = 1",), conditions=("u = 0 at x = 2*pi",)).placed
    assert placed.at == {"x": 2.0 * math.pi}
    with pytest.raises(InputError, match="is not finite"):
        Problem(box, ("u",), ("u_x = 1",), conditions=("u = 0 at x = log(0)",))
