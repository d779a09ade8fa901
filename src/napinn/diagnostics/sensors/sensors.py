"""A verdict for every sensor, from all of its misfits together.

The gate weighs single readings and cannot see a fault that makes each of them a little wrong in the same way. Over a
record it shows. Stretches in which a sensor repeats itself are found first (`stuck.py`) and left out; models of the
rest are compared sensor by sensor (`models.py`). The chance of a false alarm is set for all sensors and tests of a fit
together.
"""

from collections.abc import Iterator

import numpy as np

from napinn.data.readings import Readings
from napinn.diagnostics.sensors.evidence import counted, sentence, stuck_sentence
from napinn.diagnostics.sensors.models import explained
from napinn.diagnostics.sensors.records import FEWEST_READINGS, NumberUnits, SensorRecord, records_of, units_of
from napinn.diagnostics.sensors.stuck import without_stuck
from napinn.problem import Problem
from napinn.results.recipe import FALSE_ALARMS
from napinn.results.verdicts import SensorVerdict, Verdict

FEWEST_SENSORS = 3
"""Of two sensors that disagree nothing says which one is faulty."""
TESTS = sum(word.faulty for word in Verdict)
"""One for each fault: the chance of a false alarm is shared by them."""


def judge_sensors(
    problem: Problem, readings: Readings, predicted: np.ndarray, false_alarms: float = FALSE_ALARMS
) -> tuple[SensorVerdict, ...]:
    """A verdict for every sensor and field; `predicted` is the field at each reading."""
    found: list[SensorVerdict] = []
    for field, records, chance in _by_field(problem, readings, predicted, false_alarms):
        found.extend(_judge_field(records, units_of(problem, readings, field), chance))
    return tuple(found)


def suspects(
    problem: Problem, readings: Readings, predicted: np.ndarray, false_alarms: float = FALSE_ALARMS
) -> list[np.ndarray]:
    """Numbers of the readings of each sensor that may be faulty and is not named so, the most suspicious first.

    A field that was fitted to a faulty sensor follows it in part, mainly at an edge of the box, so that the fault
    looks smaller than it is and other sensors look wrong beside it. A fit without the sensor decides.

    Args:
        problem: whose fields were measured.
        readings: of all sensors.
        predicted: (n,) the field at each reading.
        false_alarms: the chance that any sensor is named although all are well."""
    found: list[tuple[float, np.ndarray]] = []
    for _, records, chance in _by_field(problem, readings, predicted, false_alarms):
        rest = [record for record in without_stuck(records, chance)[1] if len(record) >= FEWEST_READINGS]
        if len(rest) > FEWEST_SENSORS:
            suspicion = explained(rest, chance).suspicion
            found += [(float(each), record.numbers) for each, record in zip(suspicion, rest, strict=True) if each > 0.0]
    return [numbers for _, numbers in sorted(found, key=lambda pair: -pair[0])]


def stuck_readings(
    problem: Problem, readings: Readings, predicted: np.ndarray, false_alarms: float = FALSE_ALARMS
) -> np.ndarray:
    """(n,): whether a reading repeats the one before it in a stretch in which its sensor is stuck. How often other
    sensors repeat themselves decides, so a field that was smoothed without equations suffices.

    Args:
        problem: whose fields were measured.
        readings: of all sensors.
        predicted: (n,) the field at each reading.
        false_alarms: the chance that any sensor is named although all are well."""
    stuck = np.zeros(len(readings), bool)
    for _, records, chance in _by_field(problem, readings, predicted, false_alarms):
        # Of one sensor only the field says whether it should have moved.
        if len(records) > 1:
            for whole, free in zip(records, without_stuck(records, chance)[1], strict=True):
                stuck[whole.numbers], stuck[free.numbers] = True, False
    return stuck


def _by_field(
    problem: Problem, readings: Readings, predicted: np.ndarray, false_alarms: float
) -> Iterator[tuple[str, list[SensorRecord], float]]:
    """Each field that was read, with its records and the chance of a false alarm that is left to one of its tests."""
    for number, field in enumerate(problem.fields):
        records = records_of(readings, predicted, number)
        if records:
            yield field, records, false_alarms / (TESTS * len(records) * len(problem.fields))


def _judge_field(records: list[SensorRecord], units: NumberUnits, chance: float) -> list[SensorVerdict]:
    stretches, rest = without_stuck(records, chance)
    judged = [number for number, record in enumerate(rest) if len(record) >= FEWEST_READINGS]
    found = explained([rest[number] for number in judged], chance) if len(judged) >= FEWEST_SENSORS else None
    place = {number: index for index, number in enumerate(judged)}
    verdicts = []
    for number, (record, stuck) in enumerate(zip(records, stretches, strict=True)):
        if stuck:
            verdicts.append(stuck_sentence(record, rest[number], stuck, units))
        elif number not in place:
            text = f"{counted(len(record))}; {FEWEST_READINGS} are needed for a verdict"
            verdicts.append(_unjudged(record, units, Verdict.FEW, text))
        elif found is None:
            text = f"{counted(len(record))}, and too few other sensors to compare them with"
            verdicts.append(_unjudged(record, units, Verdict.ALONE, text))
        else:
            verdicts.append(sentence(found, place[number], units))
    return verdicts


def _unjudged(record: SensorRecord, units: NumberUnits, verdict: Verdict, evidence: str) -> SensorVerdict:
    return SensorVerdict(record.sensor, units.field, verdict, evidence, np.zeros(0, int))
