"""Everything that a mesh determines: where equations and conditions are enforced, and how readings see the field.

    objective = Σ -log p(misfit / σ)                                       readings
              + N/(2 ε²) Σ over equations of mean((residual / unit)²)      equations: their cost, in nats
              + N/(2 min(ε, 0.03)²) Σ of mean((misfit / unit)²)            conditions and periodicity

N is the number of readings that count and ε the relative error that the equations are allowed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
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
from napinn.engines.splines.reading_rows import ReadingRows
from napinn.engines.splines.state import Residual, State
from napinn.engines.splines.task import Task
from napinn.engines.splines.unknown_functions import Curve, tree_of
from napinn.field.splines.banded import Banded
from napinn.field.splines.factorised import FactorisedGrid, ReadingTable, table_of
from napinn.field.splines.functions import Bases
from napinn.field.splines.space import Orders, PointGrid, Space, box_grid, face_grid
from napinn.problem.equations import Derivative, Equation, Leaf, UnknownLeaf, Varying
from napinn.problem.equations.gradient import value_and_partials

CONDITION_TOLERANCE = 0.03
"""Conditions are held at least this tightly from the beginning: they are exact, whatever the mesh can resolve."""


class System:
    """A task on a mesh, with the readings that count; `points` is how many quadrature points a cell has an axis."""

    def __init__(
        self,
        task: Task,
        space: Space,
        points: int,
        used: np.ndarray,
        meter: Meter,
        rows: ReadingRows | None = None,
    ) -> None:
        """`rows` are those of another system with the same mesh and readings, which need not be computed again."""
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
        self.rows = ReadingRows(space, task.points[used], self.field) if rows is None else rows
        self.faces = [
            face_grid(space, {task.axis_of[name]: place for name, place in condition.at.items()})
            for condition in task.conditions
        ]

    def with_points(self, points: int) -> "System":
        return System(self.task, self.space, points, self.used, self.meter, self.rows)

    def of(self, task: Task) -> "System":
        """The same mesh and readings under other equations."""
        return System(task, self.space, self.points, self.used, self.meter, self.rows)

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
        columns = self.rows.precise_normal(self.spread).reshape(self.space.size, -1)
        of_column = np.zeros(self.space.fields)
        of_column[: len(curvatures)] = curvatures
        band.entries.reshape(columns.shape)[:] += np.tile(of_column, self.space.functions)[:, None] * columns

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
