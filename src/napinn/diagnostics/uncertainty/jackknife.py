"""The covariance of what was learned, by the jackknife over groups of readings, to first order.

At the end of a fit the gradients of equations and readings balance. With H the curvature of the whole loss
(Gauss–Newton: the squares of residual rows, and those of misfit rows times the slope of the scores), leaving out the
readings of group s moves the weights and unknowns by

    Δ_s = (H - H_s)⁻¹ g_s,      g_s the score of the group, H_s its share of H

and the jackknife's covariance is (G - 1)/G Σ (Δ_s - Δ̄)(Δ_s - Δ̄)ᵀ. It assumes no law of the noise and no
independence within a group; H_s in the inverse makes up for the part of the noise that the fit has followed. What of
the gradients does not balance, because training stopped early, is a Newton step H⁻¹ g away from the end.

A direction in which neither readings nor equations say anything has no curvature and no score: the jackknife would
find it certain. So the curvature of the unknowns with the network free to follow (the Schur complement) is looked at
by itself: its inverse, times the noise, is the variance that Laplace's approximation gives, and an unknown that takes
part in a direction without curvature is not determined at all."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

DAMPING = 1e-11
"""Of the sum of all curvatures of weights, added to each: far below it there is only rounding."""
FLAT = 1e-9
"""Curvature of unknowns with the network free, as a share of that with the network fixed, that counts as none."""
PART = 1e-2
"""How much of a direction has to be an unknown's for the unknown to take part in it."""


@dataclass(frozen=True, eq=False)
class JackknifeRows:
    """What the readings say: how each misfit follows weights and unknowns, its score, and the slope of that."""

    follow: np.ndarray
    score: np.ndarray
    slope: np.ndarray
    reading: np.ndarray
    """The reading that each row is about, from 0 without gaps; a reading may have several."""

    @property
    def readings(self) -> int:
        return int(self.reading.max()) + 1


@dataclass(frozen=True, eq=False)
class Balance:
    """A fit at its end: residual rows of the equations, and what the readings say. The last `unknowns` of the columns
    are the unknowns, the others weights."""

    residual: np.ndarray
    residual_rows: np.ndarray
    rows: JackknifeRows
    noise: float
    """Mean square of the scores over their slope."""
    unknowns: int

    @property
    def columns(self) -> slice:
        """Those of the unknowns."""
        return slice(self.residual_rows.shape[1] - self.unknowns, None)

    @cached_property
    def curvature(self) -> np.ndarray:
        rows = self.rows
        found = 2.0 * self.residual_rows.T @ self.residual_rows
        found += (rows.follow * rows.slope[:, None]).T @ rows.follow / rows.readings
        weights = np.arange(len(found) - self.unknowns)
        found[weights, weights] += DAMPING * np.trace(found[: len(weights), : len(weights)])
        return found

    @cached_property
    def gradient(self) -> np.ndarray:
        rows = self.rows
        return 2.0 * self.residual_rows.T @ self.residual + rows.follow.T @ rows.score / rows.readings

    @cached_property
    def determined(self) -> np.ndarray:
        """Whether anything determines each unknown."""
        return np.isfinite(self.laplace)

    @cached_property
    def laplace(self) -> np.ndarray:
        """Laplace's standard error of each unknown; infinite where nothing determines it."""
        weights = len(self.curvature) - self.unknowns
        inner, cross = self.curvature[:weights, :weights], self.curvature[:weights, weights:]
        fixed = self.curvature[weights:, weights:]
        size = np.sqrt(np.diag(fixed))
        felt = size > 0.0
        errors = np.full(self.unknowns, np.inf)
        if not felt.any():
            return errors
        cross = cross[:, felt] / size[felt]
        unit = fixed[np.ix_(felt, felt)] / np.outer(size[felt], size[felt])
        values, vectors = np.linalg.eigh(unit - cross.T @ cho_solve(cho_factor(inner), cross))
        known = values > FLAT
        variance = self.noise / self.rows.readings * (vectors[:, known] ** 2) @ (1.0 / values[known])
        lost = (np.abs(vectors[:, ~known]) > PART).any(axis=1)
        errors[felt] = np.where(lost, np.inf, np.sqrt(variance) / size[felt])
        return errors

    @cached_property
    def free(self) -> np.ndarray:
        """Columns that are solved for: an unknown that nothing determines is held, its interval is infinite anyway."""
        return np.r_[np.ones(len(self.curvature) - self.unknowns, bool), self.determined]

    @cached_property
    def _factor(self) -> tuple[np.ndarray, bool]:
        return cho_factor(self.curvature[np.ix_(self.free, self.free)])

    @cached_property
    def reach(self) -> np.ndarray:
        """How weights and unknowns follow a unit of score along each row, (p, m)."""
        found = np.zeros(self.rows.follow.T.shape)
        found[self.free] = cho_solve(self._factor, self.rows.follow[:, self.free].T) / self.rows.readings
        return found

    @cached_property
    def newton(self) -> np.ndarray:
        """How far the end of training is away."""
        found = np.zeros(len(self.curvature))
        found[self.free] = -cho_solve(self._factor, self.gradient[self.free])
        return found


@dataclass(frozen=True, eq=False)
class Jackknife:
    moves: np.ndarray
    """(G, c) of the columns asked for: the sum of their squares is the covariance."""
    freedom: np.ndarray
    """Degrees of freedom of the variance of each column."""

    @property
    def errors(self) -> np.ndarray:
        return np.sqrt(np.sum(self.moves**2, axis=0))


def jackknife(balance: Balance, group: np.ndarray, columns: slice = slice(None)) -> Jackknife:
    """Leave out each group of rows in turn; `group` numbers them from 0."""
    rows, reach = balance.rows, balance.reach
    order = np.argsort(group, kind="stable")
    wanted = reach[columns]
    moves, shares = [], []
    for mine in np.split(order, np.cumsum(np.bincount(group))[:-1]):
        kept = np.eye(len(mine)) - rows.slope[mine][:, None] * (rows.follow[mine] @ reach[:, mine])
        moves.append(wanted[:, mine] @ np.linalg.solve(kept, rows.score[mine]))
        shares.append(np.sum(wanted[:, mine] ** 2, axis=1))
    found, count = np.stack(moves), len(moves)
    return Jackknife(np.sqrt((count - 1) / count) * (found - found.mean(axis=0)), _freedom(np.stack(shares)))


def _freedom(shares: np.ndarray) -> np.ndarray:
    """Satterthwaite's, for noise that is alike everywhere: as many as groups less one where all have the same say."""
    squares = np.sum(shares**2, axis=0)
    effective = np.divide(np.sum(shares, axis=0) ** 2, squares, out=np.ones_like(squares), where=squares > 0.0)
    return np.maximum(effective - 1.0, 1.0)
