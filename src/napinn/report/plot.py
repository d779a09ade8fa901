"""Figures for papers, each a function of a finished fit that gives back the matplotlib axes it drew on.

    from napinn import load, plot
    (axes,) = plot.noise(load("runs/first"))
    axes.figure.savefig("noise.pdf")

Pass `axes` to draw a one-panel figure into a layout of your own. Colours stay ordered in greyscale, and flagged
readings, lines and bars differ by shape, dash and hatch as well."""

from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.axes import Axes

from napinn.errors import InputError, nearest
from napinn.report import figures, unknown_figures
from napinn.results.result import FitResult

__all__ = [
    "FIGURES",
    "correlation",
    "discrepancy",
    "field",
    "gate",
    "history",
    "noise",
    "parameters",
    "profile",
    "sensors",
    "unknowns",
]

Drawn = tuple[Axes, ...]


def field(result: FitResult, name: str | None = None) -> Drawn:
    """The field, which may be a hidden one, with its readings: a curve in one coordinate, a map in two, three slices
    in more."""
    return figures.draw_field(result, _named(name, result.problem.outputs))


def noise(result: FitResult, name: str | None = None, axes: Axes | None = None) -> Drawn:
    """The learned noise law over the histogram of misfits."""
    axes = axes or _panel()
    figures.draw_noise(result, _named(name, result.readings.scatters.names), axes)
    return (axes,)


def gate(result: FitResult, name: str | None = None, axes: Axes | None = None) -> Drawn:
    """The gate's curve with the readings on it; reliability over misfits for a method without a gate."""
    axes = axes or _panel()
    draw = figures.draw_gate if result.model.gate is not None else figures.draw_reliability
    draw(result, axes)
    return (axes,)


def sensors(result: FitResult, name: str | None = None, axes: Axes | None = None) -> Drawn:
    """Share of flagged readings by sensor on a map where there are two places, or as bars; flagged readings over place
    and time where there is one place and time."""
    axes = axes or _panel()
    figures.draw_sensors(result, axes)
    return (axes,)


def history(result: FitResult, name: str | None = None) -> Drawn:
    """Losses over training and, for a method that weighs readings, the gate and the share flagged."""
    if "steepness" not in result.history:
        axes = _panel()
        figures.draw_losses(result, axes)
        return (axes,)
    _, (left, middle, right) = figures.new_figure(11.0, 3.2, 3)
    figures.draw_losses(result, left)
    figures.draw_gate_history(result, middle)
    figures.draw_flagged_history(result, right)
    return left, middle, right


def parameters(result: FitResult, name: str | None = None, axes: Axes | None = None) -> Drawn:
    """The coefficients over training, each on an axis of its own: they may differ by orders of magnitude.

    With `axes`, all of them are drawn there."""
    names = list(result.unknowns)
    if not names:
        raise InputError("this problem has no unknowns, so there is nothing to draw.")
    if axes is not None:
        figures.draw_unknowns(result, axes)
        return (axes,)
    drawn = unknown_figures.panels(len(names))
    for panel, unknown in zip(drawn, names, strict=True):
        figures.draw_unknowns(result, panel, [unknown])
    return drawn


def profile(result: FitResult, name: str | None = None) -> Drawn:
    """The profile likelihood of every unknown, or of the one that is named."""
    if not result.profiles:
        raise InputError("this run has no profiles; run 'napinn profile' on its folder first.")
    names = _wanted(result.profiles, name, "unknown '{}'")
    drawn = unknown_figures.panels(len(names))
    for panel, each in zip(drawn, names, strict=True):
        unknown_figures.draw_profile(result, each, panel)
    return drawn


def correlation(result: FitResult, name: str | None = None, axes: Axes | None = None) -> Drawn:
    """How far the unknowns are determined only together."""
    known = None if result.uncertainty is None else result.uncertainty.correlation
    if known is None:
        raise InputError("correlations are not known of this run; it needs two unknowns and intervals.")
    axes = axes or _panel()
    unknown_figures.draw_correlation(result, known, axes)
    return (axes,)


def unknowns(result: FitResult, name: str | None = None) -> Drawn:
    """The coefficients that vary, each a curve or a map with its 95 % band; or the one that is named."""
    if not result.functions:
        raise InputError("this problem has no unknown that varies, so there is nothing to draw; see 'parameters'.")
    return unknown_figures.draw_functions(result, _wanted(result.functions, name, "unknown '{}' that varies"))


def _wanted(found: Mapping[str, Any], name: str | None, called: str) -> list[str]:
    """All names that were found, or the one that was asked for; a message says `called` of a name."""
    if name is not None and name not in found:
        raise InputError(f"there is no {called.format(name)}; {nearest(name, found)}")
    return list(found) if name is None else [name]


def discrepancy(result: FitResult, name: str | None = None) -> Drawn:
    """The source term of every equation over the coordinates, and its size beside the equation's terms."""
    if result.discrepancy is None:
        raise InputError("this run has no source terms; fit again with --discrepancy.")
    sources = result.discrepancy.sources
    drawn = unknown_figures.panels(2 * len(sources), in_a_row=2)
    for number, source in enumerate(sources):
        unknown_figures.draw_source(result, source, drawn[2 * number])
        unknown_figures.draw_term_sizes(source, drawn[2 * number + 1])
    return drawn


FIGURES: Mapping[str, Callable[[FitResult, str | None], Drawn]] = {
    "field": field,
    "noise": noise,
    "gate": gate,
    "sensors": sensors,
    "history": history,
    "parameters": parameters,
    "profile": profile,
    "correlation": correlation,
    "unknowns": unknowns,
    "discrepancy": discrepancy,
}


def _panel() -> Axes:
    return figures.new_figure(5.5, 3.4)[1][0]


def _named(name: str | None, fields: tuple[str, ...]) -> str:
    if name is not None and name not in fields:
        raise InputError(f"there is no field '{name}'; {nearest(name, fields)}")
    return fields[0] if name is None else name
