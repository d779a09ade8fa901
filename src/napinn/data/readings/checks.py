"""What must hold of every reading: it lies in the box, and no row is there twice."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from napinn.data.readings.base import Readings
from napinn.errors import InputError

SLACK = 1e-6
"""How far, as a share of the range, numbers may miss the edge of the box: rounding, as of single precision."""


def check_inside(readings: Readings, lows: Sequence[float], highs: Sequence[float]) -> None:
    """Every reading must lie in the problem's box."""
    beyond = outside(readings.points, lows, highs)
    if beyond.any():
        reading, axis = np.argwhere(beyond)[0]
        name = readings.coordinates[axis]
        found, low, high = distinct_digits(float(readings.points[reading, axis]), lows[axis], highs[axis])
        raise InputError(
            f"{readings.source}, row {row_number(readings.rows[reading])}, column '{readings.columns.of(name)}': "
            f"{found} is outside the problem's range of '{name}', {low} to {high} "
            f"({int(beyond.any(axis=1).sum())} reading(s) are); widen the range or remove them."
        )


def outside(points: np.ndarray, lows: Sequence[float], highs: Sequence[float]) -> np.ndarray:
    """(n, d): whether a coordinate of a point is beyond the box."""
    low, high = np.asarray(lows, float), np.asarray(highs, float)
    slack = SLACK * (high - low)
    return (points < low - slack) | (points > high + slack)


def distinct_digits(*numbers: float, fewest: int = 6) -> list[str]:
    """Numbers in the fewest digits, from `fewest` on, that show which of them differ."""
    written = ([f"{number:.{digits}g}" for number in numbers] for digits in range(fewest, 18))
    return next(each for each in written if len(set(each)) >= len(set(numbers)))


def check_repeats(readings: Readings) -> None:
    """The same value of the same sensor at the same point can only be a row that was written twice."""
    again = repeated(readings)
    if again.any():
        second = int(np.argmax(again))
        same = [column == column[second] for column in (*_identity(readings), readings.values)]
        first = int(np.argmax(np.all(same, axis=0)))
        raise InputError(
            f"{readings.source}, rows {row_number(readings.rows[first])} and {row_number(readings.rows[second])} hold "
            f"the same reading ({int(again.sum())} repeated in all); remove one, "
            f"or name different sensors in column '{readings.columns.sensor}'."
        )


def repeated(readings: Readings) -> np.ndarray:
    """(n,): whether a reading says again what an earlier one says."""
    return _again([*_identity(readings), readings.values])


def at_the_same_place(readings: Readings) -> np.ndarray:
    """(n,): whether an earlier reading is of the same field by the same sensor at the same point."""
    return _again(_identity(readings))


def _identity(readings: Readings) -> list[np.ndarray]:
    # Readings of different noise groups are of different instruments.
    groups = [readings.group_index] if len(readings.groups) > 1 else []
    return [*readings.points.T, readings.field_index, readings.numbered_sensors[0], *groups]


def _again(columns: list[np.ndarray]) -> np.ndarray:
    """Whether a row is equal to an earlier one.

    Rows are first compared by a hash, because to look up millions of them whole takes gigabytes."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        # Zero has two signs, and they are equal.
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + pd.util.hash_array(column + 0, categorize=False)
    ordered = np.sort(hashes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    again = np.zeros(len(hashes), bool)
    if twice.size:
        suspects = np.flatnonzero(np.isin(hashes, twice))
        frame = pd.DataFrame({number: column[suspects] for number, column in enumerate(columns)})
        again[suspects] = frame.duplicated().to_numpy()
    return again


def row_number(row: Any) -> int:
    """A table row as a person counts in a file whose first row is the header."""
    return int(row) + 2
