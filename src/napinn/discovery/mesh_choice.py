"""How fine a mesh the readings support: cells are doubled as long as held-out readings gain by it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napinn.discovery.reading_matrix import reading_matrix
from napinn.discovery.smoother import CLOSE, DEGREE, SMALLEST_NOISE, Measured, Smoother, mesh
from napinn.noise.laws import deviation

FIRST_CELLS = {1: 8, 2: 4, 3: 4}
MOST_FUNCTIONS = {1: 3000, 2: 20_000, 3: 40_000}
SURE_GAIN = 2.0
"""Standard errors by which the mean held-out loss must fall for cells to be doubled."""
ROUGHNESS_WEIGHTS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
FIRST_ROUGHNESS_WEIGHT = 1e-4
"""The weight with which meshes are compared."""
HEAVIER_WEIGHTS = (1e-3, 1e-2)
"""Weights with which the last mesh is compared with one of twice the cells along all axes. A weight is in units of
cells, so that the same smoothness on twice the cells has up to 2⁶ times the weight."""
MOST_JUDGED = (12_000, 48_000)
"""Readings that choose the mesh, first and where there are more; the latter also choose the roughness weight."""
READINGS_A_FUNCTION = 4
"""With fewer, no mesh is made finer than held-out readings ask for: the field would follow their noise."""
MOST_DOUBLINGS = 5
"""Of the cells along an axis, from the first mesh."""
FEW_READINGS = 1500
"""Below this every reading is held out once, in three folds; otherwise one third is held out."""


@dataclass(frozen=True)
class MeshChoice:
    """What held-out readings choose, and what they say of the field."""

    cells: tuple[int, ...]
    finer: tuple[int, ...]
    """The mesh of the field, up to twice as fine as held-out readings ask for."""
    roughness_weight: float
    explained: float
    """How far held-out readings are nearer to the field than to a constant, in standard errors of that."""


class _HeldOut:
    """Losses of held-out readings by mesh and roughness weight."""

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
                there = reading_matrix(smoother.space, self.measured.points[held]).values(coefficients)
                found.append(self.measured.values[held] - smoother.centre - there)
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


def choose_mesh(
    measured: Measured, lows: Sequence[float], highs: Sequence[float], seed: int, readings: int
) -> MeshChoice:
    """Cells doubled as long as held-out readings gain, then the weight; `readings` make the field in the end."""
    places = [len(np.unique(measured.points[:, axis])) for axis in range(len(lows))]
    cells = tuple(min(FIRST_CELLS[len(lows)], max(1, count // 2)) for count in places)
    held = _HeldOut(measured, lows, highs, seed, MOST_JUDGED[0])
    cells = _refined(held, _first_mesh(held, cells, places), places)
    if len(measured) > MOST_JUDGED[0]:
        held = _HeldOut(measured, lows, highs, seed, MOST_JUDGED[1])
        cells = _refined(held, cells, places)
    cells, roughness_weight = _stiffer(held, cells, places)
    best = held.misfits(cells, roughness_weight)
    scale = max(deviation(best), SMALLEST_NOISE * held.scale)
    gain = _loss(held.about_centre(), scale) - _loss(best, scale)
    spread = float(np.std(gain)) / math.sqrt(len(gain))
    explained = float(np.mean(gain)) / spread if spread > 0.0 else math.inf
    return MeshChoice(cells, _sharper(held, cells, places, readings), roughness_weight, explained)


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


def _stiffer(held: _HeldOut, cells: tuple[int, ...], places: list[int]) -> tuple[tuple[int, ...], float]:
    """Twice the cells along all axes with more roughness weight, as long as held-out readings gain; and the weight."""
    while True:
        roughness_weight = _roughness_weight(held, cells)
        best, finer = held.misfits(cells, roughness_weight), tuple(2 * count for count in cells)
        fits = math.prod(count + DEGREE for count in finer) <= held.most(len(cells))
        if not fits or any(count > place for count, place in zip(finer, places, strict=True)):
            return cells, roughness_weight
        scale = max(deviation(best), SMALLEST_NOISE * held.scale)
        if max(_gain(best, held.misfits(finer, weight), scale) for weight in HEAVIER_WEIGHTS) <= SURE_GAIN:
            return cells, roughness_weight
        cells = finer


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
