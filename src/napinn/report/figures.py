"""Figures of a finished fit, each a function of a `FitResult` that draws on matplotlib axes.

Colours are taken from maps that stay ordered in greyscale; flagged readings differ from good ones by shape as well as
by colour."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from napinn.noise.law import FLAG_BELOW
from napinn.problem.equations import symbol
from napinn.problem.experiment import experiment_of, plain
from napinn.report.charts import gate_curve, noise_edges, scores
from napinn.report.columns import thinned
from napinn.report.labels import label, misfit_label
from napinn.report.view import view_of, widest_places
from napinn.results.result import FitResult

FIELD_MAP = "cividis"
GOOD, FLAGGED, LINE = "#3b6ea5", "#c2410c", "#1f2937"
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
SLICES = 3
MOST_POINTS = 4000
"""Scatter plots show at most this many readings, evenly thinned, so that a large run still opens."""


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    # Figures are made without pyplot, so that no window system and no global state are involved.
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def save(drawn: Sequence[Axes], path: Path, dots_an_inch: int = 200) -> None:
    """The figure of some axes as PNG, PDF or SVG, by the name of the file."""
    figure = drawn[0].figure
    assert isinstance(figure, Figure)
    # Without a date the same run gives the same file.
    dated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, dpi=dots_an_inch, metadata=dated.get(path.suffix.lower()))


def draw_field(result: FitResult, field: str) -> tuple[Axes, ...]:
    """The field: a curve in one coordinate, a map in two, three slices through time or depth in more."""
    names = tuple(result.problem.coordinates)
    if len(names) == 1:
        _, (axes,) = new_figure(7.5, 3.2)
        _curve(result, field, axes)
        return (axes,)
    if len(names) == 2:
        _, (axes,) = new_figure(7.5, 3.6)
        _map(result, field, axes, {}, None)
        return (axes,)
    _, panels = new_figure(9.5, 3.2, SLICES)
    moving, *rest = view_of(result.problem, result.readings).sliders
    fixed = {name: sum(result.problem.coordinates[name]) / 2 for name in rest}
    recorded = result.readings.points[:, names.index(moving)]
    edges = np.linspace(*result.problem.coordinates[moving], SLICES + 1)
    for axes, (start, end) in zip(panels, pairwise(edges), strict=True):
        instant = recorded[np.argmin(np.abs(recorded - (start + end) / 2))]
        _map(result, field, axes, {**fixed, moving: instant}, recorded == instant)
        title(axes, f"{symbol(field)} at {symbol(moving)} = {instant:.3g}")
    return tuple(panels)


def draw_noise(result: FitResult, field: str, axes: Axes) -> None:
    """The learned noise law over the histogram of misfits, of a field or of a noise group of it."""
    scatters = result.readings.scatters
    number = scatters.names.index(field)
    chosen = scatters.index == number
    misfits, flagged = result.standard_misfits[chosen], result.flagged[chosen]
    edges = noise_edges(result, number)
    width = edges[1] - edges[0]
    for part, colour, name, hatch in ((~flagged, GOOD, "good", None), (flagged, FLAGGED, "flagged", "///")):
        counts, _ = np.histogram(misfits[part], edges)
        axes.bar(
            edges[:-1], counts / (len(misfits) * width), width, align="edge", color=colour, alpha=0.55, hatch=hatch,
            label=f"{name} readings",
        )  # fmt: skip
    noise = result.noise.get(field)
    if noise is not None:
        grid = np.linspace(edges[0], edges[-1], 600)
        axes.plot(grid, noise.pdf(grid), color=LINE, linewidth=1.6, label="learned law")
    weighed = "" if result.readings.sigma is None else ", over its relative sigma"
    axes.set_xlabel(f"{misfit_label(result.problem, plain(field))}{weighed}")
    axes.set_ylabel("density")
    title(axes, "Noise law")
    axes.legend()


def draw_reliability(result: FitResult, axes: Axes) -> None:
    """Reliability against the misfit, for a method without a gate whose curve could be drawn."""
    show = thinned(len(result.readings), MOST_POINTS)
    misfits, reliability, flagged = result.misfits[show], result.reliability[show], result.flagged[show]
    axes.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")
    axes.scatter(misfits[~flagged], reliability[~flagged], s=6, color=GOOD, label="good", alpha=0.5, linewidths=0)
    axes.scatter(
        misfits[flagged], reliability[flagged], s=14, color=FLAGGED, marker="x", label="flagged", linewidths=0.8
    )
    axes.set_xlabel("misfit (reading minus field)")
    axes.set_ylabel("reliability")
    axes.set_ylim(-0.05, 1.05)
    title(axes, "Reliability of the readings")
    axes.legend()


def draw_gate(result: FitResult, axes: Axes) -> None:
    """The gate's curve over the standardised log-density, with the readings on it; for a fit that has a gate."""
    gate, standard = result.model.gate, scores(result)
    assert gate is not None
    grid = np.linspace(standard.min() - 0.5, standard.max() + 0.5, 400)
    axes.axhline(FLAG_BELOW, color="grey", linewidth=0.8, linestyle=":")
    axes.plot(grid, gate_curve(gate, grid), color=LINE, linewidth=1.2, label="gate")
    for part, colour, marker, name in ((~result.flagged, GOOD, "o", "good"), (result.flagged, FLAGGED, "x", "flagged")):
        found = np.flatnonzero(part)
        found = found[thinned(len(found), MOST_POINTS)]
        axes.scatter(standard[found], result.reliability[found], s=14, color=colour, marker=marker, label=name,
                     linewidths=0.8)  # fmt: skip
    axes.set_xlabel("standardised log-density")
    axes.set_ylabel("reliability")
    title(axes, "Reliability gate")
    axes.legend()


def draw_sensors(result: FitResult, axes: Axes) -> None:
    """Share of flagged readings by sensor on a map where there are two places; flagged readings over place and time
    where there is one place and time; bars otherwise."""
    table = result.sensors_table()
    share = 100 * table["flagged_share"].to_numpy()
    places = widest_places(result.readings)
    if len(places) == 2:
        across, up = places
        dots = axes.scatter(table[across], table[up], c=share, cmap=FIELD_MAP, s=28, edgecolors="grey", linewidths=0.3)
        axes.figure.colorbar(dots, ax=axes, label="flagged, %")
        axes.set_xlabel(label(result.problem, across))
        axes.set_ylabel(label(result.problem, up))
    elif places and len(result.problem.coordinates) == 2:
        _readings_by_place(result, places[0], axes)
    else:
        order = np.argsort(-share)[:40]
        axes.bar(np.arange(len(order)), share[order], color=FLAGGED)
        axes.set_xticks(np.arange(len(order)), [str(name)[:12] for name in table.index[order]], rotation=90)
        axes.set_ylabel("flagged, %")
    title(axes, "Flagged readings by sensor")


def _readings_by_place(result: FitResult, place: str, axes: Axes) -> None:
    """Every reading at its place and instant, so that one sees when a sensor failed and beside which others."""
    names = result.readings.coordinates
    (time,) = [name for name in names if name != place]
    across, up = (result.readings.points[:, names.index(name)] for name in (time, place))
    for part, colour, marker, name in ((~result.flagged, GOOD, "o", "good"), (result.flagged, FLAGGED, "x", "flagged")):
        shown = np.flatnonzero(part)
        shown = shown[thinned(len(shown), MOST_POINTS)]
        axes.scatter(across[shown], up[shown], s=14, color=colour, marker=marker, label=name, linewidths=0.8)
    axes.set_xlabel(label(result.problem, time))
    axes.set_ylabel(label(result.problem, place))
    axes.legend()


def draw_losses(result: FitResult, axes: Axes) -> None:
    history = result.history
    for name, style in (("total", "-"), ("equation", "--"), ("data", ":")):
        positive = history[name].where(history[name] > 0)
        axes.plot(history["step"], positive, style, color=LINE if name == "total" else GOOD, label=name, linewidth=1.2)
    if (history["total"] > 0).any():
        axes.set_yscale("log")
    _mark_phases(result, axes)
    axes.set_ylabel("loss")
    title(axes, "Losses")
    axes.legend()


def draw_unknowns(result: FitResult, axes: Axes, names: Sequence[str] | None = None) -> None:
    """Coefficients over training on one axis: all of them, or those that are named."""
    names = list(result.unknowns) if names is None else names
    for name, style in zip(names, ("-", "--", ":", "-.") * len(names), strict=False):
        axes.plot(result.history["step"], result.history[name], style, color=LINE, label=label(result.problem, name))
    _mark_phases(result, axes)
    if len(names) == 1:
        axes.set_ylabel(label(result.problem, names[0]))
        title(axes, symbol(names[0]))
        return
    axes.set_ylabel("value")
    title(axes, "Coefficients")
    axes.legend()


def draw_gate_history(result: FitResult, axes: Axes) -> None:
    for name, style in (("steepness", "-"), ("cutoff", "--")):
        axes.plot(result.history["step"], result.history[name], style, color=LINE, label=name, linewidth=1.2)
    _mark_phases(result, axes)
    axes.set_ylabel("gate")
    title(axes, "Gate")
    axes.legend()


def draw_flagged_history(result: FitResult, axes: Axes) -> None:
    axes.plot(result.history["step"], 100 * result.history["rejected"], color=LINE, linewidth=1.2)
    _mark_phases(result, axes)
    axes.set_ylabel("flagged, %")
    title(axes, "Share flagged")


def title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontweight="bold", fontsize=10)


def _mark_phases(result: FitResult, axes: Axes) -> None:
    starts = result.history.groupby("phase", sort=False)["step"].min()
    for number, (phase, step) in enumerate(starts.items()):
        if number:
            axes.axvline(float(step), color="grey", linewidth=0.6)
        axes.annotate(
            str(phase),
            (float(step), 0.02),
            xycoords=("data", "axes fraction"),
            fontsize=7,
            color="#595959",
            rotation=90,
        )
    axes.set_xlabel("step")


def _norm(result: FitResult, field: str) -> Normalize:
    """One colour scale for every slice: the range of the fitted field at its readings, of a hidden one at all."""
    number = result.problem.outputs.index(field)
    if field in result.problem.hidden:
        values = result.field(result.readings.points)[:, number]
    else:
        values = result.predicted[result.readings.field_index == number]
    return Normalize(float(values.min()), float(values.max()))


def _curve(result: FitResult, field: str, axes: Axes) -> None:
    ((name, (low, high)),) = result.problem.box_in(experiment_of(field)).items()
    grid = np.linspace(low, high, 600)
    chosen = np.flatnonzero(result.readings.field_index == result.problem.outputs.index(field))
    chosen = chosen[thinned(len(chosen), MOST_POINTS)]
    places, values, flagged = result.readings.points[chosen, 0], result.readings.values[chosen], result.flagged[chosen]
    fitted = result.field.at(**{name: grid})[field]
    if result.uncertainty is not None:
        spread = result.uncertainty.spread(grid[:, None])[:, result.problem.outputs.index(field)]
        axes.fill_between(grid, fitted - 2.0 * spread, fitted + 2.0 * spread, color=GOOD, alpha=0.2, linewidth=0,
                          label="± 2 deviations")  # fmt: skip
    axes.plot(grid, fitted, color=LINE, label="fitted field")
    axes.scatter(places[~flagged], values[~flagged], s=12, color=GOOD, label="good", linewidths=0)
    axes.scatter(places[flagged], values[flagged], s=26, color=FLAGGED, marker="x", label="flagged")
    axes.set_xlabel(label(result.problem, name))
    axes.set_ylabel(label(result.problem, field))
    axes.legend()


def _map(result: FitResult, field: str, axes: Axes, fixed: dict[str, float], near: np.ndarray | None) -> None:
    """The field over two coordinates, the readings close by drawn on it."""
    first, second = [name for name in result.problem.coordinates if name not in fixed][:2]
    box = result.problem.box_in(experiment_of(field))
    spans = [box[name] for name in (first, second)]
    grids = np.meshgrid(*(np.linspace(*span, 120) for span in spans), indexing="ij")
    values = result.field.at(**dict(zip((first, second), grids, strict=True)), **fixed)[field]
    image = axes.pcolormesh(
        *grids, values, cmap=FIELD_MAP, norm=_norm(result, field), shading="gouraud", rasterized=True
    )
    axes.figure.colorbar(image, ax=axes, label=label(result.problem, field) if len(fixed) < 1 else None)
    chosen = result.readings.field_index == result.problem.outputs.index(field)
    chosen = np.flatnonzero(chosen if near is None else chosen & near)
    chosen = chosen[thinned(len(chosen), MOST_POINTS)]
    columns = [tuple(result.problem.coordinates).index(name) for name in (first, second)]
    x, y = result.readings.points[chosen][:, columns].T
    flagged = result.flagged[chosen]
    axes.scatter(x[~flagged], y[~flagged], s=5, color="white", edgecolors="black", linewidths=0.3)
    axes.scatter(x[flagged], y[flagged], s=22, color=FLAGGED, marker="x", linewidths=1.2)
    axes.set_xlabel(label(result.problem, first))
    axes.set_ylabel(label(result.problem, second))
