"""How many waves a field has along each coordinate, estimated from its readings before any training.

A network of tanh layers resolves a few waves across the box; it cannot follow ten periods of an oscillation, and ends
in a constant field, which satisfies most equations. So readings are first smoothed with Gaussian kernels that are
wide enough for a few waves, and then, one axis at a time, with kernels of half the width, for as long as that
predicts readings left out of the smoothing markedly better. Misfits are weighed down beyond one deviation, so that
wrong readings do not count as waves."""

from collections.abc import Sequence

import numpy as np

from napinn.data.readings import Readings
from napinn.data.robust import MAD_TO_STD, robust_std

FEW = 3.0
"""Waves across the box that any network resolves: the standard deviation of the first kernel's spectrum."""
MOST_WAVES = 32.0
"""Times the waves that any network resolves; readings that are denser than this are not met."""
WORTH_HALVING = 0.8
"""The median misfit of readings left out has to fall below this share of what it was."""
ENOUGH = 64
"""Fewer readings of a field than this cannot tell waves from noise."""
USED = 450
"""Readings of the search, drawn at random: its cost grows with their cube."""
RIDGES = (0.03, 0.3)
"""Variances of the noise over that of the field, of which the best counts."""
ROUNDS = 4
"""Of the search over coordinates in turn."""


def wavenumbers(readings: Readings, lows: Sequence[float], highs: Sequence[float]) -> tuple[float, ...]:
    """For each coordinate 1 where a few waves cross the box, 2 where twice as many do, and so on by doubling."""
    low, high = np.asarray(lows, float), np.asarray(highs, float)
    found = np.ones(len(low))
    for index in range(len(readings.fields)):
        mine = readings.field_index == index
        if mine.sum() >= ENOUGH:
            chosen = np.flatnonzero(mine)[np.random.default_rng(0).permutation(int(mine.sum()))[:USED]]
            places = 2.0 * (readings.points[chosen] - low) / (high - low) - 1.0
            found = np.maximum(found, _wavenumber(places, _standard(readings.values[chosen])))
    return tuple(float(times) for times in found)


def _wavenumber(places: np.ndarray, values: np.ndarray) -> np.ndarray:
    now = np.ones(places.shape[1])
    misfit = _misfit(places, values, now)
    while now.max() < MOST_WAVES:
        finer = [now * np.where(np.arange(now.size) == axis, 2.0, 1.0) for axis in range(now.size)]
        misfits = [_misfit(places, values, each) for each in finer]
        best = int(np.argmin(misfits))
        if misfits[best] > WORTH_HALVING * misfit:
            break
        now, misfit = finer[best], misfits[best]
    return now


def _standard(values: np.ndarray) -> np.ndarray:
    centred = values - np.median(values)
    return np.clip(centred / (robust_std(values) or 1.0), -10.0, 10.0)


def _misfit(places: np.ndarray, values: np.ndarray, times: np.ndarray) -> float:
    """The median misfit of a third of the readings, smoothed from the other two thirds."""
    third = len(values) // 3
    kernel = _kernel(places, places[third:], times)
    return min(
        float(np.median(np.abs(values[:third] - kernel[:third] @ _smoothed(kernel[third:], values[third:], ridge))))
        for ridge in RIDGES
    )


def _kernel(places: np.ndarray, nodes: np.ndarray, times: np.ndarray) -> np.ndarray:
    apart = np.pi * FEW * times * (places[:, None] - nodes[None])
    return np.exp(-0.5 * np.sum(apart * apart, axis=2))


def _smoothed(kernel: np.ndarray, values: np.ndarray, ridge: float) -> np.ndarray:
    """Coefficients of the kernels by least squares with a ridge, readings beyond one deviation weighed down."""
    weights = np.ones(len(values))
    coefficients = values
    for _ in range(ROUNDS):
        coefficients = np.linalg.solve(kernel + np.diag(ridge / weights), values)
        size = np.abs(values - kernel @ coefficients)
        deviation = max(MAD_TO_STD * float(np.median(size)), 1e-9)
        weights = np.clip(deviation / np.maximum(size, 1e-12), 1e-3, 1.0)
    return coefficients
