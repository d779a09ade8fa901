"""Which cells of a mesh are bisected: those inside which residuals vary, because finer cells remove that variation."""

from dataclasses import replace

import numpy as np

from napinn.engines.splines.journal import Level
from napinn.engines.splines.points import Point
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System

MARKED = 0.8
"""Cells that hold this share of the residual's variation inside cells are bisected."""
SMALLEST_CELL = 1e-5
"""Of an axis: narrower cells are not bisected. An observable that is no derivative may bend beside a reading at a cost
that falls with the width of the bend, so that halving its cell always pays; and rounding grows with the inverse
square of the width."""
WORTH_MARKING = {1: 0.2, 2: 0.2, 3: 0.5}
"""An axis is refined if its share of that variation is at least this part of the largest."""


def bisected(point: Point | Level, wanted: list[np.ndarray], most: int) -> tuple[System | None, State]:
    """The system and state on the refined mesh, with at most `most` coefficients; no system where nothing fits.

    Where not all that is wanted fits, the axis that gains least is left as it is, and then half of the cells."""
    space, wanted = point.system.space, [along.copy() for along in wanted]
    while any(along.any() for along in wanted):
        finer = space.bisected([along > 0.0 for along in wanted])
        if finer.size <= most:
            coefficients = space.prolonged(point.state.coefficients, finer)
            return point.system.on(finer), replace(point.state, coefficients=coefficients)
        _want_less(wanted)
    return None, point.state


def _want_less(wanted: list[np.ndarray]) -> None:
    """Leave out the marked axis whose cells vary least; of a single axis, the half of the cells that vary least."""
    marked = [along for along in wanted if along.any()]
    least = min(marked, key=lambda along: float(along.sum()))
    if len(marked) > 1:
        least[:] = 0.0
    else:
        order = np.argsort(-least)
        least[order[int(np.count_nonzero(least)) // 2 :]] = 0.0


def marks_of(point: Point) -> list[np.ndarray]:
    """For each axis and cell: how much residuals vary inside the cell along the axis, which finer cells remove; 0 for
    cells that are not worth it."""
    system, dimensions = point.system, point.system.task.dimensions
    variation = _inner_variation(point)
    largest = max(float(along.sum()) for along in variation)
    marks = []
    for axis, along in enumerate(variation):
        position = system.space.order.index(axis)
        share = along.sum(axis=tuple(other for other in range(dimensions) if other != position))
        share = np.where(wide_enough(system.space.axes[axis].breaks), share, 0.0)
        marked = np.zeros(len(share))
        if share.sum() > WORTH_MARKING[dimensions] * largest:
            order = np.argsort(-share)
            count = int(np.searchsorted(np.cumsum(share[order]) / share.sum(), MARKED)) + 1
            marked[order[:count]] = share[order[:count]]
        marks.append(marked)
    return marks


def wide_enough(breaks: np.ndarray) -> np.ndarray:
    """Which cells of an axis may be bisected."""
    return np.diff(breaks) >= SMALLEST_CELL * (breaks[-1] - breaks[0])


def _inner_variation(point: Point) -> list[np.ndarray]:
    """By axis, and for every cell: how much squared residuals vary inside the cell along that axis."""
    system, dimensions = point.system, point.system.task.dimensions
    found = [np.zeros(system.grid.cell_shape) for _ in range(dimensions)]
    inside = tuple(range(dimensions, 2 * dimensions))
    parts = zip(point.solution.value.residuals, point.solution.units.equations, system.equation_weights, strict=True)
    for residual, unit, weight in parts:
        relative = system.grid.folded(np.sqrt(weight) * residual.value / unit)
        for position, axis in enumerate(system.space.order):
            mean = relative.mean(axis=dimensions + position, keepdims=True)
            found[axis] = found[axis] + ((relative - mean) ** 2).sum(axis=inside)
    return found
