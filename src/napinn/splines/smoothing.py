"""Robust smoothing of the readings without any equation: the first mesh, the first field, the first noise level.

How fine a mesh and how stiff a spline the readings support is decided by readings that are held out."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from napinn.splines.axis import Axis, uniform_axis
from napinn.splines.banded import Banded
from napinn.splines.cost import Meter, band_seconds, reading_seconds
from napinn.splines.descent import SMALLEST_NOISE
from napinn.splines.laws import Cauchy, Huber, deviation
from napinn.splines.space import Space
from napinn.splines.system import ReadingRows
from napinn.splines.task import Task

HUBER_ROUNDS, CAUCHY_ROUNDS = 4, 2
"""Reweighted least squares: convex at first, so that no start can mislead it, then with Cauchy's law."""
MOST_READINGS = 3000
"""More say nothing more of how fine a mesh must be."""
FEW_READINGS = 600
"""Below this every reading is held out once, in three folds; otherwise one third is held out."""
FIRST_CELLS = {1: 16, 2: 4, 3: 4}
"""Along each axis, by the number of axes. A coarse start regularises; three times finer a heat rod was fitted with
next to no diffusion."""
LEAST_IMPROVEMENT = 0.01
"""Of the mean held-out loss, for which cells are multiplied."""
MOST_FUNCTIONS = {1: 1.5, 2: 1.0, 3: 1.0}
"""Functions a reading (with one axis: of one field) that a mesh may have, by the number of axes: with more, a field
between readings can turn the wrong way round, which tight equations then keep."""
STIFFNESSES = (1e-5, 1e-4, 1e-2, 1e-1, 1.0)
FIRST_STIFFNESS = 1e-3
SHARPER, SOFTER = 2, 1e-2
"""Doublings of the cells and factor of the stiffness of a sharper start."""
SMALLEST_SCALE = 1e-3
"""Of the size of the field, below which noise is not told apart from rounding."""


@dataclass(frozen=True)
class Start:
    """What smoothing finds: the cells along each axis, the stiffness, and the deviation of held-out readings in units
    of the size of the field."""

    cells: tuple[int, ...]
    stiffness: float
    held_out: float


def first_space(task: Task, cells: tuple[int, ...], fields: int) -> Space:
    """A uniform mesh of the box."""
    ends = zip(task.problem.lows, task.problem.highs, cells, task.degrees, strict=True)
    fast = frozenset(task.axis_of[name] for name in task.problem.periodic)
    return Space(tuple(uniform_axis(*end) for end in ends), fields, fast)


def smoothed(task: Task, space: Space, stiffness: float, meter: Meter) -> np.ndarray:
    """Coefficients of the measured fields, from all readings and a penalty on (cell length² × curvature)²."""
    return _Smoother(task, space, np.arange(len(task.readings)), meter).coefficients(stiffness)


class _Smoother:
    """Smoothing of some readings on one mesh; matrices are shared by different stiffnesses."""

    def __init__(self, task: Task, space: Space, chosen: np.ndarray, meter: Meter) -> None:
        self.task, self.space, self.meter = task, space, meter
        self.field = task.readings.field_index[chosen]
        self.values, self.spread = task.readings.values[chosen], task.spread[chosen]
        self.rows = ReadingRows(space, task.points[chosen], self.field)
        self.scale = task.scale[: space.fields]
        self.roughness = self._roughness()

    def _roughness(self) -> Banded:
        """The integral of (cell length² × curvature)² along each axis: sums of products of matrices of one axis."""
        space = self.space
        total = sparse.csr_array((space.functions, space.functions))
        for bent in range(len(space.axes)):
            product = sparse.csr_array(np.ones((1, 1)))
            for number in space.order:
                product = sparse.kron(product, _along_axis(space.axes[number], number == bent), format="csr")
            total = total + product
        matrix = Banded(space.size, space.bandwidth)
        matrix.add_sparse(sparse.csr_array(sparse.kron(total, sparse.diags_array(1.0 / self.scale**2))))
        return matrix

    def coefficients(self, stiffness: float) -> np.ndarray:
        space, count = self.space, len(self.values)
        centre = np.tile(self.task.centre[: space.fields], space.functions)
        ridge = np.tile(1e-7 * count / (space.functions * self.scale**2), space.functions)
        at_centre = self.values - self.rows.matrix @ centre
        found, sigma = np.zeros(space.size), self.scale
        for round_ in range(HUBER_ROUNDS + CAUCHY_ROUNDS):
            misfit = (at_centre - self.rows.matrix @ found) / self.spread
            if round_:
                sigma = self._deviations(misfit)
            unit = sigma[self.field]
            law = Huber() if round_ < HUBER_ROUNDS else Cauchy()
            # Fields count relative to their noise, and the readings as a whole as if the noise were the field's size.
            weight = law.curvature(misfit / unit) / (unit * self.spread) ** 2
            weight *= float(np.median(unit / self.scale[self.field])) ** 2
            self.meter.spend(reading_seconds(space, count, len(self.rows.members)) + band_seconds(space))
            matrix = Banded(space.size, space.bandwidth)
            matrix.entries += stiffness * count * self.roughness.entries
            self.rows.add_normal(matrix, weight)
            found = matrix.factor(ridge).solve(self.rows.transposed @ (weight * at_centre))
        return centre + found

    def _deviations(self, misfit: np.ndarray) -> np.ndarray:
        found = [
            deviation(misfit[self.field == field]) if (self.field == field).any() else 0.0
            for field in range(self.space.fields)
        ]
        return np.maximum(found, SMALLEST_SCALE * self.scale)


def _along_axis(axis: Axis, bent: bool) -> sparse.csr_array:
    """Integrals of products of the B-splines of an axis, or of their curvatures times (cell length)²."""
    places, weights = axis.gauss(axis.degree + 1)
    cell = np.repeat(np.arange(axis.cells), places.shape[1])
    values = axis.basis(places.ravel(), 2 if bent else 0, cell) * np.sqrt(weights.ravel())[:, None]
    if bent:
        values *= (np.diff(axis.breaks)[cell] ** 2)[:, None]
    columns = cell[:, None] + np.arange(axis.degree + 1)
    ends = np.arange(0, values.size + 1, axis.degree + 1)
    rows = sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(len(cell), axis.size))
    return (rows.T @ rows).tocsr()


class _HeldOut:
    """The loss of held-out readings for meshes and stiffnesses."""

    def __init__(self, task: Task, seed: int, meter: Meter) -> None:
        self.task, self.meter, self.known = task, meter, {}
        pick = np.random.default_rng(seed).permutation(len(task.readings))[:MOST_READINGS]
        folds = range(3 if len(pick) < FEW_READINGS else 1)
        self.folds = [(np.delete(pick, np.arange(fold, len(pick), 3)), pick[fold::3]) for fold in folds]
        self.trained = len(self.folds[0][0])
        self._smoothers: dict[tuple[int, ...], list[_Smoother]] = {}

    def misfits(self, cells: tuple[int, ...], stiffness: float) -> np.ndarray:
        """Of the held-out readings, in units of the size of their field."""
        if (cells, stiffness) not in self.known:
            space = first_space(self.task, cells, self.task.measured)
            if cells not in self._smoothers:
                self._smoothers = {cells: [_Smoother(self.task, space, chosen, self.meter) for chosen, _ in self.folds]}
            found = []
            for smoother, (_, held) in zip(self._smoothers[cells], self.folds, strict=True):
                field = self.task.readings.field_index[held]
                design = space.design(self.task.points[held], field)
                misfit = self.task.readings.values[held] - design @ smoother.coefficients(stiffness)
                found.append(misfit / (self.task.spread[held] * self.task.scale[field]))
            self.known[cells, stiffness] = np.concatenate(found)
        return self.known[cells, stiffness]


def _loss(misfits: np.ndarray, scale: float) -> float:
    return float(np.mean(np.log1p((misfits / scale) ** 2)))


def choose_start(task: Task, seed: int, most: int, meter: Meter) -> Start:
    """Mesh and stiffness by held-out readings; no mesh has more than `most` functions."""
    held = _HeldOut(task, seed, meter)
    limits = _most_cells(task)
    cells = tuple(min(FIRST_CELLS[task.dimensions], limit) for limit in limits)
    best = held.misfits(cells, FIRST_STIFFNESS)
    while True:
        finer = _finer_mesh(task, held, cells, best, limits, most)
        if finer is None:
            break
        cells, best = finer, held.misfits(finer, FIRST_STIFFNESS)
    stiffness = FIRST_STIFFNESS
    for other in STIFFNESSES:
        misfits, scale = held.misfits(cells, other), max(deviation(best), SMALLEST_SCALE)
        if _loss(misfits, scale) < _loss(best, scale):
            best, stiffness = misfits, other
    return Start(cells, stiffness, max(deviation(best), SMALLEST_NOISE))


def sharper(task: Task, start: Start) -> Start:
    """A finer and softer start, for fields with spikes that held-out readings took for noise."""
    readings = MOST_FUNCTIONS[task.dimensions] * len(task.readings) / (task.measured if task.dimensions == 1 else 1)
    limits, cells = _most_cells(task), start.cells
    for _ in range(SHARPER):
        finer = tuple(min(2 * count, limit) for count, limit in zip(cells, limits, strict=True))
        if math.prod(count + degree for count, degree in zip(finer, task.degrees, strict=True)) > readings:
            break
        cells = finer
    return Start(cells, SOFTER * start.stiffness, start.held_out)


def _most_cells(task: Task) -> list[int]:
    """Cells along each axis that the readings can tell apart: with several axes, two different places a cell."""
    if task.dimensions == 1:
        return [10**9]
    return [max(2, len(np.unique(task.points[:, axis])) // 2) for axis in range(task.dimensions)]


def _finer_mesh(
    task: Task, held: _HeldOut, cells: tuple[int, ...], best: np.ndarray, limits: list[int], most: int
) -> tuple[int, ...] | None:
    """The mesh that improves most for each doubling along one axis; None where none improves enough."""
    scale = max(deviation(best), SMALLEST_SCALE)
    readings = MOST_FUNCTIONS[task.dimensions] * held.trained / (task.measured if task.dimensions == 1 else 1)
    found: list[tuple[float, float, tuple[int, ...]]] = []
    for axis, factor in itertools.product(range(task.dimensions), (2, 4, 8)):
        if any(gain >= LEAST_IMPROVEMENT and mesh[axis] != cells[axis] for _, gain, mesh in found):
            continue
        finer = tuple(count * factor if other == axis else count for other, count in enumerate(cells))
        functions = math.prod(count + degree for count, degree in zip(finer, task.degrees, strict=True))
        if finer[axis] > limits[axis] or functions > min(readings, most):
            continue
        gain = _loss(best, scale) - _loss(held.misfits(finer, FIRST_STIFFNESS), scale)
        found.append((gain / math.log2(factor), gain, finer))
    _, gain, mesh = max(found, default=(0.0, 0.0, cells))
    return mesh if gain > LEAST_IMPROVEMENT else None
