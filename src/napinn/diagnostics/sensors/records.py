"""Misfits sensor by sensor, in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napinn.data.readings import Readings
from napinn.data.robust import NEGLIGIBLE, robust_std
from napinn.problem import Problem

FEWEST_READINGS = 10
"""Of a sensor, for a verdict on it or a scale of its own. With fewer, not even readings that are all on one side of the
field would convince: the chance of nine on one side is 1 in 256."""


@dataclass(frozen=True, eq=False)
class SensorRecord:
    """All readings of one field by one sensor, in the order of time; of one instant, in the order of the table."""

    sensor: str
    numbers: np.ndarray
    """Which readings these are."""
    times: np.ndarray | None
    """None where nothing says what came before what."""
    values: np.ndarray
    predicted: np.ndarray
    misfits: np.ndarray
    """Reading minus field, over the known deviation relative to the median one where there is one."""

    def __len__(self) -> int:
        return len(self.numbers)

    def only(self, chosen: np.ndarray) -> "SensorRecord":
        if chosen.all():
            return self
        times = None if self.times is None else self.times[chosen]
        return SensorRecord(
            self.sensor,
            self.numbers[chosen],
            times,
            self.values[chosen],
            self.predicted[chosen],
            self.misfits[chosen],
        )


def negligible(records: Sequence[SensorRecord]) -> float:
    """A misfit this small says nothing of a sensor, in the unit of the field."""
    return NEGLIGIBLE * robust_std(np.concatenate([record.predicted for record in records]))


@dataclass(frozen=True)
class NumberUnits:
    """How numbers of a field and of time are written."""

    field: str
    unit: str
    time: str
    time_unit: str

    def amount(self, value: float, digits: int = 3) -> str:
        return f"{value:.{digits}g}{_after(self.unit)}"

    def span(self, start: float, stop: float) -> str:
        return f"{self.time} = {start:.4g} to {stop:.4g}{_after(self.time_unit)}"

    def instant(self, time: float) -> str:
        return f"{self.time} = {time:.4g}{_after(self.time_unit)}"

    def rate(self, value: float) -> str:
        """So much a unit of time."""
        return f"{self.amount(value)} per {self.time_unit or f'unit of {self.time}'}"


def _after(unit: str) -> str:
    return f" {unit}" if unit else ""


def units_of(problem: Problem, readings: Readings, field: str) -> NumberUnits:
    axis = readings.order_axis
    time = "" if axis is None else readings.coordinates[axis]
    return NumberUnits(field, problem.unit_of(field) or "", time, problem.unit_of(time) or "")


def records_of(readings: Readings, predicted: np.ndarray, field: int) -> list[SensorRecord]:
    """One record a sensor that reads the field, in the order in which sensors first appear."""
    chosen = np.flatnonzero(readings.field_index == field)
    if not chosen.size:
        return []
    axis = readings.order_axis
    times = None if axis is None else readings.points[:, axis]
    misfits = readings.standard(readings.values - predicted)
    numbers, names = readings.numbered_sensors
    sensor = numbers[chosen]
    order = np.lexsort(((np.zeros(len(chosen)) if times is None else times[chosen]), sensor))
    parts = np.split(chosen[order], np.flatnonzero(np.diff(sensor[order])) + 1)
    return [
        SensorRecord(
            str(names[numbers[part[0]]]),
            part,
            None if times is None else times[part],
            readings.values[part],
            predicted[part],
            misfits[part],
        )
        for part in sorted(parts, key=lambda part: int(part.min()))
    ]
