"""Intervals of the unknowns and the spread of the field, from the curvature at the solution.

Two standard errors are computed and the wider one is quoted. The model-based one trusts the noise law: the inverse
Schur complement, times the variance of the law's score over its curvature. The jackknife trusts only that groups of
readings (sensors, or stretches of time) are independent: the influence of each group on the unknowns, to first order.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.special import ndtri, stdtrit

from napinn.certainty.groups import groups_of
from napinn.intervals import LEVEL, Certainty, Interval
from napinn.splines.descent import Point
from napinn.splines.model import SplineSpread

DRAWS = 48
"""From the posterior of the field; the spread then has a random error of a tenth of itself."""
FEWEST_FREEDOM = 3.0
MIXED = 0.3
"""Of a direction of unit length, the least part of an unknown that is named in it."""


@dataclass(frozen=True, eq=False)
class Covariances:
    """Of the unknowns that the equations depend on."""

    model: np.ndarray
    jackknife: np.ndarray
    freedom: np.ndarray
    """Degrees of freedom of each jackknife variance (Satterthwaite)."""
    source: str


def certainty_of(point: Point, drift: np.ndarray) -> Certainty:
    """Intervals and spread; `drift` is how far each unknown moves with a finer mesh and a tighter tolerance."""
    task, solution = point.system.task, point.solution
    active = solution.normal.active[: len(task.unknowns)]
    found = _covariances(point)
    errors, halves = np.full(len(active), np.inf), np.full(len(active), np.inf)
    model, jackknife = (np.sqrt(np.maximum(np.diag(each), 0.0)) for each in (found.model, found.jackknife))
    quantile = float(ndtri(0.5 + LEVEL / 2.0))
    wide = np.maximum(quantile * model, stdtrit(found.freedom, 0.5 + LEVEL / 2.0) * jackknife)
    # What could not be computed is not known at all.
    wide, drift = (np.where(np.isnan(each), np.inf, each) for each in (wide, drift))
    count = int(active.sum())
    errors[active], halves[active] = (wide / quantile)[:count], wide[:count]
    intervals = {}
    for number, name in enumerate(task.unknowns):
        value = float(solution.state.unknowns[number])
        ends = sorted((value, value + float(drift[number])))
        low = max(ends[0] - float(halves[number]), float(task.low[number]))
        high = min(ends[1] + float(halves[number]), float(task.high[number]))
        intervals[name] = Interval(min(low, value), max(high, value), float(errors[number]), float(drift[number]))
    larger = np.where(jackknife > model, jackknife / np.maximum(model, np.finfo(float).tiny), 1.0)
    covariance = found.model * larger[:, None] * larger[None, :]
    correlation = _correlation(covariance[:count, :count], active)
    spread = SplineSpread(point.system.space, _draws(point, covariance))
    return Certainty(intervals, found.source, spread, correlation, _undetermined(point, covariance[:count, :count]))


def _covariances(point: Point) -> Covariances:
    system, solution, state = point.system, point.solution, point.state
    standard, unit = system.standardised(state), state.sigma[system.field] * system.spread
    score, curvature = state.law.score(standard), state.law.curvature(standard)
    ratio = float(np.mean(score**2) / np.mean(curvature))
    influence = _influence(point) * (score / unit)
    groups = groups_of(system.task.readings, system.used)
    label = groups.label[system.used]
    total = np.stack([np.bincount(label, row) for row in influence], axis=1) if len(influence) else np.zeros((1, 0))
    total = total - total.mean(axis=0)
    count = len(total)
    jackknife = count / max(count - 1, 1) * total.T @ total
    squares, fourths = np.sum(total**2, axis=0), np.sum(total**4, axis=0)
    freedom = np.clip(squares**2 / np.maximum(fourths, np.finfo(float).tiny), FEWEST_FREEDOM, max(count - 1, 3))
    return Covariances(ratio * solution.covariance, jackknife, freedom, groups.source)


def _influence(point: Point) -> np.ndarray:
    """(border parameters, readings): the first-order change of each by a unit of a reading's score."""
    system, normal = point.system, point.solution.normal
    unknowns, active = len(point.state.unknowns), normal.active
    through = system.rows.matrix @ point.solution.factor.solve(normal.border[:, active])
    direct = np.zeros_like(through)
    for column, number in enumerate(np.flatnonzero(active)):
        if number >= unknowns:
            direct[:, column] = np.where(system.field == number - unknowns, system.spread, 0.0)
    return point.solution.covariance @ (direct - through).T


def _correlation(covariance: np.ndarray, active: np.ndarray) -> np.ndarray | None:
    if not active.all() or len(active) < 2:
        return None
    errors = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    return np.clip(covariance / errors[:, None] / errors[None, :], -1.0, 1.0)


def _draws(point: Point, covariance: np.ndarray) -> np.ndarray:
    """Coefficients drawn from the Gaussian posterior of field, unknowns and locations, about what was found."""
    system, solution = point.system, point.solution
    random = np.random.default_rng(0)
    score = point.state.law.score(system.standardised(point.state))
    curvature = point.state.law.curvature(system.standardised(point.state))
    ratio = float(np.mean(score**2) / np.mean(curvature))
    white = np.sqrt(ratio) * random.normal(size=(system.space.size, DRAWS))
    # The lower factor L of the normal matrix gives draws of covariance (L Lᵀ)⁻¹ as solutions of Lᵀ x = white.
    (solve_triangular,) = get_lapack_funcs(("tbtrs",), dtype="d")
    own, info = solve_triangular(solution.factor.lower, white, uplo="L", trans="T")
    assert info == 0
    border = solution.normal.border[:, solution.normal.active]
    if border.shape[1]:
        values, vectors = np.linalg.eigh(covariance)
        moved = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * random.normal(size=(len(values), DRAWS)))
        own = own - solution.factor.solve(border) @ moved
    return own.T


def _undetermined(point: Point, covariance: np.ndarray) -> tuple[str, ...]:
    """A sentence for every direction of several unknowns along which they may change by more than their size."""
    task = point.system.task
    active = point.solution.normal.active[: len(task.unknowns)]
    names = [name for name, moves in zip(task.unknowns, active, strict=True) if moves]
    values = np.abs(point.state.unknowns[active])
    if len(names) < 2 or not np.all(values > 0.0):
        return ()
    variances, directions = np.linalg.eigh(covariance / values[:, None] / values[None, :])
    found = []
    for variance, direction in zip(variances, directions.T, strict=True):
        mixed = [f"'{name}'" for name, part in zip(names, direction, strict=True) if abs(part) > MIXED]
        if variance > 1.0 and len(mixed) > 1:
            joined = f"{', '.join(mixed[:-1])} and {mixed[-1]}"
            found.append(f"The readings determine {joined} only in combination.")
    return tuple(found)
