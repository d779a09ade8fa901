"""`report.html`: one self-contained file with the answer first; it opens from disk and asks nothing of the network.

The page is text, a bundle of data in JSON, and scripts that draw it. Whatever the user has named is escaped, in the
text and in the bundle."""

import html
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from napinn.equations import symbol
from napinn.intervals import spread_on
from napinn.io.whole import write_whole
from napinn.report.answer import Intervals, answer, in_series, verdicts, worst_sensors
from napinn.report.charts import Chart, charts_of, error_chart, sensors_chart
from napinn.report.columns import columns_of, packed, quantised, thinning_note
from napinn.report.conditions import conditions_table
from napinn.report.course import history_charts
from napinn.report.document import page
from napinn.report.labels import label
from napinn.report.trust import checks_table
from napinn.report.truth import Truth
from napinn.report.view import Kind, View, time_of, view_of
from napinn.result import FitResult
from napinn.run_folder import describe
from napinn.verification.findings import Verification

Json = dict[str, Any]


def write_report(
    result: FitResult,
    path: Path,
    truth: Truth | None = None,
    intervals: Intervals | None = None,
    verification: Verification | None = None,
) -> None:
    write_whole(path, report_html(result, truth, intervals, verification))


def report_html(
    result: FitResult,
    truth: Truth | None = None,
    intervals: Intervals | None = None,
    verification: Verification | None = None,
) -> str:
    """The page; with the truth of a simulation it also shows errors, with intervals the coefficients carry them, and
    with a trust check it says what that has found."""
    view = view_of(result.problem, result.readings)
    coordinates = tuple(result.problem.coordinates)
    fitted = view.values(result.field, coordinates)
    errors = None if truth is None else fitted - view.values(truth.field, coordinates)
    spread = _spread(result, view)
    sensors, noise, history = sensors_chart(result), charts_of(result), history_charts(result)
    against = [] if errors is None else _error_charts(result, view, errors)
    charts = [*([sensors] if sensors else []), *noise, *against, *history]
    bundle = {
        **columns_of(result, view),
        "field": _field(result, view, fitted, errors, spread),
        "along": time_of(result.readings) or next(iter(result.problem.coordinates)),
        "labels": {name: html.escape(label(result.problem, name)) for name in (*coordinates, *result.problem.outputs)},
        "charts": {chart.id: chart.figure() for chart in charts},
    }
    parts = [
        _bar(result),
        "<main>",
        answer(result, truth, intervals or _intervals(result)),
        "" if verification is None else _section("Trust check", checks_table(verification)),
        _section("Conditions", conditions) if (conditions := conditions_table(result)) else "",
        *_field_and_sensors(result, view, sensors, _layers(spread is not None, truth is not None)),
        _section("Noise and reliability", _grid(noise)),
        "" if truth is None else _section("Against the truth", verdicts(result, truth) + _grid(against)),
        _section("Training", _grid(history)) if history else "",
        _settings(result),
        "</main>",
    ]
    return page(f"napinn: {result.problem.name}", "".join(parts), ("dress.js", "page.js"), bundle)


def _intervals(result: FitResult) -> Intervals:
    known = {} if result.certainty is None else result.certainty.intervals
    return {name: (interval.low, interval.high) for name, interval in known.items()}


def _spread(result: FitResult, view: View) -> np.ndarray | None:
    """One standard deviation of every field on the nodes of the view, where it is known everywhere."""
    if result.certainty is None:
        return None
    coordinates = tuple(result.problem.coordinates)
    found = view.ordered(spread_on({name: view.axes[name] for name in coordinates}, result.certainty), coordinates)
    return found if np.isfinite(found).all() else None


def _field(
    result: FitResult, view: View, fitted: np.ndarray, errors: np.ndarray | None, spread: np.ndarray | None
) -> Json:
    problem = result.problem
    low, high = zip(*((float(values.min()), float(values.max())) for values in fitted), strict=True)
    return {
        "kind": view.kind.value,
        "across": view.across,
        "up": view.up,
        "sliders": [{"name": name, "unit": problem.units.get(name, "")} for name in view.sliders],
        "axes": {name: packed(nodes, "f8") for name, nodes in view.axes.items()},
        "names": list(problem.outputs),
        "values": [quantised(values) for values in fitted],
        "low": low,
        "high": high,
        "errors": None if errors is None else [quantised(values) for values in errors],
        "spread": None if spread is None else [quantised(values) for values in spread],
        "square": _square(result, view),
    }


def _square(result: FitResult, view: View) -> bool:
    """Whether both axes of a map are lengths of a like size, so that the map can keep its proportions."""
    if view.kind is not Kind.MAP or view.up is None:
        return False
    spans = [high - low for low, high in (result.problem.coordinates[name] for name in (view.across, view.up))]
    units = {result.problem.units.get(name) for name in (view.across, view.up)}
    return len(units) == 1 and 0.25 <= spans[0] / spans[1] <= 4.0


def _bar(result: FitResult) -> str:
    fields = result.problem.outputs
    options = "".join(f'<option value="{number}">{html.escape(symbol(name))}</option>'
                      for number, name in enumerate(fields))  # fmt: skip
    choice = f'<label>Field <select id="choose-field">{options}</select></label>' if len(fields) > 1 else ""
    theme = '<button type="button" id="theme" aria-pressed="false">Dark</button>'
    return f'<header class="bar"><span class="name">napinn</span>{choice}{theme}</header>'


def _section(title: str, content: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{content}</section>"


def _grid(charts: Sequence[Chart]) -> str:
    return f'<div class="grid">{"".join(_figure(chart) for chart in charts)}</div>'


def _figure(chart: Chart, tall: bool = False) -> str:
    caption = f"<p>{html.escape(chart.caption)}</p>" if chart.caption else ""
    about = "" if chart.field is None else f' data-field="{chart.field}"'
    return (
        f"<figure{about}><figcaption><h3>{html.escape(chart.title)}</h3>{caption}</figcaption>"
        f'<div class="plot{" tall" * tall}" id="{chart.id}"></div></figure>'
    )


def _plot(name: str, title: str, caption: str, controls: str = "", notes: Sequence[str] = ()) -> str:
    """A tall chart that the page's script fills; the notes are about one field each."""
    about = "".join(f'<p data-field="{number}">{html.escape(note)}</p>' for number, note in enumerate(notes) if note)
    return (
        f"<figure><figcaption><h3>{html.escape(title)}</h3><p>{html.escape(caption)}</p>{about}</figcaption>{controls}"
        f'<div class="plot tall" id="{name}"></div></figure>'
    )


def _field_and_sensors(result: FitResult, view: View, sensors: Chart | None, layers: str) -> list[str]:
    field = _field_figures(result, view, layers)
    series = _series(sensors is not None) if in_series(result) else ""
    if sensors is None:
        # The only sensor of a curve is drawn on the curve already.
        shown = series if view.kind is not Kind.CURVE else ""
        return [_section("Field", field), _section("Readings against the field", shown) if shown else ""]
    if view.kind is Kind.MAP:
        # Two maps of the same ground stand side by side.
        beside = f'<div class="grid">{field}{_figure(sensors, tall=True)}</div>'
        return [_section("Field and sensors", beside + series + worst_sensors(result))]
    beside = f'<div class="grid">{_figure(sensors, tall=True)}{series}</div>'
    return [_section("Field", field), _section("Sensors", beside + worst_sensors(result))]


def _field_figures(result: FitResult, view: View, layers: str) -> str:
    marks = "Dots are readings, pale where reliable; crosses are flagged."
    band = "" if result.certainty is None else " Shaded: two standard deviations of the field to either side."
    notes = [thinning_note(result, number) for number in range(len(result.problem.outputs))]
    sliders = "".join(_slider(view, name) for name in view.sliders)
    match view.kind:
        case Kind.CURVE:
            return _plot("field", "Fitted field and readings", f"Crosses are flagged readings.{band}", "", notes)
        case Kind.SPACE_TIME:
            left = _plot("field", "Field over space and time", marks, layers, notes)
            said = f"The dotted line on the map is this instant.{band}"
            right = _plot("profile", "Profile at one instant", said, sliders)
            return f'<div class="grid">{left}{right}</div>'
        case Kind.MAP:
            # With sliders, all readings of a step are drawn.
            return _plot("field", "Fitted field and readings", marks, layers + sliders, [] if view.sliders else notes)


def _series(several: bool) -> str:
    choice = (
        '<div class="slider"><label for="choose-sensor">Sensor</label><select id="choose-sensor"></select></div>'
        if several
        else ""
    )
    said = "Line: the fitted field where the sensor is. Crosses are flagged."
    return _plot("series", "Readings of one sensor" if several else "Readings", said, choice)


def _slider(view: View, name: str) -> str:
    steps = len(view.axes[name])
    shown = html.escape(symbol(name))
    play = f'<button type="button" class="play" data-play="{name}" aria-label="Play along {shown}">▶</button>'
    return (
        f'<div class="slider"><label for="slide-{name}">{shown}</label>{play}'
        f'<input type="range" id="slide-{name}" data-slide="{name}" min="0" max="{steps - 1}" value="{steps // 2}">'
        f'<output id="at-{name}" for="slide-{name}"></output></div>'
    )


def _layers(has_spread: bool, has_truth: bool) -> str:
    """The choice of what a map shows; empty where there is only the field."""
    layers = {"fitted": "fitted field"}
    if has_spread:
        layers["spread"] = "uncertainty, one standard deviation"
    if has_truth:
        layers |= {"truth": "truth", "error": "error, fitted minus true"}
    if len(layers) == 1:
        return ""
    options = "".join(f'<option value="{name}">{said}</option>' for name, said in layers.items())
    return (
        f'<div class="slider"><label for="choose-layer">Show</label><select id="choose-layer">{options}</select></div>'
    )


def _error_charts(result: FitResult, view: View, errors: np.ndarray) -> list[Chart]:
    name = time_of(result.readings) or view.across
    last = np.moveaxis(errors, 1 + view.order.index(name), -1)
    return [
        error_chart(result, last[number], number, view.axes[name], name) for number in range(len(result.problem.fields))
    ]


def _settings(result: FitResult) -> str:
    text = json.dumps(describe(result), indent=2, ensure_ascii=False)
    return (
        f'<section><details><summary>Settings and versions</summary><pre tabindex="0">{html.escape(text)}</pre>'
        f"</details><p class='foot'>{len(result.history):,} rows of history, {_time(result.seconds)} of fitting, seed "
        f"{result.seed}.</p></section>"
    )


def _time(seconds: float) -> str:
    minutes = math.floor(seconds / 60)
    return f"{minutes} min {seconds - 60 * minutes:.0f} s" if minutes else f"{seconds:.1f} s"
