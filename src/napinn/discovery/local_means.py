"""What scattered readings say at the points of a grid: means of those near each point."""

import math

import numpy as np
from scipy.ndimage import convolve1d

from napinn.discovery.bumps import Bumps

REACH, FAINT = 4, 1e-2
"""Grid points across which the gaps between readings are filled, and what a reading counts for one grid point farther
away: as good as nothing where there is a nearer one."""


class LocalMeans:
    """Means of the values at scattered points near each point of the grid.

    A value counts for the corners of the grid cell that it lies in. Where none is that near, those farther away count.
    Means, and not sums over a mean density: scattered points leave gaps, and a sum would take these for zeros."""

    def __init__(self, bumps: Bumps, points: np.ndarray) -> None:
        self.bumps = bumps
        low = np.array([along[0] for along in bumps.places])
        place = np.clip((points - low) / bumps.spacing, 0.0, np.array(bumps.shape) - 1.0)
        cell = np.minimum(place.astype(int), np.array(bumps.shape) - 2)
        part = place - cell
        self.corners = []
        for corner in np.ndindex(*(2,) * points.shape[1]):
            share = np.prod(np.where(np.array(corner) == 1, part, 1.0 - part), axis=1)
            number = np.ravel_multi_index(tuple((cell + np.array(corner)).T), bumps.shape)
            self.corners.append((number, share))

    def __call__(self, values: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """On the grid, of the values for which `kept` is true; zero where there is none within reach."""
        counted = kept.astype(float)
        weight = self._gathered(counted)
        return np.where(weight > 0.0, self._gathered(counted * values) / np.where(weight > 0.0, weight, 1.0), 0.0)

    def volumes(self, kept: np.ndarray) -> np.ndarray:
        """Of each point: the integral of its weight in the means, so that they add up to the volume of the grid; zero
        for points that are not kept."""
        weight = self._gathered(kept.astype(float))
        volume = np.where(weight > 0.0, float(np.prod(self.bumps.spacing)) / np.where(weight > 0.0, weight, 1.0), 0.0)
        each = _widened(volume).ravel()
        return kept * np.sum([each[number] * share for number, share in self.corners], axis=0)

    def _gathered(self, values: np.ndarray) -> np.ndarray:
        total = np.zeros(math.prod(self.bumps.shape))
        for number, share in self.corners:
            total += np.bincount(number, share * values, len(total))
        return _widened(total.reshape(self.bumps.shape))


def _widened(values: np.ndarray) -> np.ndarray:
    """Values with a small part of what lies up to `REACH` grid points away."""
    total, wide = values, values
    for _ in range(REACH):
        wide = FAINT * wide
        for axis in range(values.ndim):
            wide = convolve1d(wide, np.full(3, 1.0 / 3.0), axis, mode="constant")
        total = total + wide
    return total
