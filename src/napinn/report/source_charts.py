"""Source terms as charts: each over the coordinates with its 95 % band, and its size beside the equation's terms."""

import html

import numpy as np

from napinn.problem.equations import symbol
from napinn.report.charts import Chart, Json, axes
from napinn.report.columns import packed
from napinn.report.labels import label
from napinn.results.discrepancy import SourceTerm
from napinn.results.result import FitResult

TITLE = "Is the sensor wrong, or the equation?"


def source_charts(result: FitResult) -> list[Chart]:
    """Two charts for every source term that was tried; none where none was."""
    if result.discrepancy is None:
        return []
    found = []
    for number, source in enumerate(result.discrepancy.sources):
        shown = _curve if len(source.axes) == 1 else _map
        found += [shown(result, number, source), _sizes(number, source)]
    return found


def shown_part(source: SourceTerm) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, str]:
    """Axes, values and half widths of the band of at most two coordinates; further ones are held where the source term
    is largest, which the text says."""
    names = list(source.axes)
    at, _ = source.largest
    held = names[2:]
    index = tuple(int(np.argmin(np.abs(source.axes[name] - at[name]))) for name in held)
    where = ", ".join(f"{symbol(name)} = {at[name]:.3g}" for name in held)
    chosen = (slice(None),) * min(len(names), 2) + index
    said = f" At {where}." if held else ""
    return {name: source.axes[name] for name in names[:2]}, source.values[chosen], source.halves[chosen], said


def _curve(result: FitResult, number: int, source: SourceTerm) -> Chart:
    ((name, nodes),) = source.axes.items()
    across = packed(nodes)
    band: Json = {"type": "scatter", "mode": "lines", "x": across, "line": {"width": 0}, "showlegend": False,
                  "hoverinfo": "skip"}  # fmt: skip
    data: list[Json] = [
        {**band, "y": packed(source.values - source.halves)},
        {**band, "y": packed(source.values + source.halves), "fill": "tonexty",
         "fillcolor": "rgba(90, 130, 180, 0.25)"},
        {"type": "scatter", "mode": "lines", "x": across, "y": packed(source.values), "showlegend": False,
         "line": {"color": "@ink", "width": 2}, "hovertemplate": "%{x:.4g}<br>%{y:.4g}"},
    ]  # fmt: skip
    layout = axes(label(result.problem, name), "source term", showlegend=False)
    return _chart(number, source, data, layout, "Shaded: the 95 % band, each place by itself.")


def _map(result: FitResult, number: int, source: SourceTerm) -> Chart:
    along, values, halves, said = shown_part(source)
    (first, across), (second, up) = along.items()
    most = float(np.abs(values).max()) or 1.0
    data: list[Json] = [
        {"type": "heatmap", "x": across.tolist(), "y": up.tolist(), "z": values.T.tolist(), "zmin": -most,
         "zmax": most, "colorscale": [[0.0, "@flagged"], [0.5, "@card"], [1.0, "@good"]],
         "customdata": halves.T.tolist(),
         "colorbar": {"title": {"text": "source term", "side": "right"}, "thickness": 12},
         "hovertemplate": "%{x:.4g}, %{y:.4g}: %{z:.4g} ± %{customdata:.2g}"}
    ]  # fmt: skip
    layout = axes(label(result.problem, first), label(result.problem, second))
    return _chart(number, source, data, layout, f"With ±: the 95 % band, each place by itself.{said}")


def _chart(number: int, source: SourceTerm, data: list[Json], layout: Json, said: str) -> Chart:
    return Chart(f"source-{number}", f"Source term of {source.equation}", f"{said} {source.sentence}", data, layout)


def _sizes(number: int, source: SourceTerm) -> Chart:
    """Root mean squares of the terms, the source term last."""
    names = [*(html.escape(name) for name in source.terms), "source term"]
    sizes = [*source.terms.values(), source.size]
    colours = ["@good"] * len(source.terms) + ["@flagged"]
    data: list[Json] = [
        {"type": "bar", "x": names, "y": sizes, "showlegend": False, "marker": {"color": colours},
         "hovertemplate": "%{x}: %{y:.4g}"}
    ]  # fmt: skip
    layout = axes("term", "root mean square", showlegend=False)
    layout["xaxis"]["type"] = "category"
    said = "Over the box, in the fit with the source term."
    return Chart(f"source-{number}-sizes", f"Terms of {source.equation}", said, data, layout)
