"""`report.html`: one self-contained file with the answer first; it opens from disk and asks nothing of the network.

The page is text, a bundle of data in JSON, and scripts that draw it. Whatever the user has named is escaped, in the
text and in the bundle."""

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from napinn.data.durations import duration
from napinn.diagnostics.findings import Verification
from napinn.engines.description import describe
from napinn.problem.equations import symbol
from napinn.report.answer import Intervals, answer, in_series, verdicts, worst_sensors
from napinn.report.charts import Chart, charts_of, error_chart, sensors_chart
from napinn.report.columns import columns_of, packed, quantised, thinning_note
from napinn.report.conditions import conditions_table
from napinn.report.course import history_charts
from napinn.report.discovery import SECTION, discovery_charts, discovery_tables
from napinn.report.document import page
from napinn.report.flag_table import flags_table
from napinn.report.function_charts import function_charts
from napinn.report.identifiability import correlation_sentence, identifiability_charts
from napinn.report.labels import label
from napinn.report.source_charts import TITLE as SOURCES
from napinn.report.source_charts import source_charts
from napinn.report.templating import Markup, joined, part
from napinn.report.trust import checks_table
from napinn.report.truth import Truth
from napinn.report.view import View, ViewKind, time_of, view_of
from napinn.results.intervals import spread_on
from napinn.results.result import FitResult
from napinn.storage.atomic import write_atomic

Json = dict[str, Any]


def write_report(
    result: FitResult,
    path: Path,
    truth: Truth | None = None,
    intervals: Intervals | None = None,
    verification: Verification | None = None,
    discovery: Mapping[str, Any] | None = None,
) -> None:
    """Write the report: one HTML file that opens from disk and needs nothing from the network.

    :param result: A finished fit.
    :param path: The file to write.
    :param truth: What a simulation knows; adds errors and the table of right and wrong verdicts. Default none.
    :param intervals: (low, high) of coefficients by name; the default is those of the result.
    :param verification: What `napinn.verify` found; default none.
    :param discovery: What `discovery.json` holds, where the equations were discovered; default none.

    >>> napinn.write_report(result, Path("report.html"), verification=napinn.verify(result))
    >>> Path("report.html").stat().st_size > 1_000_000
    True
    """
    write_atomic(path, report_html(result, truth, intervals, verification, discovery))


def report_html(
    result: FitResult,
    truth: Truth | None = None,
    intervals: Intervals | None = None,
    verification: Verification | None = None,
    discovery: Mapping[str, Any] | None = None,
) -> str:
    """The page; with the truth of a simulation it also shows errors, with intervals the coefficients carry them, with
    a trust check it says what that has found, and with a discovery how the equations were found."""
    view = view_of(result.problem, result.readings)
    coordinates = tuple(result.problem.coordinates)
    fitted = view.values(result.field, coordinates)
    errors = None if truth is None else fitted - view.values(truth.field, coordinates)
    spread = _spread(result, view)
    fitted = _in_ranges(result, view, fitted)
    spread = None if spread is None else _in_ranges(result, view, spread)
    sensors, noise, history = sensors_chart(result), charts_of(result), history_charts(result)
    against = [] if errors is None else _error_charts(result, view, errors)
    determined, functions, sources = identifiability_charts(result), function_charts(result), source_charts(result)
    terms = [] if discovery is None else discovery_charts(discovery)
    charts = [*([sensors] if sensors else []), *terms, *functions, *sources, *determined, *noise, *against, *history]
    bundle = {
        **columns_of(result, view),
        "field": _field(result, view, fitted, errors, spread),
        "along": time_of(result.readings) or next(iter(result.problem.coordinates)),
        "labels": {name: html.escape(label(result.problem, name)) for name in (*coordinates, *result.problem.outputs)},
        "charts": {chart.id: chart.figure() for chart in charts},
    }
    parts = [
        _bar(result),
        Markup("<main>"),
        answer(result, truth, intervals or _intervals(result)),
        "" if discovery is None else _section(SECTION, discovery_tables(discovery) + _grid(terms)),
        "" if verification is None else _section("Trust check", checks_table(verification)),
        _section("Conditions", conditions) if (conditions := conditions_table(result)) else "",
        *_field_and_sensors(result, view, sensors, _layers(spread is not None, truth is not None)),
        _section("Coefficients that vary", _grid(functions)) if functions else "",
        _section(SOURCES, _grid(sources)) if sources else "",
        _determined(correlation_sentence(result), determined),
        _section("Noise and reliability", _grid(noise)),
        _section("Quality flags", flags) if (flags := flags_table(result)) else "",
        "" if truth is None else _section("Against the truth", verdicts(result, truth) + _grid(against)),
        _section("Course of the fit", _grid(history)) if history else "",
        _settings(result),
        Markup("</main>"),
    ]
    return page(f"napinn: {result.problem.name}", joined(parts), ("dress.js", "page.js"), bundle)


def _intervals(result: FitResult) -> Intervals:
    known = {} if result.uncertainty is None else result.uncertainty.intervals
    return {name: (interval.low, interval.high) for name, interval in known.items()}


def _spread(result: FitResult, view: View) -> np.ndarray | None:
    """One standard deviation of every field on the nodes of the view, where it is known everywhere."""
    if result.uncertainty is None:
        return None
    coordinates = tuple(result.problem.coordinates)
    found = view.ordered(spread_on({name: view.axes[name] for name in coordinates}, result.uncertainty), coordinates)
    return found if np.isfinite(found).all() else None


def _in_ranges(result: FitResult, view: View, values: np.ndarray) -> np.ndarray:
    """Values of all fields on the nodes of the view; NaN beyond the range of an experiment."""
    places = view.places()
    named = zip(result.problem.outputs, values, strict=True)
    return np.stack([result.in_range(name, each, places) for name, each in named])


def _field(
    result: FitResult, view: View, fitted: np.ndarray, errors: np.ndarray | None, spread: np.ndarray | None
) -> Json:
    problem = result.problem
    low, high = zip(*((float(np.nanmin(values)), float(np.nanmax(values))) for values in fitted), strict=True)
    return {
        "kind": view.kind.value,
        "across": view.across,
        "up": view.up,
        "sliders": [{"name": name, "unit": problem.unit_of(name) or ""} for name in view.sliders],
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
    if view.kind is not ViewKind.MAP or view.up is None:
        return False
    spans = [high - low for low, high in (result.problem.coordinates[name] for name in (view.across, view.up))]
    units = {result.problem.unit_of(name) for name in (view.across, view.up)}
    return len(units) == 1 and 0.25 <= spans[0] / spans[1] <= 4.0


def _bar(result: FitResult) -> Markup:
    return part("bar", [symbol(name) for name in result.problem.outputs])


def _section(title: str, content: str) -> Markup:
    return part("section", title, content)


def _determined(sentence: str, charts: Sequence[Chart]) -> Markup:
    """The section on how well the coefficients are determined; empty where nothing is known of that."""
    if not (sentence or charts):
        return Markup("")
    said = part("paragraph", sentence) if sentence else Markup("")
    return _section("How well the coefficients are determined", said + (_grid(charts) if charts else ""))


def _grid(charts: Sequence[Chart]) -> Markup:
    return part("grid", charts)


def figures_of(charts: Sequence[Chart]) -> Markup:
    """Places for charts in a page of another kind."""
    return _grid(charts)


def _figure(chart: Chart, tall: bool = False) -> Markup:
    return part("figure", chart, tall)


def _plot(name: str, title: str, caption: str, controls: str = "", notes: Sequence[str] = ()) -> Markup:
    """A tall chart that the page's script fills; the notes are about one field each."""
    return part("plot", name, title, caption, controls, [(number, note) for number, note in enumerate(notes) if note])


def _field_and_sensors(result: FitResult, view: View, sensors: Chart | None, layers: Markup) -> list[Markup]:
    field = _field_figures(result, view, layers)
    series = _series(sensors is not None) if in_series(result) else Markup("")
    if sensors is None:
        # The only sensor of a curve is drawn on the curve already.
        shown = series if view.kind is not ViewKind.CURVE else Markup("")
        return [_section("Field", field), _section("Readings against the field", shown) if shown else Markup("")]
    if view.kind is ViewKind.MAP:
        # Two maps of the same ground stand side by side.
        beside = part("side_by_side", field, _figure(sensors, tall=True))
        return [_section("Field and sensors", beside + series + worst_sensors(result))]
    beside = part("side_by_side", _figure(sensors, tall=True), series)
    return [_section("Field", field), _section("Sensors", beside + worst_sensors(result))]


def _field_figures(result: FitResult, view: View, layers: Markup) -> Markup:
    marks = "Dots are readings, pale where reliable; crosses are flagged."
    band = "" if result.uncertainty is None else " Shaded: two standard deviations of the field to either side."
    notes = [thinning_note(result, number) for number in range(len(result.problem.outputs))]
    sliders = joined(_slider(view, name) for name in view.sliders)
    match view.kind:
        case ViewKind.CURVE:
            return _plot("field", "Fitted field and readings", f"Crosses are flagged readings.{band}", "", notes)
        case ViewKind.SPACE_TIME:
            left = _plot("field", "Field over space and time", marks, layers, notes)
            caption = f"The dotted line on the map is this instant.{band}"
            right = _plot("profile", "Profile at one instant", caption, sliders)
            return part("side_by_side", left, right)
        case ViewKind.MAP:
            # With sliders, all readings of a step are drawn.
            return _plot("field", "Fitted field and readings", marks, layers + sliders, [] if view.sliders else notes)


def _series(several: bool) -> Markup:
    caption = "Line: the fitted field where the sensor is. Crosses are flagged."
    choice = part("sensor_choice") if several else ""
    return _plot("series", "Readings of one sensor" if several else "Readings", caption, choice)


def _slider(view: View, name: str) -> Markup:
    return part("slider", name, symbol(name), len(view.axes[name]))


def _layers(has_spread: bool, has_truth: bool) -> Markup:
    """The choice of what a map shows; empty where there is only the field."""
    layers = {"fitted": "fitted field"}
    if has_spread:
        layers["spread"] = "uncertainty, one standard deviation"
    if has_truth:
        layers |= {"truth": "truth", "error": "error, fitted minus true"}
    if len(layers) == 1:
        return Markup("")
    return part("layers", layers)


def _error_charts(result: FitResult, view: View, errors: np.ndarray) -> list[Chart]:
    name = time_of(result.readings) or view.across
    last = np.moveaxis(errors, 1 + view.order.index(name), -1)
    return [
        error_chart(result, last[number], number, view.axes[name], name) for number in range(len(result.problem.fields))
    ]


def _settings(result: FitResult) -> Markup:
    text = json.dumps(describe(result), indent=2, ensure_ascii=False)
    took = duration(result.seconds, tenths=True)
    spent = f"{len(result.history):,} rows of history, {took} of fitting, seed {result.seed}."
    return part("settings", text, spent)
