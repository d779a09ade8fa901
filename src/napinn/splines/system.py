"""Everything that a mesh determines: where equations and conditions are enforced, and how readings see the field.

    objective = Σ -log p(misfit / σ)                                       readings
              + N/(2 ε²) Σ over equations of mean((residual / unit)²)      equations: their price, in nats
              + N/(2 min(ε, 0.03)²) Σ of mean((misfit / unit)²)            conditions and periodicity

N is the number of readings that count and ε the relative error that the equations are allowed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from napinn.equations import Derivative, Equation, Leaf
from napinn.equations import Unknown as UnknownLeaf
from napinn.equations.gradient import value_and_partials
from napinn.splines.banded import Banded, Pattern
from napinn.splines.cost import STEP, Meter, band_seconds, equation_seconds, reading_seconds
from napinn.splines.laws import Law
from napinn.splines.space import Orders, PointGrid, Space, box_grid, face_grid
from napinn.splines.task import Task, tree_of

CONDITION_TOLERANCE = 0.03
"""Conditions are held at least this tightly from the beginning: they are exact, whatever the mesh can resolve."""
MOST_AT_ONCE = 400_000
"""Entries of cell Jacobians that are formed at once, so that they stay in the cache."""
LEAST_UNIT = 0.1
"""Of the size of an equation at the smoothed field: a field at rest with vanishing unknowns must not look exact."""


@dataclass(frozen=True, eq=False)
class Residual:
    """One equation at the points of a grid, with its partial derivatives."""

    grid: PointGrid
    value: np.ndarray
    fields: dict[Derivative, np.ndarray]
    unknowns: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class State:
    """What a fit has found so far: numbers only, of one mesh."""

    coefficients: np.ndarray
    unknowns: np.ndarray
    offsets: np.ndarray
    """The location of the noise of each measured field."""
    sigma: np.ndarray
    """The deviation of the noise of each measured field."""
    law: Law

    def moved(self, coefficients: np.ndarray, unknowns: np.ndarray, offsets: np.ndarray) -> "State":
        return replace(self, coefficients=coefficients, unknowns=unknowns, offsets=offsets)


class ReadingRows:
    """The matrix from coefficients to the field at readings, and its normal matrix for any weights."""

    def __init__(self, space: Space, points: np.ndarray, field: np.ndarray) -> None:
        self.space = space
        self.matrix = space.design(points, field)
        self.transposed = self.matrix.T.tocsr()
        first, values = space.rows(points)
        first, self.members, self.values = self._grouped(first * space.fields + field, values)
        self.pattern = Pattern(first, space.offsets * space.fields, space.size, space.bandwidth)

    @staticmethod
    def _grouped(key: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Readings of one field in one cell together, in rows of equal length, so that one product serves them."""
        order = np.argsort(key, kind="stable")
        keys, start, count = np.unique(key[order], return_index=True, return_counts=True)
        width = int(max(4, np.ceil(len(key) / max(len(keys), 1))))
        rank = np.arange(len(order)) - np.repeat(start, count)
        row = np.repeat(np.concatenate([[0], np.cumsum(-(-count // width))[:-1]]), count) + rank // width
        members = np.full((int(row.max(initial=-1)) + 1, width), -1)
        members[row, rank % width] = order
        first = np.zeros(len(members), int)
        first[row] = key[order]
        return first, members, values[np.maximum(members, 0)] * (members >= 0)[..., None]

    def add_normal(self, band: Banded, weights: np.ndarray) -> None:
        """Add the sum over readings of weight × row × rowᵀ."""
        each = weights[np.maximum(self.members, 0)] * (self.members >= 0)
        step = max(1, MOST_AT_ONCE // max(1, self.values[0].size)) if len(self.values) else 1
        for start in range(0, len(self.values), step):
            values = self.values[start : start + step]
            weighted = values * each[start : start + step, :, None]
            band.add_cells(self.pattern, np.matmul(weighted.transpose(0, 2, 1), values), start)


class System:
    """A task on a mesh, with the readings that count; `points` is how many quadrature points a cell has an axis."""

    def __init__(self, task: Task, space: Space, points: int, used: np.ndarray, meter: Meter) -> None:
        self.task, self.space, self.points, self.used, self.meter = task, space, points, used, meter
        self.values = task.readings.values[used]
        self.field = task.readings.field_index[used]
        self.spread = task.spread[used]
        self.count = len(self.values)
        self.grid = box_grid(space, points)
        self.rows = ReadingRows(space, task.points[used], self.field)
        self.faces = [
            face_grid(space, {task.axis_of[name]: place for name, place in condition.at.items()})
            for condition in task.conditions
        ]

    def with_points(self, points: int) -> "System":
        return System(self.task, self.space, points, self.used, self.meter)

    def on(self, space: Space) -> "System":
        return System(self.task, space, self.points, self.used, self.meter)

    def using(self, used: np.ndarray) -> "System":
        return System(self.task, self.space, self.points, used, self.meter)

    @cached_property
    def step_seconds(self) -> float:
        """How long a Gauss–Newton step takes, by the model of cost."""
        readings = reading_seconds(self.space, self.count, len(self.rows.members))
        return STEP + readings + equation_seconds(self.grid, len(self.task.equations)) + band_seconds(self.space)

    # ---- readings -------------------------------------------------------------------------------------------------
    def misfits(self, coefficients: np.ndarray) -> np.ndarray:
        """Reading minus field, over what is known of the spread of the reading."""
        return (self.values - self.rows.matrix @ coefficients) / self.spread

    def standardised(self, state: State) -> np.ndarray:
        return (self.misfits(state.coefficients) - state.offsets[self.field]) / state.sigma[self.field]

    @cached_property
    def everywhere(self) -> sparse.csr_array:
        """The matrix to the field at all readings, also those that do not count."""
        return self.space.design(self.task.points, self.task.readings.field_index)

    # ---- equations ------------------------------------------------------------------------------------------------
    def residuals(self, coefficients: np.ndarray, unknowns: np.ndarray) -> list[Residual]:
        """The equations inside the box."""
        return self._evaluated(self.task.equations, self.grid, coefficients, unknowns)

    def face_residuals(self, coefficients: np.ndarray, unknowns: np.ndarray) -> list[Residual]:
        """The conditions, each on its face."""
        return [
            residual
            for condition, face in zip(self.task.conditions, self.faces, strict=True)
            for residual in self._evaluated((condition.equation,), face, coefficients, unknowns)
        ]

    def _evaluated(
        self, equations: tuple[Equation, ...], grid: PointGrid, coefficients: np.ndarray, unknowns: np.ndarray
    ) -> list[Residual]:
        task, known = self.task, {}

        def derivative(leaf: Derivative) -> np.ndarray:
            if leaf not in known:
                known[leaf] = grid.values(coefficients, task.field_of[leaf.field], task.orders_of(leaf))
            return known[leaf]

        look_up = task.look_up(grid, derivative, dict(zip(task.unknowns, unknowns, strict=True)))
        return [_residual(grid, *value_and_partials(tree_of(equation), look_up)) for equation in equations]

    @cached_property
    def equation_weights(self) -> list[np.ndarray]:
        """Quadrature weights; an equation without derivatives counts all points alike, because a jump in a small cell
        would be cheap otherwise."""
        alike = np.full_like(self.grid.weights, 1.0 / self.grid.weights.size)
        plain = [not any(any(self.task.orders_of(leaf)) for leaf in equation.needs) for equation in self.task.equations]
        return [alike if algebraic else self.grid.weights for algebraic in plain]

    # ---- periodicity ----------------------------------------------------------------------------------------------
    @cached_property
    def jumps(self) -> list[sparse.csr_array]:
        """Rows whose mean square is that of the jump, in units of the field, of a derivative across a period."""
        return [
            row
            for name in self.task.problem.periodic
            for order in range(max(2, self.task.orders[self.task.axis_of[name]]))
            for row in self._jump(self.task.axis_of[name], order)
        ]

    def _jump(self, axis: int, order: int) -> list[sparse.csr_array]:
        ends = [face_grid(self.space, {axis: float(place)}) for place in self.space.axes[axis].breaks[[0, -1]]]
        orders: Orders = tuple(order if number == axis else 0 for number in range(len(self.space.axes)))
        points = [np.stack([along.ravel() for along in end.coordinates], axis=1) for end in ends]
        weight = np.sqrt(ends[0].weights.ravel()) * self.space.axes[axis].length ** order
        found = []
        for field, scale in enumerate(self.task.scale):
            low, high = (self.space.design(place, field, orders) for place in points)
            found.append(sparse.csr_array(sparse.diags_array(weight / scale) @ (high - low)))
        return found

    @cached_property
    def jump_matrix(self) -> sparse.csr_array | None:
        if not self.jumps:
            return None
        rows = sparse.csr_array(sparse.vstack(self.jumps))
        return sparse.csr_array(rows.T @ rows)


def _residual(grid: PointGrid, value: Any, partials: Mapping[Leaf, Any]) -> Residual:
    shape = (grid.cells, grid.points)
    fields = {leaf: np.broadcast_to(part, shape) for leaf, part in partials.items() if isinstance(leaf, Derivative)}
    unknowns = {
        leaf.name: np.broadcast_to(part, shape) for leaf, part in partials.items() if isinstance(leaf, UnknownLeaf)
    }
    return Residual(grid, np.broadcast_to(np.asarray(value, float), shape), fields, unknowns)


@dataclass(frozen=True, eq=False)
class Units:
    """The size of each equation at every point, and of each condition: what their residuals are measured in."""

    equations: list[np.ndarray]
    conditions: list[float]
    typical: list[float]
    """Mean squares over the box of the terms of each equation."""


def measured_units(system: System, state: State, least: Units | None = None) -> Units:
    """The size of the terms of each equation, half of it local and half of it the mean over the box.

    `least` are the units of the smoothed field."""
    inside = system.residuals(state.coefficients, state.unknowns)
    sizes = [_term_squares(system, state, residual) for residual in inside]
    typical = [float(np.sum(weight * size)) for weight, size in zip(system.equation_weights, sizes, strict=True)]
    if least is not None:
        typical = [max(own, LEAST_UNIT * first) for own, first in zip(typical, least.typical, strict=True)]
    tiny = np.finfo(float).tiny
    equations = [np.sqrt(0.5 * (mean + size)) + tiny for mean, size in zip(typical, sizes, strict=True)]
    faces = system.face_residuals(state.coefficients, state.unknowns)
    return Units(equations, [_natural_unit(system.task, residual) for residual in faces], typical)


def _term_squares(system: System, state: State, residual: Residual) -> np.ndarray:
    """The sum of squares of what each leaf contributes to first order, at every point."""
    task, total = system.task, np.zeros((residual.grid.cells, residual.grid.points))
    for leaf, slope in residual.fields.items():
        value = residual.grid.values(state.coefficients, task.field_of[leaf.field], task.orders_of(leaf))
        total = total + (slope * value) ** 2
    for name, slope in residual.unknowns.items():
        total = total + (slope * state.unknowns[task.unknowns.index(name)]) ** 2
    return np.where(np.isfinite(total), total, 0.0)


def _natural_unit(task: Task, residual: Residual) -> float:
    """The size of a condition where each derivative has its natural size: a variation over the length of the box."""
    total = 0.0
    for leaf, slope in residual.fields.items():
        natural = task.scale[task.field_of[leaf.field]] / np.prod(task.lengths ** np.array(task.orders_of(leaf)))
        total += float(np.sum(residual.grid.weights * (slope * natural) ** 2))
    return float(np.sqrt(total)) or 1.0
