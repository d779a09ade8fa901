"""Arrays on their way into the page: typed, in base64, each sent once.

A chart does not hold the readings; it names a column of them and which readings to pick, and the page puts the two
together. A large run is thinned evenly, and the charts say so."""

import base64
from typing import Any

import numpy as np

from napinn.report.view import View
from napinn.results.result import FitResult

MOST_READINGS = 40_000
"""In the page as a whole."""
MOST_POINTS = 1_000
"""In one chart, of good and of flagged readings each."""

Json = dict[str, Any]


def packed(values: np.ndarray, dtype: str = "f4") -> Json:
    return {"packed": dtype, "data": base64.b64encode(np.ascontiguousarray(values, f"<{dtype}").tobytes()).decode()}


def quantised(values: np.ndarray) -> Json:
    """Two bytes a number: steps of 1/65,534 of the range, finer than any colour scale. The least stands for NaN."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    width = (high - low) or 1.0
    steps = np.round((values - low) / width * 65_534) - 32_767
    return {**packed(np.where(np.isnan(steps), -32_768, steps), "i2"), "low": low, "width": width}


def column(name: str, pick: str) -> Json:
    return {"column": name, "pick": pick}


def thinned(count: int, most: int) -> np.ndarray:
    """Numbers below `count`, evenly spread, at most so many."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int)) if count else np.zeros(0, int)


def sent(result: FitResult) -> np.ndarray:
    """Which readings the page holds."""
    return thinned(len(result.readings), MOST_READINGS)


def columns_of(result: FitResult, view: View) -> Json:
    """Everything that the page knows of each reading, and its picks: good and flagged ones by field."""
    chosen = sent(result)
    readings = result.readings
    names, sensor = np.unique(readings.sensors[chosen].astype(str), return_inverse=True)
    columns = {
        **{f"at {name}": packed(readings.points[chosen, axis]) for axis, name in enumerate(readings.coordinates)},
        **{f"step {name}": packed(view.step_of(name, readings.points[chosen, readings.coordinates.index(name)]), "u2")
           for name in view.sliders},
        "value": packed(readings.values[chosen]),
        "predicted": packed(result.predicted[chosen]),
        "misfit": packed(result.misfits[chosen]),
        "reliability": packed(result.reliability[chosen]),
        "flagged": packed(result.flagged[chosen], "u1"),
        "sensor": packed(sensor.reshape(-1), "u4"),
        "field": packed(readings.field_index[chosen], "u1"),
    }  # fmt: skip
    faulty = result.faulty_sensors()["verdict"]
    words = [faulty.get(name, "") for name in names]
    return {
        "columns": columns, "sensors": names.tolist(), "faults": words, "picks": _picks(result, chosen),
        "count": len(chosen),
    }  # fmt: skip


def _picks(result: FitResult, chosen: np.ndarray) -> Json:
    flagged, fields = result.flagged[chosen], result.readings.field_index[chosen]
    picks = {}
    for number in range(len(result.problem.outputs)):
        for name, part in ((f"good {number}", ~flagged), (f"flagged {number}", flagged)):
            found = np.flatnonzero(part & (fields == number))
            picks[name] = packed(found[thinned(len(found), MOST_POINTS)], "u4")
    return picks


def thinning_note(result: FitResult, field: int | None = None) -> str:
    """What a chart of single readings, of one field or of all, says where it does not show every one."""
    chosen = sent(result)
    of_field = np.ones(len(result.readings), bool) if field is None else result.readings.field_index == field
    parts = []
    for name, part in (("good", of_field & ~result.flagged), ("flagged", of_field & result.flagged)):
        whole, shown = int(part.sum()), min(int(part[chosen].sum()), MOST_POINTS)
        if shown < whole:
            parts.append(f"{shown:,} of {whole:,} {name} readings")
    return f"Shown: {' and '.join(parts)}, evenly thinned." if parts else ""
