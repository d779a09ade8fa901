"""The derivative of an expression along a coordinate, as an expression: what `d(k*T_x, x)` means."""

from collections.abc import Callable, Mapping

from napinn.errors import InputError
from napinn.problem.equations.tree import (
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
    Varying,
)

ZERO, ONE = Number(0.0), Number(1.0)


def derived(node: Expression, axis: str, partial: Callable[[str, tuple[str, ...]], Derivative]) -> Expression:
    """The derivative of an expression, with sums, products, powers and smooth functions taken apart.

    Args:
        node: the expression.
        axis: the coordinate.
        partial: gives the derivative of a field by its name and the coordinates, in order."""
    match node:
        case Number() | Constant() | UnknownLeaf():
            return ZERO
        case Coordinate(name):
            return ONE if name == axis else ZERO
        case Derivative(field, (axes,)):
            return partial(field, (*axes, axis))
        case Varying(_, coordinates, _):
            return node.along(axis) if axis in coordinates else ZERO
        case Sum(terms):
            return _sum([(sign, derived(child, axis, partial)) for sign, child in terms])
        case Product(factors):
            return _product(factors, axis, partial)
        case Power(base, Number(exponent)):
            inner = derived(base, axis, partial)
            return _times(Number(exponent), Power(base, Number(exponent - 1.0)), inner)
        case Power(base, exponent) if derived(exponent, axis, partial) == ZERO:
            inner = derived(base, axis, partial)
            return _times(exponent, Power(base, Sum(((1, exponent), (-1, ONE)))), inner)
        case Call(function, (argument,)) if function in CHAIN:
            return _times(CHAIN[function](argument), derived(argument, axis, partial))
    raise InputError(
        "only sums, products, powers with a constant exponent and smooth functions have a derivative as an expression"
    )


def _sum(terms: list[tuple[int, Expression]]) -> Expression:
    kept = tuple((sign, term) for sign, term in terms if term != ZERO)
    if not kept:
        return ZERO
    return kept[0][1] if len(kept) == 1 and kept[0][0] > 0 else Sum(kept)


def _times(*factors: Expression) -> Expression:
    if ZERO in factors:
        return ZERO
    kept = [factor for factor in factors if factor != ONE]
    if not kept:
        return ONE
    return kept[0] if len(kept) == 1 else Product(tuple((1, factor) for factor in kept))


def _product(
    factors: tuple[tuple[int, Expression], ...], axis: str, partial: Callable[[str, tuple[str, ...]], Derivative]
) -> Expression:
    terms: list[tuple[int, Expression]] = []
    for number, (power, factor) in enumerate(factors):
        inner = derived(factor, axis, partial)
        if inner == ZERO:
            continue
        others = [*factors[:number], *factors[number + 1 :]]
        if power < 0:
            others += [(-1, factor), (-1, factor)]
        with_inner = others if inner == ONE and any(each > 0 for each, _ in others) else [*others, (1, inner)]
        whole = Product(tuple(with_inner)) if len(with_inner) > 1 or with_inner[0][0] < 0 else with_inner[0][1]
        terms.append((power, whole))
    return _sum(terms)


def _call(function: str) -> Callable[[Expression], Expression]:
    return lambda argument: Call(function, (argument,))


CHAIN: Mapping[str, Callable[[Expression], Expression]] = {
    "sin": _call("cos"),
    "cos": lambda argument: Sum(((-1, Call("sin", (argument,))),)),
    "sinh": _call("cosh"),
    "cosh": _call("sinh"),
    "exp": _call("exp"),
    "tanh": lambda argument: Sum(((1, ONE), (-1, Power(Call("tanh", (argument,)), Number(2.0))))),
    "log": lambda argument: Product(((1, ONE), (-1, argument))),
    "sqrt": lambda argument: Product(((1, Number(0.5)), (-1, Call("sqrt", (argument,))))),
}
"""The slope of each function that has one everywhere, as an expression in its argument."""
