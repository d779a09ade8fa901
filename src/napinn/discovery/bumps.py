"""Test functions of the weak form: B-splines of uniform cells along each coordinate, multiplied with each other.

They and their derivatives vanish at the border of their support. All have one shape, and quadrature is the trapezoidal
rule on a grid that is aligned with them, which is accurate far beyond its order for such functions. Integrals are taken
axis by axis, because test functions are products."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sparse
from scipy.interpolate import BSpline

SMOOTHER = 3
"""Orders by which a test function is smoother than the highest derivative that falls on it."""
LEAST_DEGREE = 5
"""Of the test functions: third derivatives must still be smooth."""
POINTS = {1: 4, 2: 4, 3: 3}
"""Grid points a cell of the test functions, by the number of axes."""
MOST_ROWS = 1200
"""Test functions. With more, the covariance of their errors takes longer than everything else."""
LEAST_BUMPS = 4
"""Along each axis."""


@dataclass(frozen=True, eq=False)
class Bumps:
    """Test functions on a tensor grid: places along each axis, and how many functions there are along it."""

    places: tuple[np.ndarray, ...]
    degrees: tuple[int, ...]
    counts: tuple[int, ...]
    points: int
    """Of the grid, a cell."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(along) for along in self.places)

    @property
    def rows(self) -> int:
        return math.prod(self.counts)

    @cached_property
    def spacing(self) -> np.ndarray:
        return np.array([along[1] - along[0] for along in self.places])

    @cached_property
    def centres(self) -> np.ndarray:
        """(functions, axes)."""
        middle = [
            along[np.arange(count) * self.points + (degree + 1) * self.points // 2]
            for along, count, degree in zip(self.places, self.counts, self.degrees, strict=True)
        ]
        return np.stack([part.ravel() for part in np.meshgrid(*middle, indexing="ij")], axis=1)

    def integrals(self, values: np.ndarray, orders: Sequence[int]) -> np.ndarray:
        """(functions,): of ∂^orders values against every test function."""
        for axis, order in enumerate(orders):
            values = _along(self._matrix(axis, order), values, axis)
        return values.ravel()

    def products(self, values: np.ndarray, orders: Sequence[int], others: Sequence[int]) -> np.ndarray:
        """(functions, functions): integrals of values × ∂^orders of one test function × ∂^others of the other, each
        with the weights and the sign that `integrals` has."""
        for axis, (order, other) in enumerate(zip(orders, others, strict=True)):
            values = _along(self._pairs(axis, order, other), values, axis)
        found = np.zeros((self.rows, self.rows))
        found[self._numbers] = values.ravel()
        return found

    def _window(self, axis: int, order: int) -> np.ndarray:
        """A derivative of the test function times the weight of each point, with the sign of partial integration."""
        degree, spacing = self.degrees[axis], self.spacing[axis]
        cell = spacing * self.points
        spline = BSpline.basis_element(np.arange(degree + 2.0), extrapolate=False)
        at = np.arange(1, (degree + 1) * self.points) / self.points
        along = (spline.derivative(order) if order else spline)(at) / cell**order
        return np.nan_to_num(along) * spacing / cell * (-1.0) ** order

    def _matrix(self, axis: int, order: int) -> sparse.csr_array:
        """(functions along the axis, places)."""
        window = self._window(axis, order)
        starts = np.arange(self.counts[axis]) * self.points + 1
        return _rows(starts, np.tile(window, (len(starts), 1)), self.shape[axis])

    def _overlaps(self, axis: int) -> list[tuple[int, np.ndarray]]:
        """Distances between functions that overlap, with the numbers of the first function of each such pair."""
        count, degree = self.counts[axis], self.degrees[axis]
        reach = range(-min(degree, count - 1), min(degree, count - 1) + 1)
        return [(apart, np.arange(max(0, -apart), min(count, count - apart))) for apart in reach]

    def _pairs(self, axis: int, order: int, other: int) -> sparse.csr_array:
        """(pairs of functions that overlap, places): products of the two."""
        one, two, blocks = self._window(axis, order), self._window(axis, other), []
        for apart, first in self._overlaps(axis):
            shift = abs(apart) * self.points
            ahead = (one[shift:] * two[: len(two) - shift]) if apart >= 0 else (one[: len(one) - shift] * two[shift:])
            starts = np.maximum(first, first + apart) * self.points + 1
            blocks.append(_rows(starts, np.tile(ahead, (len(starts), 1)), self.shape[axis]))
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    @cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Of all pairs of functions that overlap: the numbers of both."""
        ones, twos = np.zeros(1, int), np.zeros(1, int)
        for axis, count in enumerate(self.counts):
            first = np.concatenate([first for _, first in self._overlaps(axis)])
            second = np.concatenate([first + apart for apart, first in self._overlaps(axis)])
            ones = (ones[:, None] * count + first).ravel()
            twos = (twos[:, None] * count + second).ravel()
        return ones, twos


def _rows(starts: np.ndarray, values: np.ndarray, width: int) -> sparse.csr_array:
    """Rows of a sparse matrix that are each nonzero from a start on."""
    columns = starts[:, None] + np.arange(values.shape[1])
    ends = np.arange(0, values.size + 1, values.shape[1])
    return sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(len(starts), width))


def _along(matrix: sparse.csr_array, values: np.ndarray, axis: int) -> np.ndarray:
    """The matrix applied along one axis of a tensor."""
    moved = np.moveaxis(values, axis, 0)
    found = matrix @ moved.reshape(len(moved), -1)
    return np.moveaxis(np.asarray(found).reshape(-1, *moved.shape[1:]), 0, axis)


def bumps_for(lows: Sequence[float], highs: Sequence[float], cells: Sequence[int], orders: Sequence[int]) -> Bumps:
    """Test functions as narrow as the cells of the mesh, or wider where these were too many."""
    degrees = tuple(max(LEAST_DEGREE, order + SMOOTHER) for order in orders)
    wide = 1.0
    while True:
        counts = [max(degree + LEAST_BUMPS, round(cell / wide)) for cell, degree in zip(cells, degrees, strict=True)]
        rows = math.prod(count - degree for count, degree in zip(counts, degrees, strict=True))
        fewest = all(count == degree + LEAST_BUMPS for count, degree in zip(counts, degrees, strict=True))
        if rows <= MOST_ROWS or fewest:
            break
        wide *= 1.02
    points = POINTS[len(cells)]
    places = tuple(
        np.linspace(low, high, count * points + 1) for low, high, count in zip(lows, highs, counts, strict=True)
    )
    functions = tuple(count - degree for count, degree in zip(counts, degrees, strict=True))
    return Bumps(places, degrees, functions, points)
