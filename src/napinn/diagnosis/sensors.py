"""A verdict for every sensor, from all of its misfits together.

The gate weighs single readings and cannot see a fault that makes each of them a little wrong in the same way. Over a
record it shows. For each field, every sensor gives an offset (its median misfit), a drift (the robust slope of its
misfits against time, over the record) and a gain (their slope against the field, over the range of the field). Each is
called odd only if two tests agree:

- a rank test, exact under any law of the noise that the sensors share, says that it is no accident of sampling;
- beside those of the other sensors it stands out from what they scatter by, which holds all that sensors differ by
  when they are well, and what the field is wrong by.

The chance of a false alarm is set for all sensors and tests of a fit together. Of a sensor that is odd in any way, the
fault that leaves the least unexplained is named, a line paying for its second number as BIC would have it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napinn.diagnosis.records import Record, Units, negligible, records_of, units_of
from napinn.diagnosis.robust import (
    MEDIAN_ERROR,
    Compared,
    compared,
    halves_slope,
    rank_correlation,
    rank_shifts,
    unlikely,
)
from napinn.diagnosis.stuck import Stretch, stuck_stretches
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.robust import robust_std
from napinn.verdicts import SensorVerdict, Verdict

FALSE_ALARMS = 1e-3
"""The chance that a fit whose sensors are all well names any of them."""
FEWEST_READINGS = 10
"""With fewer, not even readings that are all on one side of the field would convince."""
FEWEST_SENSORS = 3
MATTERS = 0.5
"""Faults below this many deviations of a sensor's noise are not worth a word."""
NOISY_FROM = 2.0
"""A noisy sensor scatters at least so many times as much as the typical one."""
MOVES_FROM = 5.0
"""Where the field moves by less than this many negligible misfits, its own error would pass for a wrong gain."""
FAR = 4.0
"""Misfits further off than this many deviations tell no more than that they are far."""
TESTS = 5
TINY = float(np.finfo(float).tiny)


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
    stretches = stuck_stretches(records, chance)
    rest = [record.only(_outside(record, stuck)) for record, stuck in zip(records, stretches, strict=True)]
    judged = [number for number, record in enumerate(rest) if len(record) >= FEWEST_READINGS]
    enough = len(judged) >= FEWEST_SENSORS
    field = _Field.of([rest[number] for number in judged], chance) if enough else None
    place = {number: index for index, number in enumerate(judged)}
    verdicts = []
    for number, (record, stuck) in enumerate(zip(records, stretches, strict=True)):
        if stuck:
            verdicts.append(_stuck(record, stuck, units))
        elif number not in place:
            said = f"{_readings(len(record))}; {FEWEST_READINGS} are needed for a verdict"
            verdicts.append(_verdict(record, units, Verdict.FEW, said))
        elif field is None:
            said = f"{_readings(len(record))}, and too few other sensors to compare them with"
            verdicts.append(_verdict(record, units, Verdict.ALONE, said))
        else:
            verdicts.append(field.verdict(place[number], units))
    return verdicts


def _readings(count: int) -> str:
    return f"{count} reading{'s' * (count != 1)}"


def _verdict(record: Record, units: Units, verdict: Verdict, evidence: str) -> SensorVerdict:
    believed = np.zeros(0, int) if not verdict.misleads else record.numbers
    return SensorVerdict(record.sensor, units.field, verdict, evidence, believed)


def _outside(record: Record, stretches: Sequence[Stretch]) -> np.ndarray:
    """Which readings are in no stretch; the first of one belongs to the rest, as the sensor took it and then stuck."""
    free = np.ones(len(record), bool)
    for stretch in stretches:
        free[stretch.start + 1 : stretch.stop] = False
    return free


def _stuck(record: Record, stretches: Sequence[Stretch], units: Units) -> SensorVerdict:
    longest = max(stretches, key=lambda stretch: stretch.stop - stretch.start)
    assert record.times is not None
    when = units.span(record.times[longest.start], record.times[longest.stop - 1])
    more = f" and in {len(stretches) - 1} more stretch{'es' * (len(stretches) > 2)}" if len(stretches) > 1 else ""
    said = (
        f"repeats {units.amount(longest.value, 4)} in {longest.stop - longest.start} of {len(record)} readings "
        f"({when}){more}, while the field moves by {units.amount(longest.moved)}"
    )
    numbers = record.numbers[~_outside(record, stretches)]
    return SensorVerdict(record.sensor, units.field, Verdict.STUCK, said, numbers)


@dataclass(frozen=True, eq=False)
class _Field:
    """The sensors of one field, measured beside each other."""

    records: list[Record]
    noise: float
    """Robust deviation of its misfits."""
    offset: Compared
    drift: Compared
    gain: Compared
    noisy: Compared
    moving: list[np.ndarray | None]
    """The field along each record; None where it moves too little to show a gain."""
    odd: np.ndarray
    """Whether both tests of some fault call a sensor odd."""

    @staticmethod
    def of(records: list[Record], chance: float) -> "_Field":
        counts = np.array([len(record) for record in records])
        medians = np.array([np.median(record.misfits) for record in records])
        spreads = np.array([robust_std(record.misfits) for record in records])
        noise, floor = float(np.median(spreads)), max(negligible(records), TINY)
        error = noise / np.sqrt(counts)
        offset = compared(medians, MEDIAN_ERROR * error, chance)
        drifts, drift_ranks = _slopes(records, [record.times for record in records])
        moving = [r.predicted if np.ptp(r.predicted) > MOVES_FROM * floor else None for r in records]
        gains, gain_ranks = _slopes(records, moving)
        # A line's rise over the whole of an evenly spread record is known √12 times as badly as its middle.
        drift = compared(drifts, np.sqrt(12.0) * MEDIAN_ERROR * error, chance)
        gain = compared(gains, np.sqrt(12.0) * MEDIAN_ERROR * error, chance)
        far = FAR * max(noise, floor)
        sizes = np.array([_left(record.misfits - m, far) for record, m in zip(records, medians, strict=True)])
        noisy = compared(np.log(np.maximum(sizes, floor)), 1.0 / np.sqrt(counts), chance)
        odd = [
            found.odd & unlikely(ranks, chance) & (np.abs(found.effects) > MATTERS * max(noise, floor))
            for found, ranks in (
                (offset, rank_shifts([record.misfits for record in records])),
                (drift, drift_ranks),
                (gain, gain_ranks),
            )
        ]
        return _Field(records, noise, offset, drift, gain, noisy, moving, np.any(odd, axis=0))

    def verdict(self, number: int, units: Units) -> SensorVerdict:
        record = self.records[number]
        if self.odd[number]:
            named = _best_explanation(record, self.moving[number])
            return _verdict(record, units, named, self._evidence(number, named, units))
        if self.noisy.odd[number] and self.noisy.effects[number] > np.log(NOISY_FROM):
            return _verdict(record, units, Verdict.NOISY, self._evidence(number, Verdict.NOISY, units))
        said = (
            f"median misfit {units.amount(self.offset.effects[number], 2)} from that of the typical sensor; sensors "
            f"scatter by {units.amount(self.offset.scatter, 2)}"
        )
        return _verdict(record, units, Verdict.FINE, said)

    def _evidence(self, number: int, verdict: Verdict, units: Units) -> str:
        record = self.records[number]
        count = _readings(len(record))
        match verdict:
            case Verdict.OFFSET:
                off = self.offset.effects[number]
                return (
                    f"reads {units.amount(abs(off))} too {_side(off)} (median misfit of {count}; "
                    f"sensors scatter by {units.amount(self.offset.scatter, 2)})"
                )
            case Verdict.DRIFTING:
                assert record.times is not None
                off, when = self.drift.effects[number], units.span(record.times[0], record.times[-1])
                return (
                    f"drifts by {units.amount(off)} over {when} (slope of {count}; other sensors' drifts scatter by "
                    f"{units.amount(self.drift.scatter, 2)})"
                )
            case Verdict.GAIN:
                slope = 100.0 * halves_slope(record.predicted, record.misfits)
                return (
                    f"shows changes {abs(slope):.3g} % too {'large' if slope > 0.0 else 'small'} (misfits of {count} "
                    f"against the field, which moves by {units.amount(float(np.ptp(record.predicted)))})"
                )
            case _:
                times = np.exp(self.noisy.effects[number])
                return (
                    f"scatters {times:.2g} times as much as the typical sensor (by "
                    f"{units.amount(robust_std(record.misfits), 2)} against {units.amount(self.noise, 2)})"
                )


def _best_explanation(record: Record, field: np.ndarray | None) -> Verdict:
    """The fault that leaves least of the misfits, in nats, with what its numbers cost; `field` where it moves."""
    far = FAR * robust_std(record.misfits)
    left: dict[Verdict, float] = {}
    for verdict, along in (
        (Verdict.OFFSET, None), (Verdict.DRIFTING, record.times), (Verdict.GAIN, field)
    ):  # fmt: skip
        rest, price = record.misfits, 0.0
        if along is not None:
            rest, price = rest - halves_slope(along, rest) * along, float(np.log(len(record)))
        elif verdict is not Verdict.OFFSET:
            continue
        size = max(_left(rest - np.median(rest), far), TINY)
        left[verdict] = len(record) * float(np.log(size)) + price
    return min(left, key=lambda verdict: left[verdict])


def _side(off: float) -> str:
    return "high" if off > 0.0 else "low"


def _left(misfits: np.ndarray, far: float) -> float:
    """Mean absolute misfit, those further off than `far` counted as that far."""
    return float(np.mean(np.minimum(np.abs(misfits), far)))


def _slopes(records: Sequence[Record], along: Sequence[np.ndarray | None]) -> tuple[np.ndarray, np.ndarray]:
    """The rise of each record's misfits over the range of something that they may follow, and its rank test."""
    rises, deviates = np.zeros(len(records)), np.zeros(len(records))
    for number, (record, x) in enumerate(zip(records, along, strict=True)):
        if x is not None:
            rises[number] = halves_slope(x, record.misfits) * float(np.ptp(x))
            deviates[number] = rank_correlation(x, record.misfits)
    return rises, deviates
