"""A field from its readings without any equation: a spline on a uniform mesh, robust to gross errors.

Mesh and roughness weight are chosen by readings that are held out. Each field is smoothed alone, because without an
equation fields have nothing to do with each other. With one axis the normal equations are solved directly. With
several they are solved by conjugate gradients, preconditioned with the same smoother of evenly spread readings, which
is a Kronecker sum and is inverted axis by axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from napinn.field.splines.axis import Axis, uniform_axis
from napinn.field.splines.space import Space
from napinn.noise.laws import Cauchy, Huber, deviation

DEGREE = 5
"""Of the splines: a third derivative of them is smooth enough to be integrated."""
BENT = 3
"""The derivative that is penalised: what is smooth is then flattened little (its third derivative is small)."""
HUBER_ROUNDS, CAUCHY_ROUNDS = 3, 3
"""Reweighted least squares: convex at first, so that no start can mislead it, then with Cauchy's law."""
FIRST_CELLS = {1: 8, 2: 4, 3: 4}
MOST_FUNCTIONS = {1: 3000, 2: 20_000, 3: 40_000}
SURE_GAIN = 2.0
"""Standard errors by which the mean held-out loss must fall for cells to be doubled."""
ROUGHNESS_WEIGHTS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
FIRST_ROUGHNESS_WEIGHT = 1e-4
"""The weight with which meshes are compared."""
MOST_JUDGED = (12_000, 48_000)
"""Readings that choose the mesh, first and where there are more; the latter also choose the roughness_weight."""
READINGS_A_FUNCTION = 6
"""With fewer, no mesh is made finer than held-out readings ask for."""
SOFTER = 0.1
"""Of the roughness weight that held-out readings prefer: they weigh bias and noise of the field alike, but test
functions average over noise and not over bias."""
MOST_SMOOTHED = 120_000
"""Readings that make the field. What the others add is in the misfits of all (see `Smooth.misfits`), to first order."""
SMALLEST_NOISE = 1e-6
"""Of the size of the field, below which noise is not distinguished from rounding."""
CLOSE, CLOSER = 1e-3, 1e-5
"""Relative residual at which conjugate gradients end: while meshes are compared, and for the field."""
MOST_ITERATIONS = 80
"""Of conjugate gradients at most."""
LEAST_SLOPE = 0.1
"""Of the score, below which a Newton step would be far too long: more than half of the readings are gross errors."""
MOST_DOUBLINGS = 5
"""Of the cells along an axis, from the first mesh."""
FEW_READINGS = 1500
"""Below this every reading is held out once, in three folds; otherwise one third is held out."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The readings of one field: places, values, and the group (a sensor) that each is left out with."""

    points: np.ndarray
    values: np.ndarray
    groups: np.ndarray

    def only(self, kept: np.ndarray) -> "Measured":
        return Measured(self.points[kept], self.values[kept], self.groups[kept])

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Smooth:
    """A smoothed field: the spline, how far readings are from it, and how much each counts."""

    axes: tuple[Axis, ...]
    coefficients: np.ndarray
    """A tensor, one axis a coordinate."""
    sigma: float
    weights: np.ndarray
    misfits: np.ndarray
    explained: float
    """How far held-out readings are nearer to the field than to a constant, in standard errors of that."""
    roughness_weight: float
    cells: tuple[int, ...]
    """Of the mesh that held-out readings chose: how much detail the readings show."""

    @property
    def slope(self) -> float:
        """The mean slope of the law's score: by how much a shift of all readings moves their mean score."""
        square = (self.misfits / self.sigma / Cauchy().width) ** 2
        return max(float(np.mean((1.0 - square) / (1.0 + square) ** 2)), LEAST_SLOPE)

    @property
    def score(self) -> np.ndarray:
        """What each reading says of the field beyond the smoothed one: a Newton step of the robust loss."""
        return self.weights * self.misfits / self.slope

    @property
    def variance(self) -> float:
        """Of the score of a reading."""
        return float(np.mean(self.score**2))

    def on_grid(self, places: Sequence[np.ndarray], orders: Sequence[int]) -> np.ndarray:
        """A derivative of the field on a tensor grid."""
        tensor = self.coefficients
        for position, (axis, where, order) in enumerate(zip(self.axes, places, orders, strict=True)):
            tensor = np.moveaxis(np.tensordot(design(axis, where, order), tensor, (1, position)), 0, position)
        return tensor


def design(axis: Axis, places: np.ndarray, order: int = 0) -> np.ndarray:
    """(n, functions): the B-splines of an axis, or a derivative of them, at places along it."""
    full = np.zeros((len(places), axis.size))
    columns = axis.cell_of(places)[:, None] + np.arange(axis.degree + 1)
    np.put_along_axis(full, columns, axis.basis(places, order), axis=1)
    return full


class Smoother:
    """The smoothing of some readings on one mesh; matrices are shared by rounds and roughness weights."""

    def __init__(self, axes: tuple[Axis, ...], measured: Measured) -> None:
        self.axes, self.measured = axes, measured
        self.space = Space(axes, 1, frozenset())
        self.rows = self.space.design(measured.points, 0)
        self.transposed = self.rows.T.tocsr()
        self.centre = float(np.median(measured.values))
        self.size = max(deviation(measured.values - self.centre), 1e-300)

    @cached_property
    def along(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each axis: generalised eigenvectors and eigenvalues of bending against mass."""
        found = []
        for number in self.space.order:
            mass, bending = _matrices(self.space.axes[number])
            values, vectors = scipy.linalg.eigh(bending, mass)
            found.append((vectors, np.maximum(values, 0.0)))
        return found

    @cached_property
    def roughness(self) -> sparse.csr_array:
        total: sparse.csr_array | None = None
        for bent in self.space.order:
            product = sparse.csr_array(np.ones((1, 1)))
            for number in self.space.order:
                mass, bending = _matrices(self.space.axes[number])
                product = sparse.kron(product, sparse.csr_array(bending if number == bent else mass), format="csr")
            total = product if total is None else total + product
        assert total is not None
        return total

    def solved(
        self, weights: np.ndarray, roughness_weight: float, start: np.ndarray | None = None, close: float = CLOSER
    ) -> np.ndarray:
        """Coefficients of the weighted readings, as deviations from the centre."""
        right = self.transposed @ (weights * (self.measured.values - self.centre))
        count = len(self.measured)
        if len(self.axes) == 1:
            normal = (
                self.transposed @ sparse.diags_array(weights) @ self.rows
            ) + roughness_weight * count * self.roughness
            normal = normal + 1e-9 * count / self.space.size * sparse.eye_array(self.space.size)
            return splu(sparse.csc_array(normal)).solve(right)
        return self._conjugate_gradients(right, weights, roughness_weight * count, start, close)

    def _conjugate_gradients(
        self, right: np.ndarray, weights: np.ndarray, stiff: float, start: np.ndarray | None, close: float
    ) -> np.ndarray:
        mean, ridge = float(weights.sum()), 1e-9 * len(weights) / self.space.size

        def product(vector: np.ndarray) -> np.ndarray:
            return (
                self.transposed @ (weights * (self.rows @ vector)) + stiff * (self.roughness @ vector) + ridge * vector
            )

        divisor = mean + stiff * _outer_sum([values for _, values in self.along])
        found = np.zeros(self.space.size) if start is None else start
        residual = right - product(found)
        direction, energy = None, 1.0
        end = close * float(np.linalg.norm(right))
        for _ in range(MOST_ITERATIONS):
            if float(np.linalg.norm(residual)) <= end:
                break
            better = self._preconditioned(residual, divisor)
            before, energy = energy, float(residual @ better)
            direction = better if direction is None else better + energy / before * direction
            moved = product(direction)
            length = energy / float(direction @ moved)
            found = found + length * direction
            residual = residual - length * moved
        return found

    def _preconditioned(self, residual: np.ndarray, divisor: np.ndarray) -> np.ndarray:
        tensor = residual.reshape(self.space.shape)
        for position, (vectors, _) in enumerate(self.along):
            tensor = np.moveaxis(np.tensordot(vectors, tensor, (0, position)), 0, position)
        tensor = tensor / divisor
        for position, (vectors, _) in enumerate(self.along):
            tensor = np.moveaxis(np.tensordot(vectors, tensor, (1, position)), 0, position)
        return tensor.ravel()

    def robust(self, roughness_weight: float, close: float = CLOSER) -> tuple[np.ndarray, np.ndarray, float]:
        """Coefficients, weights and deviation of the noise by reweighted least squares."""
        target = self.measured.values - self.centre
        found, sigma = np.zeros(self.space.size), self.size
        weights = Huber().curvature(target / sigma)
        for round_ in range(HUBER_ROUNDS + CAUCHY_ROUNDS):
            found = self.solved(weights, roughness_weight, found, close)
            misfit = target - self.rows @ found
            sigma = max(deviation(misfit), SMALLEST_NOISE * self.size)
            law = Huber() if round_ < HUBER_ROUNDS - 1 else Cauchy()
            weights = law.curvature(misfit / sigma)
        return found, weights, sigma

    def tensor(self, found: np.ndarray) -> np.ndarray:
        """Coefficients with one axis a coordinate, in the problem's order."""
        tensor = found.reshape(self.space.shape) + self.centre
        return np.transpose(tensor, [self.space.order.index(axis) for axis in range(len(self.axes))])


def _matrices(axis: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Means of products of the B-splines of an axis, and of their derivatives of order `BENT` in units of a cell."""
    places, weights = axis.gauss(axis.degree + 1)
    root = np.sqrt(weights.ravel())[:, None]
    plain = design(axis, places.ravel()) * root
    bent = design(axis, places.ravel(), BENT) * root * (axis.length / axis.cells) ** BENT
    return plain.T @ plain, bent.T @ bent


def _outer_sum(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total = total[..., None] + part
    return total


def mesh(lows: Sequence[float], highs: Sequence[float], cells: Sequence[int]) -> tuple[Axis, ...]:
    return tuple(uniform_axis(low, high, count, DEGREE) for low, high, count in zip(lows, highs, cells, strict=True))


class _HeldOut:
    """Losses of held-out readings by mesh and roughness_weight."""

    def __init__(
        self, measured: Measured, lows: Sequence[float], highs: Sequence[float], seed: int, judged: int
    ) -> None:
        random = np.random.default_rng(seed)
        pick = np.sort(random.permutation(len(measured))[:judged])
        self.measured, self.lows, self.highs = measured.only(pick), lows, highs
        fold = _folds(self.measured, random)
        self.folds = [fold == number for number in range(3 if len(pick) < FEW_READINGS else 1)]
        self.centre = float(np.median(self.measured.values))
        self.scale = max(deviation(self.measured.values - self.centre), 1e-300)
        self._smoothers: dict[tuple[int, ...], list[Smoother]] = {}
        self.known: dict[tuple[tuple[int, ...], float], np.ndarray] = {}

    @property
    def trained(self) -> int:
        return int(np.sum(~self.folds[0]))

    def most(self, dimensions: int) -> int:
        """Functions that a mesh may have."""
        return min(MOST_FUNCTIONS[dimensions], self.trained)

    def misfits(self, cells: tuple[int, ...], roughness_weight: float) -> np.ndarray:
        if (cells, roughness_weight) not in self.known:
            if cells not in self._smoothers:
                axes = mesh(self.lows, self.highs, cells)
                self._smoothers = {cells: [Smoother(axes, self.measured.only(~held)) for held in self.folds]}
            found = []
            for smoother, held in zip(self._smoothers[cells], self.folds, strict=True):
                coefficients, _, _ = smoother.robust(roughness_weight, CLOSE)
                there = smoother.space.design(self.measured.points[held], 0) @ coefficients + smoother.centre
                found.append(self.measured.values[held] - there)
            self.known[cells, roughness_weight] = np.concatenate(found)
        return self.known[cells, roughness_weight]

    def about_centre(self) -> np.ndarray:
        return np.concatenate(
            [self.measured.values[held] - np.median(self.measured.values[~held]) for held in self.folds]
        )


def _folds(measured: Measured, random: np.random.Generator) -> np.ndarray:
    """A fold for every reading: readings by themselves, every second of them with its whole group."""
    names, group = np.unique(measured.groups, return_inverse=True)
    fold = random.integers(0, 3, len(measured))
    if len(names) < 9:
        return fold
    whole = random.permutation(len(names)) % 6
    return np.where(whole[group] < 3, whole[group], fold)


def _loss(misfits: np.ndarray, scale: float) -> np.ndarray:
    return np.log1p((misfits / scale) ** 2)


def smooth_field(measured: Measured, lows: Sequence[float], highs: Sequence[float], seed: int = 0) -> Smooth:
    """The field that the readings support: cells doubled as long as held-out readings gain, then the weight."""
    places = [len(np.unique(measured.points[:, axis])) for axis in range(len(lows))]
    cells = tuple(min(FIRST_CELLS[len(lows)], max(1, count // 2)) for count in places)
    held = _HeldOut(measured, lows, highs, seed, MOST_JUDGED[0])
    cells = _refined(held, _first_mesh(held, cells, places), places)
    if len(measured) > MOST_JUDGED[0]:
        held = _HeldOut(measured, lows, highs, seed, MOST_JUDGED[1])
        cells = _refined(held, cells, places)
    roughness_weight = _roughness_weight(held, cells)
    best = held.misfits(cells, roughness_weight)
    scale = max(deviation(best), SMALLEST_NOISE * held.scale)
    gain = _loss(held.about_centre(), scale) - _loss(best, scale)
    spread = float(np.std(gain)) / math.sqrt(len(gain))
    explained = float(np.mean(gain)) / spread if spread > 0.0 else math.inf
    field = _sharper(held, cells, places, min(len(measured), MOST_SMOOTHED))
    return smoothed_on(mesh(lows, highs, field), measured, SOFTER * roughness_weight, explained, cells, seed)


def smoothed_on(
    axes: tuple[Axis, ...],
    measured: Measured,
    roughness_weight: float,
    explained: float,
    cells: tuple[int, ...],
    seed: int,
) -> Smooth:
    """The field on a given mesh; where there are many readings it is made of some, and all are compared with it."""
    used = np.arange(len(measured))
    if len(measured) > MOST_SMOOTHED:
        used = np.sort(np.random.default_rng(seed).permutation(len(measured))[:MOST_SMOOTHED])
    smoother = Smoother(axes, measured.only(used))
    found, _, sigma = smoother.robust(roughness_weight)
    rows = smoother.rows if len(used) == len(measured) else smoother.space.design(measured.points, 0)
    misfits = measured.values - smoother.centre - rows @ found
    weights = Cauchy().curvature(misfits / sigma)
    return Smooth(axes, smoother.tensor(found), sigma, weights, misfits, explained, roughness_weight, cells)


def _refined(held: _HeldOut, cells: tuple[int, ...], places: list[int]) -> tuple[int, ...]:
    while (finer := _finer(held, cells, held.misfits(cells, FIRST_ROUGHNESS_WEIGHT), places)) is not None:
        cells = finer
    return cells


def _sharper(held: _HeldOut, cells: tuple[int, ...], places: list[int], readings: int) -> tuple[int, ...]:
    """Twice the cells, along all axes or at least along one, as far as there are readings for them.

    The reason is that of `SOFTER`. Held-out readings count every place alike, so that a narrow pulse in a quiet field
    is smoothed too much by their choice."""
    every = tuple(2 * count for count in cells)
    single = [tuple(count * (1 + (axis == other)) for other, count in enumerate(cells)) for axis in range(len(cells))]
    scale = max(deviation(held.misfits(cells, FIRST_ROUGHNESS_WEIGHT)), SMALLEST_NOISE * held.scale)

    def allowed(mesh_: tuple[int, ...]) -> bool:
        fine = math.prod(count + DEGREE for count in mesh_) * READINGS_A_FUNCTION <= readings
        return fine and all(count <= place for count, place in zip(mesh_, places, strict=True))

    if allowed(every):
        return every
    single = [mesh_ for mesh_ in single if allowed(mesh_)]
    if len(single) > 1 and all(math.prod(each) < held.trained for each in single):
        first = held.misfits(cells, FIRST_ROUGHNESS_WEIGHT)
        single.sort(key=lambda mesh_: -_gain(first, held.misfits(mesh_, FIRST_ROUGHNESS_WEIGHT), scale))
    return single[0] if single else cells


def _roughness_weight(held: _HeldOut, cells: tuple[int, ...]) -> float:
    best, roughness_weight = held.misfits(cells, FIRST_ROUGHNESS_WEIGHT), FIRST_ROUGHNESS_WEIGHT
    for other in ROUGHNESS_WEIGHTS:
        misfits, scale = held.misfits(cells, other), max(deviation(best), SMALLEST_NOISE * held.scale)
        if np.mean(_loss(misfits, scale)) < np.mean(_loss(best, scale)):
            best, roughness_weight = misfits, other
    return roughness_weight


def _first_mesh(held: _HeldOut, cells: tuple[int, ...], places: list[int]) -> tuple[int, ...]:
    """Cells doubled along all axes at once: a coarse mesh takes narrow pulses for gross errors, and no doubling along
    one axis alone would show otherwise."""
    best, now = cells, cells
    for _ in range(MOST_DOUBLINGS):
        now = tuple(min(2 * count, place) for count, place in zip(now, places, strict=True))
        if math.prod(count + DEGREE for count in now) > held.most(len(now)):
            break
        one, other = held.misfits(best, FIRST_ROUGHNESS_WEIGHT), held.misfits(now, FIRST_ROUGHNESS_WEIGHT)
        scale = max(min(deviation(one), deviation(other)), SMALLEST_NOISE * held.scale)
        if _gain(one, other, scale) > SURE_GAIN:
            best = now
    return best


def _gain(before: np.ndarray, after: np.ndarray, scale: float) -> float:
    """By how many standard errors the mean loss falls; readings are paired, so only where they differ counts."""
    fall = _loss(before, scale) - _loss(after, scale)
    spread = float(np.std(fall)) / math.sqrt(len(fall))
    return float(np.mean(fall)) / spread if spread > 0.0 else 0.0


def _finer(held: _HeldOut, cells: tuple[int, ...], best: np.ndarray, places: list[int]) -> tuple[int, ...] | None:
    """The mesh with twice the cells along the axis that gains most; None where none gains surely."""
    scale = max(deviation(best), SMALLEST_NOISE * held.scale)
    found: list[tuple[float, tuple[int, ...]]] = []
    for axis in range(len(cells)):
        finer = tuple(count * 2 if other == axis else count for other, count in enumerate(cells))
        if finer[axis] > places[axis] or math.prod(count + DEGREE for count in finer) > held.most(len(cells)):
            continue
        found.append((_gain(best, held.misfits(finer, FIRST_ROUGHNESS_WEIGHT), scale), finer))
    gain, finer = max(found, default=(0.0, cells))
    return finer if gain > SURE_GAIN else None
