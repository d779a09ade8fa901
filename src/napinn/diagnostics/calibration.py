"""Readings that a fit has not seen, beside the law of the noise that it has learned.

If field and law are right, the probability that the law gives to less than a reading's misfit is spread evenly from 0
to 1 over such readings. Two numbers say how far it is not: the largest distance from the even spread (Kolmogorov and
Smirnov's), with the chance of one as large, and the share of readings in the central nine tenths of the law."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from napinn.data.readings import Readings
from napinn.noise.law import NoiseLaw
from napinn.results.result import FitResult

CENTRAL = 0.9
"""The central share of a law whose coverage is tested: wide enough that its edges are still inside most laws'
bulk."""
UNLIKELY = 1e-3
"""The chance below which a distance or a lack of coverage counts; one in a thousand sound fits is doubted for it."""
NODES = 4001
"""Of the grid on which a law is integrated; the error of the trapezoidal rule is then far below a sampling error."""
FARTHEST = 1e6
"""In deviations, where a law without end is cut off."""


@dataclass(frozen=True)
class Spread:
    """How the probabilities of readings are spread."""

    count: int
    coverage: float
    """The share of readings in the central nine tenths of the law."""
    coverage_chance: float
    """Of so few in there, if the law holds."""
    distance: float
    distance_chance: float

    def describe(self) -> dict[str, Any]:
        return {
            "readings": self.count,
            "coverage": self.coverage,
            "distance": self.distance,
            "chance": self.distance_chance,
        }


def spread_of(probabilities: np.ndarray) -> Spread:
    inside = central_share(probabilities)
    distance, chance = stats.kstest(probabilities, "uniform")
    return Spread(inside.count, inside.coverage, inside.coverage_chance, float(distance), float(chance))


@dataclass(frozen=True)
class CentralShare:
    """How many probabilities lie in the central nine tenths of the law."""

    count: int
    coverage: float
    coverage_chance: float
    """Of so few in there, if the law holds."""


def central_share(probabilities: np.ndarray) -> CentralShare:
    edge = 0.5 * (1.0 - CENTRAL)
    inside = int(((probabilities >= edge) & (probabilities <= 1.0 - edge)).sum())
    count = len(probabilities)
    return CentralShare(count, inside / count, float(stats.binom.cdf(inside, count, CENTRAL)))


def probabilities(result: FitResult, readings: Readings, chosen: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """For each of the chosen readings, how probable a smaller misfit is under the learned law of its field, or, where a
    method learns none, among the misfits of the readings of the fit that were `trained` on."""
    judged = readings.only(chosen)
    owner = judged.field_index
    predicted = result.field(judged.points)[np.arange(len(judged)), owner]
    misfits = judged.standard(judged.values - predicted, result.readings)
    found = np.empty(len(judged))
    for index, name in enumerate(judged.scatters.names):
        mine = judged.scatters.index == index
        found[mine] = probabilities_of(result, misfits[mine], name, trained)
    return found


def probabilities_of(result: FitResult, misfits: np.ndarray, name: str, trained: np.ndarray) -> np.ndarray:
    """How probable a smaller misfit than each of these, over its known deviation, is for the readings of this name
    (`Readings.scatters`)."""
    if name in result.noise:
        return _under_law(result.noise[name], misfits)
    scatters = result.readings.scatters
    own = np.sort(result.standard_misfits[trained & (scatters.index == scatters.names.index(name))])
    return np.searchsorted(own, misfits) / max(len(own), 1)


def _under_law(noise: NoiseLaw, misfits: np.ndarray) -> np.ndarray:
    low, high = (np.arcsinh(np.clip(end, -FARTHEST, FARTHEST)) for end in noise.support())
    # Even steps near the middle, longer and longer ones outwards: a law may reach a thousand deviations far.
    standard = np.sinh(np.linspace(low, high, NODES))
    nodes = noise.centre + noise.scale * standard
    heights = noise.pdf(nodes)
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (heights[1:] + heights[:-1]) * np.diff(nodes))])
    return np.interp(misfits, nodes, cumulative / cumulative[-1])
