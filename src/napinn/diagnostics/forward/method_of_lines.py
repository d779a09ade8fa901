"""The method of lines: an evolution on the nodes of a grid in space, with the fitted field at its edges.

Space is cut into even nodes and differentiated by central stencils of fourth order, or of second order to see how much
that matters. A stencil at the first inner nodes reaches beyond them: there the values are those of the fitted field at
the instant in question, or, where an axis is periodic, those of the other end. An ordinary differential equation is a
grid of one node without axes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import CubicSpline

from napinn.diagnostics.forward.evolution import Evolution
from napinn.problem.equations import Derivative
from napinn.results.model import FittedModel

EDGE_INSTANTS = 257
"""Instants at which the field at the edges is computed; a cubic spline gives it between them."""


@dataclass(frozen=True, eq=False)
class Line:
    """The nodes along one axis."""

    nodes: np.ndarray
    margin: int
    """How many nodes a stencil may reach to either side."""
    periodic: bool

    @property
    def spacing(self) -> float:
        return float(self.nodes[1] - self.nodes[0])

    @property
    def moves(self) -> np.ndarray:
        """Which nodes are solved for; the others follow the fitted field."""
        number = np.arange(len(self.nodes))
        return (number >= self.margin) & (number < len(number) - self.margin) | self.periodic

    def derivative(self, order: int, narrow: bool) -> sparse.csr_array:
        """(moving nodes, nodes): the derivative of this order."""
        weights = stencil(order, narrow) / self.spacing**order
        half, count = len(weights) // 2, len(self.nodes)
        shifts = {offset: weight for offset, weight in zip(range(-half, half + 1), weights, strict=True) if weight}
        whole = sparse.csr_array((count, count))
        for offset, weight in shifts.items():
            whole = whole + weight * sparse.eye_array(count, k=offset, format="csr")
            if self.periodic and offset:
                whole = whole + weight * sparse.eye_array(count, k=offset - int(np.sign(offset)) * count, format="csr")
        return sparse.csr_array(whole[np.flatnonzero(self.moves)])


def half_width(order: int) -> int:
    """Of a central stencil for this derivative with an error of fourth order."""
    return (order + 3) // 2 if order else 0


def stencil(order: int, narrow: bool = False) -> np.ndarray:
    """Weights of the nodes -h … h, one apart, that give this derivative of every polynomial up to their number; a
    narrow one leaves the outermost nodes out, and its error is of second order."""
    width, half = half_width(order), half_width(order) - bool(narrow and order)
    offsets, powers = np.arange(-half, half + 1.0), np.arange(2 * half + 1)
    moments = np.zeros(2 * half + 1)
    moments[order] = math.factorial(order)
    return np.pad(np.linalg.solve(offsets[None, :] ** powers[:, None], moments), width - half)


def lines_of(evolution: Evolution, nodes: int) -> tuple[Line, ...]:
    """One line for each space axis, of so many nodes."""
    found = []
    for axis, name in enumerate(evolution.spaces):
        low, high = evolution.problem.coordinates[name]
        periodic = name in evolution.problem.periodic
        margin = half_width(max((along[axis] for _, _, along in evolution.needs), default=0))
        places = np.linspace(low, high, nodes)
        found.append(Line(places[:-1] if periodic else places, margin, periodic))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class MethodOfLines:
    """An evolution on a grid. The state is a row a component and a column a moving node, in the fields' own units."""

    evolution: Evolution
    model: FittedModel
    lines: tuple[Line, ...]
    narrow: bool = False
    """Whether stencils are of second order."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(line.nodes) for line in self.lines)

    @cached_property
    def moves(self) -> np.ndarray:
        """Which nodes of the whole grid are solved for, as one row."""
        found = np.ones(1, bool)
        for line in self.lines:
            found = np.kron(found, line.moves)
        return found

    @cached_property
    def nodes(self) -> np.ndarray:
        """(all nodes, space axes)."""
        mesh = np.meshgrid(*(line.nodes for line in self.lines), indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=1) if mesh else np.zeros((1, 0))

    @cached_property
    def inner(self) -> np.ndarray:
        return self.nodes[self.moves]

    @cached_property
    def _operators(self) -> Mapping[tuple[int, ...], tuple[sparse.csr_array, sparse.csr_array]]:
        """By orders along the axes: derivatives at the moving nodes from moving nodes, and from given ones."""
        found = {}
        for along in {along for _, _, along in self.evolution.needs}:
            whole = sparse.csr_array(np.ones((1, 1)))
            for line, order in zip(self.lines, along, strict=True):
                whole = sparse.csr_array(sparse.kron(whole, line.derivative(order, self.narrow)))
            columns = sparse.csc_array(whole)
            inner, outer = (columns[:, np.flatnonzero(which)] for which in (self.moves, ~self.moves))
            found[along] = sparse.csr_array(inner), sparse.csr_array(outer)
        return found

    def points(self, times: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """(instants × nodes, coordinates) in the problem's order."""
        evolution = self.evolution
        columns = {evolution.time: np.repeat(times, len(nodes))}
        columns |= {name: np.tile(nodes[:, axis], len(times)) for axis, name in enumerate(evolution.spaces)}
        return np.stack([columns[name] for name in evolution.problem.coordinates], axis=1)

    def fitted(self, times: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """(instants, components, nodes): the state as the fitted field has it."""
        state, outputs = self.evolution.state, self.evolution.problem.outputs
        terms = {component.order: ((self.evolution.time,) * component.order,) for component in state}
        found = self.model.derivatives(self.points(times, nodes), set(terms.values()))
        columns = [found[terms[each.order]][:, outputs.index(each.field)] for each in state]
        return np.stack([column.reshape(len(times), len(nodes)) for column in columns], axis=1)

    def fitted_fields(self, times: np.ndarray) -> np.ndarray:
        """(instants, fields, moving nodes)."""
        values = self.model.values(self.points(times, self.inner))
        return np.moveaxis(values.reshape(len(times), len(self.inner), -1), 2, 1)

    @cached_property
    def _edges(self) -> CubicSpline | None:
        """The state at the given nodes over time."""
        if self.moves.all():
            return None
        times = np.linspace(*self.evolution.problem.coordinates[self.evolution.time], EDGE_INSTANTS)
        return CubicSpline(times, self.fitted(times, self.nodes[~self.moves]))

    def places(self, time: float) -> dict[str, np.ndarray]:
        """The coordinates of the moving nodes at one instant."""
        spaces = {name: self.inner[:, axis] for axis, name in enumerate(self.evolution.spaces)}
        return {self.evolution.time: np.full(len(self.inner), time), **spaces}

    def _known(self, time: float, state: np.ndarray) -> dict[Derivative, np.ndarray]:
        edges = None if self._edges is None else self._edges(time)
        found = {}
        for leaf, component, along in self.evolution.needs:
            row = self.evolution.state.index(component)
            if not any(along):
                found[leaf] = state[row]
                continue
            inner, outer = self._operators[along]
            found[leaf] = inner @ state[row] + (0.0 if edges is None else outer @ edges[row])
        return found

    def highest(self, time: float, state: np.ndarray, unknowns: Mapping[str, float]) -> np.ndarray:
        """(fields, nodes): what the equations are solved for."""
        return self.evolution.highest(self.places(time), self._known(time, state), unknowns)

    def rate(self, time: float, state: np.ndarray, unknowns: Mapping[str, float]) -> np.ndarray:
        return self.evolution.rate(state, self.highest(time, state, unknowns))

    def jacobian(self, time: float, state: np.ndarray, unknowns: Mapping[str, float]) -> sparse.csc_array:
        """Of the rate along the state, both read row by row."""
        evolution, count = self.evolution, len(self.inner)
        slopes = evolution.slopes(self.places(time), self._known(time, state), unknowns)
        blocks: list[list[Any]] = [[sparse.csr_array((count, count)) for _ in evolution.state] for _ in evolution.state]
        for row, (source, field) in enumerate(evolution.sources):
            if source is not None:
                blocks[row][source] = sparse.eye_array(count, format="csr")
                continue
            for number, (_, needed, along) in enumerate(evolution.needs):
                column = evolution.state.index(needed)
                part = sparse.diags_array(slopes[field, number]) @ self._operators[along][0]
                blocks[row][column] = blocks[row][column] + part
        return sparse.csc_array(sparse.block_array(blocks))

    def fields(self, times: np.ndarray, states: np.ndarray, unknowns: Mapping[str, float]) -> np.ndarray:
        """(instants, fields, nodes) of states (instants, components, nodes): all fields, those that are never
        differentiated in time included."""
        rows = {component.field: number for number, component in enumerate(self.evolution.state) if not component.order}
        names = list(self.evolution.orders)
        if len(rows) == len(names):
            return states[:, [rows[name] for name in names]]
        found = []
        for time, state in zip(times, states, strict=True):
            highest = self.highest(float(time), state, unknowns)
            found.append([state[rows[name]] if name in rows else highest[n] for n, name in enumerate(names)])
        return np.array(found)
