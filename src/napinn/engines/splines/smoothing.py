"""Robust smoothing of the readings without any equation: the first mesh, the first field, the first noise level.

How fine a mesh and how stiff a spline the readings support is decided by readings that are held out."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sparse

from napinn.engines.splines.cost import Meter, band_seconds, reading_seconds
from napinn.engines.splines.points import SMALLEST_NOISE
from napinn.engines.splines.reading_rows import ReadingRows
from napinn.engines.splines.task import Task
from napinn.field.splines.axis import Axis, uniform_axis
from napinn.field.splines.banded import Banded
from napinn.field.splines.space import Space
from napinn.noise.laws import Cauchy, Huber, deviation

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
ROUGHNESS_WEIGHTS = (1e-5, 1e-4, 1e-2, 1e-1, 1.0)
FIRST_ROUGHNESS_WEIGHT = 1e-3
"""The weight with which meshes are compared, in the middle of the ladder."""
SHARPER, SOFTER = 2, 1e-2
"""Doublings of the cells and factor of the roughness weight of a sharper start."""
FINEST = 3
"""Doublings of the cells of the finest start."""
FINEST_STIFFNESS = {"weak form, finest": 100.0, "weak form, finest and soft": 1.0}
"""Factors of the roughness weight on the finest mesh. The penalty falls with the fourth power of the cells, so that the
first is about as smooth as the start itself and the second follows the readings closely."""
NEAR_BREAK = 0.3
"""Of a cell: the distance within which a break moves to the end of an experiment's range."""
SMALLEST_SCALE = 1e-3
"""Of the size of the field, below which noise is not distinguished from rounding."""


@dataclass(frozen=True)
class Start:
    """What smoothing finds: the cells along each axis, the roughness weight, and the deviation of held-out readings in
    units of the size of the field."""

    cells: tuple[int, ...]
    roughness_weight: float
    held_out: float
    by_group: tuple[float, ...]
    """That deviation by noise group."""


def first_space(task: Task, cells: tuple[int, ...], fields: int) -> Space:
    """A uniform mesh of the box, but that no cell crosses the end of an experiment's own range."""
    ends = zip(task.problem.lows, task.problem.highs, cells, task.degrees, strict=True)
    fast = frozenset(task.axis_of[name] for name in task.problem.periodic)
    axes = [uniform_axis(*end) for end in ends]
    for number, place in sorted({(axis, end) for span in task.spans.values() for axis, *pair in span for end in pair}):
        axes[number] = _with_break(axes[number], place)
    return Space(tuple(axes), fields, fast)


def _with_break(axis: Axis, place: float) -> Axis:
    """The axis with a break at a place: the nearest inner one, moved there, or a new one where it is far."""
    distance = np.abs(axis.breaks - place)
    nearest, near = int(np.argmin(distance)), float(distance.min())
    if near == 0.0:
        return axis
    inner = 0 < nearest < axis.cells
    kept = np.delete(axis.breaks, nearest) if inner and near < NEAR_BREAK * axis.length / axis.cells else axis.breaks
    return Axis(np.sort(np.append(kept, place)), axis.degree)


def smooth_values(
    space: Space, points: np.ndarray, values: np.ndarray, scale: float, roughness_weight: float
) -> np.ndarray:
    """Coefficients of one field from values without gross errors, and a penalty as of `smoothed`.

    Args:
        space: of one field.
        points: (n, d) places of the values.
        values: of the field.
        scale: how much it varies.
        roughness_weight: of the penalty."""
    rows, centre = ReadingRows(space, points, np.zeros(len(values), int)), float(np.median(values))
    matrix = _roughness(space, np.array([scale]))
    matrix.entries *= roughness_weight * len(values)
    weight = np.full(len(values), scale**-2.0)
    rows.add_normal(matrix, weight)
    ridge = np.full(space.size, 1e-7 * len(values) / (space.functions * scale**2))
    return centre + matrix.factor(ridge).solve(rows.transposed @ (weight * (values - centre)))


def smoothed(task: Task, space: Space, roughness_weight: float, meter: Meter, used: np.ndarray) -> np.ndarray:
    """Coefficients of the measured fields, from the readings `used` and a penalty on (cell length² × curvature)²."""
    return _Smoother(task, space, np.flatnonzero(used), meter).coefficients(roughness_weight)


class _Smoother:
    """Smoothing of some readings on one mesh; matrices are shared by different roughness weights."""

    def __init__(self, task: Task, space: Space, chosen: np.ndarray, meter: Meter) -> None:
        self.task, self.space, self.meter = task, space, meter
        self.field, self.scatter = task.readings.field_index[chosen], task.scatter[chosen]
        self.values, self.spread = task.readings.values[chosen], task.spread[chosen]
        self.rows = ReadingRows(space, task.points[chosen], self.field)
        self.scale = task.scale[: space.fields]
        self.roughness = _roughness(space, self.scale)

    def coefficients(self, roughness_weight: float) -> np.ndarray:
        space, count = self.space, len(self.values)
        centre = np.tile(self.task.centre[: space.fields], space.functions)
        ridge = np.tile(1e-7 * count / (space.functions * self.scale**2), space.functions)
        at_centre = self.values - self.rows.matrix @ centre
        found, sigma = np.zeros(space.size), self.task.noise_unit
        for round_ in range(HUBER_ROUNDS + CAUCHY_ROUNDS):
            misfit = (at_centre - self.rows.matrix @ found) / self.spread
            if round_:
                sigma = self._deviations(misfit)
            unit = sigma[self.scatter]
            law = Huber() if round_ < HUBER_ROUNDS else Cauchy()
            # Fields count relative to their noise, and the readings as a whole as if the noise were the field's size.
            weight = law.curvature(misfit / unit) / (unit * self.spread) ** 2
            weight *= float(np.median(unit / self.scale[self.field])) ** 2
            self.meter.spend(reading_seconds(space, count, len(self.rows.members)) + band_seconds(space))
            matrix = Banded(space.size, space.bandwidth)
            matrix.entries += roughness_weight * count * self.roughness.entries
            self.rows.add_normal(matrix, weight)
            found = matrix.factor(ridge).solve(self.rows.transposed @ (weight * at_centre))
        return centre + found

    def _deviations(self, misfit: np.ndarray) -> np.ndarray:
        found = [
            deviation(misfit[self.scatter == number]) if (self.scatter == number).any() else 0.0
            for number in range(len(self.task.noise_unit))
        ]
        return np.maximum(found, SMALLEST_SCALE * self.task.noise_unit)


def _roughness(space: Space, scale: np.ndarray) -> Banded:
    """The integral of (cell length² × curvature)² along each axis: sums of products of matrices of one axis."""
    total = sparse.csr_array((space.functions, space.functions))
    for bent in range(len(space.axes)):
        product = sparse.csr_array(np.ones((1, 1)))
        for number in space.order:
            product = sparse.kron(product, _along_axis(space.axes[number], number == bent), format="csr")
        total = total + product
    matrix = Banded(space.size, space.bandwidth)
    matrix.add_sparse(sparse.csr_array(sparse.kron(total, sparse.diags_array(1.0 / scale**2))))
    return matrix


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
    """The loss of held-out readings for meshes and roughness weights."""

    def __init__(self, task: Task, seed: int, meter: Meter, used: np.ndarray | None) -> None:
        self.task, self.meter, self.known = task, meter, {}
        pick = np.random.default_rng(seed).permutation(len(task.readings))
        pick = (pick if used is None else pick[used[pick]])[:MOST_READINGS]
        folds = range(3 if len(pick) < FEW_READINGS else 1)
        self.folds = [(np.delete(pick, np.arange(fold, len(pick), 3)), pick[fold::3]) for fold in folds]
        self.trained = len(self.folds[0][0])
        self._smoothers: dict[tuple[int, ...], list[_Smoother]] = {}

    def misfits(self, cells: tuple[int, ...], roughness_weight: float) -> np.ndarray:
        """Of the held-out readings, in units of the size of their field."""
        if (cells, roughness_weight) not in self.known:
            space = first_space(self.task, cells, self.task.measured)
            if cells not in self._smoothers:
                self._smoothers = {cells: [_Smoother(self.task, space, chosen, self.meter) for chosen, _ in self.folds]}
            found = []
            for smoother, (_, held) in zip(self._smoothers[cells], self.folds, strict=True):
                field = self.task.readings.field_index[held]
                design = space.design(self.task.points[held], field)
                misfit = self.task.readings.values[held] - design @ smoother.coefficients(roughness_weight)
                found.append(misfit / (self.task.spread[held] * self.task.scale[field]))
            self.known[cells, roughness_weight] = np.concatenate(found)
        return self.known[cells, roughness_weight]

    def deviations(self, misfits: np.ndarray) -> list[float]:
        """Of held-out misfits by noise group."""
        if self.task.groups == 1:
            return [deviation(misfits)]
        return [deviation(misfits[self.group == number]) for number in range(self.task.groups)]

    def scale(self, misfits: np.ndarray) -> np.ndarray:
        """What each held-out misfit is measured in: the deviation of its noise group."""
        return np.maximum(self.deviations(misfits), SMALLEST_SCALE)[self.group]

    @cached_property
    def group(self) -> np.ndarray:
        """The noise group of every held-out reading."""
        held = np.concatenate([held for _, held in self.folds])
        return self.task.scatters.group[self.task.scatter[held]]


def _loss(misfits: np.ndarray, scale: np.ndarray) -> float:
    return float(np.mean(np.log1p((misfits / scale) ** 2)))


def choose_start(task: Task, seed: int, most: int, meter: Meter, used: np.ndarray | None = None) -> Start:
    """Mesh and roughness weight by held-out readings, all or those `used`; no mesh has more than `most` functions."""
    held = _HeldOut(task, seed, meter, used)
    limits = _most_cells(task)
    cells = tuple(min(FIRST_CELLS[task.dimensions], limit) for limit in limits)
    best = held.misfits(cells, FIRST_ROUGHNESS_WEIGHT)
    while True:
        finer = _finer_mesh(task, held, cells, best, limits, most)
        if finer is None:
            break
        cells, best = finer, held.misfits(finer, FIRST_ROUGHNESS_WEIGHT)
    roughness_weight = FIRST_ROUGHNESS_WEIGHT
    for other in ROUGHNESS_WEIGHTS:
        misfits, scale = held.misfits(cells, other), held.scale(best)
        if _loss(misfits, scale) < _loss(best, scale):
            best, roughness_weight = misfits, other
    by_group = tuple(max(each, SMALLEST_NOISE) for each in held.deviations(best))
    return Start(cells, roughness_weight, max(deviation(best), SMALLEST_NOISE), by_group)


def sharper(task: Task, start: Start) -> Start:
    """A finer and softer start, for fields with spikes that held-out readings took for noise."""
    return replace(start, cells=_doubled(task, start, SHARPER), roughness_weight=SOFTER * start.roughness_weight)


def finest(task: Task, start: Start) -> dict[str, Start]:
    """Starts on the finest mesh that the readings support, by name. On it no spike is cut off for want of cells, and
    what the equations make of gross errors beside a spike depends on how stiff the field was at first."""
    cells = _doubled(task, start, FINEST)
    if cells == start.cells:
        return {}
    return {
        name: replace(start, cells=cells, roughness_weight=factor * start.roughness_weight)
        for name, factor in FINEST_STIFFNESS.items()
    }


def _doubled(task: Task, start: Start, times: int) -> tuple[int, ...]:
    """The cells of a start, doubled so many times, or until the readings support no more functions."""
    readings = (
        MOST_FUNCTIONS[task.dimensions] * len(task.readings) / (task.measured if task.dimensions == 1 else task.copies)
    )
    limits, cells = _most_cells(task), start.cells
    for _ in range(times):
        finer = tuple(min(2 * count, limit) for count, limit in zip(cells, limits, strict=True))
        if math.prod(count + degree for count, degree in zip(finer, task.degrees, strict=True)) > readings:
            break
        cells = finer
    return cells


def _most_cells(task: Task) -> list[int]:
    """Cells along each axis that the readings can tell apart: with several axes, two different places a cell."""
    if task.dimensions == 1:
        return [10**9]
    return [max(2, len(np.unique(task.points[:, axis])) // 2) for axis in range(task.dimensions)]


def _finer_mesh(
    task: Task, held: _HeldOut, cells: tuple[int, ...], best: np.ndarray, limits: list[int], most: int
) -> tuple[int, ...] | None:
    """The mesh that improves most for each doubling along one axis; None where none improves enough."""
    scale = held.scale(best)
    readings = MOST_FUNCTIONS[task.dimensions] * held.trained / (task.measured if task.dimensions == 1 else task.copies)
    found: list[tuple[float, float, tuple[int, ...]]] = []
    for axis, factor in itertools.product(range(task.dimensions), (2, 4, 8)):
        if any(gain >= LEAST_IMPROVEMENT and mesh[axis] != cells[axis] for _, gain, mesh in found):
            continue
        finer = tuple(count * factor if other == axis else count for other, count in enumerate(cells))
        functions = math.prod(count + degree for count, degree in zip(finer, task.degrees, strict=True))
        if finer[axis] > limits[axis] or functions > min(readings, most):
            continue
        gain = _loss(best, scale) - _loss(held.misfits(finer, FIRST_ROUGHNESS_WEIGHT), scale)
        found.append((gain / math.log2(factor), gain, finer))
    _, gain, mesh = max(found, default=(0.0, 0.0, cells))
    return mesh if gain > LEAST_IMPROVEMENT else None
