"""Generalised least squares of the left side on sets of terms, and the best set of every size."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

MOST_SUBSETS = 6000
"""Sets of one size that are all tried; above, only changes of the best sets of the sizes beside it."""
FEW_SUBSETS = 300
"""The same for stability selection."""
LEAST_RELIABLE = 0.3
"""Share of the sum of squares of a term, or of any combination of terms, that must not be noise."""
SLIGHT = 0.01
"""Share of the left side below which a term is not claimed: where noise is small, the error that smoothing leaves is of
this size and looks like terms."""
RIDGE = 1e-8
"""Of the mean variance, added to every variance: test functions that overlap almost repeat each other."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Integrals of all terms and of the left side, and the same of draws of nothing but noise."""

    terms: np.ndarray
    left: np.ndarray
    noise: np.ndarray
    """(draws, rows, terms + 1): the left side comes last."""

    def only(self, rows: np.ndarray) -> "Columns":
        return Columns(self.terms[rows], self.left[rows], self.noise[:, rows])

    def whitened(self, factor: np.ndarray) -> "Columns":
        """In units in which the errors of all rows are independent and of size one; `factor` is `factor_of` their
        covariance."""
        count = self.terms.shape[1]
        draws, rows, width = self.noise.shape
        flat = self.noise.transpose(1, 0, 2).reshape(rows, -1)
        both = np.column_stack([self.terms, self.left, flat])
        both = scipy.linalg.solve_triangular(factor, both, lower=True)
        noise = both[:, count + 1 :].reshape(rows, draws, width).transpose(1, 0, 2)
        return Columns(both[:, :count], both[:, count], noise)


def factor_of(covariance: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor."""
    mean = float(np.mean(np.diag(covariance)))
    return scipy.linalg.cholesky(covariance + RIDGE * mean * np.eye(len(covariance)), lower=True)


class Whitened:
    """Least squares that is corrected for noise in the terms (Fuller 1987).

    The noise in the terms is that on the left side, and plain least squares would take what they share for
    coefficients: of a field that only diffuses, a fourth derivative too. What noise alone adds to the sums of products
    is known from draws of it, and is taken off."""

    def __init__(self, columns: Columns) -> None:
        count = columns.terms.shape[1]
        size = np.sqrt(np.sum(columns.terms**2, axis=0))
        self.size = np.where(size > 0.0, size, 1.0)
        scaled, noise = columns.terms / self.size, columns.noise / np.append(self.size, 1.0)
        shared = np.einsum("drj,drk->jk", noise, noise) / max(len(noise), 1)
        self.plain, self.plain_right, self.rows = scaled.T @ scaled, scaled.T @ columns.left, len(columns.left)
        self.gram, self.right = self.plain - shared[:count, :count], self.plain_right - shared[:count, count]
        self.total = float(columns.left @ columns.left)

    @property
    def outside(self) -> float:
        """What the whole library leaves, over what noise would."""
        count = len(self.plain)
        return self.fit(tuple(range(count)))[1] / max(self.rows - count, 1)

    def fit(self, chosen: tuple[int, ...]) -> tuple[np.ndarray, float]:
        """Coefficients of a set of terms by plain least squares, and the sum of squares that is left."""
        if not chosen:
            return np.zeros(0), self.total
        index = list(chosen)
        found = np.linalg.solve(self.plain[np.ix_(index, index)] + 1e-11 * np.eye(len(index)), self.plain_right[index])
        return found / self.size[index], max(self.total - float(found @ self.plain_right[index]), 0.0)

    def corrected(self, chosen: tuple[int, ...]) -> np.ndarray:
        """Coefficients of a set of terms without the share of noise; the plain ones where terms are mostly noise."""
        index = list(chosen)
        gram, plain = self.gram[np.ix_(index, index)], self.plain[np.ix_(index, index)]
        if not chosen or not _reliable(gram, plain):
            return self.fit(chosen)[0]
        return np.linalg.solve(gram, self.right[index]) / self.size[index]

    def claimable(self, chosen: tuple[int, ...]) -> bool:
        """Whether no term is mostly noise, and each makes up a part of the left side that is worth naming."""
        index = list(chosen)
        if not _reliable(self.gram[np.ix_(index, index)], self.plain[np.ix_(index, index)]):
            return False
        return bool(np.all(np.abs(self.corrected(chosen)) * self.size[index] >= SLIGHT * math.sqrt(self.total)))

    def errors(self, chosen: tuple[int, ...]) -> np.ndarray:
        """Standard errors of the coefficients, for errors of size one."""
        index = list(chosen)
        gram, plain = self.gram[np.ix_(index, index)], self.plain[np.ix_(index, index)]
        inverse = np.linalg.pinv(gram if _reliable(gram, plain) else plain)
        variance = np.diag(inverse @ self.plain[np.ix_(index, index)] @ inverse)
        return np.sqrt(np.maximum(variance, 0.0)) / self.size[index]


def sum_of_squares(miss: np.ndarray, covariance: np.ndarray) -> float:
    """Of misses in units in which their errors are independent and of size one."""
    white = scipy.linalg.solve_triangular(factor_of(covariance), miss, lower=True)
    return float(white @ white)


def _reliable(gram: np.ndarray, plain: np.ndarray) -> bool:
    """Whether in no combination of terms more than most of the sum of squares is noise."""
    try:
        np.linalg.cholesky(gram - LEAST_RELIABLE * plain + 1e-12 * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return False
    return True


def whitened(columns: Columns, covariance: np.ndarray) -> Whitened:
    return Whitened(columns.whitened(factor_of(covariance)))


def best_sets(
    system: Whitened, fixed: tuple[int, ...], most: int, quick: bool = False
) -> list[tuple[tuple[int, ...], float]]:
    """The best set of every size, from the fixed terms alone to `most` more, with the sum of squares that it leaves.

    `quick` tries fewer sets, for the many systems of stability selection."""
    count = system.gram.shape[0]
    free = [number for number in range(count) if number not in fixed]
    by_size: dict[int, tuple[tuple[int, ...], float]] = {}
    for size in range(min(most, len(free)) + 1):
        if math.comb(len(free), size) <= (FEW_SUBSETS if quick else MOST_SUBSETS):
            sets = (tuple(sorted((*fixed, *more))) for more in itertools.combinations(free, size))
            by_size[size] = min(((each, system.fit(each)[1]) for each in sets), key=lambda pair: pair[1])
    _fill_by_elimination(system, fixed, free, by_size, most)
    return [by_size[size] for size in sorted(by_size) if size <= most]


def _fill_by_elimination(
    system: Whitened, fixed: tuple[int, ...], free: list[int],
    by_size: dict[int, tuple[tuple[int, ...], float]], most: int,
) -> None:  # fmt: skip
    """Sizes with too many sets: backward elimination, improved by exchanges until none helps."""
    current = tuple(sorted((*fixed, *free)))
    for size in range(len(free), -1, -1):
        if size < len(free):
            current = min(
                (tuple(each for each in current if each != out) for out in current if out not in fixed),
                key=lambda each: system.fit(each)[1],
            )
        if size > most or size in by_size:
            continue
        by_size[size] = _exchanged(system, current, fixed, free)


def _exchanged(
    system: Whitened, start: tuple[int, ...], fixed: tuple[int, ...], free: list[int]
) -> tuple[tuple[int, ...], float]:
    best, left = start, system.fit(start)[1]
    while True:
        options = (
            tuple(sorted((*(each for each in best if each != out), into)))
            for out in best if out not in fixed
            for into in free if into not in best
        )  # fmt: skip
        found, value = min(
            ((each, system.fit(each)[1]) for each in options), key=lambda pair: pair[1], default=(best, left)
        )
        if value >= left - 1e-9 * system.total:
            return best, left
        best, left = found, value
