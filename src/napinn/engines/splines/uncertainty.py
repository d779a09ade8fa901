"""Intervals of the unknowns and the spread of the field, from the curvature at the solution.

Two standard errors are computed and the wider one is quoted. The model-based one trusts the noise law: the inverse
Schur complement, times the variance of the law's score over its curvature. The jackknife trusts only that groups of
readings (sensors, or stretches of time) are independent: the influence of each group on the unknowns, to first order.

Where the mesh cannot meet the equations, what remains of their residuals pulls the unknowns too. The weights by which
an estimate depends on the whitened rows of the least-squares problem have its standard error as norm, so residuals
of norm r move it by at most r standard errors (Cauchy–Schwarz). The squared norm is twice their cost in nats.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from napinn.diagnostics.uncertainty.groups import groups_of
from napinn.engines.splines.held_out import border_rows
from napinn.engines.splines.journal import Level
from napinn.engines.splines.learning import LEARNERS, LEAST_FLOOR, field_error
from napinn.engines.splines.model import SplineSpread
from napinn.engines.splines.points import Point
from napinn.engines.splines.unknown_functions import Curve
from napinn.noise.laws import Law
from napinn.noise.mixture import Mixture
from napinn.results.functions import FoundFunction
from napinn.results.intervals import LEVEL, Interval, Uncertainty

DRAWS = 48
"""From the posterior of the field; the spread then has a random error of a tenth of itself."""
FEWEST_FREEDOM = 3.0
"""Degrees of freedom below which Student's quantile exceeds any interval that is still useful."""
LEAST_SECOND_DERIVATIVE = 0.25
"""Of the curvature that the steps take for granted, the least mean derivative of the score that is believed."""
LEAST_FREE = 0.1
"""Share of the readings that is taken to remain at least when the parameters are paid for."""
LEAST_BENDS = 0.5
"""Degrees of freedom of a smooth function beyond a straight line that count at least, where its roughness weight
is judged."""
MIXED = 0.3
"""Of a direction of unit length, the least part of an unknown that is named in it."""


@dataclass(frozen=True, eq=False)
class Covariances:
    """Of the unknowns that the equations depend on."""

    model: np.ndarray
    jackknife: np.ndarray
    freedom: np.ndarray
    """Degrees of freedom of each jackknife variance (Satterthwaite)."""
    prior: np.ndarray
    """What priors contribute, whose deviations are known; part of `model`, not of `jackknife`."""
    source: str


def uncertainty_of(point: Point, drift: np.ndarray) -> Uncertainty:
    """Intervals and spread; `drift` is how far each unknown moves with a finer mesh and a tighter tolerance."""
    task, solution = point.system.task, point.solution
    active = solution.normal.active[: len(task.unknowns)]
    found = _covariances(point)
    errors, halves = np.full(len(active), np.inf), np.full(len(active), np.inf)
    model, jackknife, prior = (
        np.sqrt(np.maximum(np.diag(each), 0.0)) for each in (found.model, found.jackknife, found.prior)
    )
    quantile = float(ndtri(0.5 + LEVEL / 2.0))
    by_groups = np.hypot(stdtrit(found.freedom, 0.5 + LEVEL / 2.0) * jackknife, quantile * prior)
    wide = np.maximum(quantile * model, by_groups)
    unmet = unmet_widening(point.equation_cost, quantile)
    jackknife = np.hypot(jackknife, prior)
    # What could not be computed is not known at all.
    wide, drift = (np.where(np.isnan(each), np.inf, each) for each in (wide, drift))
    count = int(active.sum())
    errors[active], halves[active] = (wide / quantile)[:count], wide[:count]
    errors = errors * task.rates(solution.state.unknowns)
    intervals = {}
    for number, name in enumerate(task.problem.unknowns):
        value = float(solution.state.unknowns[number])
        ends = sorted((value, value + float(drift[number])))
        half = unmet * float(halves[number])
        if task.logarithmic[number]:
            low, high = max(ends[0], 0.0) * float(np.exp(-half)), ends[1] * float(np.exp(half))
        else:
            low, high = ends[0] - half, ends[1] + half
        low, high = max(low, float(task.low[number])), min(high, float(task.high[number]))
        intervals[name] = Interval(min(low, value), max(high, value), float(errors[number]), float(drift[number]))
    larger = np.where(jackknife > model, jackknife / np.maximum(model, np.finfo(float).tiny), 1.0)
    covariance = found.model * larger[:, None] * larger[None, :]
    named = active[: len(task.problem.unknowns)]
    own = covariance[: int(named.sum()), : int(named.sum())]
    spread = SplineSpread(point.system.space, _draws(point, covariance))
    return Uncertainty(intervals, found.source, spread, _correlation(own, named), _undetermined(point, own))


def unmet_widening(equation_cost: float, quantile: float) -> float:
    """How many times as wide as by noise alone an interval is, because the equations are not met.

    Args:
        equation_cost: nats that the residuals of the equations still cost.
        quantile: half the width of the interval by noise alone, in standard errors."""
    return math.sqrt(1.0 + 2.0 * equation_cost / quantile**2)


def found_functions(point: Point | Level) -> dict[str, FoundFunction]:
    """The unknown functions of a fit; of one that ended early, without a band."""
    task, state = point.system.task, point.state
    found = {}
    for curve in task.curves:
        inside = curve.start + np.arange(curve.size)
        covariance = scatter = np.zeros((curve.size, curve.size))
        if isinstance(point, Point) and point.solution.normal.active[inside].all():
            every = _covariances(point)
            places = (np.cumsum(point.solution.normal.active) - 1)[inside]
            covariance = every.model[np.ix_(places, places)]
            unsure = _by_roughness_weight(curve, point, covariance)
            covariance, scatter = covariance + unsure, (every.jackknife + every.prior)[np.ix_(places, places)] + unsure
        found[curve.name] = FoundFunction(curve.space, curve.of(state.unknowns), covariance, scatter)
    return found


def _by_roughness_weight(curve: Curve, point: Point, covariance: np.ndarray) -> np.ndarray:
    """What is added to the covariance of a smooth function because its roughness weight is not known either: how far
    its coefficients move with the logarithm of that weight, times the variance of that (Kass and Steffey)."""
    added = np.zeros_like(covariance)
    if curve.space.jumps:
        return added
    coefficients = curve.of(point.state.unknowns)
    for number, rows in zip(curve.sets, curve.rows, strict=True):
        roughness_weight = float(point.state.roughness_weight[number])
        moved = roughness_weight * (covariance @ (rows.T @ (rows @ coefficients)))
        free = len(rows) - roughness_weight * float(np.sum((rows @ covariance) * rows))
        added += (2.0 / max(free, LEAST_BENDS)) * np.outer(moved, moved)
    return added


def _covariances(point: Point) -> Covariances:
    system, solution, state = point.system, point.solution, point.state
    unit = state.sigma[system.scatter] * system.spread
    precision = noise_precision(point)
    ratio = precision.variance
    influence = _influence(point) * (precision.stretch * system.score(state) / unit)
    groups = groups_of(system.task.readings, system.used)
    label = groups.label[system.used]
    total = np.stack([np.bincount(label, row) for row in influence], axis=1) if len(influence) else np.zeros((1, 0))
    total = total - total.mean(axis=0)
    count = len(total)
    jackknife = count / max(count - 1, 1) * total.T @ total
    squares, fourths = np.sum(total**2, axis=0), np.sum(total**4, axis=0)
    freedom = np.clip(squares**2 / np.maximum(fourths, np.finfo(float).tiny), FEWEST_FREEDOM, max(count - 1, 3))
    # A prior is not of the readings: neither their scatter nor their groups say anything of its deviation.
    known = system.task.has_priors or bool(system.task.curves)
    prior = _prior_covariance(point) if known else np.zeros_like(solution.covariance)
    return Covariances(ratio * solution.covariance + (1.0 - ratio) * prior, jackknife, freedom, prior, groups.source)


@dataclass(frozen=True)
class Precision:
    """What the noise law says of the errors of estimates, beside the curvature that the steps take for granted."""

    variance: float
    """Times the inverse of the normal matrix: the covariance."""
    stretch: float
    """Times the influence of a score by the normal matrix: its influence on an estimate."""


def noise_precision(point: Point) -> Precision:
    """The variance of the score over its squared mean derivative (Huber's sandwich), for the readings that remain when
    the parameters are paid for."""
    system, state = point.system, point.state
    curvature = float(np.mean(system.curvature(state)))
    score, second_derivative = _cross_fitted(point)
    # With several modes the mean second derivative of few misfits can vanish, and the error would not be finite.
    sharpness = max(float(np.mean(second_derivative)), LEAST_SECOND_DERIVATIVE * curvature)
    parameters = point.parameters + float(point.solution.normal.active.sum())
    free = max(1.0 - parameters / max(system.count, 1), LEAST_FREE)
    stretch = curvature / sharpness / np.sqrt(free)
    return Precision(float(np.mean(score**2)) / curvature * stretch**2, stretch)


def _cross_fitted(point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Score and second derivative of every misfit, each noise group by its own law."""
    standard = point.system.standardised(point.state)
    if len(point.state.laws) == 1:
        return _cross_fitted_by(point.state.laws[0], point, standard)
    score, second_derivative = np.zeros_like(standard), np.zeros_like(standard)
    for number, law in enumerate(point.state.laws):
        mine = point.system.group == number
        score[mine], second_derivative[mine] = _cross_fitted_by(law, point, standard[mine])
    return score, second_derivative


def _cross_fitted_by(law: Law, point: Point, standard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Score and second derivative of misfits of one law. Those of a learned law are by a law that was learned from the
    other half of the misfits: by its own law every misfit lies where the density is high, and the law looks sharper
    than it is."""
    learn = LEARNERS.get(point.system.task.density)
    if learn is None or not isinstance(law, Mixture):
        return law.score(standard), law.second_derivative(standard)
    half = np.random.default_rng(0).permutation(len(standard)) % 2 == 0
    floor = max(LEAST_FLOOR, 2.0 * field_error(point))
    score, second_derivative = np.zeros_like(standard), np.zeros_like(standard)
    for mine in (half, ~half):
        other = learn(standard[~mine], floor)
        score[mine], second_derivative[mine] = other.score(standard[mine]), other.second_derivative(standard[mine])
    return score, second_derivative


def _prior_covariance(point: Point) -> np.ndarray:
    """What priors contribute to the covariance of the active border parameters."""
    solution, state = point.solution, point.state
    task, count, active = point.system.task, len(state.unknowns), solution.normal.active
    precision = solution.normal.roughness.copy()
    precision[:count, :count] += np.diag(task.prior_terms(state.unknowns)[1] ** 2)
    return solution.covariance @ precision[np.ix_(active, active)] @ solution.covariance


def _influence(point: Point) -> np.ndarray:
    """(border parameters, readings): the first-order change of each by a unit of a reading's score."""
    return point.solution.covariance @ border_rows(point.solution).T


def _correlation(covariance: np.ndarray, active: np.ndarray) -> np.ndarray | None:
    if not active.all() or len(active) < 2:
        return None
    errors = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    return np.clip(covariance / errors[:, None] / errors[None, :], -1.0, 1.0)


def _draws(point: Point, covariance: np.ndarray) -> np.ndarray:
    """Coefficients drawn from the Gaussian posterior of field, unknowns and locations, about what was found."""
    system, solution = point.system, point.solution
    random = np.random.default_rng(0)
    white = np.sqrt(noise_precision(point).variance) * random.normal(size=(system.space.size, DRAWS))
    own = solution.factor.half_solved(white)
    border = solution.normal.border[:, solution.normal.active]
    if border.shape[1]:
        values, vectors = np.linalg.eigh(covariance)
        moved = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * random.normal(size=(len(values), DRAWS)))
        own = own - solution.factor.solve(border) @ moved
    return own.T


def _undetermined(point: Point, covariance: np.ndarray) -> tuple[str, ...]:
    """A sentence for every direction of several unknowns along which they may change by more than their size."""
    task = point.system.task
    active = point.solution.normal.active[: len(task.problem.unknowns)]
    names = [name for name, moves in zip(task.problem.unknowns, active, strict=True) if moves]
    # The logarithm of an unknown changes by one where the unknown changes by its size.
    values = np.where(task.logarithmic, 1.0, np.abs(point.state.unknowns))[: len(active)][active]
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
