"""Penalised least squares on a spline mesh: the smoother of one set of readings.

With one axis the normal equations are solved directly. With several they are solved by conjugate gradients,
preconditioned with the same smoother of evenly spread readings, which is a Kronecker sum and is inverted axis by
axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from napinn.discovery.reading_matrix import reading_matrix
from napinn.field.splines.axis import Axis, uniform_axis
from napinn.field.splines.space import Space
from napinn.noise.laws import Cauchy, Huber, deviation

DEGREE = 5
"""Of the splines: a third derivative of them is smooth enough to be integrated."""
BENT = 3
"""The derivative that is penalised: what is smooth is then flattened little (its third derivative is small)."""
HUBER_ROUNDS, CAUCHY_ROUNDS = 3, 3
"""Reweighted least squares: convex at first, so that no start can mislead it, then with Cauchy's law."""
SMALLEST_NOISE = 1e-6
"""Of the size of the field, below which noise is not distinguished from rounding."""
CLOSE, CLOSER = 1e-3, 1e-5
"""Relative residual at which conjugate gradients end: while meshes are compared, and for the field."""
MOST_ITERATIONS = 80
"""Of conjugate gradients at most."""


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
        self.rows = reading_matrix(self.space, measured.points)
        self.centre = float(np.median(measured.values))
        self.size = max(deviation(measured.values - self.centre), 1e-300)

    @cached_property
    def design(self) -> sparse.csr_array:
        return self.space.design(self.measured.points, 0)

    @cached_property
    def matrices(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each axis, slow to fast: mass and bending."""
        return [_matrices(self.space.axes[number]) for number in self.space.order]

    @cached_property
    def along(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each axis: generalised eigenvectors and eigenvalues of bending against mass."""
        found = []
        for mass, bending in self.matrices:
            values, vectors = scipy.linalg.eigh(bending, mass)
            found.append((vectors, np.maximum(values, 0.0)))
        return found

    def rough(self, vector: np.ndarray) -> np.ndarray:
        """The roughness matrix times coefficients, axis by axis."""
        tensor = vector.reshape(self.space.shape)
        total = np.zeros(self.space.shape)
        for bent in range(len(self.matrices)):
            part = tensor
            for position, (mass, bending) in enumerate(self.matrices):
                part = _applied(bending if position == bent else mass, part, position)
            total += part
        return total.ravel()

    def solved(
        self, weights: np.ndarray, roughness_weight: float, start: np.ndarray | None = None, close: float = CLOSER
    ) -> np.ndarray:
        """Coefficients of the weighted readings, as deviations from the centre."""
        right = self.rows.sums(weights * (self.measured.values - self.centre))
        count = len(self.measured)
        if len(self.axes) == 1:
            normal = self.design.T @ sparse.diags_array(weights) @ self.design
            normal = normal + roughness_weight * count * sparse.csr_array(self.matrices[0][1])
            normal = normal + 1e-9 * count / self.space.size * sparse.eye_array(self.space.size)
            return splu(sparse.csc_array(normal)).solve(right)
        return self._conjugate_gradients(right, weights, roughness_weight * count, start, close)

    def _conjugate_gradients(
        self, right: np.ndarray, weights: np.ndarray, stiff: float, start: np.ndarray | None, close: float
    ) -> np.ndarray:
        mean, ridge = float(weights.sum()), 1e-9 * len(weights) / self.space.size

        def product(vector: np.ndarray) -> np.ndarray:
            fitted = self.rows.sums(weights * self.rows.values(vector))
            return fitted + stiff * self.rough(vector) + ridge * vector

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
            tensor = _applied(vectors.T, tensor, position)
        tensor = tensor / divisor
        for position, (vectors, _) in enumerate(self.along):
            tensor = _applied(vectors, tensor, position)
        return tensor.ravel()

    def robust(self, roughness_weight: float, close: float = CLOSER) -> tuple[np.ndarray, np.ndarray, float]:
        """Coefficients, weights and deviation of the noise by reweighted least squares."""
        target = self.measured.values - self.centre
        found, sigma = np.zeros(self.space.size), self.size
        weights = Huber().curvature(target / sigma)
        for round_ in range(HUBER_ROUNDS + CAUCHY_ROUNDS):
            found = self.solved(weights, roughness_weight, found, close)
            misfit = target - self.rows.values(found)
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


def _applied(matrix: np.ndarray, tensor: np.ndarray, position: int) -> np.ndarray:
    """The matrix times one axis of a tensor."""
    return np.moveaxis(np.tensordot(matrix, tensor, (1, position)), 0, position)


def _outer_sum(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total = total[..., None] + part
    return total


def mesh(lows: Sequence[float], highs: Sequence[float], cells: Sequence[int]) -> tuple[Axis, ...]:
    return tuple(uniform_axis(low, high, count, DEGREE) for low, high, count in zip(lows, highs, cells, strict=True))
