"""A problem from equations and the columns of a table alone: `u_t = D*u_xx` beside columns x, t and u says it all.

A name with an underscore whose end is made of column names is a derivative; its head is a field and its end are
coordinates. Of the columns that stand by themselves in an equation, those with the usual names of coordinates are
coordinates and the others are fields. A field that has no column is hidden. Ranges come from the readings.

Where the equations use names that are not columns, columns are known by their short names too: `T [K]` as T, and the
column of time, be it `time_h` or dates, as t. Columns `T_10cm`, `T_20cm` are then T at two places x."""

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from napinn.data.names import normal, respelled
from napinn.data.readings import ADDED_COLUMNS, TIME_NAMES, Columns
from napinn.errors import InputError, listed
from napinn.problem.equations import RESERVED, split_names
from napinn.problem.equations.spelling import derivative_hint
from napinn.problem.file.loading import parse_problem
from napinn.problem.file.places import one_field_at_places
from napinn.problem.file.problem_file import ProblemFile
from napinn.problem.file.proposal import partial_text
from napinn.problem.file.roles import Roles, roles_of

USUAL = frozenset({"x", "y", "z", "r", "t", "time"})
_NAME = re.compile(r"(?!d\s*\()[^\W\d]\w*")
"""Any name but the `d` of a derivative `d(u, x)`."""
_PLAIN_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*\b(?!\s*\()")
"""A name that is not called as a function."""
_PRIOR = re.compile(r",\s*prior\s*=")
_CALL = re.compile(r"\bd\s*\(")


@dataclass(frozen=True)
class ProblemTexts:
    """A problem by its words on the command line."""

    equations: tuple[str, ...]
    unknowns: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    periodic: tuple[str, ...] = ()


def deduce(texts: ProblemTexts, table: pd.DataFrame, source: str) -> ProblemFile:
    """The problem file that one would have written."""
    unknowns = dict(unknown_entry(text) for text in texts.unknowns)
    constants = dict(_constant(text) for text in texts.constants)
    names = Columns()
    equations = tuple(unicodedata.normalize("NFC", text) for text in texts.equations)
    used = {name for text in equations for name in _names_in(text)}
    table = respelled(table, [normal(str(column)) for column in table.columns])
    proposed = roles_of(table)
    sensor = proposed.sensor if proposed.sensor not in used else None
    special = {names.value, names.field, names.sensor, names.sigma, names.experiment, sensor, *ADDED_COLUMNS} - used
    # A saved index has no name, and every name begins with nothing.
    columns = [str(column) for column in table.columns if column not in {*special, ""}]
    known = {*unknowns, *constants}
    shown = columns
    stations = one_field_at_places(proposed) if _unexplained(equations, known, columns) else {}
    if stations:
        columns = [*(column for column in columns if column not in stations), "x", *proposed.fields]
    renamed = _short_names(proposed, columns) if _unexplained(equations, known, columns) else {}
    remedy = _sensors_remedy(proposed, source)
    fields, coordinates = _roles(equations, known, [*columns, *renamed], shown, source, remedy)
    renamed = {name: column for name, column in renamed.items() if name in fields | coordinates}
    columns = [name for name in (*columns, *renamed) if name not in renamed.values()]
    coordinates |= {name for name in columns if name in {*table.columns} & USUAL - fields and table[name].nunique() > 1}
    if not coordinates:
        raise InputError(
            f"no coordinate of {source} is in the equation; write derivatives by column, as 'u_t' for columns u and t "
            f"(columns here: {listed(columns)})."
        )
    measured = [name for name in sorted(fields) if name in _measured(table, columns, fields)]
    if not measured:
        absent = listed(f"'{name}'" for name in sorted(fields))
        raise InputError(
            f"{source} has no column {absent} (columns here: {listed(shown)}); "
            f"write the equation with the names of columns{remedy}."
        )
    content = {
        "name": source,
        "coordinates": {name: _coordinate(name, renamed, proposed) for name in columns if name in coordinates},
        "fields": measured,
        "hidden": sorted(fields - set(measured)),
        "equations": list(texts.equations),
        "unknowns": unknowns,
        "constants": constants,
        "conditions": list(texts.conditions),
        "periodic": list(texts.periodic),
        "columns": _columns(renamed, sensor, proposed),
        "missing": proposed.missing,
        "sensors": stations,
    }
    return parse_problem(content, "the command line")


def _sensors_remedy(proposed: Roles, source: str) -> str:
    """What else may be meant where several quantities are measured in time alone."""
    if len(proposed.fields) < 2 or list(proposed.coordinates) != [proposed.time]:
        return ""
    command = f"napinn init {shlex.quote(source)}"
    return f"; if the columns are sensors of one quantity, give their places in a problem file: {command}"


def _short_names(proposed: Roles, columns: Sequence[str]) -> dict[str, str]:
    """Columns by the names that an equation may use in their place."""
    short = {**proposed.coordinates, **proposed.fields}
    time = proposed.time_column
    if time is not None and time not in TIME_NAMES:
        short |= dict.fromkeys(sorted(TIME_NAMES), time)
    return {name: column for name, column in short.items() if name not in columns and column in columns}


def _coordinate(name: str, renamed: Mapping[str, str], proposed: Roles) -> dict[str, str] | None:
    """The entry of a coordinate; only one that is given as dates has to say more than its name."""
    column = renamed.get(name, name)
    return proposed.dates_entry if column == proposed.time_column else None


def _columns(renamed: Mapping[str, str], sensor: str | None, proposed: Roles) -> dict[str, Any]:
    """The entry that says which column holds what."""
    dates = None if proposed.clock is None else proposed.time_column
    entry: dict[str, Any] = {"rename": {name: column for name, column in renamed.items() if column != dates}}
    return entry if sensor is None else {**entry, "sensor": sensor}


def unknown_entry(text: str) -> tuple[str, dict[str, Any]]:
    """`D`, `D=0.5`, `D=0.5,low=0,high=10`, `D=0.5,positive`, `D,scale=log` or `D,prior=normal(0.3, 0.05)`.

    A prior stands last, because it has commas of its own."""
    text, *prior = (part.strip() for part in _PRIOR.split(text, maxsplit=1))
    name, *rest = (part.strip() for part in text.split(","))
    name, _, start = (part.strip() for part in name.partition("="))
    entry: dict[str, Any] = {"start": _number(start, text)} if start else {}
    for part in rest:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key == "positive" and not equals:
            entry["positive"] = True
        elif key == "scale":
            entry["scale"] = value
        elif key in ("low", "high"):
            entry[key] = _number(value, text)
        else:
            raise InputError(
                f"unknown '{text}' cannot be read; write 'D', 'D=0.5', 'D=0.5,low=0,high=10' or, with the prior last, "
                "'D,prior=normal(0.3, 0.05)'."
            )
    if any(prior):
        entry["prior"] = prior[0]
    return normal(name), entry


def undeclared(texts: Sequence[str], coordinates: Sequence[str], fields: Sequence[str]) -> dict[str, bool]:
    """The names in equations that are neither coordinates nor fields, in the order in which they first appear, and
    whether each is a field: one that is differentiated.

    :param texts: Equations, right or wrong.
    :param coordinates: Names of coordinates.
    :param fields: Names of measured fields."""
    found: dict[str, bool] = {}
    for text in texts:
        heads = {head for head, _ in _derivative_calls(text) if head}
        for word in _PLAIN_NAME.findall(text):
            name = normal(word)
            cut = _derivative(name, coordinates) if name not in fields else None
            name, is_field = (cut[0], True) if cut else (name, name in heads)
            if name.isidentifier() and name not in {*RESERVED, *coordinates, *fields}:
                found[name] = found.get(name, False) or is_field
    return found


def _derivative_calls(text: str) -> list[tuple[str, set[str]]]:
    """Of every `d(what, axis, …)`: what is differentiated, empty unless it is a single name, and the axes."""
    found = []
    for call in _CALL.finditer(text):
        what, *axes = _arguments(text[call.end() :])
        head = normal(what.strip())
        found.append((head if head.isidentifier() else "", {name for axis in axes for name in _names_in(axis)}))
    return found


def _arguments(text: str) -> list[str]:
    """What stands between the commas up to the bracket that closes; brackets inside may hold commas of their own."""
    depth, begin, found = 0, 0, []
    for place, mark in enumerate(text):
        if depth == 0 and mark in ",)":
            found.append(text[begin:place])
            begin = place + 1
            if mark == ")":
                return found
        depth += (mark == "(") - (mark == ")")
    return [*found, text[begin:]]


def _names_in(text: str) -> list[str]:
    """The names in an equation, as its reader will spell them; what is no name it will refuse itself."""
    return [normal(name) for name in _NAME.findall(text) if name.isidentifier()]


def _constant(text: str) -> tuple[str, float]:
    name, _, value = (part.strip() for part in text.partition("="))
    return normal(name), _number(value, text)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"'{text}' in '{whole}' is not a number; write for example 'D=0.5'.") from None


def _roles(
    equations: Sequence[str], known: set[str], columns: Sequence[str], shown: Sequence[str], source: str, remedy: str
) -> tuple[set[str], set[str]]:
    """Which names are fields and which are coordinates; a refusal lists the columns `shown` and ends in the remedy."""
    fields: set[str] = set()
    coordinates: set[str] = set()
    for text in equations:
        for head, axes in _derivative_calls(text):
            fields |= {head} - {""}
            coordinates |= axes
    bare = {name for text in equations for name in _names_in(text)} - known - RESERVED - fields - coordinates
    for name in sorted(bare - set(columns)):
        found = _derivative(name, columns)
        if found is not None:
            fields.add(found[0])
            coordinates.update(found[1])
    unexplained = _unexplained(equations, known, columns)
    hint = next(filter(None, (derivative_hint(text, columns, columns) for text in equations)), None)
    if unexplained and hint is not None:
        raise InputError(f"the equation cannot be read: {hint}.")
    if unexplained:
        head, _, ending = unexplained[0].rpartition("_")
        if head in columns:
            axis = next((name for name in shown if name != head), "t")
            raise InputError(
                f"'{unexplained[0]}' is not a derivative of '{head}', because '{ending}' is not a column of {source} "
                f"({listed(shown)}); write for example {partial_text(head, axis)}, or add --unknown {unexplained[0]}."
            )
        raise InputError(
            f"'{unexplained[0]}' is not a column of {source} ({listed(shown)}) and not named as an unknown; "
            f"correct it or add --unknown {unexplained[0]}" + (f"{remedy}." if "_" in unexplained[0] else ".")
        )
    for name in bare - fields - coordinates:
        if name in columns:
            (coordinates if name in USUAL else fields).add(name)
    return fields, coordinates


def _unexplained(equations: Sequence[str], known: set[str], columns: Sequence[str]) -> list[str]:
    """The names in equations that are neither known, nor columns, nor derivatives by columns."""
    called = {head for text in equations for head, _ in _derivative_calls(text)}
    bare = {name for text in equations for name in _names_in(text)} - known - RESERVED - called - set(columns)
    heads = {found[0] for name in bare if (found := _derivative(name, columns)) is not None}
    return sorted(name for name in bare - heads if _derivative(name, columns) is None)


def _derivative(name: str, columns: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """`u_xt` as field and coordinates; a head that is a column is preferred."""
    cuts = [place for place, mark in enumerate(name) if mark == "_" and 0 < place < len(name) - 1]
    found = [(name[:cut], axes) for cut in cuts if (axes := split_names(name[cut + 1 :], columns))]
    return next((pair for pair in found if pair[0] in columns), found[0] if found else None)


def _measured(table: pd.DataFrame, columns: Sequence[str], fields: set[str]) -> set[str]:
    """The fields of which the table holds readings."""
    names = Columns()
    if names.value not in table.columns:
        return set(columns)
    return set(table[names.field].astype(str)) if names.field in table.columns else fields
