"""Unknown functions as charts: a curve with its 95 % band, or two maps, of the function and of its band."""

import numpy as np

from napinn.field.splines.functions import nodes_of
from napinn.problem.equations import symbol
from napinn.report.charts import Chart, Json, axes
from napinn.report.columns import packed
from napinn.report.labels import label
from napinn.results.functions import FoundFunction
from napinn.results.result import FitResult

NODES = {1: 301, 2: 61}
"""Along each coordinate, by how many there are."""


def function_charts(result: FitResult) -> list[Chart]:
    """The charts of every unknown function of a fit."""
    found = []
    for name, function in result.functions.items():
        one = len(function.coordinates) == 1
        found += [_curve(result, name, function)] if one else _maps(result, name, function)
    return found


def _curve(result: FitResult, name: str, function: FoundFunction) -> Chart:
    (coordinate,) = function.coordinates
    places = nodes_of(function.space, NODES[1])
    low, high = function.band(places)
    across = packed(places[:, 0])
    band: Json = {"type": "scatter", "mode": "lines", "x": across, "line": {"width": 0}, "showlegend": False,
                  "hoverinfo": "skip"}  # fmt: skip
    data: list[Json] = [
        {**band, "y": packed(low)},
        {**band, "y": packed(high), "fill": "tonexty", "fillcolor": "rgba(90, 130, 180, 0.25)"},
        {"type": "scatter", "mode": "lines", "x": across, "y": packed(function(places)), "showlegend": False,
         "line": {"color": "@ink", "width": 2}, "hovertemplate": "%{x:.4g}<br>%{y:.4g}"},
    ]  # fmt: skip
    layout = axes(label(result.problem, coordinate), label(result.problem, name), showlegend=False)
    jumps = "".join(
        f" Jump at {symbol(coordinate)} = {place:.4g}, from {before:.4g} to {after:.4g}."
        for place, before, after in function.jumps()
    )
    caption = f"Shaded: the 95 % band, each place by itself.{jumps}"
    return Chart(f"function-{name}", f"{symbol(name)} along {symbol(coordinate)}", caption, data, layout)


def _maps(result: FitResult, name: str, function: FoundFunction) -> list[Chart]:
    first, second = function.coordinates
    places = nodes_of(function.space, NODES[2])
    shape = (NODES[2], NODES[2])
    low, high = function.band(places)
    charts = []
    for ending, values, what in (
        ("", function(places), f"{symbol(name)} along {symbol(first)} and {symbol(second)}"),
        ("-band", 0.5 * (high - low), f"Half width of the 95 % band of {symbol(name)}"),
    ):
        data: list[Json] = [
            {"type": "heatmap", "x": np.unique(places[:, 0]).tolist(), "y": np.unique(places[:, 1]).tolist(),
             "z": values.reshape(shape).T.tolist(), "colorscale": "Cividis",
             "colorbar": {"title": {"text": label(result.problem, name), "side": "right"}, "thickness": 12},
             "hovertemplate": "%{x:.4g}, %{y:.4g}: %{z:.4g}"}
        ]  # fmt: skip
        layout = axes(label(result.problem, first), label(result.problem, second))
        charts.append(Chart(f"function-{name}{ending}", what, "", data, layout))
    return charts
