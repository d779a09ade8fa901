"""How much a field varies, from its noisy readings: the size that both engines scale it by.

Medians of neighbouring readings keep a pulse that passes few of the readings and lose single gross errors. A robust
deviation of all readings does the opposite where most of them are quiet: it is then the deviation of the noise."""

import numpy as np

from napinn.data.robust import robust_std

NEIGHBOURS = 5
"""Readings whose median stands for the field at one of them when its size is measured: with five, two gross errors
among them do no harm, and a pulse that only a tenth of the readings see is not lost as it is in a median of all."""
NEIGHBOURS_OF_GROSS = 9
"""The same where gross errors must not change a robust deviation at all: of nine readings, more than half are gross in
one place of twenty if a quarter of all readings are."""
WITHIN, SHARE = 1.96, 0.95
"""The share of a Gaussian that lies within so many deviations; the twentieth beyond it may be gross errors."""
CLEARLY = 2.0
"""How many times the robust deviation a size must be to take its place. It is 0.6 to 1.3 times that for the fields of
the paper's benchmarks, and 1.8 times for a decay by a factor of twenty, all of which keep their robust deviation; for a
pulse that a tenth of the readings see it is 2.5 times and more."""
FEWEST, MOST = 100, 100_000
"""Readings of a field: with fewer, a twentieth of them are less than five; of more, as many are drawn at random."""
A_RECORD = 10
"""Readings of a sensor that make a record: one that is off for most of it is a fault, not a pulse that passes."""


def neighbour_medians(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """The median of the `count` readings nearest to each reading, which is one of them.

    `places` are (n, d) points in units of the box, `values` the n readings of one field."""
    from scipy.spatial import KDTree  # A quarter of a second that only a fit needs to wait for.

    _, near = KDTree(places, leafsize=16).query(places, count)
    return np.median(values[near], axis=1)


def variation(places: np.ndarray, values: np.ndarray) -> float:
    """The deviation of medians of neighbouring readings, which neither gross errors nor a quiet majority set; above 0.

    `places` are (n, d) points in units of the box, `values` the n readings of one field."""
    if not values.size:
        return 1.0
    smooth = values if len(values) < NEIGHBOURS else neighbour_medians(places, values, NEIGHBOURS)
    return float(np.std(smooth)) or float(np.std(values)) or abs(float(np.median(values))) or 1.0


def field_size(places: np.ndarray, values: np.ndarray, sensors: np.ndarray) -> float:
    """The robust deviation of a field's readings or, where a pulse among quiet readings is clearly larger, its size.

    `places` are (n, d) points in units of the box, `values` the n readings of one field and `sensors` the number of
    each reading's sensor. 0 where the readings do not vary."""
    usual = robust_std(values)
    if len(values) < FEWEST or _size(values - np.median(values)) < CLEARLY * usual:
        return usual
    if len(values) > MOST:
        drawn = np.random.default_rng(0).choice(len(values), MOST, replace=False)
        places, values, sensors = places[drawn], values[drawn], sensors[drawn]
    away = neighbour_medians(places, values, NEIGHBOURS_OF_GROSS) - np.median(values)
    passing = away[~_off_throughout(np.abs(away) > CLEARLY * usual, sensors)]
    size = _size(passing) if passing.size else 0.0
    return size if size >= CLEARLY * usual else usual


def _size(away: np.ndarray) -> float:
    return float(np.quantile(np.abs(away), SHARE)) / WITHIN


def _off_throughout(off: np.ndarray, sensors: np.ndarray) -> np.ndarray:
    """Whether the sensor of each reading is off in more than half of its record."""
    number = np.unique(sensors, return_inverse=True)[1]
    counts = np.bincount(number)
    return ((np.bincount(number, off) > 0.5 * counts) & (counts >= A_RECORD))[number]
