"""Equations as an evolution in time: what of a problem can be solved forward, and at what rate its state moves.

The state holds each field and its time derivatives below the highest that the equations name; that highest one is what
the equations are solved for. They must be linear in it, which the tree shows, and then one linear system at every
point gives it. A field that is never differentiated in time, such as the recovered of an epidemic, is solved for
itself. Whatever does not fit is answered with an `Obstacle`, a clause that says why."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napinn.data.readings import order_axis
from napinn.problem import Problem
from napinn.problem.equations import Derivative, Equation, Leaf, value_and_partials
from napinn.problem.equations.tree import Call, Expression, Number, Power, Product, Sum, children

Places = Mapping[str, np.ndarray]
"""Coordinates of points by name."""
Values = Mapping[Derivative, np.ndarray]
MOST_SPACES = 2
"""Coordinates beside time: with three, a grid of the method of lines has millions of nodes."""
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
    spaces: tuple[str, ...]
    """The other coordinates, at most two."""
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
    def needs(self) -> tuple[tuple[Derivative, Component, tuple[int, ...]], ...]:
        """Every other derivative in the equations: a component of the state, so many times along each space axis."""
        leaves = frozenset(leaf for equation in self.equations for leaf in equation.needs) - frozenset(self.solved)
        found = []
        for leaf in sorted(leaves, key=repr):
            (axes,) = leaf.terms
            along = tuple(axes.count(name) for name in self.spaces)
            found.append((leaf, Component(leaf.field, axes.count(self.time)), along))
        return tuple(found)

    def highest(self, places: Places, known: Values, unknowns: Mapping[str, float]) -> np.ndarray:
        """(fields, points): what is solved for, at points where all other derivatives are known."""
        size = len(places[self.time])
        nothing = np.zeros((len(self.solved), size))
        rest, matrix = self._linear(places, known, nothing, unknowns, self.solved)
        return self._solve(matrix, -rest[:, None])[:, 0]

    def slopes(self, places: Places, known: Values, unknowns: Mapping[str, float]) -> np.ndarray:
        """(fields, needs, points): how what is solved for follows each of the derivatives in `needs`."""
        found = self.highest(places, known, unknowns)
        leaves = (*self.solved, *(leaf for leaf, _, _ in self.needs))
        _, partials = self._linear(places, known, found, unknowns, leaves)
        count = len(self.solved)
        return self._solve(partials[:, :count], -partials[:, count:])

    def _linear(
        self,
        places: Places,
        known: Values,
        highest: np.ndarray,
        unknowns: Mapping[str, float],
        leaves: tuple[Derivative, ...],
    ) -> tuple[np.ndarray, np.ndarray]:
        """(equations, points) residuals, and (equations, leaves, points) their partial derivatives."""
        values: dict[Leaf, np.ndarray] = {**known, **dict(zip(self.solved, highest, strict=True))}
        look_up = self.problem.look_up(places, values.__getitem__, unknowns)
        size, differentiated = highest.shape[1], frozenset(leaves).__contains__
        residuals, slopes = np.zeros((len(self.equations), size)), np.zeros((len(self.equations), len(leaves), size))
        for row, equation in enumerate(self.equations):
            assert equation.tree is not None
            residuals[row], partials = value_and_partials(equation.tree, look_up, differentiated)
            for column, leaf in enumerate(leaves):
                slopes[row, column] = partials.get(leaf, 0.0)
        return residuals, slopes

    def _solve(self, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The linear system of every point: (equations, fields, points) and (equations, columns, points) to (fields,
        columns, points); not finite where there is no solution."""
        if self._one_each is not None:
            # The common case: each equation holds one of them, and no system has to be solved.
            with np.errstate(all="ignore"):
                return np.stack([right[row] / matrix[row, field] for field, row in enumerate(self._one_each)])
        try:
            return np.moveaxis(np.linalg.solve(np.moveaxis(matrix, 2, 0), np.moveaxis(right, 2, 0)), 0, 2)
        except np.linalg.LinAlgError:
            return np.full((matrix.shape[1], *right.shape[1:]), np.nan)

    @cached_property
    def _one_each(self) -> tuple[int, ...] | None:
        """For each field the only equation that holds what is solved for; None where equations share them."""
        held = [[number for number, leaf in enumerate(self.solved) if leaf in each.needs] for each in self.equations]
        if sorted(held) != [[number] for number in range(len(self.solved))]:
            return None
        return tuple(held.index([number]) for number in range(len(self.solved)))

    def rate(self, state: np.ndarray, highest: np.ndarray) -> np.ndarray:
        """The time derivative of the state: of each component the next one, of a field's last what was solved for."""
        return np.array([highest[field] if source is None else state[source] for source, field in self.sources])

    @cached_property
    def sources(self) -> tuple[tuple[int | None, int], ...]:
        """For every component of the state the row that is its time derivative, None for a field's last, and the number
        of its field."""
        rows = {component: number for number, component in enumerate(self.state)}
        names = list(self.orders)
        return tuple((rows.get(Component(each.field, each.order + 1)), names.index(each.field)) for each in self.state)


def evolution_of(problem: Problem, dated: frozenset[str] = frozenset()) -> Evolution | Obstacle:
    """The problem as an evolution; `dated` are coordinates that are known to be time because they are read as dates."""
    names = tuple(problem.coordinates)
    if any(equation.tree is None for equation in problem.written):
        return Obstacle("an equation is a Python function, of which only values are known")
    if len(names) > 1 + MOST_SPACES:
        return Obstacle(f"it has {len(names)} coordinates, and only time and up to two places are solved here")
    axis = order_axis(names, dated)
    if axis is None:
        return Obstacle(f"the names {', '.join(names)} do not say which is time ('t' or 'time' would)")
    time = names[axis]
    spaces = tuple(name for name in names if name != time)
    orders = {name: _highest_order(problem, name, time) for name in problem.outputs}
    if not any(orders.values()):
        return Obstacle(f"nothing in it is differentiated by {time}: it describes a state that does not change in time")
    solved = {name: Derivative(name, ((time,) * order,)) for name, order in orders.items()}
    used = tuple(equation for equation in problem.written if equation.needs & frozenset(solved.values()))
    obstacle = _obstacle(problem, used, solved, time)
    return obstacle or Evolution(problem, time, spaces, used, orders)


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
        return Obstacle(f"{len(used)} equation(s) determine {len(solved)} field(s)")
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
