"""Equations as an evolution in time: what of a problem can be solved forward, and at what rate its state moves.

The state holds each field and its time derivatives below the highest that the equations name; that highest one is what
the equations are solved for. They must be linear in it, which the tree tells, and then one linear system at every
point gives it. A field that is never differentiated in time, such as the recovered of an epidemic, is solved for
itself. Whatever does not fit is answered with an `Obstacle`, a clause that says why."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from napinn.equations import Derivative, Equation, Leaf
from napinn.equations.tree import Call, Expression, Number, Power, Product, Sum, children
from napinn.problem import Problem
from napinn.readings import order_axis

NONLINEAR = 2
"""Stands for every way but the linear one in which something may enter."""


@dataclass(frozen=True)
class Obstacle:
    """Why something cannot be checked: a clause to be put behind 'because'."""

    why: str


@dataclass(frozen=True)
class Component:
    """One row of the state: a field, or a time derivative of it."""

    field: str
    order: int


@dataclass(frozen=True, eq=False)
class Evolution:
    problem: Problem
    time: str
    space: str | None
    equations: tuple[Equation, ...]
    """As many as there are fields, each with something in it that is solved for."""
    orders: Mapping[str, int]
    """The highest time derivative of each field."""

    @cached_property
    def state(self) -> tuple[Component, ...]:
        return tuple(Component(name, order) for name in self.orders for order in range(self.orders[name]))

    @cached_property
    def solved(self) -> tuple[Derivative, ...]:
        """What the equations are solved for, field by field."""
        return tuple(Derivative(name, ((self.time,) * order,)) for name, order in self.orders.items())

    @cached_property
    def needs(self) -> tuple[tuple[Derivative, Component, int], ...]:
        """Every other derivative in the equations: a component of the state, so many times along space."""
        leaves = frozenset(leaf for equation in self.equations for leaf in equation.needs) - frozenset(self.solved)
        told = []
        for leaf in sorted(leaves, key=repr):
            (axes,) = leaf.terms
            order = axes.count(self.time)
            told.append((leaf, Component(leaf.field, order), len(axes) - order))
        return tuple(told)

    @property
    def space_order(self) -> int:
        return max((along for _, _, along in self.needs), default=0)

    def highest(
        self,
        places: Mapping[str, Float[Array, " n"]],
        known: Mapping[Derivative, Float[Array, " n"]],
        unknowns: Mapping[str, Float[Array, ""]],
    ) -> Float[Array, "f n"]:
        """What is solved for, at points where all other derivatives are known."""
        size = places[self.time].shape[0]

        def residuals(wanted: Float[Array, "f n"]) -> Float[Array, "f n"]:
            values: dict[Leaf, Float[Array, " n"]] = {**known, **dict(zip(self.solved, wanted, strict=True))}
            return jnp.stack(self.problem.evaluated(self.equations, places, lambda leaf: values[leaf], unknowns))

        nothing = jnp.zeros((len(self.solved), size), places[self.time].dtype)
        rest, push = jax.linearize(residuals, nothing)
        if self._one_each is not None:
            # The common case: each equation holds one of them, and no system has to be solved.
            slopes = push(jnp.ones_like(nothing))
            return (-rest / slopes)[jnp.asarray(self._one_each)]
        columns = [push(nothing.at[number].set(1.0)) for number in range(len(self.solved))]
        matrix = jnp.moveaxis(jnp.stack(columns, axis=1), 2, 0)
        return jnp.linalg.solve(matrix, -rest.T[:, :, None])[:, :, 0].T

    @cached_property
    def _one_each(self) -> tuple[int, ...] | None:
        """For each field the only equation that holds what is solved for; None where equations share them."""
        held = [[number for number, leaf in enumerate(self.solved) if leaf in each.needs] for each in self.equations]
        if sorted(held) != [[number] for number in range(len(self.solved))]:
            return None
        return tuple(held.index([number]) for number in range(len(self.solved)))

    def rate(self, state: Float[Array, "c n"], highest: Float[Array, "f n"]) -> Float[Array, "c n"]:
        """The time derivative of the state: of each component the next one, of a field's last what was solved for."""
        rows = {component: number for number, component in enumerate(self.state)}
        names = list(self.orders)
        return jnp.stack(
            [
                state[rows[following]] if following in rows else highest[names.index(component.field)]
                for component in self.state
                for following in (Component(component.field, component.order + 1),)
            ]
        )


def evolution_of(problem: Problem, dated: frozenset[str] = frozenset()) -> Evolution | Obstacle:
    """The problem as an evolution; `dated` are coordinates that are known to be time because they are read as dates."""
    names = tuple(problem.coordinates)
    if any(equation.tree is None for equation in problem.written):
        return Obstacle("an equation is a Python function, of which only values are known")
    if len(names) > 2:
        return Obstacle(f"it has {len(names)} coordinates, and only time, or time and one place, are solved here")
    axis = order_axis(names, dated)
    if axis is None:
        return Obstacle(f"which of {' and '.join(names)} is time is not told by their names ('t' or 'time' would be)")
    time = names[axis]
    space = next((name for name in names if name != time), None)
    orders = {name: _highest_order(problem, name, time) for name in problem.outputs}
    if not any(orders.values()):
        return Obstacle(f"nothing in it is differentiated by {time}: it describes a state and no course")
    solved = {name: Derivative(name, ((time,) * order,)) for name, order in orders.items()}
    used = tuple(equation for equation in problem.written if equation.needs & frozenset(solved.values()))
    obstacle = _obstacle(problem, used, solved, time)
    return obstacle or Evolution(problem, time, space, used, orders)


def _highest_order(problem: Problem, name: str, time: str) -> int:
    found = [leaf for equation in problem.written for leaf in equation.needs if leaf.field == name]
    return max((axes.count(time) for leaf in found for axes in leaf.terms), default=0)


def _obstacle(
    problem: Problem, used: tuple[Equation, ...], solved: Mapping[str, Derivative], time: str
) -> Obstacle | None:
    for equation in problem.written:
        for leaf in equation.needs:
            (axes,) = leaf.terms
            (highest,) = solved[leaf.field].terms
            if axes.count(time) == len(highest) and len(axes) > len(highest):
                if not highest:
                    return Obstacle(f"'{leaf.field}' is differentiated along space and never by {time}")
                return Obstacle(f"the highest time derivative of '{leaf.field}' is differentiated along space as well")
    if len(used) != len(solved):
        return Obstacle(f"{len(used)} equation(s) are there to move {len(solved)} field(s)")
    for equation in used:
        if equation.tree is not None and degree(equation.tree, frozenset(solved.values())) > 1:
            return Obstacle(f"the equation {equation.shown} is not linear in its highest time derivative")
    return None


def degree(node: Expression, solved: frozenset[Derivative]) -> int:
    """0 where none of the derivatives occurs, 1 where they enter linearly, and `NONLINEAR` otherwise."""
    inner = [degree(child, solved) for child in children(node)]
    match node:
        case Derivative():
            return int(node in solved)
        case Sum():
            return max(inner)
        case Product(factors):
            divided = any(part and exponent < 0 for part, (exponent, _) in zip(inner, factors, strict=True))
            return NONLINEAR if divided else min(sum(inner), NONLINEAR)
        case Power(_, Number(1.0)):
            return inner[0]
        case Power() | Call():
            return NONLINEAR if any(inner) else 0
        case _:
            return 0
