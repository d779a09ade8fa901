"""Statistics that outliers do not move, and tests that hold whatever the law of the noise is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

# scipy.stats has these too, but takes a second to import.
from scipy.special import ndtri, stdtrit

from napinn.robust import MAD_TO_STD

MEDIAN_ERROR = 1.2533
"""The standard error of a median is this times that of a mean, for Gaussian noise."""


def halves_slope(x: np.ndarray, y: np.ndarray) -> float:
    """The median slope between each point and the one half a record further along x; 0 where x does not change.

    Theil and Sen take all pairs; these n/2 lose little and cost as little as a sort."""
    order = np.argsort(x, kind="stable")
    half = len(x) // 2
    run = x[order[half:]] - x[order[: len(x) - half]]
    rise = y[order[half:]] - y[order[: len(x) - half]]
    apart = run > 0.0
    return float(np.median(rise[apart] / run[apart])) if apart.any() else 0.0


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's, times √(n - 1): a standard normal deviate if y does not depend on x."""
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    ranks = [_ranks(values) for values in (x, y)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1] * np.sqrt(len(x) - 1))


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 1; equal values share the mean of theirs."""
    return pd.Series(values).rank().to_numpy()


def rank_shifts(groups: Sequence[np.ndarray]) -> np.ndarray:
    """How far the mean rank of each group lies from that of the median group: standard normal deviates if all groups
    follow one law, whatever law that is."""
    counts = np.array([len(group) for group in groups])
    ranks = _ranks(np.concatenate(list(groups))) / (counts.sum() + 1.0)
    means = np.array([part.mean() for part in np.split(ranks, np.cumsum(counts)[:-1])])
    return (means - np.median(means)) * np.sqrt(12.0 * counts)


@dataclass(frozen=True, eq=False)
class Compared:
    """One number a sensor, judged against those of all sensors."""

    effects: np.ndarray
    """About the median sensor's."""
    scatter: float
    """Robust deviation of the effects."""
    odd: np.ndarray
    """Whether an effect is beyond what scatter between sensors and sampling error explain."""


def compared(effects: np.ndarray, errors: np.ndarray, chance: float) -> Compared:
    """`errors` are the sampling errors of the effects; `chance` is that of a single false alarm.

    The scatter between sensors holds what sensors differ by, what the field is wrong by, and the sampling error of the
    typical sensor; only one with fewer readings than that has a larger error of its own. It is itself estimated
    from the sensors, so with few of them the bar is higher, as Student's law says."""
    centred = effects - np.median(effects)
    scatter = MAD_TO_STD * float(np.median(np.abs(centred)))
    bar = -float(stdtrit(max(len(effects) - 1, 1), chance / 2.0))
    return Compared(centred, scatter, np.abs(centred) > bar * np.maximum(scatter, errors))


def unlikely(deviates: np.ndarray, chance: float) -> np.ndarray:
    return np.abs(deviates) > -float(ndtri(chance / 2.0))
