"""Faulty sensors are left out before the noise law is learned.

Sensors are judged by their misfits from a field that was fitted to all of them. Such a field follows a faulty sensor in
part, most at an edge of the box where no other sensor stands beyond it: half of a wrong gain goes into the field, and
the neighbours look wrong. So where a sensor is suspicious and not named, the field is fitted once without it, and the
sensor is judged midway between both fields. That is the geometric mean of what it shows in one and in the other to
within a few percent, and so its misfit in units of its own sampling error, however much of it the field follows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from napinn.diagnostics.sensors import judge_sensors, stuck_readings, suspects
from napinn.engines.splines.equation_units import Units
from napinn.engines.splines.points import Point, settle
from napinn.engines.splines.task import Task
from napinn.results.verdicts import left_out

SCREENINGS = 2
"""How often the sensors are judged, each time beside a field without those found faulty before."""
MOST_TRIALS = 3
"""Fits without a suspicious sensor."""
Report = Callable[[Point, str], None]


@dataclass(frozen=True, eq=False)
class SensorJudge:
    """What judges the sensors of a task."""

    task: Task
    false_alarms: float
    """The chance that any sensor is named although all are well."""

    def corrupted(self, predicted: np.ndarray) -> np.ndarray:
        """(n,): whether a faulty sensor spoils a reading.

        Args:
            predicted: (n,) the field at each reading."""
        verdicts = judge_sensors(self.task.problem, self.task.readings, predicted, self.false_alarms)
        return left_out(verdicts, len(predicted))

    def stuck(self, predicted: np.ndarray) -> np.ndarray:
        """(n,): whether a reading is of a stretch in which its sensor repeats itself.

        Args:
            predicted: (n,) the field at each reading."""
        return stuck_readings(self.task.problem, self.task.readings, predicted, self.false_alarms)

    def suspicious(self, predicted: np.ndarray) -> list[np.ndarray]:
        """(n,) for each suspicious sensor, the most suspicious first: which readings are its own.

        Args:
            predicted: (n,) the field at each reading."""
        found = suspects(self.task.problem, self.task.readings, predicted, self.false_alarms)
        return [np.isin(np.arange(len(predicted)), numbers) for numbers in found]


def screened(point: Point, least: Units, screen: SensorJudge, report: Report) -> Point:
    """The point without the readings that faulty sensors spoil.

    Args:
        point: where the best start ended.
        least: units of the smoothed field.
        screen: what judges the sensors.
        report: gets every point that was left."""
    for _ in range(SCREENINGS):
        point, same = _without(point, screen.corrupted(_field(point)), least, report)
        if same:
            break
    return _tried(point, least, screen, report)


def _tried(point: Point, least: Units, screen: SensorJudge, report: Report) -> Point:
    """Without suspicious sensors that are faulty beside a field that was fitted without them."""
    acquitted = np.zeros(len(point.system.used), bool)
    for _ in range(MOST_TRIALS):
        field = _field(point)
        waiting = [own for own in screen.suspicious(field) if not (own & acquitted).any()]
        if not waiting:
            break
        own = waiting[0] & point.system.used
        other = _field(settle(point.system.using(point.system.used & ~own), point.state, point.tolerance, least))
        # The other sensors are judged beside the field that does not follow the suspicious one.
        corrupted = screen.corrupted(np.where(waiting[0], 0.5 * (field + other), other))
        if not (corrupted & own).any():
            acquitted |= waiting[0]
            continue
        point, _ = _without(point, corrupted, least, report)
    return point


def _field(point: Point) -> np.ndarray:
    """At all readings."""
    return np.asarray(point.system.everywhere @ point.state.coefficients, float)


def _without(point: Point, corrupted: np.ndarray, least: Units, report: Report) -> tuple[Point, bool]:
    """The point without these readings, and whether that changes nothing."""
    if np.array_equal(~corrupted, point.system.used):
        return point, True
    report(point, "faulty sensors left out")
    return settle(point.system.using(~corrupted), point.state, point.tolerance, least), False
