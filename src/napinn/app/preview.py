"""The readings as charts, before anything is fitted."""

from typing import Any

import numpy as np

from napinn.data.readings import Readings, order_axis

MOST_DRAWN = 4000
"""Readings of a chart; more are drawn in equal steps through the table."""
MOST_SENSORS = 12
"""Lines that can be distinguished; more sensors are drawn as marks, coloured by place."""
COLOURS = ("@good", "@flagged", "@fine", "@amber", "@soft", "@ink")
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x")


def charts(readings: Readings, units: dict[str, str]) -> list[dict[str, Any]]:
    """One chart a field, as the page draws it.

    :param readings: The readings that the columns give.
    :param units: Unit by name."""
    return [_chart(readings, index, units) for index in range(len(readings.fields))]


def _chart(readings: Readings, index: int, units: dict[str, str]) -> dict[str, Any]:
    rows = np.flatnonzero(readings.field_index == index)
    total = len(rows)
    rows = rows[:: max(1, -(-total // MOST_DRAWN))]
    name = readings.fields[index]
    order = order_axis(readings.coordinates, tuple(readings.columns.clocks))
    if order is None:
        data, across, up = _map(readings, rows, name, units)
    else:
        data = _lines(readings, rows, order, units)
        across, up = _label(readings.coordinates[order], units), _label(name, units)
    drawn = f"{len(rows)} of {total} readings" if len(rows) < total else f"{total} readings"
    layout = {"xaxis": {"title": {"text": across}}, "yaxis": {"title": {"text": up}}, "showlegend": len(data) > 1}
    return {"field": name, "count": drawn, "figure": {"data": data, "layout": layout}}


def _lines(readings: Readings, rows: np.ndarray, order: int, units: dict[str, str]) -> list[dict[str, Any]]:
    """Values along time or the only coordinate: a line a sensor, or marks coloured by place where there are many."""
    numbers, names = readings.numbered_sensors
    shown = [str(name) for name in names]
    along, values = readings.points[rows, order], readings.values[rows]
    if len(shown) > MOST_SENSORS:
        places = [axis for axis in range(len(readings.coordinates)) if axis != order]
        bar = {"title": {"text": _label(readings.coordinates[places[0]], units)}} if places else {}
        colour = _plain(readings.points[rows, places[0]]) if places else "@good"
        scale = {"colorscale": "Viridis", "colorbar": bar} if places else {}
        marker = {"size": 5, "color": colour, **scale}
        return [{"type": "scatter", "mode": "markers", "x": _plain(along), "y": _plain(values), "marker": marker}]
    traces = []
    for number, name in enumerate(shown):
        mine = np.flatnonzero(numbers[rows] == number)
        mine = mine[np.argsort(along[mine], kind="stable")]
        colour, symbol = COLOURS[number % len(COLOURS)], SYMBOLS[(number // len(COLOURS)) % len(SYMBOLS)]
        traces.append({
            "type": "scatter", "mode": "lines+markers", "name": _text(name), "x": _plain(along[mine]),
            "y": _plain(values[mine]), "line": {"color": colour, "width": 1},
            "marker": {"color": colour, "symbol": symbol, "size": 5},
        })  # fmt: skip
    return [trace for trace in traces if trace["x"]]


def _map(
    readings: Readings, rows: np.ndarray, name: str, units: dict[str, str]
) -> tuple[list[dict[str, Any]], str, str]:
    first, second = (readings.points[rows, axis] for axis in (0, 1))
    marker = {"size": 7, "color": _plain(readings.values[rows]), "colorscale": "Viridis",
              "colorbar": {"title": {"text": _label(name, units)}}}  # fmt: skip
    trace = {"type": "scatter", "mode": "markers", "x": _plain(first), "y": _plain(second), "marker": marker}
    return [trace], _label(readings.coordinates[0], units), _label(readings.coordinates[1], units)


def _plain(values: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _label(name: str, units: dict[str, str]) -> str:
    unit = units.get(name, "").strip()
    return _text(f"{name} [{unit}]" if unit else name)


def _text(text: str) -> str:
    """Plotly reads some markup in its labels."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
