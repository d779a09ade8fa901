"""Equations as the rest of napinn sees them: a residual at a point, and exactly the derivatives that it needs.

An equation comes as text (`u_t = D*u_xx`) or as a Python function of one point,

    def heat(point, fields, unknowns):
        return fields.u_t - unknowns.D * fields.u_xx

which must be written in `jax.numpy`. Either way the residual is elementwise, so whole batches flow through it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from napinn.errors import InputError
from napinn.problem.equations.parse import Names, parse_equation
from napinn.problem.equations.printing import show_equation
from napinn.problem.equations.tree import (
    Coordinate,
    Derivative,
    Expression,
    Given,
    Leaf,
    Sum,
    Terms,
    UnknownLeaf,
    collapse,
    derivatives,
    evaluate,
    walk,
)

LookUp = Callable[[Leaf], Any]
PointFunction = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Equation:
    """One equation, bound to a problem's names."""

    source: str | PointFunction
    shown: str
    needs: frozenset[Derivative]
    unknowns: frozenset[str]
    residual: Callable[..., Any]
    """Called with what looks up the leaves, and the module of functions: `numpy`, unless `jax.numpy` is given. An
    equation that came as a Python function is written in `jax.numpy` and computes in nothing else."""
    tree: Expression | None
    """Left side minus right side, for an equation that came as text."""


def bind(source: str | PointFunction, names: Names) -> Equation:
    return _bind_text(source, names) if isinstance(source, str) else _bind_function(source, names)


def _bind_text(text: str, names: Names) -> Equation:
    left, right = parse_equation(text, names)
    tree = Sum(((1, left), (-1, right)))
    return from_tree(text, show_equation(left, right), tree)


def from_tree(text: str, shown: str, tree: Expression) -> Equation:
    """An equation from its tree, left side minus right side; `text` is its source and `shown` what messages show."""
    unknowns = frozenset(leaf.name for leaf in walk(tree) if isinstance(leaf, UnknownLeaf))
    return Equation(text, shown, derivatives(tree), unknowns, tree_residual(tree), tree)


def tree_residual(tree: Expression) -> Callable[..., Any]:
    return lambda look_up, numeric=np: evaluate(tree, look_up, numeric)


def _bind_function(function: PointFunction, names: Names) -> Equation:
    # The only kind of equation that needs JAX, so only a problem that has one waits for it.
    import jax
    import jax.numpy as jnp

    needs: set[Derivative] = set()
    unknowns: set[str] = set()
    title = getattr(function, "__name__", "equation")

    def residual(look_up: LookUp, numeric: ModuleType = jnp) -> Any:
        def coordinate(name: str) -> Any:
            if name in names.tables:
                return look_up(Given(name, names.tables[name]))
            return look_up(Coordinate(_known(name, names.coordinates, "coordinate", title)))

        def field(name: str) -> Any:
            found = Derivative(name, ((),)) if name in names.fields else names.partial(name)
            if found is None:
                raise InputError(f"equation '{title}' uses field '{name}'; {names.suggest(name)}")
            needs.add(found)
            return look_up(found)

        def unknown(name: str) -> Any:
            unknowns.add(_known(name, names.unknowns, "unknown", title))
            return look_up(UnknownLeaf(name))

        return function(_Namespace(coordinate), _Namespace(field), _Namespace(unknown))

    # Run once on abstract scalars: no arithmetic happens, but the names that it asks for become known.
    shape = jax.eval_shape(lambda: jnp.asarray(residual(lambda leaf: jnp.zeros(()))))
    if shape.shape != ():
        raise InputError(f"equation '{title}' must return one number at a point, not an array of shape {shape.shape}.")
    if not needs:
        raise InputError(f"equation '{title}' contains no field; fields here: {', '.join(names.fields)}.")
    return Equation(
        function,
        f"{title}(point, fields, unknowns) = 0",
        frozenset(needs),
        frozenset(unknowns),
        residual,
        None,
    )


def _known(name: str, known: tuple[str, ...], kind: str, title: str) -> str:
    if name not in known:
        raise InputError(f"equation '{title}' uses {kind} '{name}'; known: {', '.join(known)}.")
    return name


class _Namespace:
    """Attribute access through a function, so that physics reads as on paper: `fields.u_xx`."""

    def __init__(self, look_up: Callable[[str], Any]):
        self._look_up = look_up

    def __getattr__(self, name: str) -> Any:
        return self._look_up(name)


def share_seconds(equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
    """Collapse sums of second derivatives where that leaves fewer arrays to carry through the network."""
    collapsed = tuple(
        from_tree(str(equation.source), equation.shown, collapse(equation.tree)) if equation.tree else equation
        for equation in equations
    )
    return collapsed if len(wanted(collapsed)) < len(wanted(equations)) else equations


def wanted(equations: tuple[Equation, ...]) -> frozenset[Terms]:
    return frozenset(derivative.terms for equation in equations for derivative in equation.needs)
