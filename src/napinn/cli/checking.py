"""`napinn check`: what was understood of a problem and its readings, on one page."""

import json
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from napinn.cli.choice import Choice
from napinn.cli.console import Console
from napinn.cli.exit_codes import EXIT_BAD_INPUT
from napinn.data.durations import duration
from napinn.data.readings import Readings, distinct_digits
from napinn.diagnostics.preflight import Finding, Weight, inspect_problem, inspect_readings
from napinn.engines.base import estimate
from napinn.engines.catalogue import METHODS
from napinn.engines.request import unknown_settings
from napinn.errors import InputError
from napinn.problem import Problem, Unknown
from napinn.problem.experiment import experiment_of, plain
from napinn.problem.file import Inputs

MOST_LISTED = 12
COLOURS = {Weight.NOTE: "dim", Weight.DOUBT: "yellow", Weight.OBSTACLE: "red"}


def check_command(inputs: Inputs, choice: Choice, timed: bool, as_json: bool) -> int:
    bound, table = inputs.problem, inputs.readings
    found = [*inspect_readings(bound, table, choice.in_double), *inspect_problem(bound, table)]
    blocked = any(finding.weight is Weight.OBSTACLE for finding in found)
    try:
        outlook = expected(bound, table, choice, timed and not blocked)
    except InputError as error:
        found, blocked = [Finding(Weight.OBSTACLE, str(error)), *found], True
        outlook = expected(bound, table, choice, timed=False)
    description = describe(bound, table, inputs.notes, found) | outlook
    if as_json:
        print(json.dumps(description))  # noqa: T201
    else:
        show(bound, description, Console())
    return EXIT_BAD_INPUT if blocked else 0


def describe(
    problem: Problem,
    readings: Readings,
    notes: tuple[str, ...],
    found: list[Finding],
) -> dict[str, Any]:
    """Everything that the page says, as one JSON object."""
    numbers, names = readings.numbered_sensors
    counts = np.bincount(numbers)
    return {
        "equations": problem.show().splitlines(),
        "table": {
            "file": readings.source,
            "rows": len(readings.table),
            "readings": len(readings),
            "form": "a column per sensor" if readings.columns.places else "wide" if readings.wide else "long",
            "sigma": readings.sigma is not None,
            "notes": list(notes),
        },
        "coordinates": {name: _coordinate(problem, readings, axis) for axis, name in enumerate(problem.coordinates)},
        "fields": {name: _field(problem, readings, index) for index, name in enumerate(readings.fields)},
        "hidden": list(problem.hidden),
        "experiments": {
            name: _experiment(problem, readings, number) for number, name in enumerate(readings.experiments)
        },
        "per_experiment": list(dict.fromkeys(plain(name) for name in problem.unknowns if experiment_of(name))),
        "noise_groups": _noise_groups(readings),
        "unknowns": {name: unknown_settings(unknown) for name, unknown in problem.unknowns.items()},
        **({"observables": dict(problem.observables)} if problem.observables else {}),
        **_units(problem, readings),
        **(
            {"varying": {name: varying.description for name, varying in problem.varying.items()}}
            if problem.varying
            else {}
        ),
        "sensors": {
            "count": len(names),
            "fewest": {"sensor": str(names[counts.argmin()]), "readings": int(counts.min())},
            "readings": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "most": {"sensor": str(names[counts.argmax()]), "readings": int(counts.max())},
        },
        "findings": [{"weight": finding.weight.value, "text": finding.text} for finding in found],
    }


def _experiment(problem: Problem, readings: Readings, number: int) -> dict[str, Any]:
    name = readings.experiments[number]
    return {
        "readings": int((readings.experiment_index == number).sum()),
        "ranges": {axis: list(span) for axis, span in problem.box_in(name).items()},
        "constants": dict(problem.experiments[name].constants),
    }


def _noise_groups(readings: Readings) -> dict[str, int]:
    """Readings by noise group; empty where one law holds for all."""
    if len(readings.groups) == 1:
        return {}
    return dict(zip(readings.groups, np.bincount(readings.group_index).tolist(), strict=True))


def expected(problem: Problem, readings: Readings, choice: Choice, timed: bool) -> dict[str, Any]:
    """What a fit would be, and how long it will take where that is tried."""
    if not timed:
        steps = choice.steps or METHODS[choice.name].steps
        return {"method": choice.name, "steps": steps, "seconds": None, "reason": ""}
    method = choice.make()
    found = estimate(problem, readings, method)
    return {
        "method": found.method,
        "steps": choice.steps or METHODS[found.method].steps,
        "seconds": round(found.seconds, 1),
        "reason": found.reason,
    }


def _coordinate(problem: Problem, readings: Readings, axis: int) -> dict[str, Any]:
    name, along = readings.coordinates[axis], readings.points[:, axis]
    clock = readings.columns.clocks.get(name)
    return {
        "range": list(problem.coordinates[name]),
        "read": [float(along.min()), float(along.max())],
        "different": len(np.unique(along)),
        "unit": problem.unit_of(name),
        **_converted(readings, name),
        "origin": None if clock is None else clock.origin,
    }


def _field(problem: Problem, readings: Readings, index: int) -> dict[str, Any]:
    values = readings.of_field(index)
    return {
        "readings": len(values),
        "sensors": len(set(readings.sensors[readings.field_index == index])),
        "median": float(np.median(values)),
        "range": [float(values.min()), float(values.max())],
        "unit": problem.unit_of(readings.fields[index]),
        **_converted(readings, readings.fields[index]),
    }


def _converted(readings: Readings, name: str) -> dict[str, str]:
    """The unit of a column that is not that of the problem."""
    known = readings.columns.conversions.get(plain(name))
    return {} if known is None else {"column_unit": known.unit}


def _units(problem: Problem, readings: Readings) -> dict[str, Any]:
    """The units in words, those that follow from the equations, and what is converted."""
    if not problem.units:
        return {}
    system = problem.dimensions.system
    given = {name: system.words(unit, name) for name, unit in problem.units.items() if name == plain(name)}
    names = dict.fromkeys(plain(name) for name in (*problem.unknowns, *problem.varying, *problem.constants))
    derived = {name: unit or "no unit" for name in names
               if name not in problem.units and (unit := problem.unit_of(name)) is not None}  # fmt: skip
    open_names = [name for name in names if problem.unit_of(name) is None]
    converted = list(problem.dimensions.conversions.values())
    converted += [f"the column of {name} from {known.unit} to {problem.unit_of(name)}"
                  for name, known in readings.columns.conversions.items()]  # fmt: skip
    return {"units": {"given": given, "derived": derived, "not_known": open_names, "converted": converted}}


def show(problem: Problem, description: dict[str, Any], console: Console) -> None:
    for line in description["equations"]:
        console.print(escape(line), style="bold", highlight=False, soft_wrap=True)
    table = description["table"]
    notes = "".join(f"; {note}" for note in table["notes"])
    deviations = "; with known deviations" if table["sigma"] else ""
    text = f"{table['file']}: {table['rows']} rows, {table['readings']} readings, {table['form']}{deviations}{notes}"
    console.print(escape(text), highlight=False, soft_wrap=True)
    _show_coordinates(description, console)
    _show_fields(problem, description, console)
    _show_experiments(description, console)
    _show_units(description, console)
    sensors = description["sensors"]
    few, many = sensors["fewest"], sensors["most"]
    span = f"{few['readings']} ({few['sensor']}) to " if few["readings"] < many["readings"] else ""
    text = f"{sensors['count']} sensors, with {span}{many['readings']} readings each"
    if sensors["count"] <= MOST_LISTED:
        text = "readings by sensor: " + ", ".join(f"{name} {count}" for name, count in sensors["readings"].items())
    console.print(escape(text), highlight=False, soft_wrap=True)
    for finding in description["findings"]:
        weight = Weight(finding["weight"])
        console.print(
            f"[{COLOURS[weight]}]{weight.value}:[/] {escape(finding['text'])}", highlight=False, soft_wrap=True
        )
    if not description["findings"]:
        console.print("nothing looks wrong.", style="green")
    if description["seconds"] is not None:
        steps = f" of {description['steps']} steps" if description["steps"] else ""
        why = f", because {description['reason']}" if description["reason"] else ""
        took = duration(description["seconds"])
        console.print(f"A fit by {description['method']}{steps} will take roughly {took} here{why}.", highlight=False)


def _show_coordinates(description: dict[str, Any], console: Console) -> None:
    rows = Table("coordinate", "range", "read from … to", "different", "unit", box=None, pad_edge=False)
    for name, entry in description["coordinates"].items():
        since = f" since {entry['origin'][:16].replace('T', ' ')}" if entry["origin"] else ""
        unit = f"{entry['unit'] or ''}{since}"
        rows.add_row(name, _span(entry["range"]), _span(entry["read"]), str(entry["different"]), escape(unit))
    console.print_whole(rows)


def _show_fields(problem: Problem, description: dict[str, Any], console: Console) -> None:
    rows = Table("field", "readings", "sensors", "median", "from … to", "unit", box=None, pad_edge=False)
    for name, entry in description["fields"].items():
        numbers = (str(entry["readings"]), str(entry["sensors"]), f"{entry['median']:.4g}", _span(entry["range"]))
        rows.add_row(name, *numbers, escape(entry["unit"] or ""))
    for name in description["hidden"]:
        rows.add_row(name, "hidden", "", "", "", escape(problem.unit_of(name) or ""))
    console.print_whole(rows)
    if problem.unknowns:
        known = any(unknown.prior is not None or unknown.log for unknown in problem.unknowns.values())
        units = {name: unit for name in problem.unknowns if (unit := problem.unit_of(name))}
        more = [*(["unit"] if units else []), *(["known beforehand"] if known else [])]
        rows = Table("unknown", "start", "low", "high", *more, box=None, pad_edge=False)
        for name, unknown in problem.unknowns.items():
            bounds = ("" if bound is None else f"{bound:g}" for bound in (unknown.low, unknown.high))
            unit = [escape(units.get(name, ""))] if units else []
            rows.add_row(name, _start(unknown), *bounds, *unit, *([_beforehand(unknown)] if known else []))
        console.print_whole(rows)
    _show_varying(problem, console)


def _show_varying(problem: Problem, console: Console) -> None:
    """The unknown functions, in words."""
    for name, varying in problem.varying.items():
        line = f"unknown function {name}: {varying.description}"
        line += "" if varying.steps else "; the readings choose how smooth"
        console.print(escape(line), highlight=False, soft_wrap=True)


def _show_units(description: dict[str, Any], console: Console) -> None:
    """Units in words, so that a C for coulomb is noticed, and everything that is converted."""
    units = description.get("units", {})
    lines = []
    if units.get("given"):
        lines.append("units: " + ", ".join(f"{name} in {unit}" for name, unit in units["given"].items()))
    if units.get("derived"):
        found = ", ".join(f"{name} in {unit}" for name, unit in units["derived"].items())
        lines.append(f"units that follow from the equations: {found}")
    if units.get("not_known"):
        lines.append(f"units that the equations leave open: {', '.join(units['not_known'])}")
    lines += [f"converted: {each}" for each in units.get("converted", ())]
    for line in lines:
        console.print(escape(line), highlight=False, soft_wrap=True)


def _show_experiments(description: dict[str, Any], console: Console) -> None:
    """What each experiment has of its own, and which readings have a noise law of their own."""
    if description["experiments"]:
        first = next(iter(description["experiments"].values()))
        rows = Table("experiment", "readings", *first["ranges"], *first["constants"], box=None, pad_edge=False)
        for name, entry in description["experiments"].items():
            spans, numbers = map(_span, entry["ranges"].values()), (f"{x:g}" for x in entry["constants"].values())
            rows.add_row(escape(name), str(entry["readings"]), *spans, *numbers)
        console.print_whole(rows)
        own = description["per_experiment"]
        line = f"; {', '.join(own)} {'has' if len(own) == 1 else 'have'} a value for each" if own else ""
        console.print(
            f"each experiment has fields of its own; equations and unknowns are shared{line}", highlight=False,
            soft_wrap=True,
        )  # fmt: skip
    if description["noise_groups"]:
        groups = ", ".join(f"{name} ({count} readings)" for name, count in description["noise_groups"].items())
        console.print(escape(f"one noise law for each of: {groups}"), highlight=False, soft_wrap=True)


def _start(unknown: Unknown) -> str:
    if unknown.start is not None:
        return f"{unknown.start:g}"
    return "natural size" if unknown.prior is None else "centre of its prior"


def _beforehand(unknown: Unknown) -> str:
    """What is known of an unknown beside its bounds."""
    prior = [] if unknown.prior is None else [f"prior {unknown.prior}"]
    return ", ".join([*prior, *(["logarithmic scale"] if unknown.log else [])])


def _span(pair: list[float]) -> str:
    return " … ".join(distinct_digits(*pair, fewest=4))
