"""A finished fit at a glance: a screen of text, and the same as HTML for notebooks."""

from typing import TYPE_CHECKING

import pandas as pd

from napinn.data.markup import block, fold, formulas, line, table

if TYPE_CHECKING:
    from napinn.results.result import FitResult

MOST_NOTES = 4
MOST_UNKNOWNS = 8
MOST_SENSORS = 5
"""Lines of each kind that one screen of text has room for; HTML shows more."""
MOST_ROWS = 25
"""Sensors that HTML shows, the faulty ones first."""


def headline(result: "FitResult") -> str:
    """What was fitted, how, and how long it took."""
    return f"FitResult of {result.problem.name}: {result.method.name}, seed {result.seed}, {result.seconds:.1f} s"


def flagged_line(result: "FitResult") -> str:
    """How many readings are flagged, and how many sensors are faulty."""
    flagged, total = int(result.flagged.sum()), len(result.readings)
    sensors = len(result.readings.numbered_sensors[1])
    text = f"{flagged} of {total} readings flagged ({100 * flagged / total:.1f} %)"
    return f"{text}, {len(result.faulty_sensors())} of {sensors} sensor(s) faulty" if result.verdicts else text


def unknown_rows(result: "FitResult") -> list[tuple[str, str, str, str]]:
    """Name, value, 95 % interval and unit of every unknown; empty text for what is not known."""
    known = {} if result.uncertainty is None else result.uncertainty.intervals
    return [
        (name, f"{value:.6g}", str(known.get(name, "")), result.problem.unit_of(name) or "")
        for name, value in result.unknowns.items()
    ]


def summary_text(result: "FitResult") -> str:
    """The fit on one screen."""
    lines = [f"<napinn.{headline(result)}>", *result.problem.show().splitlines()[:MOST_UNKNOWNS]]
    rows = unknown_rows(result)
    for name, value, interval, unit in rows[:MOST_UNKNOWNS]:
        lines.append(f"  {name} = {value} {unit}".rstrip() + (f"  ({interval})" if interval else ""))
    lines += _more(rows, MOST_UNKNOWNS, "unknowns")
    for name, function in result.functions.items():
        lines.append(f"  {function.sentence(name, result.problem.unit_of(name) or '')}")
    lines.append(flagged_line(result))
    faulty = [f"  sensor {sensor}: {row.evidence}" for sensor, row in result.faulty_sensors().iterrows()]
    lines += [*faulty[:MOST_SENSORS], *_more(faulty, MOST_SENSORS, "faulty sensors")]
    lines.append(result.status.value)
    lines += [*result.notes[:MOST_NOTES], *_more(result.notes, MOST_NOTES, "notes")]
    return "\n".join(lines)


def _more(
    entries: "list[object] | tuple[object, ...] | list[str] | list[tuple[str, ...]]", most: int, kind: str
) -> list[str]:
    return [f"  … and {len(entries) - most} more {kind}"] if len(entries) > most else []


def summary_html(result: "FitResult") -> str:
    """The fit in a notebook: status and coefficients first, the rest to be opened."""
    sensors = result.sensors_table()
    faulty = result.faulty_sensors()
    columns = ("readings", "flagged", "verdict", "evidence")
    rows = [
        (sensor, row.readings, f"{100 * row.flagged_share:.0f} %", row.verdict, row.evidence)
        for sensor, row in pd.concat([faulty, sensors.drop(index=faulty.index)]).head(MOST_ROWS).iterrows()
    ]
    noise = [(name, f"{law.centre:.3g}", f"{law.scale:.3g}") for name, law in result.noise.items()]
    return block(
        headline(result),
        [
            formulas(result.problem.show().splitlines()),
            table(("unknown", "found", "95 % interval", "unit"), unknown_rows(result)),
            line(result.status.value),
            line(flagged_line(result)),
            fold(f"Notes ({len(result.notes)})", "".join(map(line, result.notes)), opened=not result.status.trusted),
            fold(
                f"Sensors ({len(sensors)}, {len(faulty)} faulty)", table(("sensor", *columns), rows), bool(len(faulty))
            ),
            fold("Noise", table(("field", "centre", "scale"), noise)),
        ],
    )
