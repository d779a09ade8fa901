"""Charts of the report as plain values in the form that plotly reads, without drawing anything.

Colours are names (`@good`), which the page turns into those of its light or dark dress; arrays are packed or refer to
columns of the readings."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.data.robust import robust_std
from napinn.noise.law import FLAG_BELOW
from napinn.problem.equations import symbol
from napinn.problem.experiment import plain
from napinn.report.columns import MOST_POINTS, column, packed, sent, thinned, thinning_note
from napinn.report.labels import inverse, label, misfit_label
from napinn.report.view import time_of, widest_places
from napinn.results.result import FitResult

Json = dict[str, Any]
FEWEST_BINS, BINS = 12, 90
FEW_POINTS = 300
"""Readings up to which the marks of a chart of misfits are large; more would cover each other."""
REACH = 8.0
"""Robust standard deviations that the axis of a noise law reaches where no reading is judged."""
MARGIN = 0.2
"""Share of the range of good misfits that is added at either end, where flagged ones begin."""


@dataclass(frozen=True)
class Chart:
    id: str
    title: str
    caption: str
    data: Sequence[Json]
    layout: Json
    field: int | None = None
    """The field that it is about; the page shows it only while that field is chosen."""

    def figure(self) -> Json:
        return {"data": list(self.data), "layout": self.layout, "field": self.field}


def axes(across: str, up: str, **more: Any) -> Json:
    """Axis names; user text is escaped, because plotly reads a little markup."""
    return {
        "xaxis": {"title": {"text": html.escape(across)}},
        "yaxis": {"title": {"text": html.escape(up)}},
        **more,
    }


def noise_chart(result: FitResult, number: int) -> Chart:
    """The noise law of the readings that share a scale: of a field, or of a noise group of it."""
    scatters = result.readings.scatters
    scatter, chosen = scatters.names[number], scatters.index == number
    field = plain(scatter)
    misfits, flagged = result.standard_misfits[chosen], result.flagged[chosen]
    edges = noise_edges(result, number)
    width = edges[1] - edges[0]
    data: list[Json] = []
    for part, name, pattern in ((~flagged, "good", ""), (flagged, "flagged", "/")):
        if not part.any():
            continue
        counts, _ = np.histogram(misfits[part], edges)
        data.append(
            {
                "type": "bar", "name": name, "x": packed(edges[:-1] + width / 2),
                "y": packed(counts / (len(misfits) * width)), "width": float(width),
                "marker": {"color": f"@{name}", "pattern": {"shape": pattern, "size": 4}, "line": {"width": 0}},
                "hovertemplate": "misfit %{x:.3g}<br>density %{y:.3g}",
            }
        )  # fmt: skip
    noise = result.noise.get(scatter)
    if noise is not None:
        grid = np.linspace(edges[0], edges[-1], 500)
        line = {"color": "@ink", "width": 2.5}
        data.append(
            {"type": "scatter", "mode": "lines", "name": "learned law", "x": packed(grid),
             "y": packed(noise.pdf(grid)), "line": line, "hovertemplate": "misfit %{x:.3g}<br>density %{y:.3g}"}
        )  # fmt: skip
    unit = result.problem.unit_of(field)
    density = f"density [{inverse(unit)}]" if unit else "density"
    layout = axes(misfit_label(result.problem, field), density, barmode="stack", bargap=0)
    weighed = "" if result.readings.sigma is None else ", over its known deviation relative to the median one"
    law = (
        "Line: the law of the noise that napinn learned from them."
        if noise
        else "This method learns no law of the noise."
    )
    caption = f"Bars: misfits (reading minus field{weighed}). {law}"
    beyond = int(((misfits < edges[0]) | (misfits > edges[-1])).sum())
    caption = caption + (f" {beyond:,} misfits lie beyond the ends of the axis." if beyond else "")
    # Laws of groups and experiments stand side by side, whichever field is chosen.
    owner = number if scatters.names == result.problem.fields else None
    return Chart(f"noise-{number}", f"Noise law of {symbol(scatter)}", caption, data, layout, owner)


def noise_edges(result: FitResult, number: int) -> np.ndarray:
    """The edges of the bars in a histogram of misfits, over the misfits that the law is of.

    Flagged readings do not stretch the axis, nor do, where a method judges no readings, misfits beyond eight robust
    standard deviations: Gaussian noise has none of these, and a few of them would press the law into one bar.

    Args:
        result: a finished fit.
        number: of the noise scale (`Readings.scatters`): of the measured field, unless groups divide its readings."""
    scatters = result.readings.scatters
    chosen = scatters.index == number
    misfits, good = result.standard_misfits[chosen], ~result.flagged[chosen]
    shown = misfits[good] if good.any() else misfits
    if not shown.size:
        return np.linspace(-1.0, 1.0, FEWEST_BINS + 1)
    low, high = np.quantile(shown, [0.001, 0.999])
    if scatters.names[number] not in result.noise and (width := robust_std(shown)) > 0.0:
        middle = float(np.median(shown))
        low, high = max(low, middle - REACH * width), min(high, middle + REACH * width)
    margin = MARGIN * (high - low) or 1.0
    bins = int(np.clip(2.0 * np.sqrt(len(shown)), FEWEST_BINS, BINS))
    return np.linspace(low - margin, high + margin, bins + 1)


def scores(result: FitResult) -> np.ndarray:
    """Standardised log-density of every reading, beside those that were not left out: what the gate saw at the end."""
    found = result.log_densities
    used = found[result.reliability > 0.0]
    return (found - used.mean()) / max(float(used.std()), 1e-6)


def gate_curve(gate: tuple[float, float], standard: np.ndarray) -> np.ndarray:
    """The reliability that a gate of this steepness and cutoff gives to standardised log-densities."""
    steepness, cutoff = gate
    return 0.5 * (1.0 + np.tanh(0.5 * steepness * (standard + cutoff)))


def gate_chart(result: FitResult) -> Chart | None:
    gate = result.model.gate
    if gate is None or not np.ptp(result.reliability):
        return None
    standard, chosen = scores(result), sent(result)
    low, high = float(standard.min()), float(standard.max())
    grid = np.linspace(low - 0.5, high + 0.5, 400)
    data: list[Json] = [
        {"type": "scatter", "mode": "lines", "name": "gate", "x": packed(grid), "y": packed(gate_curve(gate, grid)),
         "line": {"color": "@ink", "width": 2}, "hoverinfo": "skip"}
    ]  # fmt: skip
    for part, name, marker in ((~result.flagged, "good", "circle"), (result.flagged, "flagged", "x-thin-open")):
        found = chosen[part[chosen]]
        found = found[thinned(len(found), MOST_POINTS)]
        data.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": packed(standard[found]),
             "y": packed(result.reliability[found]), "marker": {"color": f"@{name}", "size": 6, "symbol": marker},
             "hovertemplate": "score %{x:.3g}<br>reliability %{y:.3f}"}
        )  # fmt: skip
    steepness, cutoff = gate
    layout = axes("standardised log-density [deviations]", "reliability (0 to 1)")
    layout["shapes"] = [dotted(y=FLAG_BELOW)]
    caption = (
        f"How a misfit becomes a reliability: steepness {steepness:.3g}, cutoff {cutoff:.3g} deviations below the "
        "mean. Below the dotted line a reading is flagged."
    )
    return Chart("gate", "Reliability gate", f"{caption} {thinning_note(result)}".strip(), data, layout)


def misfit_charts(result: FitResult, number: int) -> list[Chart]:
    """Misfits against time (or the only coordinate there is) and against what the field predicts."""
    problem = result.problem
    field = problem.fields[number]
    along = time_of(result.readings) or next(iter(problem.coordinates))
    note = thinning_note(result, number)
    size = 7 if int((result.readings.field_index == number).sum()) <= FEW_POINTS else 4
    charts = []
    for name, source, across, caption in (
        ("along", f"at {along}", label(problem, along), "A drift, a step or a burst in time shows here."),
        ("predicted", "predicted", f"predicted {label(problem, field)}", "Noise that grows with the value shows here."),
    ):
        data = [_misfit_trace(kind, source, number, size) for kind in ("good", "flagged")]
        layout = axes(across, misfit_label(problem, field))
        layout["shapes"] = [dotted(y=0.0)]
        against = symbol(along) if name == "along" else "predicted value"
        charts.append(
            Chart(f"misfit-{name}-{number}", f"Misfits against {against}", f"{caption} {note}".strip(), data, layout,
                  number)
        )  # fmt: skip
    return charts


def _misfit_trace(kind: str, source: str, number: int, size: int) -> Json:
    pick = f"{kind} {number}"
    return {
        "type": "scatter", "mode": "markers", "name": kind, "x": column(source, pick), "y": column("misfit", pick),
        "marker": {"color": f"@{kind}", "size": size if kind == "good" else max(size, 6),
                   "opacity": 0.6 if kind == "good" else 0.9,
                   "symbol": "circle" if kind == "good" else "x-thin-open"},
        "customdata": column("sensor name", pick),
        "hovertemplate": "%{x:.4g}<br>misfit %{y:.3g}<br>sensor %{customdata}",
    }  # fmt: skip


def sensors_chart(result: FitResult) -> Chart | None:
    """Sensors where they stand, coloured by the mean reliability of their readings."""
    table = result.sensors_table()
    if len(table) < 2:
        return None
    problem = result.problem
    names = widest_places(result.readings)
    share = 100 * table["flagged_share"].to_numpy()
    custom = [[html.escape(str(sensor)), f"{flagged:.1f}", int(count), str(sensor), verdict]
              for sensor, flagged, count, verdict in zip(table.index, share, table["readings"], table["verdict"],
                                                         strict=True)]  # fmt: skip
    faulty = table.index.isin(result.faulty_sensors().index)
    marker: Json = {
        "symbol": np.where(faulty, "diamond", "circle").tolist(),
        "size": 11 if len(table) <= 400 else 7, "color": packed(table["reliability"].to_numpy()), "cmin": 0, "cmax": 1,
        "colorscale": "@reliability", "line": {"color": "@ink", "width": 1},
        "colorbar": {"title": {"text": "mean reliability (0 to 1)", "side": "right"}, "thickness": 12},
    }  # fmt: skip
    hover = (
        "sensor %{customdata[0]}: %{customdata[4]}<br>reliability %{marker.color:.3f}<br>"
        "flagged %{customdata[1]} % of %{customdata[2]}"
    )
    trace: Json = {"type": "scatter", "mode": "markers", "marker": marker, "customdata": custom, "hovertemplate": hover,
                   "showlegend": False}  # fmt: skip
    if len(names) >= 2:
        trace |= {"x": packed(table[names[0]].to_numpy()), "y": packed(table[names[1]].to_numpy())}
        layout = axes(label(problem, names[0]), label(problem, names[1]))
    else:
        along = packed(table[names[0]].to_numpy()) if names else [html.escape(str(sensor)) for sensor in table.index]
        trace |= {"x": along, "y": packed(table["reliability"].to_numpy())}
        marker["showscale"] = False
        layout = axes(label(problem, names[0]) if names else "sensor", "mean reliability (0 to 1)")
        layout["yaxis"]["range"] = [-0.04, 1.06]
    shape = " Diamonds are faulty." if faulty.any() else ""
    caption = f"Each mark is a sensor at the mean of its places.{shape} Choose one to see its readings."
    return Chart("sensors", "Sensors by reliability", caption, [trace], layout)


def dotted(x: float | None = None, y: float | None = None) -> Json:
    """A dotted line across a chart, upright at `x` or level at `y`."""
    line: Json = {"type": "line", "line": {"color": "@soft", "width": 1, "dash": "dot"}}
    if x is not None:
        return {**line, "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    return {**line, "y0": y, "y1": y, "x0": 0, "x1": 1, "xref": "paper"}


def error_chart(result: FitResult, errors: np.ndarray, number: int, along: np.ndarray, name: str) -> Chart:
    """Root mean square of fitted minus true along one coordinate, over all the others."""
    field = result.problem.fields[number]
    size = np.sqrt((errors**2).reshape(-1, len(along)).mean(axis=0))
    data = [{"type": "scatter", "mode": "lines", "x": packed(along), "y": packed(size), "line": {"color": "@ink"},
             "name": "error", "hovertemplate": "%{x:.4g}<br>error %{y:.3g}"}]  # fmt: skip
    layout = axes(label(result.problem, name), f"error of {label(result.problem, field)}", showlegend=False)
    layout["yaxis"]["rangemode"] = "tozero"
    return Chart(f"error-{number}", f"Error along {symbol(name)}", "Fitted minus true field, root mean square.", data,
                 layout, number)  # fmt: skip


def charts_of(result: FitResult) -> list[Chart]:
    """The charts on noise and misfits, those of every field."""
    gate = gate_chart(result)
    fields = range(len(result.problem.fields))
    return [
        *(noise_chart(result, number) for number in range(len(result.readings.scatters.names))),
        *([gate] if gate else []),
        *(chart for number in fields for chart in misfit_charts(result, number)),
    ]
