"""What failing sensors do to their readings.

A fault draws the sensors that it hits and changes all fields that they read. Sizes are in standard deviations of the
noise, by default about those of gross outliers; stretches are in parts of a sensor's record. A fault leaves its name on
the readings that it changes and on no others: the first reading of a drift and what a clipped sensor reads within its
range stay good.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from napinn.studies.benchmarks.corruption import Fault, Labelled


class RecordFault(Fault):
    """A fault that changes values in the records of random sensors, each on its own."""

    @abc.abstractmethod
    def change(self, values: np.ndarray, rows: np.ndarray, table: Labelled, rng: np.random.Generator) -> None:
        """Change the values of one sensor in place.

        :param values: Of the whole table, (n, f).
        :param rows: Those of the sensor, in the order of time.
        :param table: The readings before this fault.
        :param rng: The random stream of this fault."""

    def apply(self, table: Labelled, rng: np.random.Generator) -> Labelled:
        values = table.values.copy()
        for rows in _drawn(table, rng, self.sensors):
            self.change(values, rows, table, rng)
        return table.with_fault(self.name, values)


@dataclass(frozen=True)
class Stuck(Fault):
    """From a random instant on, or for a stretch, the sensor repeats the last value that it read before."""

    sensors: int = 1
    stretch: float | None = None
    name: ClassVar[str] = "stuck"

    def apply(self, table: Labelled, rng: np.random.Generator) -> Labelled:
        values, outlier = table.values.copy(), table.outlier.copy()
        for rows in _drawn(table, rng, self.sensors):
            if self.stretch is None:
                start, stop = int(rng.integers(1, len(rows))), len(rows)
            else:
                # The first reading is kept: there must be a value to be stuck at.
                start, stop = (1 + end for end in _stretch(rng, len(rows) - 1, self.stretch))
            values[rows[start:stop]] = values[rows[start - 1]]
            # The gross error is no longer in the reading, the fault is.
            outlier[rows[start:stop]] = False
        return dataclasses.replace(table.with_fault(self.name, values), outlier=outlier)


@dataclass(frozen=True)
class Bias(RecordFault):
    """A constant offset, up or down."""

    sensors: int = 1
    size: float = 3.0
    name: ClassVar[str] = "bias"

    def change(self, values: np.ndarray, rows: np.ndarray, table: Labelled, rng: np.random.Generator) -> None:
        values[rows] += self.size * table.noise_std * _signs(rng, table)


@dataclass(frozen=True)
class Drift(RecordFault):
    """An offset that grows evenly with time, from nothing at the sensor's first reading to its size at the last."""

    sensors: int = 1
    size: float = 6.0
    name: ClassVar[str] = "drift"

    def change(self, values: np.ndarray, rows: np.ndarray, table: Labelled, rng: np.random.Generator) -> None:
        times = table.points[rows, -1]
        grown = (times - times[0]) / (times[-1] - times[0])
        values[rows] += self.size * table.noise_std * grown[:, None] * _signs(rng, table)


@dataclass(frozen=True)
class Gain(RecordFault):
    """All readings too large by one factor: by `size` where the field has its mean magnitude."""

    sensors: int = 1
    size: float = 3.0
    name: ClassVar[str] = "gain"

    def change(self, values: np.ndarray, rows: np.ndarray, table: Labelled, rng: np.random.Generator) -> None:
        values[rows] *= 1.0 + self.size * table.noise_std / table.magnitude


@dataclass(frozen=True)
class Burst(RecordFault):
    """A stretch of very noisy readings: Gaussian noise of this size comes on top."""

    sensors: int = 1
    size: float = 5.0
    stretch: float = 0.1
    name: ClassVar[str] = "burst"

    def change(self, values: np.ndarray, rows: np.ndarray, table: Labelled, rng: np.random.Generator) -> None:
        start, stop = _stretch(rng, len(rows), self.stretch)
        hit = rows[start:stop]
        values[hit] += self.size * table.noise_std * rng.normal(size=values[hit].shape)


@dataclass(frozen=True)
class DropOut(Fault):
    """For a stretch the sensor sends nothing; its rows are missing."""

    sensors: int = 1
    stretch: float = 0.2
    name: ClassVar[str] = "dropout"

    def apply(self, table: Labelled, rng: np.random.Generator) -> Labelled:
        missing = table.missing.copy()
        for rows in _drawn(table, rng, self.sensors):
            start, stop = _stretch(rng, len(rows), self.stretch)
            missing[rows[start:stop]] = True
        return dataclasses.replace(table, missing=missing)


@dataclass(frozen=True)
class Clipped(RecordFault):
    """The sensor's range ends at ± `limit`, about zero; what lies beyond is read as the end of the range."""

    sensors: int = 1
    limit: float = 2.0
    name: ClassVar[str] = "clipped"

    def change(self, values: np.ndarray, rows: np.ndarray, table: Labelled, rng: np.random.Generator) -> None:
        end = self.limit * table.noise_std
        values[rows] = np.clip(values[rows], -end, end)


@dataclass(frozen=True)
class Neighbours(Fault):
    """A random sensor and those nearest to it fail together: from one instant on, one offset for all of them.

    Such readings agree with each other, so no sensor looks odd beside its neighbours.
    """

    sensors: int = 5
    size: float = 3.0
    name: ClassVar[str] = "neighbours"

    def apply(self, table: Labelled, rng: np.random.Generator) -> Labelled:
        records = _records(table)
        places = np.stack([table.points[rows[0], :-1] for rows in records])
        # Axes may have different units; a share of the array's width is comparable.
        places = places / np.maximum(np.ptp(places, axis=0), np.finfo(float).tiny)
        apart = np.linalg.norm(places - places[rng.integers(len(places))], axis=1)
        times = np.unique(table.points[:, -1])
        since = times[rng.integers(len(times))]
        offset = self.size * table.noise_std * _signs(rng, table)
        values = table.values.copy()
        for number in np.argsort(apart, kind="stable")[: self.sensors]:
            rows = records[number]
            values[rows[table.points[rows, -1] >= since]] += offset
        return table.with_fault(self.name, values)


FAULTS: Mapping[str, Callable[..., Fault]] = {
    fault.name: fault for fault in (Stuck, Bias, Drift, Gain, Burst, DropOut, Clipped, Neighbours)
}


def _records(table: Labelled) -> list[np.ndarray]:
    """The rows of each sensor in the order of time, sensors in the order of the table."""
    order = np.argsort(table.points[:, -1], kind="stable")
    number = pd.factorize(table.sensors)[0]
    return [order[number[order] == sensor] for sensor in range(number.max() + 1)]


def _drawn(table: Labelled, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    records = _records(table)
    return [records[number] for number in rng.choice(len(records), count, replace=False)]


def _stretch(rng: np.random.Generator, length: int, share: float) -> tuple[int, int]:
    """Ends of a random stretch of this share of a record, of one reading at least."""
    size = min(max(1, round(share * length)), length)
    start = int(rng.integers(0, length - size + 1))
    return start, start + size


def _signs(rng: np.random.Generator, table: Labelled) -> np.ndarray:
    """Up or down, for each field on its own."""
    return rng.choice([-1.0, 1.0], table.values.shape[1])
