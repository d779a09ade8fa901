"""The sizes at which nonlinear unknowns matter, by the terms that they are added to."""

import pytest

from napinn.engines.splines.term_sizes import term_sizes
from napinn.problem.equations import Derivative, Names, parse_expression

SIZES = {"S": 4.0, "X": 2.0, "S_t": 0.5, "X_t": 0.25, "t": 10.0}


def sizes_of(*texts: str, **known: float) -> dict[str, float]:
    names = Names(("t",), ("S", "X"), ("K", "Y", "m", "n", "w", "a"), {})
    trees = [parse_expression(text, names) for text in texts]
    return term_sizes(trees, size_of, known)


def size_of(leaf) -> float:
    name = (
        leaf.field + "".join(f"_{axis}" for axes in leaf.terms for axis in axes)
        if isinstance(leaf, Derivative)
        else leaf.name
    )
    return SIZES[name]


@pytest.mark.parametrize(
    ("text", "known", "name", "size"),
    [
        ("X_t - m*S*X/(K + S)", {"m": 1.0}, "K", 4.0),
        ("S_t + m*X/Y", {"m": 3.0}, "Y", 12.0),
        ("X_t - sin(w*t)", {}, "w", 0.1),
        ("X_t - X*exp(-K/S)", {}, "K", 4.0),
        ("X_t - S**n", {}, "n", 1.0),
        ("X_t - sqrt(a*S)", {}, "a", 0.25**2 / 4.0),
        ("X_t - abs(a*S)", {}, "a", 0.0625),
        ("X_t - (a*S)**2", {}, "a", 0.5 / 4.0),
    ],
)
def test_an_unknown_has_the_size_of_what_it_stands_beside(text, known, name, size):
    assert sizes_of(text, **known)[name] == pytest.approx(size)


def test_sizes_of_one_equation_serve_another():
    found = sizes_of("X_t - m*S*X/(K + S)", "S_t + m*S*X/((K + S)*Y)")
    assert found["K"] == pytest.approx(4.0)
    assert found["m"] == pytest.approx(0.25 * 32**0.5 / 8.0)
    assert found["Y"] == pytest.approx(0.25 / 0.5)


def test_two_factors_that_only_their_product_determines_have_no_size():
    assert sizes_of("X_t - m*n*S") == {}
