"""A verdict for every sensor, from all of its misfits together.

The gate weighs single readings and cannot see a fault that makes each of them a little wrong in the same way. Over a
record it shows. Stretches in which a sensor repeats itself are found first (`stuck.py`) and left out; models of the
rest are compared sensor by sensor (`models.py`). The chance of a false alarm is set for all sensors and tests of a fit
together.
"""

import numpy as np

from napinn.diagnosis.evidence import counted, sentence, stuck_sentence
from napinn.diagnosis.models import explained
from napinn.diagnosis.records import Record, Units, records_of, units_of
from napinn.diagnosis.stuck import without_stuck
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.verdicts import SensorVerdict, Verdict

FALSE_ALARMS = 1e-3
"""The chance that a fit whose sensors are all well names any of them."""
FEWEST_READINGS = 10
"""With fewer, not even readings that are all on one side of the field would convince."""
FEWEST_SENSORS = 3
TESTS = 7
"""Stuck, offset, drift, gain, step, burst, noise."""


def judge(
    problem: Problem, readings: Readings, predicted: np.ndarray, false_alarms: float = FALSE_ALARMS
) -> tuple[SensorVerdict, ...]:
    """A verdict for every sensor and field; `predicted` is the field at each reading."""
    found: list[SensorVerdict] = []
    for number, field in enumerate(problem.fields):
        records = records_of(readings, predicted, number)
        if records:
            chance = false_alarms / (TESTS * len(records) * len(problem.fields))
            found.extend(_judge_field(records, units_of(problem, readings, field), chance))
    return tuple(found)


def _judge_field(records: list[Record], units: Units, chance: float) -> list[SensorVerdict]:
    stretches, rest = without_stuck(records, chance)
    judged = [number for number, record in enumerate(rest) if len(record) >= FEWEST_READINGS]
    found = explained([rest[number] for number in judged], chance) if len(judged) >= FEWEST_SENSORS else None
    place = {number: index for index, number in enumerate(judged)}
    verdicts = []
    for number, (record, stuck) in enumerate(zip(records, stretches, strict=True)):
        if stuck:
            verdicts.append(stuck_sentence(record, rest[number], stuck, units))
        elif number not in place:
            said = f"{counted(len(record))}; {FEWEST_READINGS} are needed for a verdict"
            verdicts.append(_unjudged(record, units, Verdict.FEW, said))
        elif found is None:
            said = f"{counted(len(record))}, and too few other sensors to compare them with"
            verdicts.append(_unjudged(record, units, Verdict.ALONE, said))
        else:
            verdicts.append(sentence(found, place[number], units))
    return verdicts


def _unjudged(record: Record, units: Units, verdict: Verdict, evidence: str) -> SensorVerdict:
    return SensorVerdict(record.sensor, units.field, verdict, evidence, np.zeros(0, int))
