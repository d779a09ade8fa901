"""Whether the misfits of neighbouring readings agree in sign: noise has no memory, an error of the field has.

Two statistics: the mean product of the signs of neighbours, and, for an error in a small part of the box, the excess of
one sign in any cell of a tree that halves the readings along the widest axis. Signs are taken about the median, so
neither gross errors nor the shape of the noise law matter."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from napinn.data.readings import Readings

MOST = 20_000
"""Readings among which nearest neighbours are looked for."""
ALL_NOISE, NO_NOISE = 0.2, 0.5
"""Correlations of neighbouring misfits up to which these count as noise alone, so that their law is that of the noise,
and from which as none. Noise of one reading says nothing of the next one's, so the correlation is the share of the
field's error in the variance of the misfits: from one half on it is larger than the noise."""
FEWEST = 8
"""Pairs below which an agreement is not computed."""
SMALLEST_CELL = 16
"""Readings of a cell: all of one sign has a chance of 3e-5."""
SAME_PLACE = 1e-9
"""Of the box: readings that are closer are replicates. They share the error of the field, whatever it is."""


@dataclass(frozen=True)
class SignAgreement:
    """The mean product of the signs of neighbouring misfits: 0 for noise, 1 where all neighbours agree."""

    mean: float
    pairs: int
    along: str
    """What the pairs are: `records` of sensors, or nearest `places`."""

    @property
    def errors(self) -> float:
        """How many standard errors the mean is above zero."""
        return self.mean * math.sqrt(self.pairs)

    @property
    def correlation(self) -> float:
        """Of Gaussian misfits whose signs agree so often."""
        return float(np.sin(0.5 * np.pi * np.clip(self.mean, -1.0, 1.0)))


def signs_of(misfits: np.ndarray) -> np.ndarray:
    """-1, 0 or 1 for each misfit, about their median."""
    return np.sign(misfits - np.median(misfits)) if len(misfits) else np.zeros(0)


def nearest_pairs(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every point (n, d) that has one, the number of its nearest neighbour elsewhere: two arrays of numbers."""
    if len(places) < 3:
        return np.zeros(0, int), np.zeros(0, int)
    from scipy.spatial import KDTree  # A tenth of a second that only a fit needs to wait for.

    distance, near = KDTree(places).query(places, min(6, len(places)))
    elsewhere = np.asarray(distance) > SAME_PLACE
    first = np.arange(len(places))
    other = np.asarray(near)[first, np.argmax(elsewhere, axis=1)]
    found = elsewhere.any(axis=1)
    return first[found], other[found]


def agreement_of_places(places: np.ndarray, misfits: np.ndarray) -> SignAgreement | None:
    """Of each misfit with that of the nearest reading elsewhere; every pair counts once. `places` are (n, d) in units
    of the box, `misfits` (n,). None where there are too few pairs."""
    first, other = nearest_pairs(places[:MOST])
    pairs = np.unique(np.sort(np.stack([first, other]), axis=0), axis=1)
    return _agreement(signs_of(misfits[:MOST]), pairs[0], pairs[1], "places")


def agreement_of_records(readings: Readings, misfits: np.ndarray, chosen: np.ndarray) -> SignAgreement | None:
    """Of each misfit with the next one in the record of the same sensor; `chosen` are the numbers of readings of one
    field. None where nothing says what came before what, or where records are too short."""
    axis = readings.order_axis
    if axis is None or len(chosen) < FEWEST:
        return None
    sensors = readings.numbered_sensors[0][chosen]
    order = np.lexsort((readings.points[chosen, axis], sensors))
    same = np.flatnonzero(np.diff(sensors[order]) == 0)
    return _agreement(signs_of(misfits[chosen]), order[same], order[same + 1], "records")


def _agreement(signs: np.ndarray, first: np.ndarray, second: np.ndarray, along: str) -> SignAgreement | None:
    if len(first) < FEWEST:
        return None
    return SignAgreement(float(np.mean(signs[first] * signs[second])), len(first), along)


@dataclass(frozen=True, eq=False)
class BiasedCell:
    """The cell in which misfits lie on one side most improbably."""

    members: np.ndarray
    """Numbers of the readings in it."""
    shift: float
    """The median of its misfits minus that of all."""
    chance: float
    """Of as large an excess of one sign in any of the cells, if misfits were independent."""


def local_bias(places: np.ndarray, misfits: np.ndarray) -> BiasedCell | None:
    """The most improbable cell of readings at `places`, (n, d) in units of the box; None where there are too few."""
    cells = list(_cells(places, np.arange(len(places))))
    if not cells:
        return None
    # Imported here: a run that is refused should not wait for SciPy.
    from scipy.special import bdtr

    signs = signs_of(misfits)
    higher, counts = (np.array([each(signs[cell]) for cell in cells]) for each in (_positive, np.count_nonzero))
    rarer = np.minimum(higher, counts - higher)
    chances = np.minimum(2.0 * bdtr(rarer, counts, 0.5), 1.0)
    worst = int(np.argmin(chances))
    shift = float(np.median(misfits[cells[worst]]) - np.median(misfits))
    return BiasedCell(cells[worst], shift, min(1.0, len(cells) * float(chances[worst])))


def _positive(signs: np.ndarray) -> int:
    return int(np.count_nonzero(signs > 0.0))


def _cells(places: np.ndarray, members: np.ndarray) -> Iterator[np.ndarray]:
    """Halves of halves of the readings, each split at the median along the axis on which it extends farthest."""
    if len(members) < 2 * SMALLEST_CELL:
        return
    own = places[members]
    axis = int(np.argmax(np.ptp(own, axis=0)))
    order = members[np.argsort(own[:, axis], kind="stable")]
    for half in (order[: len(order) // 2], order[len(order) // 2 :]):
        yield half
        yield from _cells(places, half)
