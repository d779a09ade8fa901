"""Equations and conditions at random values of all derivatives, and how their residuals change.

What a problem's equations determine is a question of linear algebra: how the residuals change with the unknowns, with
unknown functions and with hidden fields, to first order. The values are drawn as if all derivatives were independent,
so what holds for them holds for almost every field."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.problem import Problem
from napinn.problem.equations import Derivative, Equation, Leaf, Terms, UnknownLeaf, Varying, wanted

SAMPLES = 40
"""Random points, where no equation holds an unknown function; more than any problem file has unknowns and fields that
could depend on each other."""
NODES, FEWEST_NODES = {1: 12, 2: 12, 3: 6}, 4
"""Nodes along each coordinate, by how many coordinates there are (the last of four or more), where the equations hold
unknown functions. A function is a polynomial of as many coefficients as it has places, so that it can have any values
there; the samples at one of its places differ in the other coordinates and in the fields."""

Partials = Mapping[Leaf, np.ndarray | float]


@dataclass(frozen=True, eq=False)
class Block:
    """The samples of one equation, or of one condition on its face."""

    points: np.ndarray
    values: Mapping[Terms, np.ndarray]
    """Of every derivative of the fields, (samples, fields)."""
    residual: np.ndarray
    partials: Partials

    def column(self, leaf: Leaf) -> np.ndarray:
        """The change of the residual with a leaf, (samples,)."""
        return np.broadcast_to(self.partials.get(leaf, 0.0), len(self.points))


@dataclass(frozen=True, eq=False)
class Linearised:
    """The residuals of all equations and conditions, one after the other, and their changes to first order."""

    problem: Problem
    blocks: tuple[Block, ...]
    nodes: tuple[np.ndarray, ...]
    """Of each coordinate; none where no equation holds an unknown function."""

    def along_unknowns(self) -> np.ndarray:
        """The change with each unknown, (residuals, unknowns)."""
        leaves = [UnknownLeaf(name) for name in self.problem.unknowns]
        found = np.empty((sum(len(each.points) for each in self.blocks), len(leaves)))
        for index, leaf in enumerate(leaves):
            found[:, index] = np.concatenate([each.column(leaf) for each in self.blocks])
        return found

    def along_equations(self) -> np.ndarray:
        """The change with the scale of each equation, (residuals, equations). A condition at a single place is one row,
        whose scale makes no difference."""
        found = np.zeros((sum(len(each.residual) for each in self.blocks), len(self.blocks)))
        start = 0
        for number, each in enumerate(self.blocks):
            found[start : start + len(each.residual), number] = each.residual
            start += len(each.residual)
        return found[:, [len(each.residual) > 1 for each in self.blocks]]

    def along_scale(self, field: str) -> np.ndarray:
        """The change when a field is multiplied by a number, (residuals, 1)."""
        index = self.problem.outputs.index(field)
        return self._along_field(field, 1, lambda block, terms: block.values[terms][:, index, None])

    def along_level(self, field: str) -> np.ndarray:
        """The change when a constant is added to a field, (residuals, 1): to its value, and to no derivative."""
        return self._along_field(field, 1, lambda block, terms: np.full((len(block.points), 1), float(terms == ((),))))

    def along_course(self, field: str) -> np.ndarray:
        """The change with the whole course of a field, (residuals, coefficients): with polynomials that have, beyond
        any values at the nodes, as many more coefficients as a solution has free constants."""
        leaves = [leaf for block in self.blocks for leaf in block.partials if isinstance(leaf, Derivative)]
        mine = [axes for leaf in leaves if leaf.field == field for axes in leaf.terms]
        orders = [max((axes.count(name) for axes in mine), default=0) for name in self.problem.coordinates]
        counts = [len(nodes) + order for nodes, order in zip(self.nodes, orders, strict=True)]
        along = dict(zip(self.problem.coordinates, counts, strict=True))

        def moved(block: Block, terms: Terms) -> np.ndarray:
            return sum((self._polynomials(block.points, along, axes) for axes in terms), start=np.zeros(()))

        return self._along_field(field, math.prod(counts), moved)

    def along_function(self, name: str) -> np.ndarray:
        """The change with each polynomial that an unknown function is a sum of, (residuals, coefficients)."""
        counts = dict(zip(self.problem.coordinates, map(len, self.nodes), strict=True))
        along = {axis: counts[axis] for axis in self.problem.varying[name].of}
        none = math.prod(along.values())
        rows = []
        for block in self.blocks:
            leaves = [leaf for leaf in block.partials if isinstance(leaf, Varying) and leaf.name == name]
            steps = (block.column(leaf)[:, None] * self._polynomials(block.points, along, leaf.axes) for leaf in leaves)
            rows.append(sum(steps, start=np.zeros((len(block.points), none))))
        return np.concatenate(rows)

    def _along_field(self, field: str, width: int, moved: Callable[[Block, Terms], np.ndarray]) -> np.ndarray:
        rows = []
        for block in self.blocks:
            leaves = [leaf for leaf in block.partials if isinstance(leaf, Derivative) and leaf.field == field]
            steps = (block.column(leaf)[:, None] * moved(block, leaf.terms) for leaf in leaves)
            rows.append(sum(steps, start=np.zeros((len(block.points), width))))
        return np.concatenate(rows)

    def _polynomials(self, points: np.ndarray, along: Mapping[str, int], axes: tuple[str, ...]) -> np.ndarray:
        """(samples, coefficients): products of Chebyshev's polynomials, as many along each of these coordinates,
        differentiated along `axes`. Half the range of a coordinate is its unit, so that derivatives, like the values
        they are drawn beside, are of size one; what the equations determine does not depend on it."""
        found = np.ones((len(points), 1))
        for place, (name, (low, high)) in enumerate(self.problem.coordinates.items()):
            if name in along:
                unit = 2.0 * (points[:, place] - low) / (high - low) - 1.0
                series = np.polynomial.chebyshev.chebder(np.eye(along[name]), axes.count(name))
                values = np.polynomial.chebyshev.chebval(unit, series).T
                found = (found[:, :, None] * values[:, None, :]).reshape(len(points), -1)
        return found


def linearised(problem: Problem, without: frozenset[str] = frozenset(), balanced: bool = False) -> Linearised:
    """The problem at random values, with unknowns near their start.

    All derivatives are positive, so that a logarithm or a root of a field has a value.

    Args:
        problem: what to linearise.
        without: coordinates along which every derivative is zero.
        balanced: whether unknowns instead have values at which their terms are of size one."""
    rng = np.random.default_rng(0)
    nodes = _nodes(problem) if problem.varying else ()
    drawn = rng.uniform(problem.lows, problem.highs, (SAMPLES, len(problem.lows)))
    points = _grid(nodes) if nodes else drawn
    bound = (*problem.written, *(condition.equation for condition in problem.placed))
    shape = (len(points), len(problem.outputs))
    values = {terms: rng.uniform(0.5, 1.5, shape) for terms in sorted(wanted(bound))}
    values = {terms: array * (not any(without & set(axes) for axes in terms)) for terms, array in values.items()}
    unknowns = _near_start(problem, rng)
    if balanced:
        columns = np.abs(linearised(problem, without).along_unknowns())
        sizes = columns[np.isfinite(columns).all(axis=1)].max(axis=0, initial=0.0)
        unknowns = {name: value / (size or 1.0) for (name, value), size in zip(unknowns.items(), sizes, strict=True)}
    known: dict[str, Any] = {**unknowns, **dict.fromkeys(problem.varying, _some_function)}

    def block(equation: Equation, where: np.ndarray, chosen: np.ndarray | slice) -> Block:
        here = {terms: array[chosen] for terms, array in values.items()}
        residual, partials = problem.linearised(equation, where[chosen], here, known)
        return Block(where[chosen], here, np.broadcast_to(residual, len(where[chosen])), partials)

    blocks = [block(equation, points, slice(None)) for equation in problem.written]
    for condition in problem.placed:
        face = problem.on_face(condition, points)
        # Beside functions a condition holds once at each place, where the samples of the equations are. Elsewhere it
        # stands for what is true of any field.
        here = np.flatnonzero((face == points).all(axis=1)) if nodes else slice(None)
        blocks.append(block(condition.equation, face, here))
    return Linearised(problem, tuple(blocks), nodes)


def _near_start(problem: Problem, rng: np.random.Generator) -> dict[str, float]:
    return {
        name: float(unknown.value(unknown.raw_start() + rng.uniform(0.05, 0.15)))
        for name, unknown in problem.unknowns.items()
    }


def _nodes(problem: Problem) -> tuple[np.ndarray, ...]:
    """Chebyshev's nodes with both ends along each coordinate, and the places of conditions: a field whose equations
    hold at its place cannot avoid a condition between the nodes."""
    count = NODES.get(len(problem.coordinates), FEWEST_NODES)
    unit = np.polynomial.chebyshev.chebpts2(count)
    found = []
    for name, (low, high) in problem.coordinates.items():
        places = [condition.at[name] for condition in problem.placed if name in condition.at]
        found.append(np.unique([*(low + (high - low) * 0.5 * (unit + 1.0)), *places]))
    return tuple(found)


def _grid(nodes: tuple[np.ndarray, ...]) -> np.ndarray:
    """(samples, coordinates): every combination of the nodes."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*nodes, indexing="ij")], axis=1)


def _some_function(places: np.ndarray, along: tuple[str, ...]) -> np.ndarray:
    """In place of an unknown function: what it is makes no difference to the unknowns beside it."""
    return np.full(len(places), 0.9 if along else 1.1)
