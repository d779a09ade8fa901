"""What looks wrong with readings: gaps, sentinels, stuck stretches, repeats, and what lies outside the box."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from napinn.data.readings import Readings, at_the_same_place, distinct_digits, far_repeats, outside, repeated
from napinn.data.robust import robust_std
from napinn.diagnostics.preflight.findings import Finding, Weight
from napinn.problem import Problem
from napinn.problem.equations import Call, Derivative, walk
from napinn.problem.precision import beyond_single

HUGE = 1e6
"""Robust standard deviations that no gross error of an instrument reaches: a number that means something else."""
LONG_GAP = 5.0
"""Times the median step."""
STUCK_TIMES = 10
"""Equal readings in a row; rounded readings of a slow field repeat a few times."""
COARSE = 0.2
"""Share of values equal to the one before, outside the longest stretch, beyond which readings count as rounded."""
FEWEST = 8
"""Readings of a sensor below which its gaps and stretches are not judged."""
PART_OF_BOX = 0.5
"""Where readings cover less of a coordinate than this, the field is mostly an extrapolation."""


def inspect_readings(problem: Problem, readings: Readings, double: bool = False) -> list[Finding]:
    """Everything worth saying of the `readings` of a `problem`, the heaviest first; a fit in `double` precision takes
    numbers that one in single precision cannot."""
    checks = (
        _outside, _repeats, *(() if double else (_beyond_precision,)), _sentinels, _huge, _outside_functions, _too_few,
        _stuck, _constant, _gaps, _missing, _uncovered, _same_place,
    )  # fmt: skip
    found = [finding for check in checks for finding in check(problem, readings)]
    order = [Weight.OBSTACLE, Weight.DOUBT, Weight.NOTE]
    return sorted(found, key=lambda finding: order.index(finding.weight))


def _outside(problem: Problem, readings: Readings) -> Iterator[Finding]:
    beyond = outside(readings.points, problem.lows, problem.highs)
    for axis, name in enumerate(problem.coordinates):
        if beyond[:, axis].any():
            values = readings.points[beyond[:, axis], axis]
            low, high, least, most = distinct_digits(
                problem.lows[axis], problem.highs[axis], values.min(), values.max()
            )
            yield Finding(
                Weight.OBSTACLE,
                f"{len(values)} reading(s) lie outside the range of '{name}', {low} to {high} (they reach from {least} "
                f"to {most}); widen the range or remove them.",
            )


def _repeats(problem: Problem, readings: Readings) -> Iterator[Finding]:
    count = int(repeated(readings).sum())
    if count:
        yield Finding(
            Weight.OBSTACLE,
            f"{count} reading(s) repeat an earlier row; remove them, or name different sensors in column "
            f"'{readings.columns.sensor}'.",
        )


def _sentinels(problem: Problem, readings: Readings) -> Iterator[Finding]:
    for index, field in enumerate(readings.fields):
        for number, count in far_repeats(readings.of_field(index)).items():
            often = "once" if count == 1 else f"{count} times"
            yield Finding(
                Weight.DOUBT,
                f"the value {number:g} of '{field}' occurs {often}, far from all others; if it means that "
                f"there is no reading, list it under 'missing' (in a problem file, 'missing: [{number:g}]').",
            )


def _beyond_precision(problem: Problem, readings: Readings) -> Iterator[Finding]:
    for sentence in beyond_single(problem, readings):
        yield Finding(Weight.OBSTACLE, sentence)


def _huge(problem: Problem, readings: Readings) -> Iterator[Finding]:
    for index, field in enumerate(readings.fields):
        values = readings.of_field(index)
        unit = robust_std(values)
        distance = np.abs(values / 2 - np.median(values) / 2)
        count = int((distance > HUGE / 2 * unit).sum()) if unit > 0.0 else 0
        if count:
            worst = values[np.argmax(distance)]
            yield Finding(
                Weight.DOUBT,
                f"{count} reading(s) of '{field}' are more than {HUGE:g} deviations from the median (the farthest is "
                f"{worst:g}); list a value that means 'no reading' under 'missing'.",
            )


def _outside_functions(problem: Problem, readings: Readings) -> Iterator[Finding]:
    """A logarithm or a root of a measured field that has readings for which there is none."""
    nodes = {node for equation in problem.written if equation.tree for node in walk(equation.tree)}
    for index, field in enumerate(readings.fields):
        bare, values = Derivative(field, ((),)), readings.of_field(index)
        for function in ("log", "log10", "sqrt"):
            side = "below" if function == "sqrt" else "not above"
            count = int((values < 0.0 if function == "sqrt" else values <= 0.0).sum())
            if count and Call(function, (bare,)) in nodes:
                yield Finding(
                    Weight.DOUBT,
                    f"{count} reading(s) of '{field}' are {side} zero, and an "
                    f"equation holds {function}({field}), which has no value there.",
                )


def _too_few(problem: Problem, readings: Readings) -> Iterator[Finding]:
    if len(readings) < len(problem.unknowns):
        yield Finding(
            Weight.DOUBT,
            f"there are {len(readings)} reading(s) and {len(problem.unknowns)} unknowns; fewer readings than unknowns "
            "cannot determine them.",
        )


def _stretches(problem: Problem, readings: Readings) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Sensor, field, times and values of each series that is long enough to judge."""
    axis = readings.order_axis
    if axis is None:
        return
    numbers, names = readings.numbered_sensors
    groups = pd.Series(np.arange(len(readings))).groupby([numbers, readings.field_index], sort=False)
    for key, members in groups:
        sensor, field = names[np.asarray(key)[0]], readings.fields[np.asarray(key)[1]]
        chosen = members.to_numpy()
        chosen = chosen[np.argsort(readings.points[chosen, axis], kind="stable")]
        if len(chosen) >= FEWEST:
            yield str(sensor), str(field), readings.points[chosen, axis], readings.values[chosen]


def _stuck(problem: Problem, readings: Readings) -> Iterator[Finding]:
    for sensor, field, times, values in _stretches(problem, readings):
        starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
        lengths = np.diff(np.r_[starts, len(values)])
        longest = int(np.argmax(lengths))
        # Coarsely rounded values repeat all the time, so a stretch of them means nothing.
        rest = np.delete(lengths, longest)
        coarse = rest.size == 0 or np.sum(rest - 1) > COARSE * np.sum(rest)
        if lengths[longest] >= STUCK_TIMES and not coarse:
            first, last = times[starts[longest]], times[starts[longest] + lengths[longest] - 1]
            yield Finding(
                Weight.DOUBT,
                f"sensor '{sensor}' gives the same {field} = {values[starts[longest]]:g} for {lengths[longest]} "
                f"readings in a row, from {first:g} to {last:g}; it may be stuck.",
            )


def _constant(problem: Problem, readings: Readings) -> Iterator[Finding]:
    for index, field in enumerate(readings.fields):
        values = readings.of_field(index)
        if np.ptp(values) == 0.0:
            yield Finding(Weight.DOUBT, f"every reading of '{field}' is the same; nothing can be learned from it.")
            continue
        sensors = readings.sensors[readings.field_index == index]
        by_sensor = pd.Series(values).groupby(sensors, sort=False)
        table = by_sensor.agg(["min", "max", "size"])
        alike = table["min"] == table["max"]
        # Coarsely rounded values are also the same throughout where the field is at rest.
        repeats = by_sensor.diff()[~np.isin(sensors, table.index[alike])] == 0.0
        for row in table[alike & (table["size"] >= FEWEST) & (repeats.mean() <= COARSE)].itertuples():
            yield Finding(
                Weight.DOUBT,
                f"sensor '{row.Index}' gives {field} = {row.min:g} in all of its {row.size} readings; it may be stuck.",
            )


def _gaps(problem: Problem, readings: Readings) -> Iterator[Finding]:
    gaps = []
    for sensor, field, times, _ in _stretches(problem, readings):
        steps = np.diff(times)
        usual = np.median(steps)
        wide = int(np.argmax(steps))
        if usual > 0.0 and steps[wide] > LONG_GAP * usual:
            gaps.append((steps[wide] / usual, sensor, field, times[wide], times[wide + 1]))
    if gaps:
        _, sensor, field, start, end = max(gaps)
        yield Finding(
            Weight.NOTE,
            f"{len(gaps)} series have a gap of more than {LONG_GAP:g} usual steps; the longest is of '{field}' by "
            f"sensor '{sensor}', from {start:g} to {end:g}.",
        )


def _missing(problem: Problem, readings: Readings) -> Iterator[Finding]:
    cells = len(readings.table) * len(readings.labels)
    if cells > len(readings):
        yield Finding(
            Weight.NOTE,
            f"{cells - len(readings)} of {cells} cells hold no reading; their rows are kept and marked 'missing'.",
        )
    silent = [name for name in readings.columns.places if name not in set(readings.sensors)]
    if silent:
        yield Finding(Weight.NOTE, f"sensor(s) without any reading: {', '.join(silent[:10])}.")


def _uncovered(problem: Problem, readings: Readings) -> Iterator[Finding]:
    averaged = _averaged(problem)
    for axis, (name, (low, high)) in enumerate(problem.coordinates.items()):
        start, end = readings.points[:, axis].min(), readings.points[:, axis].max()
        # A mean over a coordinate depends on all of it.
        if end - start < PART_OF_BOX * (high - low) and name not in averaged:
            yield Finding(
                Weight.DOUBT,
                f"the readings reach from {start:g} to {end:g} along '{name}', less than half of its range "
                f"{low:g} to {high:g}; elsewhere only the equation determines the field.",
            )


def _averaged(problem: Problem) -> set[str]:
    """Coordinates over which an observable takes a mean or an integral."""
    return {axis for _, observable in problem.observed for axis in observable.averaged}


def _same_place(problem: Problem, readings: Readings) -> Iterator[Finding]:
    """Several values by one sensor at one point: allowed, and often a sign that a coordinate was forgotten."""
    count = int(at_the_same_place(readings).sum()) - int(repeated(readings).sum())
    if count > 0:
        yield Finding(
            Weight.NOTE,
            f"{count} reading(s) are at the same point as another of the same sensor with another value; "
            "if they differ in a coordinate, name it in the problem.",
        )
