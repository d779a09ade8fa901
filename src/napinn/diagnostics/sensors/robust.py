"""Statistics that outliers do not move, and a comparison of sensors that holds whatever the noise law is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from napinn.data.robust import MAD_TO_STD

FREEDOM = 4.0
"""Degrees of freedom of the Student likelihood: near enough to a Gaussian to lose little on one (6 % of the readings),
with tails so heavy that one gross error in seven does not decide."""
SCALE_TO_STD = 1.2039
"""The standard deviation of a Gaussian over the scale of the Student law of four degrees that is nearest to it."""
FIELD_ERRORS = 50.0
"""How many times more often a sensor may stand out from the scatter between sensors by chance than its misfits may by
sampling. Only where the field's own errors exceed the sampling errors of the sensors does this decide; a bar as high
as for sampling would then keep a fit that faulty sensors have bent from naming them."""
ROUNDS = 30
"""Reweighted fits; the likelihood rises in each, and after thirty it no longer changes by what a parameter costs."""
TINY = float(np.sqrt(np.finfo(float).tiny))


def normal_scores(values: np.ndarray) -> np.ndarray:
    """The values by rank, as quantiles of a standard normal law: if all follow one law, whatever law that is, the
    scores follow this one, so that sums of squares may be compared as those of Gaussian noise."""
    # Of scipy.special and not of scipy.stats, which takes a second to import; and only when sensors are judged.
    from scipy.special import ndtri

    return ndtri(pd.Series(values).rank().to_numpy() / (len(values) + 1.0))


@dataclass(frozen=True, eq=False)
class SensorGroups:
    """Readings of all sensors one after the other: sums by sensor without a loop."""

    counts: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]])

    def sum(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, self.starts)

    def mean(self, values: np.ndarray) -> np.ndarray:
        return self.sum(values) / self.counts

    def spread_out(self, by_group: np.ndarray) -> np.ndarray:
        """One entry a group to one entry a reading."""
        return np.repeat(by_group, self.counts)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        return np.split(values, self.starts[1:])


@dataclass(frozen=True, eq=False)
class FittedLines:
    """For each sensor the line level + rise · x, with the scale of what is left."""

    levels: np.ndarray
    rises: np.ndarray
    scales: np.ndarray
    residuals: np.ndarray
    """(n,) of every reading."""
    deviances: np.ndarray
    """-2 log likelihood, up to a constant."""


def _weighted_lines(y: np.ndarray, x: np.ndarray, weights: np.ndarray, groups: SensorGroups) -> tuple[np.ndarray, ...]:
    total = groups.sum(weights)
    mean_x, mean_y = groups.sum(weights * x) / total, groups.sum(weights * y) / total
    around = x - groups.spread_out(mean_x)
    run = groups.sum(weights * around**2)
    moves = run > 1e-12 * total
    rises = np.where(moves, groups.sum(weights * around * y) / np.where(moves, run, 1.0), 0.0)
    return mean_y - rises * mean_x, rises


def robust_lines(y: np.ndarray, x: np.ndarray, groups: SensorGroups, floor: float) -> FittedLines:
    """The line through each sensor's y that is likeliest under Student noise of a scale of its own, at least `floor`;
    x is of order one, and where it does not change the rise is zero."""
    centres = np.array([np.median(part) for part in groups.split(y)])
    residuals = y - groups.spread_out(centres)
    variances = np.array([np.median(np.abs(part)) for part in groups.split(residuals)]) ** 2 * MAD_TO_STD**2
    levels = rises = centres
    for _ in range(ROUNDS):
        variances = np.maximum(variances, floor**2)
        weights = (FREEDOM + 1.0) / (FREEDOM + residuals**2 / groups.spread_out(variances))
        levels, rises = _weighted_lines(y, x, weights, groups)
        residuals = y - groups.spread_out(levels) - groups.spread_out(rises) * x
        variances = np.maximum(groups.mean(weights * residuals**2), floor**2)
    ratios = residuals**2 / (FREEDOM * groups.spread_out(variances))
    deviances = groups.counts * np.log(variances) + (FREEDOM + 1.0) * groups.sum(np.log1p(ratios))
    return FittedLines(levels, rises, np.sqrt(variances), residuals, deviances)


def student_gain(residuals: np.ndarray, others: np.ndarray, scale: float) -> np.ndarray:
    """How much larger the log likelihood of each residual is than that of the other."""
    unit = FREEDOM * scale**2
    return (FREEDOM + 1.0) / 2.0 * (np.log1p(others**2 / unit) - np.log1p(residuals**2 / unit))


def score_gains(scores: np.ndarray, x: np.ndarray, groups: SensorGroups) -> np.ndarray:
    """How much of -2 log likelihood a line through each sensor's scores saves beside the typical sensor's mean."""
    means = groups.mean(scores)
    level, rise = _weighted_lines(scores, x, np.ones(len(scores)), groups)
    plain = groups.sum((scores - np.median(means)) ** 2)
    left = groups.sum((scores - groups.spread_out(level) - groups.spread_out(rise) * x) ** 2)
    return groups.counts * np.log(np.maximum(plain, TINY) / np.maximum(left, TINY))


def effective_share(residuals: Sequence[np.ndarray], groups: SensorGroups) -> float:
    """How many independent readings one counts for, where misfits that follow each other are alike: from the first
    autocorrelation of the typical sensor, as if the others were its powers. Of several models' `residuals` those
    count that are least alike: the others hold a fault."""
    least = np.ones(len(groups.counts))
    for rest in residuals:
        parts = [normal_scores(part) for part in groups.split(rest)]
        alike = [np.sum(part[1:] * part[:-1]) / max(float(np.sum(part**2)), TINY) for part in parts]
        least = np.minimum(least, alike)
    correlation = max(float(np.median(least)), 0.0)
    return (1.0 - correlation) / (1.0 + correlation)


def normal_bar(chance: float) -> float:
    """A standard normal deviate is further from zero with this chance."""
    from scipy.special import ndtri

    return -float(ndtri(chance / 2.0))


@dataclass(frozen=True, eq=False)
class Compared:
    """One number a sensor, beside those of all sensors.

    The scatter between sensors holds what sensors differ by, what the field is wrong by, and the sampling error of the
    typical sensor; only one with fewer readings than that has a larger error of its own."""

    effects: np.ndarray
    """About the median sensor's."""
    errors: np.ndarray
    """Their sampling errors."""
    scatter: float
    """Robust deviation of the effects."""
    count: int
    """Sensors that the scatter is estimated from."""

    @property
    def ratios(self) -> np.ndarray:
        """How many times the scatter, or the sampling error if that is larger, an effect is."""
        return np.abs(self.effects) / np.maximum(np.maximum(self.scatter, self.errors), TINY)

    def odd(self, chance: float) -> np.ndarray:
        """Whether an effect is beyond what sampling error explains but for this chance, and beyond what the scatter
        explains but for one `FIELD_ERRORS` times as large.

        The scatter is itself an estimate, so with few sensors its bar is higher, as Student's law says."""
        from scipy.special import stdtrit

        bar = -float(stdtrit(max(self.count - 1, 1), min(FIELD_ERRORS * chance, 1.0) / 2.0))
        return np.abs(self.effects) > np.maximum(bar * self.scatter, normal_bar(chance) * self.errors)


def compared(effects: np.ndarray, errors: np.ndarray, typical: np.ndarray | None = None) -> Compared:
    """Effects of all sensors beside those of the `typical` ones, all if that is None."""
    beside = effects if typical is None else effects[typical]
    middle = float(np.median(beside)) if beside.size else 0.0
    scatter = MAD_TO_STD * float(np.median(np.abs(beside - middle))) if beside.size else np.inf
    return Compared(effects - middle, errors, scatter, len(beside))
