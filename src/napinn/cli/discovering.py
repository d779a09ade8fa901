"""`napinn discover`."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from napinn.cli.console import Console
from napinn.cli.exit_codes import EXIT_NOT_TRUSTED
from napinn.data.formats import read_file
from napinn.data.readings import Readings
from napinn.discovery.discover import discover
from napinn.discovery.files import write_discovery
from napinn.discovery.found import Discovery, FoundEquation, described
from napinn.discovery.terms import split_terms
from napinn.errors import InputError, storing
from napinn.problem import Problem
from napinn.problem.file import ProblemFile, bind_readings, load_problem_file, parse_problem, sheet_of
from napinn.problem.file.roles import roles_of
from napinn.report.discovery import SECTION, discovery_charts, discovery_tables
from napinn.report.document import page
from napinn.report.html import figures_of, write_report
from napinn.report.templating import Markup, joined, part
from napinn.results.intervals import formatted_ends
from napinn.runs.folder import prepare, save
from napinn.storage.atomic import write_atomic
from napinn.storage.lock import held

COLUMNS_MEAN = (
    "inclusion: the share of draws, each without a quarter of the sensors, whose best equation has the term; "
    "held-out score: about 1 where only noise is left."
)
DIFFERENTIATED = re.compile(r"\s*(?:d\s*\(\s*)?([^\W\d][^\W_]*)\s*[_,]")
"""The name before the axes in `x_t` or `d(x, t)`, of names that may be coordinates."""
RIVALS_SHOWN = 6
"""Rows of the table of rivals on the terminal; the report has all."""


def discover_command(
    readings: Path, problem: Path | None, left: Sequence[str], terms: Sequence[str], known: Sequence[str],
    out: Path | None, overwrite: bool, refit_seconds: float, seed: int, quiet: bool, as_json: bool,
) -> int:  # fmt: skip
    file, bound, table = _read(readings, problem, left)
    folder = out or Path("runs") / readings.stem
    inputs = [readings, *([problem] if problem else [])]
    found = discover(
        table, list(left) or file.left, _by_left(terms) or file.terms, known=_by_left(known) or file.known,
        constants=bound.constants, box=dict(bound.coordinates), units=bound.units,
        own_units=bound.own_units, name=file.name, refit_seconds=refit_seconds, seed=seed,
    )  # fmt: skip
    prepare(folder, overwrite, inputs=inputs)
    with held(folder), storing(f"the discovery could not be saved to {folder}"):
        _write(found, folder, file)
    if as_json:
        print(json.dumps({**described(found), "folder": str(folder)}))  # noqa: T201
    elif not quiet:
        _show(found, folder, readings, Console())
    return 0 if found.claimed else EXIT_NOT_TRUSTED


def _read(readings: Path, problem: Path | None, left: Sequence[str]) -> tuple[ProblemFile, Problem, Readings]:
    """From a problem file, or from the names of the columns and of what the left sides differentiate."""
    if problem is not None:
        file, source = load_problem_file(problem), str(problem)
        sheet = sheet_of(_with_equations(file), readings, source)
    else:
        sheet, source = read_file(readings), "the columns"
        roles = roles_of(sheet.table)
        roles.measure([found.group(1) for text in left if (found := DIFFERENTIATED.match(text))])
        if not roles.coordinates or not roles.fields:
            raise InputError(
                f"the columns of {readings} do not show what was measured where; name time 't' and places 'x' and 'y', "
                "or write a problem file."
            )
        renamed = {name: column for name, column in {**roles.coordinates, **roles.fields}.items() if name != column}
        coordinates: dict[str, Any] = dict.fromkeys(roles.coordinates)
        if roles.dates_entry is not None and roles.time is not None:
            renamed.pop(roles.time, None)
            coordinates[roles.time] = roles.dates_entry
        columns: dict[str, Any] = {"rename": renamed} if renamed else {}
        columns |= {"sensor": roles.sensor} if roles.sensor else {}
        content = {
            "name": readings.stem, "coordinates": coordinates, "fields": list(roles.fields), "equations": [],
            "units": roles.units, "columns": columns, "missing": roles.missing,
        }  # fmt: skip
        file = parse_problem(content, source)
    bound, table = bind_readings(_with_equations(file), sheet.table, str(readings), source)
    return file, bound, table


def _with_equations(file: ProblemFile) -> ProblemFile:
    """Any equations that hold every field: those to be found are not known yet, and readings are bound to a problem."""
    if not file.coordinates:
        # Without coordinates there is no derivative; binding refuses such a file in a sentence.
        return file
    first = next(iter(file.coordinates))
    held = {*file.coordinates, *file.fields, *file.constants, *file.tables}
    return file.model_copy(
        update={
            "equations": [f"d({name}, {first}) = 0" for name in file.fields],
            "unknowns": {},
            "units": {name: unit for name, unit in file.units.items() if name in held},
        }
    )


def _by_left(texts: Sequence[str]) -> list[str] | dict[str, list[str]]:
    """`"u, u**2"` for all equations, or `"u_t: u, u**2"` for one."""
    named: dict[str, list[str]] = {}
    plain: list[str] = []
    for text in texts:
        side, colon, rest = text.partition(":")
        if colon:
            named.setdefault(side.strip(), []).extend(split_terms(rest))
        else:
            plain += split_terms(text)
    if named and plain:
        raise InputError("give terms either for all equations or by left side, as 'u_t: u, u**2', and not both.")
    return named or plain


def _write(found: Discovery, folder: Path, file: ProblemFile) -> None:
    write_discovery(found, folder, file)
    description = described(found)
    if found.result is not None:
        save(found.result, folder)
        write_report(found.result, folder / "report.html", discovery=description)
        return
    charts = discovery_charts(description)
    section = part("section", SECTION, discovery_tables(description) + figures_of(charts))
    body = joined((part("bar"), Markup("<main>"), section, Markup("</main>")))
    bundle = {"charts": {chart.id: chart.figure() for chart in charts}}
    write_atomic(folder / "report.html", page(f"napinn: {file.name}", body, ("dress.js", "charts.js"), bundle))


def _show(found: Discovery, folder: Path, readings: Path, console: Console) -> None:
    console.print(escape(found.show()), style="bold", soft_wrap=True, highlight=False)
    for equation in found.equations:
        if equation.terms:
            console.print_whole(_terms(equation))
        console.print_whole(_rivals(equation))
    console.print(COLUMNS_MEAN, soft_wrap=True, highlight=False, markup=False)
    for sentence in found.sentences():
        console.print(escape(sentence), soft_wrap=True, highlight=False)
    console.print(f"folder {folder}, report {folder / 'report.html'}", soft_wrap=True, highlight=False, markup=False)
    if found.claimed:
        console.print(next_commands(found, folder, readings), soft_wrap=True, highlight=False, markup=False)


def next_commands(found: Discovery, folder: Path, readings: Path) -> str:
    """What to run after an equation was found.

    :param found: What was found.
    :param folder: The folder that it was written to.
    :param readings: The table that was searched."""
    table, problem, run = (shlex.quote(str(path)) for path in (readings, folder / "problem.yaml", f"{folder}-fit"))
    lines = [f"napinn fit {table} --problem {problem} --out {run}"]
    if found.result is not None:
        lines.append(f"napinn verify {shlex.quote(str(folder))}")
    return "\n".join(["next:", *(f"  {line}" for line in lines)])


def _terms(equation: FoundEquation) -> Table:
    table = Table(f"terms of {equation.left}", "coefficient", "95 % interval", "inclusion", box=None)
    for term in equation.terms:
        interval = " … ".join(formatted_ends(term.low, term.high))
        table.add_row(escape(term.text), f"{term.coefficient:.5g}", interval, term.shown_inclusion)
    return table


def _rivals(equation: FoundEquation) -> Table:
    table = Table("terms", f"best right-hand side of {equation.left}", "held-out score", "", box=None)
    for rival in equation.rivals[:RIVALS_SHOWN]:
        table.add_row(
            str(rival.size),
            escape(", ".join(rival.terms) or "0"),
            f"{rival.score:.4g}",
            "chosen" if rival.chosen else "",
        )
    return table
