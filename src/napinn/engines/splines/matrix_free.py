"""Gauss–Newton steps on large meshes: products in place of a matrix, and conjugate gradients.

On a mesh of many cells a step spends its time on forming and factoring the banded matrix. Its product with a vector
costs a hundredth of that by sum factorisation. The equations make the system so stiff that conjugate gradients need a
good preconditioner: the factor of the same mesh at an earlier state. It is renewed where the tolerance of the equations
changes or the iterations grow too many, so that one factorisation serves many steps. Unknowns and noise locations are
solved for together with the coefficients."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import get_lapack_funcs

from napinn.field.splines.banded import Banded, Factor, NotPositiveError
from napinn.field.splines.factorised import ResidualRows

STEP_ACCURACY = 1e-3
"""Of the right side, to which a step is solved: the next one is taken at new residuals anyway."""
ACCURACY = 1e-4
"""Of other solutions. What they determine (errors, parameters spent) has the square of this error, or needs it to a
percent."""
MOST_ITERATIONS = 200
"""Of conjugate gradients for one solution."""
STALE = 60
"""Iterations for one step from which a new factor is cheaper: each costs less than a hundredth of it."""
DAMPING = 1e-6
"""Of the diagonal, in the preconditioner: single precision could not factor the matrix without it."""

Product = Callable[[np.ndarray], np.ndarray]
"""With a matrix that is not formed."""

_FACTOR, _SOLVE = get_lapack_funcs(("pbtrf", "pbtrs"), dtype="f")


class SingleFactor:
    """The Cholesky factor in single precision of a matrix in units of its diagonal: half the memory, half the time."""

    def __init__(self, matrix: Banded) -> None:
        self.unit = 1.0 / np.sqrt(np.maximum(matrix.diagonal, np.finfo(float).tiny))
        width = matrix.bandwidth + 1
        padded = np.concatenate([self.unit, np.zeros(width)])
        other = np.lib.stride_tricks.sliding_window_view(padded, width)[: matrix.size]
        columns = np.empty((width, matrix.size), np.float32, order="F")
        np.multiply(matrix.entries.reshape(matrix.size, width), other, out=columns.T, casting="same_kind")
        columns *= self.unit.astype(np.float32)
        columns[0] += np.float32(DAMPING)
        self.lower, info = _FACTOR(columns, lower=1, overwrite_ab=1)
        if info != 0:
            raise NotPositiveError

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for one right side (n,) or several (n, k), to single precision."""
        unit = self.unit if right.ndim == 1 else self.unit[:, None]
        solution, info = _SOLVE(self.lower, (unit * right).astype(np.float32), lower=1)
        if info != 0:
            raise NotPositiveError
        return unit * solution


def _factored(matrix: Banded) -> SingleFactor | Factor:
    """In single precision, or in double where that has no factor."""
    try:
        return SingleFactor(matrix)
    except NotPositiveError:
        return matrix.factor(DAMPING * matrix.diagonal)


@dataclass(frozen=True, eq=False)
class Border:
    """Unknowns and locations beside the coefficients: their columns and their own matrix, of those that move."""

    columns: np.ndarray
    corner: np.ndarray


class Preconditioner:
    """The factor of an earlier normal matrix, with the border of that time."""

    def __init__(self, matrix: Banded, columns: np.ndarray, corner: np.ndarray, tolerance: float) -> None:
        self.factor, self.tolerance = _factored(matrix), tolerance
        self.diagonal = matrix.diagonal.copy()
        self.columns, self.corner = columns.copy(), corner.copy()
        self.followed = self.factor.solve(columns)
        self.iterations = 0
        """That the last step took."""

    def serves(self, tolerance: float, active: np.ndarray) -> bool:
        """Whether it is worth using at a tolerance for these border parameters."""
        known = np.diag(self.corner) > 0.0
        return self.tolerance == tolerance and self.iterations < STALE and bool(known[active].all())

    def bordered(self, active: np.ndarray) -> Product:
        """The inverse of the earlier bordered matrix."""
        size, columns, followed = len(self.diagonal), self.columns[:, active], self.followed[:, active]
        schur = self.corner[np.ix_(active, active)] - columns.T @ followed
        values, vectors = np.linalg.eigh(0.5 * (schur + schur.T)) if len(schur) else (np.ones(0), np.zeros((0, 0)))
        values = np.maximum(values, 1e-8 * np.abs(np.diag(self.corner)[active]).max(initial=0.0))

        def apply(right: np.ndarray) -> np.ndarray:
            own = self.factor.solve(right[:size])
            moves = vectors @ ((vectors.T @ (right[size:] - columns.T @ own)) / values)
            return np.concatenate([own - followed @ moves, moves])

        return apply


class MatrixFree:
    """The normal matrix of the coefficients as a sum of products; takes the place of `Banded` in a step."""

    def __init__(self, size: int, assembled: Callable[[], Banded]) -> None:
        """`assembled` forms the same matrix, banded."""
        self.size, self.assembled = size, assembled
        self.residuals: list[ResidualRows] = []
        self.sparse: list[sparse.csr_array] = []
        self.readings: list[tuple[Product, Product, np.ndarray]] = []
        self.preconditioner: Preconditioner | None = None

    @property
    def diagonal(self) -> np.ndarray:
        """Of the preconditioner, which is enough to damp steps by."""
        assert self.preconditioner is not None
        return self.preconditioner.diagonal

    def add_sparse(self, matrix: sparse.csr_array) -> None:
        self.sparse.append(matrix)

    def add_readings(self, times: Product, transposed: Product, weight: np.ndarray) -> None:
        """Add the sum over readings of weight × row × rowᵀ, given the products with the rows."""
        self.readings.append((times, transposed, weight))

    def times(self, vector: np.ndarray) -> np.ndarray:
        """The matrix times a vector."""
        total = np.zeros(self.size)
        for rows in self.residuals:
            total += rows.transposed(rows.times(vector))
        for matrix in self.sparse:
            total += matrix @ vector
        for times, transposed, weight in self.readings:
            total += transposed(weight * times(vector))
        return total

    def factor(self, added: np.ndarray) -> "Iterative":
        assert self.preconditioner is not None
        return Iterative(self, added, self.preconditioner)


class Iterative:
    """Solutions with a matrix-free normal matrix; takes the place of `Factor`."""

    probes = 2
    """Of which a trace is the mean. A mesh that is too large for a factor spends hundreds of parameters, whose number
    each probe tells to a few percent."""

    def __init__(self, matrix: MatrixFree, added: np.ndarray, preconditioner: Preconditioner) -> None:
        self.matrix, self.added, self.preconditioner = matrix, added, preconditioner

    def _times(self, vector: np.ndarray) -> np.ndarray:
        return self.matrix.times(vector) + self.added * vector

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for one right side (n,) or several (n, k)."""
        if right.ndim == 2:
            return np.stack([self.solve(column) for column in right.T], axis=1) if right.size else np.zeros_like(right)
        start = self._followed(right)
        return conjugate_gradients(self._times, self.preconditioner.factor.solve, right, start, ACCURACY)[0]

    def _followed(self, right: np.ndarray) -> np.ndarray:
        """Where to begin: a column of the border has changed little since the preconditioner was made."""
        kept = self.preconditioner
        for column, followed in zip(kept.columns.T, kept.followed.T, strict=True):
            square = float(column @ column)
            share = float(column @ right) / square if square > 0.0 else 0.0
            if share > 0.0 and np.sum((right - share * column) ** 2) < 0.25 * np.sum(right**2):
                return share * followed
        return np.zeros_like(right)

    def moves(
        self, gradient: np.ndarray, border: Border, border_gradient: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """The Gauss–Newton step: of coefficients and of the border parameters that move, together."""
        size = len(gradient)

        def times(vector: np.ndarray) -> np.ndarray:
            own, moved = vector[:size], vector[size:]
            top = self._times(own) + border.columns @ moved
            return np.concatenate([top, border.columns.T @ own + border.corner @ moved])

        right = -np.concatenate([gradient, border_gradient])
        inverse = self.preconditioner.bordered(active)
        found, count = conjugate_gradients(times, inverse, right, np.zeros_like(right), STEP_ACCURACY)
        self.preconditioner.iterations = count
        return found

    def half_solved(self, white: np.ndarray) -> np.ndarray:
        """Draws whose covariance is the inverse matrix, of white noise (n, k)."""
        return self.matrix.assembled().factor(self.added).half_solved(white)


def conjugate_gradients(
    times: Product,
    inverse: Product,
    right: np.ndarray,
    start: np.ndarray,
    accuracy: float,
    most: int = MOST_ITERATIONS,
) -> tuple[np.ndarray, int]:
    """The solution of a symmetric positive definite system, and the number of iterations.

    Args:
        times: the product with the matrix.
        inverse: the product with an approximate inverse.
        right: the right side.
        start: where to begin.
        accuracy: the residual at the end over the right side, both in the norm of the approximate inverse.
        most: iterations at most.

    Raises `NotPositiveError` where the matrix is found not to be positive definite at the first iteration."""
    found, left = start.copy(), right - times(start) if start.any() else right.copy()
    along = solved = inverse(left)
    square = float(left @ solved)
    aim = accuracy**2 * (square if not start.any() else float(right @ inverse(right)))
    for iteration in range(most):
        if not square > aim:
            return found, iteration
        product = times(along)
        bend = float(along @ product)
        if not bend > 0.0:
            if iteration == 0:
                raise NotPositiveError
            return found, iteration
        length = square / bend
        found += length * along
        left = left - length * product
        solved = inverse(left)
        square, before = float(left @ solved), square
        along = solved + (square / before) * along
    return found, most


def border_of(columns: np.ndarray, corner: np.ndarray, active: np.ndarray, damping: float) -> Border:
    """The border parameters that move, damped as the coefficients are."""
    own = corner[np.ix_(active, active)]
    return Border(columns[:, active], own + damping * np.diag(np.diag(own)))
