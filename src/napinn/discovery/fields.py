"""Readings field by field, as they are smoothed."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from napinn.data.readings import Readings
from napinn.discovery.smoother import Measured


def only_fields(readings: Readings, fields: Sequence[str]) -> Readings:
    """The readings of some of the fields."""
    numbers = [readings.fields.index(name) for name in fields]
    kept = readings.only(np.isin(readings.field_index, numbers))
    new = np.full(len(readings.fields), -1)
    new[numbers] = np.arange(len(numbers))
    return dataclasses.replace(kept, fields=tuple(fields), field_index=new[kept.field_index])


def measured_of(readings: Readings, name: str, order: Sequence[int]) -> Measured:
    """The readings of one field; `order` says which coordinate comes first."""
    chosen = readings.field_index == readings.fields.index(name)
    sensors, _ = readings.numbered_sensors
    return Measured(readings.points[chosen][:, list(order)], readings.values[chosen], sensors[chosen])
