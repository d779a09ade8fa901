"""The answer in words and numbers, which the report gives before any chart."""

import html
from collections.abc import Mapping

from napinn.equations import mathml, symbol
from napinn.intervals import spoken_end
from napinn.report.labels import share, with_unit
from napinn.report.truth import Truth
from napinn.result import FitResult

WORST_SENSORS = 8
UNRELIABLE_SENSOR = 0.5
"""A sensor is unreliable as a whole when more than this share of its readings is flagged."""

Intervals = Mapping[str, tuple[float, float]]


def answer(result: FitResult, truth: Truth | None, intervals: Intervals) -> str:
    problem = result.problem
    plain = "".join(mathml(equation) for equation in problem.written)
    found = "".join(mathml(equation, result.unknowns) for equation in problem.written)
    numbers = (
        f'<h2>With the numbers found</h2><div class="equation" tabindex="0">{found}</div>' if result.unknowns else ""
    )
    return (
        f'<section class="answer"><h1>{html.escape(problem.name)}</h1>'
        f'<div class="equation" tabindex="0">{plain}</div>'
        f"{_cards(result, truth, intervals)}"
        f'<p class="status {result.status.colour}">{html.escape(" ".join((result.status.value, *result.notes)))}</p>'
        f"{_faulty(result)}<p>{_sensors_sentence(result)}</p>{numbers if result.unknowns else ''}</section>"
    )


def _cards(result: FitResult, truth: Truth | None, intervals: Intervals) -> str:
    problem = result.problem
    cards = []
    for name, value in result.unknowns.items():
        notes = []
        if name in intervals:
            low, high = intervals[name]
            notes.append(f"95 % interval {spoken_end(low)} to {spoken_end(high)}")
        if truth is not None and name in truth.unknowns:
            notes.append(f"truth {truth.unknowns[name]:.4g}")
        start = problem.unknowns[name].start
        notes.append("started at its natural size" if start is None else f"started at {start:.4g}")
        cards.append((f"coefficient {symbol(name)}", with_unit(problem, name, value), ", ".join(notes)))
    flagged, total = int(result.flagged.sum()), len(result.readings)
    cards.append(("unreliable readings", f"{flagged:,}", f"{share(flagged, total)} of {total:,}"))
    judged = f"{len(result.faulty_sensors())} faulty" if in_series(result) else "one reading each"
    cards.append(("sensors", f"{len(set(result.readings.sensors)):,}", judged))
    for name, noise in result.noise.items():
        cards.append(
            (f"noise of {symbol(name)}", with_unit(problem, name, noise.scale, 3), "standard deviation of misfits")
        )
    cells = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd><b>{html.escape(value)}</b> <span>{html.escape(note)}</span></dd></div>"
        for name, value, note in cards
    )
    return f'<dl class="cards">{cells}</dl>'


def in_series(result: FitResult) -> bool:
    """Whether any sensor read one field more than once; otherwise a sensor is no more than its reading."""
    return int(result.sensors_table()["readings"].max()) > len(result.problem.fields)


def _faulty(result: FitResult) -> str:
    """What is wrong with which sensor; empty text where nothing is."""
    faulty = result.faulty_sensors()
    if faulty.empty:
        return ""
    said = "".join(
        f"<li><b>{html.escape(str(sensor))}</b> ({row.verdict}): {html.escape(row.evidence)}.</li>"
        for sensor, row in faulty.head(WORST_SENSORS).iterrows()
    )
    more = f"<p>And {len(faulty) - WORST_SENSORS} more.</p>" if len(faulty) > WORST_SENSORS else ""
    return f"<h2>Faulty sensors</h2><ul>{said}</ul>{more}"


def _unreliable(result: FitResult) -> list[str]:
    """Sensors with most of their readings flagged that no verdict names yet."""
    table = result.sensors_table().drop(index=result.faulty_sensors().index)
    shares = table["flagged_share"].sort_values(ascending=False)
    return [str(name) for name in shares[shares > UNRELIABLE_SENSOR].index]


def _sensors_sentence(result: FitResult) -> str:
    bad = _unreliable(result)
    if not result.flagged.any():
        return "No reading is flagged."
    if not in_series(result):
        return "Every sensor has read once, so sensors are not judged as a whole."
    if not bad:
        other = "No sensor" if result.faulty_sensors().empty else "No other sensor"
        return f"{other} is unreliable as a whole: none has more than half of its readings flagged."
    named = ", ".join(html.escape(name) for name in bad[:WORST_SENSORS])
    more = f" and {len(bad) - WORST_SENSORS} more" if len(bad) > WORST_SENSORS else ""
    return f"Unreliable as a whole, with more than half of their readings flagged: <b>{named}</b>{more}."


def worst_sensors(result: FitResult) -> str:
    """Faulty sensors, then those with most flagged readings."""
    table = result.sensors_table()
    table["well"] = ~table.index.isin(result.faulty_sensors().index)
    table = table.sort_values(["well", "flagged_share"], ascending=[True, False]).head(WORST_SENSORS)
    if table["well"].all() and not (table["flagged_share"] > 0).any():
        return "<p>No sensor has a flagged reading.</p>"
    rows = "".join(
        f"<tr><td>{html.escape(str(name))}</td><td>{row.verdict}</td><td>{100 * row.flagged_share:.1f} %</td>"
        f"<td>{row.reliability:.3f}</td><td>{row.readings}</td><td>{html.escape(row.evidence)}</td></tr>"
        for name, row in table.iterrows()
    )
    titles = ("sensor", "verdict", "flagged", "mean reliability", "readings", "evidence")
    head = "".join(f"<th>{title}</th>" for title in titles)
    return (
        "<details><summary>Sensors: faulty ones, then those with most flagged readings</summary>"
        f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{rows}</table></div></details>'
    )


def verdicts(result: FitResult, truth: Truth) -> str:
    """The confusion matrix."""
    counts = [[int((bad & verdict).sum()) for verdict in (result.flagged, ~result.flagged)]
              for bad in (truth.bad, ~truth.bad)]  # fmt: skip
    rows = "".join(
        f"<tr><th>{name}</th><td>{flagged:,} ({share(flagged, flagged + kept)})</td>"
        f"<td>{kept:,} ({share(kept, flagged + kept)})</td></tr>"
        for name, (flagged, kept) in zip(("spoilt readings", "good readings"), counts, strict=True)
    )
    head = "<tr><th></th><th>flagged</th><th>kept</th></tr>"
    return f'<table class="confusion"><caption>Verdicts against the truth</caption>{head}{rows}</table>'
