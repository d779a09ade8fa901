"""Partial derivatives of expressions: closed forms, finite differences, and agreement with JAX."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napinn.problem.equations import Names, parse_expression, value_and_partials
from napinn.problem.equations.gradient import RULES
from napinn.problem.equations.tree import (
    ARITY,
    FUNCTIONS,
    Applied,
    Call,
    Constant,
    Coordinate,
    Derivative,
    Expression,
    Number,
    Power,
    Product,
    Sum,
    UnknownLeaf,
    evaluate,
    walk,
)

U, UX, A, K = Derivative("u", ((),)), Derivative("u", (("x",),)), UnknownLeaf("a"), UnknownLeaf("k")
C, X = Constant("c", 1.7), Coordinate("x")
NAMES = Names(("x",), ("u",), ("a", "k"), {"c": 1.7})
VALUES = {U: np.linspace(0.2, 0.9, 7), UX: np.linspace(0.8, 0.3, 7), A: 0.6, K: 0.45, C: 1.7, X: np.linspace(0, 1, 7)}


def look_up(leaf):
    return VALUES[leaf]


def shifted(tree: Expression, leaf, step: float) -> np.ndarray:
    return evaluate(tree, lambda each: VALUES[each] + step * (each == leaf))


def test_every_function_has_a_rule():
    assert set(RULES) == set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree_with_central_differences(name: str):
    tree = Call(name, (U, UX)[: ARITY[name]])
    value, partials = value_and_partials(tree, look_up)
    np.testing.assert_array_equal(value, evaluate(tree, look_up))
    assert set(partials) == {U, UX} if ARITY[name] == 2 else {U}
    for leaf, partial in partials.items():
        measured = (shifted(tree, leaf, 1e-5) - shifted(tree, leaf, -1e-5)) / 2e-5
        np.testing.assert_allclose(partial, measured, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("text", "partials"),
    [
        ("u_x + k*u - c*x", {UX: lambda: 1.0, K: lambda: VALUES[U], U: lambda: 0.45}),
        ("u*u", {U: lambda: 2.0 * VALUES[U]}),
        ("a/u", {A: lambda: 1.0 / VALUES[U], U: lambda: -0.6 / VALUES[U] ** 2}),
        ("1/(a*u_x)", {A: lambda: -1.0 / (0.36 * VALUES[UX]), UX: lambda: -1.0 / (0.6 * VALUES[UX] ** 2)}),
        ("u**3", {U: lambda: 3.0 * VALUES[U] ** 2}),
        ("u**(-2)", {U: lambda: -2.0 * VALUES[U] ** -3}),
        ("u**c", {U: lambda: 1.7 * VALUES[U] ** 0.7}),
        ("u**0.5", {U: lambda: 0.5 / np.sqrt(VALUES[U])}),
        ("u**100", {U: lambda: 100.0 * VALUES[U] ** 99}),
        (
            "u**a",
            {U: lambda: 0.6 * VALUES[U] ** -0.4, A: lambda: np.log(VALUES[U]) * VALUES[U] ** 0.6},
        ),
        ("c**k", {K: lambda: np.log(1.7) * 1.7**0.45}),
        (
            "exp(-k*u)",
            {U: lambda: -0.45 * np.exp(-0.45 * VALUES[U]), K: lambda: -VALUES[U] * np.exp(-0.45 * VALUES[U])},
        ),
        ("u**0", {}),
        ("sin(x) + c", {}),
    ],
)
def test_closed_forms(text: str, partials: dict):
    tree = parse_expression(text, NAMES)
    value, found = value_and_partials(tree, look_up)
    np.testing.assert_allclose(value, evaluate(tree, look_up), rtol=1e-15)
    assert set(found) == set(partials)
    for leaf, expected in partials.items():
        np.testing.assert_allclose(found[leaf], expected(), rtol=1e-12)


def test_one_number_stays_one_number_beside_arrays():
    value, partials = value_and_partials(parse_expression("k*u_x + a**2", NAMES), look_up)
    assert np.shape(value) == (7,)
    assert np.shape(partials[UX]) == ()
    assert np.shape(partials[A]) == ()
    assert np.shape(partials[K]) == (7,)


def test_a_leaf_is_looked_up_once_and_wanted_says_which_count():
    asked = []

    def counted(leaf):
        asked.append(leaf)
        return VALUES[leaf]

    tree = parse_expression("u*u_x + x*u + k*u", NAMES)
    _, partials = value_and_partials(tree, counted, lambda leaf: isinstance(leaf, Coordinate | UnknownLeaf))
    assert sorted(map(repr, asked)) == sorted(map(repr, {U, UX, X, K}))
    assert set(partials) == {X, K}
    np.testing.assert_array_equal(partials[X], VALUES[U])


@pytest.mark.parametrize("exponent", [1, 2, 3, 7])
def test_integer_powers_have_a_finite_slope_at_zero(exponent: int):
    value, partials = value_and_partials(Power(U, Number(float(exponent))), lambda leaf: np.zeros(1))
    assert value == 0.0
    assert partials[U] == (1.0 if exponent == 1 else 0.0)


def test_conventions_where_a_slope_jumps():
    for tree, expected in ((Call("abs", (U,)), {U: 0.0}), (Call("min", (U, UX)), {U: 0.5, UX: 0.5})):
        assert value_and_partials(tree, lambda leaf: 0.0)[1] == expected
    # A power of zero: x**0 has no slope along x, and 0**y none along y.
    assert value_and_partials(Power(U, A), {U: 0.0, A: 2.5}.__getitem__)[1] == {U: 0.0, A: 0.0}
    assert value_and_partials(Power(U, A), {U: 2.0, A: 0.0}.__getitem__)[1][U] == 0.0


def test_what_is_not_defined_gives_no_warning():
    value, partials = value_and_partials(parse_expression("1/u + log(u) + sqrt(u - 1)", NAMES), lambda leaf: 0.0)
    assert not np.isfinite(value)
    assert not np.isfinite(partials[U])


def test_an_operator_is_taken_apart():
    operator = ((((),), UnknownLeaf("a")), ((("x",),), Number(2.0)))
    value, partials = value_and_partials(Applied("u", operator), look_up)
    np.testing.assert_allclose(value, 0.6 * VALUES[U] + 2.0 * VALUES[UX])
    assert set(partials) == {U, UX, A}
    np.testing.assert_array_equal(partials[A], VALUES[U])


LEAVES = st.sampled_from([U, UX, A, K, C, X, Number(0.5), Number(2.0), Number(-1.5)])


def _grown(inner: st.SearchStrategy) -> st.SearchStrategy:
    signed = st.tuples(st.sampled_from([1, -1]), inner)
    return st.one_of(
        st.lists(signed, min_size=1, max_size=3).map(lambda parts: Sum(tuple(parts))),
        st.lists(signed, min_size=1, max_size=3).map(lambda parts: Product(tuple(parts))),
        st.tuples(inner, st.one_of(inner, st.sampled_from([Number(2.0), Number(3.0), Number(-1.0)]))).map(
            lambda pair: Power(*pair)
        ),
        st.sampled_from([name for name in FUNCTIONS if ARITY[name] == 1]).flatmap(
            lambda name: inner.map(lambda one: Call(name, (one,)))
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda three: Call(three[0], three[1:])),
    )


# Checks of types at run time draw which item of a container they look at.
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.recursive(LEAVES, _grown, max_leaves=8))
def test_random_trees_agree_with_jax(tree: Expression):
    wanted = [leaf for leaf in dict.fromkeys(walk(tree)) if isinstance(leaf, Derivative | UnknownLeaf)]
    arrays = {leaf: np.broadcast_to(np.asarray(value, float), (7,)) for leaf, value in VALUES.items()}
    value, partials = value_and_partials(tree, arrays.__getitem__)
    assert set(partials) <= set(wanted)
    with jax.enable_x64(True):
        whole = {leaf: jax.numpy.asarray(array) for leaf, array in arrays.items()}
        for leaf in wanted:
            along = lambda moved, leaf=leaf: jax.numpy.broadcast_to(  # noqa: E731
                jax.numpy.asarray(evaluate(tree, {**whole, leaf: moved}.__getitem__, jax.numpy), float), (7,)
            )
            there, slope = jax.jvp(along, (whole[leaf],), (jax.numpy.ones(7),))
            sound = np.isfinite(there) & np.isfinite(slope)
            np.testing.assert_allclose(np.broadcast_to(value, (7,))[sound], there[sound], rtol=1e-9, atol=1e-12)
            mine = np.broadcast_to(partials.get(leaf, 0.0), (7,))
            scale = np.max(np.abs(slope[sound]), initial=1.0)
            np.testing.assert_allclose(mine[sound] / scale, slope[sound] / scale, rtol=1e-7, atol=1e-9)
