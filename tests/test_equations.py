"""Equation text: what is understood, what is refused, how it prints, and that nothing in it can run."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napinn.errors import InputError
from napinn.problem.equations import (
    Applied,
    Derivative,
    Names,
    bind,
    evaluate,
    join_operators,
    operators,
    parse_expression,
    share_seconds,
    show,
    wanted,
)
from napinn.problem.equations.parse import parse_equation
from napinn.problem.equations.tree import Coordinate, spelled

NAMES = Names(("x", "y", "t"), ("u", "v"), ("nu", "eps"), {"omega": 8.0})
BURGERS = "u_t + u*u_x + v*u_y = nu*(u_xx + u_yy)"


def value(text: str, **known: float) -> float:
    def look_up(leaf):
        match leaf:
            case Derivative(field, terms):
                return jnp.asarray(known["_".join([field, *("".join(axes) for axes in terms if axes)])])
            case Coordinate(name):
                return jnp.asarray(known[name])
        return jnp.asarray(known.get(leaf.name, getattr(leaf, "value", 0.0)))

    return float(evaluate(parse_expression(text, NAMES), look_up))


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("1 - 2 - 3", {}, -4.0),
        ("2*x/4*y", {"x": 3.0, "y": 5.0}, 7.5),
        ("-x**2", {"x": 3.0}, -9.0),
        ("-x*y - -x", {"x": 3.0, "y": 5.0}, -12.0),
        ("x^3", {"x": 2.0}, 8.0),
        ("u**3 - u", {"u": -2.0}, -6.0),
        ("sin(pi*x)*omega", {"x": 0.5}, 8.0),
        ("max(x, y) - min(x, y)", {"x": 3.0, "y": 5.0}, 2.0),
        ("sqrt(abs(x))", {"x": -4.0}, 2.0),
        ("nu*(u_xx + u_yy)", {"nu": 0.5, "u_xx": 2.0, "u_yy": 4.0}, 3.0),
        ("d(u, y, x)", {"u_xy": 7.0}, 7.0),
        ("d(u**nu, x)", {"u": 2.0, "u_x": 3.0, "nu": 2.5}, 2.5 * 2.0**1.5 * 3.0),
        ("d(u**omega, x)", {"u": 2.0, "u_x": 3.0}, 8.0 * 2.0**7 * 3.0),
    ],
)
def test_text_means_what_it_says(text, known, expected):
    assert value(text, **known) == pytest.approx(expected, rel=1e-12)


def test_an_equation_names_exactly_the_partials_it_needs():
    equation = bind("u_t + 6*u*u_x + u_xxx = nu*v_yx", NAMES)
    needed = {(d.field, d.terms) for d in equation.needs}
    one = {("u", ((),)), ("u", (("t",),)), ("u", (("x",),)), ("u", (("x", "x", "x"),)), ("v", (("x", "y"),))}
    assert needed == one
    assert equation.unknowns == {"nu"}


def test_a_laplacian_is_carried_as_one_array_only_when_that_saves_one():
    laplacian = (("x", "x"), ("y", "y"))
    shared = share_seconds((bind(BURGERS, NAMES), bind(BURGERS.replace("u_", "v_"), NAMES)))
    assert wanted(shared) == {((),), (("t",),), (("x",),), (("y",),), laplacian}
    also_alone = (bind(BURGERS, NAMES), bind("v_xx*v_yy = 0", NAMES))
    assert laplacian not in wanted(share_seconds(also_alone))


def test_sharing_does_not_change_the_residual():
    rng = np.random.default_rng(0)
    names = {"u": 1, "u_t": 1, "u_x": 1, "u_y": 1, "u_xx": 1, "u_yy": 1, "v": 1, "nu": 1}
    known = {name: float(rng.normal()) for name in names}

    def look_up(leaf):
        if isinstance(leaf, Derivative):
            return sum(known["_".join([leaf.field, "".join(axes)]).rstrip("_")] for axes in leaf.terms)
        return known[leaf.name]

    plain = bind(BURGERS, NAMES)
    (shared,) = share_seconds((plain,))
    assert shared.needs != plain.needs
    assert shared.residual(look_up) == pytest.approx(plain.residual(look_up), rel=1e-12)


def test_linear_operators_are_carried_as_one_array_each():
    pair = share_seconds((bind(BURGERS, NAMES), bind(BURGERS.replace("u_", "v_"), NAMES)))
    joined = join_operators(pair)
    assert wanted(joined) == {((),), (("x",),), (("y",),)}
    (operator,) = operators(joined)
    assert [terms for terms, _ in operator] == [(("t",),), (("x", "x"), ("y", "y"))]
    assert [equation.unknowns for equation in joined] == [{"nu"}, {"nu"}]


@pytest.mark.parametrize(
    "texts",
    [
        ("u_t = nu*u_xx", "v_t = eps*v_xx"),  # two operators in place of two derivatives
        ("u_t = nu*x*u_xx + v",),  # not the same everywhere
        ("u_t = u*u_xx",),
        ("u_t**2 = nu*u_xx",),
        ("u_t + nu*u_x + u_xxx = 0",),
        ("u_t + nu*u_x = 0",),  # nothing curved
        ("u_t = nu*u_xx", "u_t + u_xx = v"),  # the sum of either alone saves nothing
    ],
)
def test_operators_stay_apart_where_joining_saves_nothing(texts):
    equations = tuple(bind(text, NAMES) for text in texts)
    assert join_operators(equations) == equations


@pytest.mark.parametrize(
    "text", [BURGERS, "2*u_x/omega = nu*eps*u_xx - (u_t - nu*u_yy) + u_xx + 3*u", "-(u_t - u) = -(nu/eps)**2*u_yy"]
)
def test_joining_does_not_change_the_residual(text):
    rng = np.random.default_rng(0)
    names = ("u", "u_t", "u_x", "u_y", "u_xx", "u_yy", "v", "nu", "eps", "omega")
    known = {name: float(rng.normal()) for name in names}

    def look_up(leaf):
        if isinstance(leaf, Applied):
            return evaluate(spelled(leaf), look_up)
        if isinstance(leaf, Derivative):
            return sum(known["_".join([leaf.field, "".join(axes)]).rstrip("_")] for axes in leaf.terms)
        return known[leaf.name]

    plain = bind(text, NAMES)
    (joined,) = join_operators(share_seconds((plain,)))
    assert operators((joined,))
    assert joined.residual(look_up) == pytest.approx(plain.residual(look_up), rel=1e-12)
    assert joined.tree is not None
    assert show(joined.tree)


def test_equations_print_back_as_mathematics():
    assert bind(BURGERS, NAMES).shown == "∂u/∂t + u ∂u/∂x + v ∂u/∂y = ν (∂²u/∂x² + ∂²u/∂y²)"
    assert bind("u_t - eps**2*u_xy = -omega*sin(omega*t)/2", NAMES).shown == "∂u/∂t − ε² ∂²u/∂x∂y = −(ω sin(ω t)) / 2"
    assert bind("u_t = (u - v)**2 - (u - v)", NAMES).shown == "∂u/∂t = (u − v)² − (u − v)"
    assert bind("u_t = exp(-2*t) - v*(-2*u)", NAMES).shown == "∂u/∂t = exp(−2 t) − v (−2 u)"


def test_d_is_a_derivative_before_a_bracket_and_elsewhere_a_name():
    """Many rates, depths and displacements are called d."""
    names = Names(("d", "t"), ("u",), (), {"k": 2.0})
    assert bind("d(u, t) = k*d*d(u, d, d)", names).shown == "∂u/∂t = k d ∂²u/∂d²"
    assert bind("u_t = (k - d)*u_d", names).shown == "∂u/∂t = (k − d) ∂u/∂d"
    assert bind("u_t = -d*u", Names(("t",), ("u",), ("d",), {})).shown == "∂u/∂t = −d u"
    with pytest.raises(InputError, match=r"a product is written d\*\(…\)"):
        bind("u_t = -d(u)", Names(("t",), ("u",), ("d",), {}))
    with pytest.raises(InputError, match="'d' is a function"):
        bind("u_t = -d*u", NAMES)


@pytest.mark.parametrize("text", ["u_t = nu·u·(1 − u²)", "u_t = nu × u*(1 – u^2)"])
def test_signs_of_books_and_text_processors_are_read(text):
    assert bind(text, NAMES).shown == bind("u_t = nu*u*(1 - u**2)", NAMES).shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("u_t - nu*u_xx", "has no '='"),
        ("u_t = u_x = 0", "more than one '='"),
        ("u_t = mu*u_xx", "'mu' is not known; did you mean 'nu'?"),
        ("u_t = nu*u_xz", "'u_xz' is not known; did you mean 'u_x"),
        ("u_t = sine(x)", "'sine' is not a known function; did you mean 'sin'?"),
        ("u_t = sin", "'sin' is a function"),
        ("du/dt = nu*u_xx", "write the derivative du/dt as u_t"),
        ("∂u/∂t = nu*∂²u/∂x²", "write the derivative ∂u/∂t as u_t"),
        ("u_t = nu*d2u/dx2", "write the derivative d2u/dx2 as u_xx"),
        ("u' = nu*u", "write the derivative u' as u_t"),
        ("u_t = 3u", "a sign is missing in '3u'; write a product as 3*u"),
        ("u_t = nu u_xx", "a sign is missing in 'nu u_xx'; write a product as nu*u_xx"),
        ("u_t = nu(u - v)", "'nu' is not a known function; a product is written nu*(…)"),
        ("u_t = 2(u - v)", "a sign is missing in '2(u - v)'; a product is written with '*'"),
        ("u_t = 1e-3*u + )", "unmatched ')'"),
        ("u_t = sin(x, y)", "takes 1 argument"),
        ("u_t = d(w, x)", "'w' is not a field"),
        ("u_t = d(u, z)", "'z' is not a coordinate"),
        ("u_t = d(2**u, x)", "powers with a constant exponent"),
        ("u_t = d(u)", "d(field, coordinate"),
        ("u_t = u[0]", "is not part of an equation"),
        ("u_t = __import__('os').system('true')", "is not part of an equation"),
        ("u_t = (lambda: 1)()", "is not part of an equation"),
        ("u_t = u.real", "is not part of an equation"),
        ("u_t = True", "is not part of an equation"),
        ("u_t = 'a'", "is not part of an equation"),
        ("u_t = u if x else v", "is not part of an equation"),
        ("u_t = (u", "cannot be read"),
        ("u_t = ", "nothing on one side"),
        ("u_t = 1/0", "divides by zero"),
        ("u_t = 9**9**9**9", "too large"),
        ("u_t = (-1)**0.5", "fractional power"),
        ("x = y", "contains no field"),
        ("u_t = \x00", "cannot be read"),
        ("u_t = " + "(" * 300 + "x" + ")" * 300, "cannot be read"),
        ("u_t = " + "sin(" * 70 + "x" + ")" * 70, "levels deep"),
        ("u_t = " + "x" * 30_000, "characters"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(text, said):
    with pytest.raises(InputError) as caught:
        parse_equation(text, NAMES)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_sum_is_no_deep_tree():
    equation = bind("u_t = " + " + ".join(["x*u"] * 2000), NAMES)
    assert float(equation.residual(lambda leaf: jnp.asarray(1.0))) == 1.0 - 2000.0


pieces = st.sampled_from(["u", "u_x", "u_tt", "nu", "x", "pi", "2", "1e3", "+", "-", "*", "/", "**", "^", "(", ")", ",",
                          "sin", "d", "=", " ", ".", "[", "]", "'", "lambda", "\n", ":", "é", "0"])  # fmt: skip


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(st.one_of(st.text(max_size=60), st.lists(pieces, max_size=25).map("".join)))
def test_any_text_is_an_equation_or_a_sentence(text):
    said = ""
    try:
        equation = bind(text, NAMES)
    except InputError as error:
        said = str(error)
    else:
        assert equation.needs
    assert len(said.splitlines()) <= 1


def test_a_python_function_is_an_equation_too():
    def burgers(point, fields, unknowns):
        f = fields
        return f.u_t + f.u * f.u_x + f.v * f.u_y - unknowns.nu * (f.u_xx + f.u_yy) + 0.0 * jnp.sin(point.x)

    function, text = bind(burgers, NAMES), bind(BURGERS, NAMES)
    assert function.needs == text.needs
    assert function.unknowns == text.unknowns
    rng = np.random.default_rng(1)
    numbers: dict[object, float] = {}
    look_up = lambda leaf: jnp.asarray(numbers.setdefault(leaf, rng.normal()))  # noqa: E731
    assert float(function.residual(look_up)) == pytest.approx(float(text.residual(look_up)), rel=1e-12)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda p, f, c: f.w_x, "uses field 'w_x'"),
        (lambda p, f, c: f.u_x - c.mu, "uses unknown 'mu'"),
        (lambda p, f, c: p.x, "contains no field"),
        (lambda p, f, c: jnp.stack([f.u, f.v]), "must return one number"),
    ],
)
def test_a_python_function_with_a_mistake_is_refused_in_a_sentence(function, said):
    with pytest.raises(InputError, match=said):
        bind(function, NAMES)
