"""The method of lines: an evolution on the nodes of a line, with the fitted field at its ends.

Space is cut into even nodes and differentiated by central stencils of fourth order, or of second order to see how much
that matters. A stencil at the first inner nodes reaches beyond them: there the values are those of the fitted field at
the instant in question, or, where space is periodic, those of the other end. An ordinary differential equation is a
line of one node, and nothing is cut."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from napinn.equations import Derivative
from napinn.partials import FieldNetwork
from napinn.verification.called import CalledField
from napinn.verification.evolution import Evolution

Weights = Mapping[int, Float[Array, " w"]]
"""Stencils by the order of their derivative."""
Unknowns = Mapping[str, Float[Array, ""]]


@dataclass(frozen=True)
class Line:
    """Nodes that move, and those at both ends that are given."""

    inner: np.ndarray
    left: np.ndarray
    right: np.ndarray
    spacing: float
    margin: int
    """How many nodes a stencil may reach to either side."""


def line_of(evolution: Evolution, nodes: int) -> Line:
    if evolution.space is None:
        return Line(np.zeros(1), np.zeros(0), np.zeros(0), 1.0, 0)
    low, high = evolution.problem.coordinates[evolution.space]
    margin = half_width(evolution.space_order)
    if evolution.space in evolution.problem.periodic:
        places = np.linspace(low, high, nodes)[:-1]
        return Line(places, places[:0], places[:0], float(places[1] - places[0]), margin)
    places = np.linspace(low, high, nodes)
    inner = slice(margin, nodes - margin)
    return Line(places[inner], places[:margin], places[nodes - margin :], float(places[1] - places[0]), margin)


def half_width(order: int) -> int:
    """Of a central stencil for this derivative with an error of fourth order."""
    return (order + 3) // 2 if order else 0


def stencil(order: int, narrow: bool = False) -> np.ndarray:
    """Weights of the nodes -h … h, one apart, that give this derivative of every polynomial they can tell; a narrow one
    leaves the outermost nodes out, and its error is of second order."""
    width, half = half_width(order), half_width(order) - bool(narrow and order)
    offsets, powers = np.arange(-half, half + 1.0), np.arange(2 * half + 1)
    moments = np.zeros(2 * half + 1)
    moments[order] = math.factorial(order)
    return np.pad(np.linalg.solve(offsets[None, :] ** powers[:, None], moments), width - half)


@dataclass(frozen=True, eq=False)
class Lines:
    """An evolution on a line. The state is a row a component and a column a node, in the fields' own units."""

    evolution: Evolution
    field: FieldNetwork | CalledField
    line: Line

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.evolution.problem.coordinates)

    def places(self, time: Float[Array, ""], along: Float[Array, " n"]) -> dict[str, Float[Array, " n"]]:
        """The coordinates of nodes at one instant."""
        found = {self.evolution.time: jnp.broadcast_to(time, along.shape)}
        return found if self.evolution.space is None else {**found, self.evolution.space: along}

    def fitted(self, time: Float[Array, ""], along: Float[Array, " n"]) -> Float[Array, "c n"]:
        """The components of the state as the fitted field has them."""
        places = self.places(time, along)
        points = jnp.stack([places[name] for name in self.names], axis=1)
        terms = {component.order: ((self.evolution.time,) * component.order,) for component in self.evolution.state}
        found = self.field.derivatives(points, terms.values(), self.names)
        columns = self.evolution.problem.outputs
        return jnp.stack([found[terms[each.order]][:, columns.index(each.field)] for each in self.evolution.state])

    def fitted_fields(self, time: Float[Array, ""], along: Float[Array, " n"]) -> Float[Array, "f n"]:
        places = self.places(time, along)
        return self.field(jnp.stack([places[name] for name in self.names], axis=1)).T

    def weights(self, narrow: bool = False) -> dict[int, Float[Array, " w"]]:
        """The stencils that the equations need."""
        orders = {order for _, _, order in self.evolution.needs}
        return {order: jnp.asarray(stencil(order, narrow) / self.line.spacing**order) for order in orders}

    def highest(
        self, time: Float[Array, ""], state: Float[Array, "c n"], unknowns: Unknowns, weights: Weights
    ) -> Float[Array, "f n"]:
        """What the equations are solved for, at every inner node."""
        known = self._known(self._widened(time, state), weights)
        places = self.places(time, jnp.asarray(self.line.inner, state.dtype))
        return self.evolution.highest(places, known, unknowns)

    def rate(
        self, time: Float[Array, ""], state: Float[Array, "c n"], unknowns: Unknowns, weights: Weights
    ) -> Float[Array, "c n"]:
        return self.evolution.rate(state, self.highest(time, state, unknowns, weights))

    def fields(
        self, time: Float[Array, ""], state: Float[Array, "c n"], unknowns: Unknowns, weights: Weights
    ) -> Float[Array, "f n"]:
        """All fields of a state, those that are never differentiated in time included."""
        rows = {component.field: number for number, component in enumerate(self.evolution.state) if not component.order}
        names = list(self.evolution.orders)
        highest = self.highest(time, state, unknowns, weights) if len(rows) < len(names) else state
        return jnp.stack([state[rows[name]] if name in rows else highest[n] for n, name in enumerate(names)])

    def _widened(self, time: Float[Array, ""], state: Float[Array, "c n"]) -> Float[Array, "c m"]:
        margin = self.line.margin
        if not margin:
            return state
        if not len(self.line.left):
            return jnp.pad(state, ((0, 0), (margin, margin)), mode="wrap")
        ends = jnp.asarray(np.concatenate([self.line.left, self.line.right]), state.dtype)
        given = self.fitted(time, ends)
        return jnp.concatenate([given[:, :margin], state, given[:, margin:]], axis=1)

    def _known(self, wide: Float[Array, "c m"], weights: Weights) -> dict[Derivative, Float[Array, " n"]]:
        rows = {component: number for number, component in enumerate(self.evolution.state)}
        count, found = len(self.line.inner), {}
        for leaf, component, order in self.evolution.needs:
            row, first = wide[rows[component]], self.line.margin - half_width(order)
            parts = [row[first + j : first + j + count] * weights[order][j] for j in range(2 * half_width(order) + 1)]
            found[leaf] = sum(parts[1:], start=parts[0])
        return found
