"""Observables: what an instrument reads where that is not a field itself.

    y = log10(C)          volts = gain*T + offset          mean_T = mean(T, z)

An observable becomes one more measured field with an equation of its own, so that everything that holds for fields
holds for observables. A logarithm is written as `C*10**(-y) = 1`, which has a value wherever C is. A mean or integral
over `z` is the end value of a running integral: a field that is 0 at the low end of z and whose derivative along z is
what is averaged; its readings belong to the high end of z."""

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
    Number,
    Power,
    Product,
    Sum,
    children,
    derivatives,
    walk,
    with_children,
)

PART = "_part"
"""Ends the name of the hidden field of a mean inside a longer expression."""


@dataclass(frozen=True)
class Observable:
    """What an observable adds to a problem."""

    name: str
    shown: str
    equations: tuple[Equation, ...]
    conditions: tuple[Condition, ...]
    hidden: tuple[str, ...]
    """Running integrals that no instrument reads."""
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
        return Observable(name, shown, (_pointwise(name, tree, shown),), (), (), (), seen)
    axes = _common_axes(name, tree, averages)
    if tree == averages[0]:
        equation, conditions = _running(name, averages[0], axes, box, shown)
        return Observable(name, shown, (equation,), conditions, (), axes, seen)
    own = {average: f"{name}{PART}{number + 1}" for number, average in enumerate(averages)}
    runs = [_running(hidden, average, axes, box, shown) for average, hidden in own.items()]
    whole = _pointwise(name, _without_averages(tree, own), shown)
    conditions = tuple(condition for _, each in runs for condition in each)
    return Observable(name, shown, (*(each for each, _ in runs), whole), conditions, tuple(own.values()), axes, seen)


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


def _running(
    name: str, average: Call, axes: tuple[str, ...], box: Mapping[str, tuple[float, float]], shown: str
) -> tuple[Equation, tuple[Condition, ...]]:
    """The equation and the conditions of a running integral along some coordinates."""
    rate = average.arguments[0]
    if average.function == "mean":
        for axis in axes:
            low, high = box[axis]
            rate = Product(((1, rate), (-1, Number(high - low))))
    equation = from_tree(shown, shown, Sum(((1, Derivative(name, (axes,))), (-1, rate))))
    zero = from_tree(f"{name} = 0", f"{name} = 0", Sum(((1, Derivative(name, ((),))),)))
    return equation, tuple(Condition(zero, {axis: box[axis][0]}) for axis in axes)


def _without_averages(node: Expression, own: Mapping[Call, str]) -> Expression:
    """The tree with the field of its running integral in place of every mean."""
    if _is_average(node):
        return Derivative(own[node], ((),))
    return with_children(node, lambda child: _without_averages(child, own))
