"""The answer in words and numbers, which the report gives before any chart."""

from collections.abc import Mapping

from napinn.problem.equations import mathml, symbol
from napinn.problem.experiment import experiment_of, without_experiment
from napinn.report.labels import share, with_unit
from napinn.report.templating import Markup, render
from napinn.report.truth import Truth
from napinn.results.intervals import formatted_ends
from napinn.results.result import FitResult

WORST_SENSORS = 8
UNRELIABLE_SENSOR = 0.5
"""A sensor is unreliable as a whole when more than this share of its readings is flagged."""

Intervals = Mapping[str, tuple[float, float]]


def answer(result: FitResult, truth: Truth | None, intervals: Intervals) -> Markup:
    problem, faulty = result.problem, result.faulty_sensors()
    # What `mathml` gives is markup in which names are escaped.
    equations = {equation.shown: without_experiment(equation) for equation in problem.written}.values()
    shared = {name: value for name, value in result.unknowns.items() if not experiment_of(name)}
    plain = Markup("".join(mathml(equation) for equation in equations))
    found = Markup("".join(mathml(equation, shared) for equation in equations))
    sentence, unreliable = _sensors_sentence(result)
    return render(
        "answer",
        name=problem.name,
        plain=plain,
        cards=_cards(result, truth, intervals),
        colour=result.status.colour,
        status=result.status.value,
        notes=result.notes,
        faulty=[(sensor, row.verdict, row.evidence) for sensor, row in faulty.head(WORST_SENSORS).iterrows()],
        more_faulty=max(len(faulty) - WORST_SENSORS, 0),
        sensors=sentence,
        unreliable=unreliable[:WORST_SENSORS],
        more_unreliable=max(len(unreliable) - WORST_SENSORS, 0),
        found=found if shared else "",
    )


def _cards(result: FitResult, truth: Truth | None, intervals: Intervals) -> list[tuple[str, str, str]]:
    """Name, value and note of every number that the report begins with."""
    problem = result.problem
    cards = []
    for name, value in result.unknowns.items():
        notes = []
        if name in intervals:
            low, high = intervals[name]
            notes.append(f"95 % interval {' to '.join(formatted_ends(low, high))}")
        if truth is not None and name in truth.unknowns:
            notes.append(f"truth {truth.unknowns[name]:.4g}")
        start = problem.unknowns[name].start
        prior = problem.unknowns[name].prior
        if prior is not None:
            notes.append(f"prior {prior}")
        elif start is None:
            notes.append("started at its natural size")
        if start is not None:
            notes.append(f"started at {start:.4g}")
        cards.append((f"coefficient {symbol(name)}", with_unit(problem, name, value), ", ".join(notes)))
    flagged, total = int(result.flagged.sum()), len(result.readings)
    cards.append(("unreliable readings", f"{flagged:,}", f"{share(flagged, total)} of {total:,}"))
    judged = f"{len(result.faulty_sensors())} faulty" if in_series(result) else "one reading each"
    cards.append(("sensors", f"{len(set(result.readings.sensors)):,}", judged))
    for name, noise in result.noise.items():
        cards.append(
            (f"noise of {symbol(name)}", with_unit(problem, name, noise.scale, 3), "standard deviation of misfits")
        )
    return cards


def in_series(result: FitResult) -> bool:
    """Whether any sensor read one field more than once; otherwise a sensor is no more than its reading."""
    return int(result.sensors_table()["readings"].max()) > len(result.problem.fields)


def _unreliable(result: FitResult) -> list[str]:
    """Sensors with most of their readings flagged that no verdict names yet."""
    table = result.sensors_table().drop(index=result.faulty_sensors().index)
    shares = table["flagged_share"].sort_values(ascending=False)
    return [str(name) for name in shares[shares > UNRELIABLE_SENSOR].index]


def _sensors_sentence(result: FitResult) -> tuple[str, list[str]]:
    """The text on whole sensors, and the unreliable ones that end the sentence."""
    bad = _unreliable(result)
    if not result.flagged.any():
        return "No reading is flagged.", []
    if not in_series(result):
        return "Every sensor has one reading, so sensors are not judged.", []
    if not bad:
        other = "No sensor" if result.faulty_sensors().empty else "No other sensor"
        return f"{other} is unreliable as a whole: none has more than half of its readings flagged.", []
    return "Unreliable as a whole, with more than half of their readings flagged:", bad


def worst_sensors(result: FitResult) -> Markup:
    """Faulty sensors, then those with most flagged readings."""
    table = result.sensors_table()
    table["well"] = ~table.index.isin(result.faulty_sensors().index)
    table = table.sort_values(["well", "flagged_share"], ascending=[True, False]).head(WORST_SENSORS)
    if table["well"].all() and not (table["flagged_share"] > 0).any():
        return render("worst_sensors", rows=[])
    rows = [
        (name, row.verdict, f"{100 * row.flagged_share:.1f} %", f"{row.reliability:.3f}", row.readings, row.evidence)
        for name, row in table.iterrows()
    ]
    heads = ("sensor", "verdict", "flagged", "mean reliability", "readings", "evidence")
    return render("worst_sensors", heads=heads, rows=rows)


def verdicts(result: FitResult, truth: Truth) -> Markup:
    """The confusion matrix."""
    rows = []
    for name, bad in (("corrupted readings", truth.bad), ("good readings", ~truth.bad)):
        flagged, kept = (int((bad & verdict).sum()) for verdict in (result.flagged, ~result.flagged))
        rows.append((name, *(f"{count:,} ({share(count, flagged + kept)})" for count in (flagged, kept))))
    return render("confusion", rows=rows)
