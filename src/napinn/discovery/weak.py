"""The weak form: left side and terms integrated against test functions, and what noise leaves of an exact equation.

Test functions are B-splines of uniform cells along each coordinate, so that they and their derivatives vanish at the
border of their support. All have one shape, and quadrature is the trapezoidal rule on a grid that is aligned with them,
which is accurate far beyond its order for such functions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.interpolate import BSpline
from scipy.ndimage import convolve1d

from napinn.discovery.smooth import Smooth
from napinn.discovery.terms import Term
from napinn.problem.equations import Constant, Coordinate, Derivative, Leaf, value_and_partials

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


REACH, FAINT = 4, 1e-2
"""Grid points across which the gaps between readings are filled, and what a reading counts for one grid point farther
away: as good as nothing where there is a nearer one."""


@dataclass(frozen=True, eq=False)
class Bumps:
    """Test functions on a tensor grid: places along each axis, and the grid points in the support of each."""

    places: tuple[np.ndarray, ...]
    degrees: tuple[int, ...]
    points: int
    members: np.ndarray
    """(functions, window): flat numbers of grid points."""
    centres: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(along) for along in self.places)

    @cached_property
    def spacing(self) -> np.ndarray:
        return np.array([along[1] - along[0] for along in self.places])

    def weights(self, orders: Sequence[int]) -> np.ndarray:
        """(window,): a derivative of the test function times the weight of each point, with the sign of partial
        integration."""
        found = np.ones(1)
        for degree, order, spacing in zip(self.degrees, orders, self.spacing, strict=True):
            cell = spacing * self.points
            knots = np.arange(degree + 2.0)
            spline = BSpline.basis_element(knots, extrapolate=False)
            at = np.arange(1, (degree + 1) * self.points) / self.points
            along = (spline.derivative(order) if order else spline)(at) / cell**order
            found = np.multiply.outer(found, np.nan_to_num(along) * spacing / cell).ravel()
        return found * (-1.0) ** sum(orders)

    def local_means(self, points: np.ndarray) -> "LocalMeans":
        """How values at scattered points become values on the grid."""
        return LocalMeans(self, points)

    def integrals(self, values: np.ndarray, orders: Sequence[int]) -> np.ndarray:
        """(functions,): of ∂^orders values against every test function."""
        return values.ravel()[self.members] @ self.weights(orders)


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

    def __call__(self, values: np.ndarray, kept: np.ndarray | None = None) -> np.ndarray:
        """On the grid, of all values or of those for which `kept` is true; zero where there is none within reach."""
        counted = np.ones(len(values)) if kept is None else kept.astype(float)
        weight = self._gathered(counted)
        return np.where(weight > 0.0, self._gathered(counted * values) / np.where(weight > 0.0, weight, 1.0), 0.0)

    def volumes(self) -> np.ndarray:
        """Of each point: the integral of its weight in the means, so that they add up to the volume of the grid."""
        ones = np.ones(len(self.corners[0][0]))
        weight = self._gathered(ones)
        volume = np.where(weight > 0.0, float(np.prod(self.bumps.spacing)) / np.where(weight > 0.0, weight, 1.0), 0.0)
        each = _widened(volume).ravel()
        return np.sum([each[number] * share for number, share in self.corners], axis=0)

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


def bumps_for(lows: Sequence[float], highs: Sequence[float], cells: Sequence[int], orders: Sequence[int]) -> Bumps:
    """Test functions as narrow as the cells of the mesh, or wider where these were too many."""
    dimensions = len(cells)
    degrees = tuple(max(LEAST_DEGREE, order + SMOOTHER) for order in orders)
    wide = 1.0
    while True:
        counts = [max(degree + LEAST_BUMPS, round(cell / wide)) for cell, degree in zip(cells, degrees, strict=True)]
        if math.prod(count - degree for count, degree in zip(counts, degrees, strict=True)) <= MOST_ROWS:
            break
        if all(count == degree + LEAST_BUMPS for count, degree in zip(counts, degrees, strict=True)):
            break
        wide *= 1.1
    points = POINTS[dimensions]
    places = tuple(
        np.linspace(low, high, count * points + 1) for low, high, count in zip(lows, highs, counts, strict=True)
    )
    shape = tuple(map(len, places))
    starts = [np.arange(count - degree) * points for count, degree in zip(counts, degrees, strict=True)]
    windows = [np.arange(1, (degree + 1) * points) for degree in degrees]
    first = np.stack([part.ravel() for part in np.meshgrid(*starts, indexing="ij")], axis=1)
    inner = np.stack([part.ravel() for part in np.meshgrid(*windows, indexing="ij")], axis=1)
    members = np.ravel_multi_index(tuple((first[:, None, :] + inner[None]).transpose(2, 0, 1)), shape)
    middle = first + np.array([(degree + 1) * points // 2 for degree in degrees])
    centres = np.stack([along[number] for along, number in zip(places, middle.T, strict=True)], axis=1)
    return Bumps(places, degrees, points, np.asarray(members), centres)


class WeakForm:
    """Integrals of the left side and of all terms, of given fields."""

    def __init__(
        self,
        bumps: Bumps,
        coordinates: Sequence[str],
        fields: Mapping[str, Smooth],
        residual_values: Mapping[str, np.ndarray],
    ) -> None:
        """`residual_values` is what the readings say beyond the smoothed field, on the grid (`LocalMeans`)."""
        self.bumps, self.coordinates, self.fields = bumps, tuple(coordinates), fields
        self.residual_values = residual_values
        self._grids: dict[Derivative, np.ndarray] = {}
        self._places = dict(zip(coordinates, np.meshgrid(*bumps.places, indexing="ij", sparse=True), strict=True))

    def orders(self, axes: Sequence[str]) -> tuple[int, ...]:
        return tuple(list(axes).count(name) for name in self.coordinates)

    def look_up(self, leaf: Leaf) -> Any:
        match leaf:
            case Derivative(field, (axes,)):
                if leaf not in self._grids:
                    self._grids[leaf] = self.fields[field].on_grid(self.bumps.places, self.orders(axes))
                return self._grids[leaf]
            case Coordinate(name):
                return self._places[name]
            case Constant(_, value):
                return value
            case _:
                raise TypeError(f"{type(leaf).__name__} is no part of a term")

    def column(self, term: Term, draws: Sequence[Mapping[str, np.ndarray]] = ()) -> list[np.ndarray]:
        """Integrals of a term of the smoothed field, moved to first order by what it left of the readings; and of
        its first-order change by each of the draws of noise."""
        value, slopes = value_and_partials(term.flux, self.look_up)
        orders = self.orders(term.axes)
        found = [np.broadcast_to(value, self.bumps.shape).astype(float), *(np.zeros(self.bumps.shape) for _ in draws)]
        for leaf, slope in slopes.items():
            if isinstance(leaf, Derivative) and not leaf.terms[0]:
                for number, errors in enumerate((self.residual_values, *draws)):
                    found[number] = found[number] + slope * errors[leaf.field]
        return [term.factor * self.bumps.integrals(values, orders) for values in found]

    def left(self, side: Derivative, draws: Sequence[Mapping[str, np.ndarray]] = ()) -> list[np.ndarray]:
        """Integrals of the left side, and of its change by each of the draws of noise."""
        values = self.look_up(Derivative(side.field, ((),))) + self.residual_values[side.field]
        orders = self.orders(side.terms[0])
        return [self.bumps.integrals(each, orders) for each in (values, *(draw[side.field] for draw in draws))]

    def sensitivity(
        self, side: Derivative, terms: Sequence[Term], coefficients: np.ndarray
    ) -> dict[str, sparse.csr_array]:
        """Of each field: (functions, grid points), how an error of the field moves left − Σ coefficient × term."""
        found = {side.field: np.broadcast_to(self.bumps.weights(self.orders(side.terms[0])), self.bumps.members.shape)}
        for term, coefficient in zip(terms, coefficients, strict=True):
            if coefficient == 0.0:
                continue
            slopes = value_and_partials(term.flux, self.look_up)[1]
            for leaf, slope in slopes.items():
                if not isinstance(leaf, Derivative):
                    continue
                weights = self.bumps.weights(self.orders((*term.axes, *leaf.terms[0])))
                here = np.broadcast_to(slope, self.bumps.shape).ravel()[self.bumps.members] * weights
                found[leaf.field] = found.get(leaf.field, 0.0) - coefficient * term.factor * here
        return {name: self._sparse(np.asarray(values)) for name, values in found.items()}

    def _sparse(self, values: np.ndarray) -> sparse.csr_array:
        rows, window = self.bumps.members.shape
        ends = np.arange(0, rows * window + 1, window)
        size = math.prod(self.bumps.shape)
        return sparse.csr_array((values.ravel(), self.bumps.members.ravel(), ends), shape=(rows, size))

    def covariance(
        self, side: Derivative, terms: Sequence[Term], coefficients: np.ndarray, noise: Mapping[str, float]
    ) -> np.ndarray:
        """Of left − Σ coefficient × term, from errors of the readings.

        `noise` is the variance of a reading over the number of readings in a unit of volume, by field. An error of
        the field acts through the sensitivity, to first order; readings that are denser than the test functions are
        wide make it white noise of this density."""
        rows = len(self.bumps.members)
        total = np.zeros((rows, rows))
        volume = float(np.prod(self.bumps.spacing))
        for name, matrix in self.sensitivity(side, terms, coefficients).items():
            # The weights of the points hold the volume once; white noise has the variance density / volume a point.
            total += noise[name] / volume * (matrix @ matrix.T).toarray()
        return total
