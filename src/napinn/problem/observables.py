"""Observables: what an instrument reads where that is not a field itself.

    y = log10(C)          volts = gain*T + offset          mean_T = mean(T, z)

An observable becomes one more measured field with an equation of its own, so that everything that holds for fields
holds for observables. A logarithm is written as `C*10**(-y) = 1`, which has a value wherever C is. A mean or integral
over `z` is the end value of a running integral: a field that is 0 at the low end of z and whose derivative along z is
what is averaged; its readings belong to the high end of z. A sum of means with coefficients, as `gain*mean(T, z) + b`,
is one running integral as well."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from napinn.errors import InputError
from napinn.problem.equations import Condition, Equation, Names
from napinn.problem.equations.equation import from_tree
from napinn.problem.equations.parse import AVERAGES, parse_observable
from napinn.problem.equations.printing import show
from napinn.problem.equations.tree import (
    Call,
    Coordinate,
    Derivative,
    Expression,
    Given,
    Number,
    Power,
    Product,
    Sum,
    Varying,
    children,
    derivatives,
    walk,
)


@dataclass(frozen=True)
class Observable:
    """What an observable adds to a problem."""

    name: str
    shown: str
    equations: tuple[Equation, ...]
    conditions: tuple[Condition, ...]
    averaged: tuple[str, ...]
    """Coordinates that it does not depend on: its readings belong to the high end of each."""
    seen: frozenset[str]
    """The fields in it."""


def bind_observable(
    name: str,
    text: str,
    names: Names,
    box: Mapping[str, tuple[float, float]],
    converted: Callable[[str, Expression], Expression] | None = None,
) -> Observable:
    """An observable from its text.

    Args:
        name: of the observable.
        text: an expression of fields, their derivatives, coordinates, unknowns and constants, and `mean` or
            `integral` over coordinates.
        names: of the problem.
        box: the range of every coordinate.
        converted: gives the expression with its units converted, of the name and the expression; None leaves it."""
    tree = parse_observable(name, text, names)
    seen = frozenset(leaf.field for leaf in derivatives(tree))
    if not seen:
        raise InputError(f"observable '{name}' contains no field; fields here: {', '.join(names.fields)}.")
    shown = f"{name} = {show(tree)}"
    tree = tree if converted is None else converted(name, tree)
    averages = tuple(dict.fromkeys(node for node in walk(tree) if _is_average(node)))
    if not averages:
        return Observable(name, shown, (_pointwise(name, tree, shown),), (), (), seen)
    axes = _common_axes(name, tree, averages)
    rate = _joint_rate(tree, axes, math.prod(box[axis][1] - box[axis][0] for axis in axes))
    if rate is None:
        raise InputError(
            f"observable '{name}' must be a mean or integral, or a sum of them with coefficients; give the readings of "
            f"the mean itself, as 10**{name} for log10(mean(…))."
        )
    equation, conditions = _running(name, rate, axes, box, shown)
    return Observable(name, shown, (equation,), conditions, axes, seen)


def _is_average(node: Expression) -> TypeGuard[Call]:
    return isinstance(node, Call) and node.function in AVERAGES


def _axes(average: Call) -> tuple[str, ...]:
    return tuple(axis.name for axis in average.arguments[1:] if isinstance(axis, Coordinate))


def _common_axes(name: str, tree: Expression, averages: tuple[Call, ...]) -> tuple[str, ...]:
    """The coordinates that every mean in an observable is over; all fields must be inside of one."""
    if len({_axes(average) for average in averages}) > 1:
        raise InputError(f"observable '{name}' takes means over different coordinates; give each another name.")
    if _outside(tree):
        raise InputError(
            f"observable '{name}' has a field inside and another outside of a mean; put all fields inside of it."
        )
    return _axes(averages[0])


def _outside(node: Expression) -> bool:
    """Whether a field is used outside of every mean."""
    if _is_average(node):
        return False
    return isinstance(node, Derivative) or any(_outside(child) for child in children(node))


def _pointwise(name: str, tree: Expression, shown: str) -> Equation:
    """The equation that an observable obeys at every point."""
    own = Derivative(name, ((),))
    match tree:
        case Call("log10", (inner,)):
            raised = Power(Number(10.0), Sum(((-1, own),)))
            residual = Sum(((1, Product(((1, inner), (1, raised)))), (-1, Number(1.0))))
        case Call("log", (inner,)):
            raised = Call("exp", (Sum(((-1, own),)),))
            residual = Sum(((1, Product(((1, inner), (1, raised)))), (-1, Number(1.0))))
        case _:
            residual = Sum(((1, own), (-1, tree)))
    return from_tree(shown, shown, residual)


def _rate(average: Call, volume: float) -> Expression:
    """The derivative of the running integral of a mean or integral."""
    inside = average.arguments[0]
    return Product(((1, inside), (-1, Number(volume)))) if average.function == "mean" else inside


def _joint_rate(node: Expression, axes: tuple[str, ...], volume: float) -> Expression | None:
    """The derivative of one running integral of a sum of means with coefficients; None where it is no such sum."""
    if _is_average(node):
        return _rate(node, volume)
    if not _has_average(node):
        return None if _depends(node, axes) else Product(((1, node), (-1, Number(volume))))
    match node:
        case Sum(terms):
            rates = [(sign, _joint_rate(term, axes, volume)) for sign, term in terms]
            found = tuple((sign, rate) for sign, rate in rates if rate is not None)
            return Sum(found) if len(found) == len(terms) else None
        case Product(factors):
            inner = [factor for power, factor in factors if power == 1 and _has_average(factor)]
            others = tuple(each for each in factors if not _has_average(each[1]))
            rate = _joint_rate(inner[0], axes, volume) if len(inner) == 1 else None
            if rate is None or len(others) < len(factors) - 1 or any(_depends(each, axes) for _, each in others):
                return None
            return Product((*others, (1, rate)))
    return None


def _has_average(node: Expression) -> bool:
    return any(_is_average(each) for each in walk(node))


def _depends(tree: Expression, axes: tuple[str, ...]) -> bool:
    """Whether an expression without fields changes along some coordinates."""
    for node in walk(tree):
        match node:
            case Coordinate(name) if name in axes:
                return True
            case Given() | Varying() if any(axis in node.coordinates for axis in axes):
                return True
    return False


def _running(
    name: str, rate: Expression, axes: tuple[str, ...], box: Mapping[str, tuple[float, float]], shown: str
) -> tuple[Equation, tuple[Condition, ...]]:
    """The equation and the conditions of a running integral along some coordinates."""
    equation = from_tree(shown, shown, Sum(((1, Derivative(name, (axes,))), (-1, rate))))
    zero = from_tree(f"{name} = 0", f"{name} = 0", Sum(((1, Derivative(name, ((),))),)))
    return equation, tuple(Condition(zero, {axis: box[axis][0]}) for axis in axes)
