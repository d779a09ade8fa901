"""The verdict on a sensor, in one sentence with numbers, and which of its readings are not to be believed."""

from collections.abc import Sequence

import numpy as np

from napinn.diagnostics.sensors.changes import Step
from napinn.diagnostics.sensors.models import MATTERS, MODELS, Explained
from napinn.diagnostics.sensors.records import NumberUnits, SensorRecord
from napinn.diagnostics.sensors.stuck import Stretch
from napinn.results.verdicts import SensorVerdict, Verdict

WHICH_SIDE = 0.5
"""Where the readings outside a step are off by more than this share of those inside, the fit may have followed the
step, and none of them is believed."""


def counted(count: int) -> str:
    return f"{count} reading{'s' * (count != 1)}"


def sentence(found: Explained, number: int, units: NumberUnits) -> SensorVerdict:
    """The verdict on one sensor, with what it rests on."""
    record, verdict = found.records[number], found.verdict(number)
    bad = np.ones(len(record), bool) if verdict.faulty and verdict is not Verdict.NOISY else np.zeros(len(record), bool)
    step = {Verdict.STEP: found.steps, Verdict.BURST: found.bursts}.get(verdict, (None,) * (number + 1))[number]
    if verdict is Verdict.STEP:
        assert step is not None
        text = _step(found, record, step, units)
        bad = step.when.inside if abs(step.outside) <= WHICH_SIDE * abs(step.inside) else bad
    elif verdict is Verdict.BURST:
        assert step is not None
        bad = step.when.inside
        text = (
            f"scatters by {units.amount(step.inside, 2)} {_when(record, step, units)}, against "
            f"{units.amount(step.outside, 2)} otherwise ({int(bad.sum())} of {counted(len(record))})"
        )
    else:
        text = _throughout(found, number, verdict, units)
    return SensorVerdict(record.sensor, units.field, verdict, text, record.numbers[bad])


def _throughout(found: Explained, number: int, verdict: Verdict, units: NumberUnits) -> str:
    """Of a sensor that is the same all along its record."""
    count = counted(len(found.records[number]))
    offset = found.sizes[0]
    match verdict:
        case Verdict.OFFSET:
            return (
                f"reads {_too(offset.effects[number], units)} (location of the misfits of {count}; sensors scatter by "
                f"{units.amount(offset.scatter, 2)})"
            )
        case Verdict.DRIFTING:
            return _drift(found, number, units)
        case Verdict.GAIN:
            return _gain(found, number, units)
        case Verdict.NOISY:
            times = np.exp(found.noisy.effects[number])
            return (
                f"scatters {times:.2g} times as much as the typical sensor (by "
                f"{units.amount(found.stds[number], 2)} against {units.amount(found.noise, 2)}; {count})"
            )
        case _:
            return (
                f"misfits {units.amount(offset.effects[number], 2)} from those of the typical sensor; sensors scatter "
                f"by {units.amount(offset.scatter, 2)}"
            )


def _step(found: Explained, record: SensorRecord, step: Step, units: NumberUnits) -> str:
    inside = int(step.when.inside.sum())
    text = f"reads {_too(step.inside, units)} {_when(record, step, units)} ({inside} of {counted(len(record))}"
    beside = f"{units.amount(step.outside, 2)} otherwise"
    return f"{text}; {beside})" if abs(step.outside) > MATTERS * found.noise else f"{text})"


def _drift(found: Explained, number: int, units: NumberUnits) -> str:
    record, line = found.records[number], found.lines[MODELS.index(Verdict.DRIFTING)]
    assert record.times is not None
    rise, start = float(line.rises[number]), float(line.levels[number]) - found.level
    rate = rise / float(record.times[-1] - record.times[0])
    text = f"drifts by {units.amount(rise)} over {units.span(record.times[0], record.times[-1])}, {units.rate(rate)}"
    text += f", from {_too(start, units)} at the start" if abs(start) > MATTERS * found.noise else ""
    return f"{text} ({counted(len(record))})"


def _gain(found: Explained, number: int, units: NumberUnits) -> str:
    record, line = found.records[number], found.lines[MODELS.index(Verdict.GAIN)]
    reach = float(np.ptp(record.predicted))
    gain = 1.0 + float(line.rises[number]) / reach
    offset = float(line.levels[number]) - found.level - (gain - 1.0) * float(record.predicted.min())
    size = f"{100.0 * abs(gain - 1.0):.3g} % too {'large' if gain > 1.0 else 'small'}"
    size = size if gain > 0.0 else "with the wrong sign"
    zero = f"{'-' if offset < 0.0 else '+'} {units.amount(abs(offset))}"
    return (
        f"shows changes {size} (reading = {gain:.3g} × field {zero}), while the field moves by {units.amount(reach)} "
        f"({counted(len(record))})"
    )


def _when(record: SensorRecord, step: Step, units: NumberUnits) -> str:
    """From when to when: an end that is that of the record is left out."""
    assert record.times is not None
    first, last = record.times[step.when.start], record.times[step.when.stop - 1]
    if step.when.stop == step.when.count:
        return f"from {units.instant(first)} on"
    return f"until {units.instant(last)}" if step.when.start == 0 else f"over {units.span(first, last)}"


def _too(off: float, units: NumberUnits) -> str:
    return f"{units.amount(abs(off))} too {'high' if off > 0.0 else 'low'}"


def stuck_sentence(
    record: SensorRecord, rest: SensorRecord, stretches: Sequence[Stretch], units: NumberUnits
) -> SensorVerdict:
    """The verdict on a sensor that is stuck in these stretches; `rest` is what is outside them."""
    longest = max(stretches, key=lambda stretch: stretch.stop - stretch.start)
    assert record.times is not None
    when = units.span(record.times[longest.start], record.times[longest.stop - 1])
    more = f" and in {len(stretches) - 1} more stretch{'es' * (len(stretches) > 2)}" if len(stretches) > 1 else ""
    text = (
        f"repeats {units.amount(longest.value, 4)} in {longest.stop - longest.start} of {len(record)} readings "
        f"({when}){more}, while the field moves by {units.amount(longest.moved)}"
    )
    return SensorVerdict(record.sensor, units.field, Verdict.STUCK, text, np.setdiff1d(record.numbers, rest.numbers))
