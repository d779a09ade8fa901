"""Figures of what was found of the unknowns: profiles of the likelihood, correlations, functions, source terms."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from napinn.field.splines.functions import nodes_of
from napinn.problem.equations import symbol
from napinn.report.figures import FIELD_MAP, FLAGGED, GOOD, LINE, new_figure, title
from napinn.report.identifiability import HIGHEST
from napinn.report.labels import label
from napinn.report.source_charts import shown_part
from napinn.results.discrepancy import SourceTerm
from napinn.results.profiles import THRESHOLD
from napinn.results.result import FitResult


def panels(count: int, in_a_row: int = 3) -> tuple[Axes, ...]:
    """Empty axes for so many drawings."""
    columns = min(count, in_a_row)
    rows = -(-count // columns)
    figure, found = new_figure(3.7 * columns + 1.8 * (columns == 1), 3.2 * rows, columns, rows)
    for panel in found[count:]:
        figure.delaxes(panel)
    return tuple(found[:count])


def draw_profile(result: FitResult, name: str, axes: Axes) -> None:
    """The profile of one unknown, with its threshold and its interval."""
    profile = result.profiles[name]
    axes.plot(profile.values, profile.rises, "o-", color=LINE, markersize=3, linewidth=1.4)
    axes.axhline(THRESHOLD, color="grey", linewidth=0.8, linestyle=":")
    for end in (profile.low, profile.high):
        if np.isfinite(end):
            axes.axvline(end, color=GOOD, linewidth=0.9, linestyle="--")
    axes.set_ylim(-0.1, HIGHEST * THRESHOLD)
    inside = profile.values[profile.rises < HIGHEST * THRESHOLD]
    if len(inside) > 1:
        margin = 0.1 * float(np.ptp(inside))
        axes.set_xlim(float(inside.min()) - margin, float(inside.max()) + margin)
    axes.set_xlabel(label(result.problem, name))
    axes.set_ylabel("loss of log-likelihood [nats]")
    title(axes, f"{symbol(name)}: {profile.kind.value}")


def draw_functions(result: FitResult, names: Sequence[str]) -> tuple[Axes, ...]:
    """Unknown functions: a curve with its 95 % band, or two maps, of the function and of half the width of its band.

    Args:
        result: with these functions.
        names: of them, at least one."""
    curved = {name: len(result.functions[name].coordinates) == 1 for name in names}
    drawn = panels(sum(1 if curve else 2 for curve in curved.values()), 3 if all(curved.values()) else 2)
    free = iter(drawn)
    for name, curve in curved.items():
        if curve:
            _draw_curve(result, name, next(free))
        else:
            _draw_maps(result, name, next(free), next(free))
    return drawn


def _draw_curve(result: FitResult, name: str, axes: Axes) -> None:
    function = result.functions[name]
    places = nodes_of(function.space, 601)
    low, high = function.band(places)
    axes.fill_between(places[:, 0], low, high, color=GOOD, alpha=0.25, linewidth=0, label="95 % band")
    axes.plot(places[:, 0], function(places), color=LINE, linewidth=1.6)
    axes.set_xlabel(label(result.problem, function.coordinates[0]))
    axes.set_ylabel(label(result.problem, name))
    axes.legend()
    title(axes, symbol(name))


def _draw_maps(result: FitResult, name: str, left: Axes, right: Axes) -> None:
    function, count = result.functions[name], 101
    places = nodes_of(function.space, count)
    low, high = function.band(places)
    grids = [places[:, number].reshape(count, count) for number in range(2)]
    across, up = (label(result.problem, coordinate) for coordinate in function.coordinates)
    for axes, values, said in (
        (left, function(places), symbol(name)),
        (right, 0.5 * (high - low), f"{symbol(name)}: half width of the 95 % band"),
    ):
        image = axes.pcolormesh(*grids, values.reshape(count, count), cmap=FIELD_MAP, shading="gouraud",
                                rasterized=True)  # fmt: skip
        axes.figure.colorbar(image, ax=axes, label=label(result.problem, name))
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        title(axes, said)


def draw_source(result: FitResult, source: SourceTerm, axes: Axes) -> None:
    """A source term: a curve with its 95 % band, or a map."""
    along, values, halves, said = shown_part(source)
    names, nodes = list(along), list(along.values())
    if len(names) == 2:
        most = float(np.abs(values).max()) or 1.0
        image = axes.pcolormesh(*nodes, values.T, cmap="RdBu", vmin=-most, vmax=most, shading="gouraud",
                                rasterized=True)  # fmt: skip
        axes.figure.colorbar(image, ax=axes, label="source term")
        axes.set_ylabel(label(result.problem, names[1]))
    else:
        axes.fill_between(nodes[0], values - halves, values + halves, color=GOOD, alpha=0.25, linewidth=0,
                          label="95 % band")  # fmt: skip
        axes.plot(nodes[0], values, color=LINE, linewidth=1.6)
        axes.set_ylabel("source term")
        axes.legend()
    axes.set_xlabel(label(result.problem, names[0]))
    title(axes, f"Source term of {source.equation}{said}")


def draw_term_sizes(source: SourceTerm, axes: Axes) -> None:
    """The size of a source term beside those of its equation's terms."""
    names = [*source.terms, "source term"]
    axes.barh(names, [*source.terms.values(), source.size], color=[*(GOOD for _ in source.terms), FLAGGED])
    axes.invert_yaxis()
    axes.set_xlabel("root mean square")


def draw_correlation(result: FitResult, correlation: np.ndarray, axes: Axes) -> None:
    """The correlations of all unknowns as a map with numbers."""
    names = [symbol(name) for name in result.problem.unknowns]
    image = axes.imshow(correlation, cmap="RdBu", vmin=-1.0, vmax=1.0)
    axes.figure.colorbar(image, ax=axes, label="correlation")
    places = range(len(names))
    axes.set_xticks(places, names)
    axes.set_yticks(places, names)
    for row in places:
        for column in places:
            value = float(correlation[row, column])
            dark = "white" if abs(value) > 0.6 else "black"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=dark, fontsize=8)
    title(axes, "Correlation of the unknowns")
