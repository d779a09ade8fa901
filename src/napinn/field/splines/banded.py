"""Symmetric banded matrices: assembly from the matrices of cells, Cholesky factors, solutions.

Entries are kept as LAPACK wants them (lower part, a column's entries together), in one flat array, so that assembly is
one sum over flat positions. LAPACK's banded Cholesky was faster here than sparse direct solvers by a factor of eight
and more."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import get_lapack_funcs

_FACTOR, _SOLVE, _SOLVE_HALF = get_lapack_funcs(("pbtrf", "pbtrs", "tbtrs"), dtype="d")

MOST_AT_ONCE = 4_000_000
"""Entries of cell matrices that are summed at once; bounds the memory of their positions."""


class NotPositiveError(ArithmeticError):
    """The matrix has no Cholesky factor."""


@dataclass(frozen=True, eq=False)
class Factor:
    """The Cholesky factor of a banded matrix."""

    lower: np.ndarray
    probes: ClassVar[int] = 8
    """Of which a trace is the mean."""

    def half_solved(self, white: np.ndarray) -> np.ndarray:
        """Draws whose covariance is the inverse matrix, of white noise (n, k): with the lower factor L, solutions of
        Lᵀ x = white."""
        solution, info = _SOLVE_HALF(self.lower, white, uplo="L", trans="T")
        if info != 0:
            raise NotPositiveError
        return solution

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for one right side (n,) or several (n, k)."""
        if right.size == 0:
            return np.zeros_like(right)
        solution, info = _SOLVE(self.lower, right, lower=1)
        if info != 0:
            raise NotPositiveError
        return solution


class Pattern:
    """Where the entries of cell matrices go in a banded matrix: the rows of a cell are `first + offsets`."""

    def __init__(self, first: np.ndarray, offsets: np.ndarray, size: int, bandwidth: int) -> None:
        row, column = np.tril_indices(len(offsets))
        width = min(bandwidth, size - 1) + 1
        self.pick = row * len(offsets) + column
        # Offsets ascend, so a lower entry of a cell is a lower entry of the whole.
        self._inside = offsets[column] * width + offsets[row] - offsets[column]
        self._highest = int(self._inside.max(initial=0))
        self._first = first * width

    def positions(self, start: int, end: int) -> tuple[int, int, np.ndarray]:
        """Of the lower entries of cells `start` to `end`: the least flat position, how many there are from it to the
        greatest, and (cells, entries) each position counted from the least."""
        first = self._first[start:end]
        low = int(first.min())
        return low, int(first.max()) - low + self._highest + 1, (first - low)[:, None] + self._inside


class Banded:
    """A symmetric matrix of a given size and bandwidth, to be added to."""

    def __init__(self, size: int, bandwidth: int) -> None:
        self.size, self.bandwidth = size, min(bandwidth, size - 1)
        self.entries = np.zeros(size * (self.bandwidth + 1))

    def copy(self) -> "Banded":
        other = Banded.__new__(Banded)
        other.size, other.bandwidth, other.entries = self.size, self.bandwidth, self.entries.copy()
        return other

    @property
    def diagonal(self) -> np.ndarray:
        return self.entries.reshape(self.size, -1)[:, 0]

    def add_cells(self, pattern: "Pattern", matrices: np.ndarray, start: int = 0) -> None:
        """Add symmetric matrices (cells, L, L) of the cells of a pattern from number `start` on."""
        flat = matrices.reshape(len(matrices), -1)
        step = max(1, MOST_AT_ONCE // len(pattern.pick))
        for begin in range(0, len(flat), step):
            part = flat[begin : begin + step]
            low, count, position = pattern.positions(start + begin, start + begin + len(part))
            self._add(low, count, position.ravel(), part.take(pattern.pick, axis=1).ravel())

    def add_sparse(self, matrix: sparse.csr_array) -> None:
        """Add a symmetric sparse matrix."""
        lower = sparse.tril(matrix).tocoo()
        row, column = (np.asarray(index, int) for index in (lower.row, lower.col))
        self._add(0, len(self.entries), column * (self.bandwidth + 1) + row - column, lower.data)

    def _add(self, low: int, count: int, position: np.ndarray, values: np.ndarray) -> None:
        """Add values at flat positions, which are counted from `low` and below `count`."""
        part = self.entries[low : low + count]
        if len(position) > count // 16:
            part += np.bincount(position, values, minlength=count)
        else:
            np.add.at(part, position, values)

    def factor(self, added: np.ndarray) -> Factor:
        """The Cholesky factor with `added` on the diagonal."""
        columns = self.entries.reshape(self.size, self.bandwidth + 1).T.copy(order="F")
        columns[0] += added
        lower, info = _FACTOR(columns, lower=1, overwrite_ab=1)
        if info != 0:
            raise NotPositiveError
        return Factor(lower)

    def times(self, vector: np.ndarray) -> np.ndarray:
        """The matrix times a vector."""
        columns = self.entries.reshape(self.size, self.bandwidth + 1)
        product = columns[:, 0] * vector
        for distance in range(1, self.bandwidth + 1):
            below = columns[: self.size - distance, distance]
            product[distance:] += below * vector[: self.size - distance]
            product[: self.size - distance] += below * vector[distance:]
        return product
