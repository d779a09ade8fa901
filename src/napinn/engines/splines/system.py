"""Everything that a mesh determines: where equations and conditions are enforced, and how readings see the field.

    objective = Σ -log p(misfit / σ)                                       readings
              + N/(2 ε²) Σ over equations of mean((residual / unit)²)      equations: their cost, in nats
              + N/(2 min(ε, 0.03)²) Σ of mean((misfit / unit)²)            conditions and periodicity

N is the number of readings that count and ε the relative error that the equations are allowed."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from napinn.engines.splines.cost import (
    MATRIX_FREE_FROM,
    STEP,
    Meter,
    band_seconds,
    equation_seconds,
    matrix_free_seconds,
    reading_seconds,
)
from napinn.engines.splines.matrix_free import Preconditioner
from napinn.engines.splines.task import Curve, Task, tree_of
from napinn.field.splines.banded import Banded, Pattern
from napinn.field.splines.factorised import FactorisedGrid, ReadingTable, table_of
from napinn.field.splines.functions import Bases
from napinn.field.splines.space import Orders, PointGrid, Space, box_grid, face_grid
from napinn.noise.laws import Law
from napinn.problem.equations import Derivative, Equation, Leaf, Varying
from napinn.problem.equations import Unknown as UnknownLeaf
from napinn.problem.equations.gradient import value_and_partials

CONDITION_TOLERANCE = 0.03
"""Conditions are held at least this tightly from the beginning: they are exact, whatever the mesh can resolve."""
MOST_AT_ONCE = 400_000
"""Entries of cell Jacobians that are formed at once, so that they stay in the cache."""
LEAST_UNIT = 0.1
"""Of the size of an equation at the smoothed field: a field at rest with vanishing unknowns must not look exact."""

AT_REST = 1e-12
"""Of the natural square of an equation: below it, all fields in it are constant, as those behind a mean are at first,
and the equation gets its natural size."""


@dataclass(frozen=True, eq=False)
class Residual:
    """One equation at the points of a grid, with its partial derivatives."""

    grid: PointGrid
    value: np.ndarray
    fields: dict[Derivative, np.ndarray]
    unknowns: dict[str, np.ndarray]
    varying: dict[Varying, np.ndarray] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class State:
    """What a fit has found so far: numbers only, of one mesh."""

    coefficients: np.ndarray
    unknowns: np.ndarray
    offsets: np.ndarray
    """The location of the noise by scale (`Readings.scatters`): of each measured field, unless noise groups divide its
    readings."""
    sigma: np.ndarray
    """The deviation of the noise, likewise."""
    laws: tuple[Law, ...]
    """Of each noise group; of all readings where there are none."""
    roughness_weight: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    """Of each set of differences of unknown functions."""

    def moved(self, coefficients: np.ndarray, unknowns: np.ndarray, offsets: np.ndarray) -> "State":
        return replace(self, coefficients=coefficients, unknowns=unknowns, offsets=offsets)


class ReadingRows:
    """The matrix from coefficients to the field at readings, and its normal matrix for any weights."""

    def __init__(self, space: Space, points: np.ndarray, field: np.ndarray) -> None:
        self.space = space
        self.matrix = space.design(points, field)
        self.transposed = self.matrix.T
        first, _ = space.rows(points)
        first, self.members = self._grouped(first * space.fields + field)
        self.pattern = Pattern(first, space.offsets * space.fields, space.size, space.bandwidth)

    @staticmethod
    def _grouped(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
        return first, members

    def add_normal(self, band: Banded, weights: np.ndarray) -> None:
        """Add the sum over readings of weight × row × rowᵀ."""
        rows = self.matrix.data.reshape(-1, len(self.space.offsets))
        step = max(1, MOST_AT_ONCE // max(1, self.members.shape[1] * len(self.space.offsets)))
        for start in range(0, len(self.members), step):
            members = self.members[start : start + step]
            values, each = rows[np.maximum(members, 0)], weights[np.maximum(members, 0)] * (members >= 0)
            band.add_cells(self.pattern, np.matmul((values * each[..., None]).transpose(0, 2, 1), values), start)


class System:
    """A task on a mesh, with the readings that count; `points` is how many quadrature points a cell has an axis."""

    def __init__(self, task: Task, space: Space, points: int, used: np.ndarray, meter: Meter) -> None:
        self.task, self.space, self.points, self.used, self.meter = task, space, points, used, meter
        self.values = task.readings.values[used]
        self.field = task.readings.field_index[used]
        self.scatter = task.scatter[used]
        self.spread = task.spread[used]
        self.count = len(self.values)
        self.grid = box_grid(space, points)
        self._bases: dict[tuple[str, int], Bases] = {}
        self._factorised: dict[int, FactorisedGrid] = {}
        self.preconditioner: Preconditioner | None = None
        """The last one, where steps are matrix-free."""
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
        return matrix_free_seconds(self.space, self._direct_seconds) if self.matrix_free else self._direct_seconds

    @cached_property
    def _direct_seconds(self) -> float:
        readings = reading_seconds(self.space, self.count, len(self.rows.members))
        return STEP + readings + equation_seconds(self.grid, len(self.task.equations)) + band_seconds(self.space)

    @cached_property
    def matrix_free(self) -> bool:
        """Whether steps are taken by conjugate gradients, because to form and factor the matrix takes long."""
        return self._direct_seconds > MATRIX_FREE_FROM

    def factorised(self, grid: PointGrid) -> FactorisedGrid:
        """The matrices along the axes of one of the grids of this mesh."""
        return self._factorised.setdefault(id(grid), FactorisedGrid(grid))

    @cached_property
    def table(self) -> ReadingTable | None:
        """The readings as a table of places × instants, if they are one."""
        return table_of(self.space, self.task.points[self.used], self.field)

    # ---- readings -------------------------------------------------------------------------------------------------
    def misfits(self, coefficients: np.ndarray) -> np.ndarray:
        """Reading minus field, over what is known of the spread of the reading."""
        return (self.values - self.at_readings(coefficients)) / self.spread

    def at_readings(self, coefficients: np.ndarray) -> np.ndarray:
        """(readings,): the measured field at each."""
        if self.matrix_free and self.table is not None:
            return self.table.times(coefficients)
        return self.rows.matrix @ coefficients

    def from_readings(self, values: np.ndarray) -> np.ndarray:
        """(coefficients,): the transpose of `at_readings`."""
        if self.matrix_free and self.table is not None:
            return self.table.transposed(values)
        return self.rows.transposed @ values

    def standardised(self, state: State) -> np.ndarray:
        return (self.misfits(state.coefficients) - state.offsets[self.scatter]) / state.sigma[self.scatter]

    def loss(self, state: State) -> np.ndarray:
        """The negative log-likelihood of every reading, up to a constant."""
        return self._by_group([law.loss for law in state.laws], self.standardised(state))

    def score(self, state: State) -> np.ndarray:
        """The derivative of the loss along the standardised misfit of each reading."""
        return self._by_group([law.score for law in state.laws], self.standardised(state))

    def curvature(self, state: State) -> np.ndarray:
        """What Gauss–Newton takes for the second derivative."""
        return self._by_group([law.curvature for law in state.laws], self.standardised(state))

    def _by_group(self, functions: list[Callable[[np.ndarray], np.ndarray]], standard: np.ndarray) -> np.ndarray:
        if len(functions) == 1:
            return functions[0](standard)
        found = np.empty(len(standard))
        for number, function in enumerate(functions):
            mine = self.group == number
            found[mine] = function(standard[mine])
        return found

    @cached_property
    def group(self) -> np.ndarray:
        """The noise group of every reading."""
        return self.task.scatters.group[self.scatter]

    def add_constant_normal(self, band: Banded, curvatures: np.ndarray) -> None:
        """Add the normal matrix of readings that all have the curvature of their field, times their known precision."""
        columns = self._precise_normal.reshape(self.space.size, -1)
        of_column = np.zeros(self.space.fields)
        of_column[: len(curvatures)] = curvatures
        band.entries.reshape(columns.shape)[:] += np.tile(of_column, self.space.functions)[:, None] * columns

    @cached_property
    def _precise_normal(self) -> np.ndarray:
        """The entries of the normal matrix of readings of curvature one."""
        band = Banded(self.space.size, self.space.bandwidth)
        self.rows.add_normal(band, 1.0 / self.spread**2)
        return band.entries

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

        functions: dict[Varying, tuple[np.ndarray, np.ndarray]] = {}

        def varied(leaf: Varying) -> np.ndarray:
            if leaf not in functions:
                curve = task.curve_of[leaf.name]
                bases = self._bases_of(curve, grid)
                functions[leaf] = curve.space.evaluated(curve.of(unknowns), bases, leaf.axes)
            return functions[leaf][0].reshape(grid.cells, grid.points)

        look_up = task.look_up(grid, derivative, dict(zip(task.unknowns, unknowns, strict=True)), varied)
        found = [_residual(grid, *value_and_partials(tree_of(equation), look_up)) for equation in equations]
        return [self._with_functions(residual, functions) for residual in found] if task.curves else found

    def leaf(self, leaf: Leaf, state: State) -> np.ndarray | float:
        """The value of a leaf of the equations at the points inside the box."""
        task, grid = self.task, self.grid

        def derivative(wanted: Derivative) -> np.ndarray:
            return grid.values(state.coefficients, task.field_of[wanted.field], task.orders_of(wanted))

        unknowns = dict(zip(task.unknowns, state.unknowns, strict=True))
        return task.look_up(grid, derivative, unknowns, lambda each: self.function(each, grid, state.unknowns))(leaf)

    def function(self, leaf: Varying, grid: PointGrid, unknowns: np.ndarray) -> np.ndarray:
        """An unknown function, or a derivative of it, at the points of a grid."""
        curve = self.task.curve_of[leaf.name]
        values = curve.space.evaluated(curve.of(unknowns), self._bases_of(curve, grid), leaf.axes)[0]
        return values.reshape(grid.cells, grid.points)

    def _bases_of(self, curve: Curve, grid: PointGrid) -> Bases:
        key = (curve.name, id(grid))
        if key not in self._bases:
            axes = [self.task.axis_of[name] for name in curve.space.names]
            places = np.stack([grid.coordinates[axis].ravel() for axis in axes], axis=1)
            self._bases[key] = Bases(curve.space, places)
        return self._bases[key]

    def _with_functions(
        self, residual: Residual, functions: Mapping[Varying, tuple[np.ndarray, np.ndarray]]
    ) -> Residual:
        """The residual with its slopes along the coefficients of unknown functions among those of unknowns."""
        slopes: dict[str, np.ndarray] = dict(residual.unknowns)
        for leaf, slope in residual.varying.items():
            curve = self.task.curve_of[leaf.name]
            along = (slope.reshape(-1, 1) * functions[leaf][1]).T.reshape(curve.size, *slope.shape)
            for number, values in enumerate(along):
                name = f"{curve.name}[{number}]"
                slopes[name] = slopes[name] + values if name in slopes else values
        return replace(residual, unknowns=slopes)

    @cached_property
    def equation_weights(self) -> list[np.ndarray]:
        """Quadrature weights; an equation without derivatives counts all points alike, because a jump in a small cell
        would be cheap otherwise."""
        alike = np.full_like(self.grid.weights, 1.0 / self.grid.weights.size)
        plain = [not any(any(self.task.orders_of(leaf)) for leaf in equation.needs) for equation in self.task.equations]
        weights = [alike if algebraic else self.grid.weights for algebraic in plain]
        pairs = zip(self.task.equations, weights, strict=True)
        return [_within(self.task.inside(equation, self.grid), weight) for equation, weight in pairs]

    @cached_property
    def face_weights(self) -> list[np.ndarray]:
        """Quadrature weights of the conditions, each on its face."""
        pairs = zip(self.task.conditions, self.faces, strict=True)
        return [_within(self.task.inside(condition.equation, face), face.weights) for condition, face in pairs]

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


def _within(inside: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
    """The weights of the points at which an equation holds, which sum to one."""
    if inside is None or not inside.any():
        return weights
    return np.where(inside, weights, 0.0) / float(np.sum(weights[inside]))


def _residual(grid: PointGrid, value: Any, partials: Mapping[Leaf, Any]) -> Residual:
    shape = (grid.cells, grid.points)
    fields = {leaf: np.broadcast_to(part, shape) for leaf, part in partials.items() if isinstance(leaf, Derivative)}
    unknowns = {
        leaf.name: np.broadcast_to(part, shape) for leaf, part in partials.items() if isinstance(leaf, UnknownLeaf)
    }
    varying = {leaf: np.broadcast_to(part, shape) for leaf, part in partials.items() if isinstance(leaf, Varying)}
    return Residual(grid, np.broadcast_to(np.asarray(value, float), shape), fields, unknowns, varying)


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
    if system.task.problem.observables:
        naturals = [_natural_unit(system.task, residual) ** 2 for residual in inside]
        typical = [own if own > AT_REST * first else first for own, first in zip(typical, naturals, strict=True)]
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
        if name in task.problem.unknowns:
            total = total + (slope * state.unknowns[task.unknowns.index(name)]) ** 2
    for leaf, slope in residual.varying.items():
        total = total + (slope * system.function(leaf, residual.grid, state.unknowns)) ** 2
    return np.where(np.isfinite(total), total, 0.0)


def _natural_unit(task: Task, residual: Residual) -> float:
    """The size of a condition where each derivative has its natural size: a variation over the length of the box."""
    total = 0.0
    for leaf, slope in residual.fields.items():
        natural = task.scale[task.field_of[leaf.field]] / np.prod(task.lengths ** np.array(task.orders_of(leaf)))
        total += float(np.sum(residual.grid.weights * (slope * natural) ** 2))
    return float(np.sqrt(total)) or 1.0
