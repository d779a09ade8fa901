"""Which readings vary together: the units that a jackknife leaves out.

Readings of one sensor resemble each other, so whole sensors are left out where there are enough of them. With few,
the record of each is cut into stretches of time, which keeps neighbours together."""

from dataclasses import dataclass

import numpy as np

from napinn.data.readings import Readings

FEWEST_SENSORS = 6
"""A jackknife over fewer groups has fewer than five degrees of freedom, and its error is then mostly chance."""
FEWEST_EXPERIMENTS = 6
"""From which whole experiments are left out, as whole sensors are: what differs between experiments differs by
chance."""
STRETCHES = 30
"""How many stretches there are in all, where sensors are few."""


@dataclass(frozen=True, eq=False)
class JackknifeGroups:
    label: np.ndarray
    """The number of each reading's group."""
    source: str


def groups_of(readings: Readings, used: np.ndarray) -> JackknifeGroups:
    """Groups of the readings that are used; the others have the number -1."""
    experiments = readings.experiment_index
    if len(np.unique(experiments[used])) >= FEWEST_EXPERIMENTS:
        return JackknifeGroups(_numbered(experiments, used), f"{len(np.unique(experiments[used]))} experiments")
    sensor = np.unique(readings.sensors.astype(str), return_inverse=True)[1]
    count = len(np.unique(sensor[used]))
    if count >= FEWEST_SENSORS:
        return JackknifeGroups(_numbered(sensor, used), f"{count} sensors")
    along = _along(readings)
    label = np.full(len(readings), -1)
    for number in np.unique(sensor[used]):
        mine = np.flatnonzero(used & (sensor == number))
        pieces = np.array_split(mine[np.argsort(along[mine], kind="stable")], min(STRETCHES // count, len(mine)))
        for piece in pieces:
            label[piece] = label.max() + 1
    total = int(label.max()) + 1
    if total == used.sum():
        return JackknifeGroups(label, f"{total} readings")
    return JackknifeGroups(label, f"{total} stretches of {count} sensor{'s' * (count > 1)}")


def _along(readings: Readings) -> np.ndarray:
    """The coordinate that a record runs along: time, or else the last."""
    axis = readings.order_axis
    return readings.points[:, -1 if axis is None else axis]


def _numbered(label: np.ndarray, used: np.ndarray) -> np.ndarray:
    found = np.full(len(label), -1)
    found[used] = np.unique(label[used], return_inverse=True)[1]
    return found
