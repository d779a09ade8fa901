"""What the page says of a draft while it is written: each equation as mathematics or what is wrong with it, the names
that need a word, and the problem file that it comes to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from napinn.app.draft import Draft, Name, NameRole, Role
from napinn.app.problem_text import content_of, coordinates_of, fields_of, number, problem_text
from napinn.app.templates import templates
from napinn.data.names import normal
from napinn.data.readings import Readings, tidy
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.problem.equations import Names, bind, bind_condition, mathml, named_places
from napinn.problem.file import ProblemFile, bind_loosely, parse_problem
from napinn.problem.file.deduction import undeclared

HERE = "the columns"
_QUOTED = re.compile(r"^equation '.*?'(?=:| cannot be read| has | contains | divides | is nested )")
"""The equation itself, which is above the sentence on the page."""


@dataclass(frozen=True)
class ColumnsFeedback:
    """What came of the columns: readings, or the sentence that says what is wrong with them."""

    readings: Readings | None
    problem: str | None


def bind_columns(draft: Draft, table: pd.DataFrame, source: str) -> ColumnsFeedback:
    """The readings that the columns of a draft give.

    :param draft: What was filled in.
    :param table: The readings as they were read.
    :param source: The file's name, for sentences."""
    try:
        _check_roles(draft)
        bare = draft.model_copy(update={"names": (), "conditions": (), "equations": ()})
        file = parse_problem(content_of(bare, table), HERE)
        readings = tidy(table, tuple(file.coordinates), tuple(file.fields), file.table_columns(), source)
    except InputError as error:
        return ColumnsFeedback(None, str(error))
    return ColumnsFeedback(readings, None)


def _check_roles(draft: Draft) -> None:
    named = [*draft.columns_as(Role.COORDINATE), *draft.columns_as(Role.FIELD)]
    if not draft.columns_as(Role.COORDINATE):
        raise InputError("no column is a coordinate; choose the one that holds time or a place.")
    if not any(draft.columns_as(role) for role in (Role.FIELD, Role.STATION, Role.VALUE)):
        raise InputError("no column is measured; choose the one that holds the readings.")
    for column in (*named, *draft.columns_as(Role.STATION)):
        if not normal(column.name).isidentifier():
            raise InputError(
                f"column '{column.column}' has the name '{column.name}' in equations, which is not usable; use letters "
                "and digits, a letter first."
            )
    names = [normal(column.name) for column in named]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two columns have the name '{twice}' in equations; give one of them another name.")


def with_names(draft: Draft, table: pd.DataFrame) -> Draft:
    """The draft with an entry for every name that its equations use and none beside; what was filled in is kept.

    :param draft: What was filled in.
    :param table: The readings as they were read."""
    coordinates, fields = _declared(draft, table)
    texts = [*draft.equations_written, *(text.partition(" at ")[0] for text in draft.conditions_written)]
    used = undeclared(texts, coordinates, fields)
    kept = {name.name: name for name in draft.names}
    names = (kept.get(name, Name(name=name, kind=NameRole.HIDDEN if is_field else NameRole.UNKNOWN))
             for name, is_field in used.items())  # fmt: skip
    return draft.model_copy(update={"names": tuple(names)})


def _declared(draft: Draft, table: pd.DataFrame) -> tuple[list[str], list[str]]:
    return list(map(normal, coordinates_of(draft))), list(map(normal, fields_of(draft, table)))


def feedback(draft: Draft, table: pd.DataFrame, columns: ColumnsFeedback) -> dict[str, Any]:
    """Everything that the page says of a draft, as values of JSON.

    :param draft: What was filled in, with its names.
    :param table: The readings as they were read.
    :param columns: What came of the columns."""
    names = _vocabulary(draft, table)
    equations = [_equation(text, names) for text in draft.equations]
    conditions = [_condition(text, names, columns) for text in draft.conditions]
    wrong = next((each["problem"] for each in (*equations, *conditions) if each["problem"]), None)
    if not draft.equations_written:
        wrong = "there is no equation yet; write what your readings should obey."
    numbers = _numbers(draft)
    text, whole = _whole(draft, table, columns)
    if not (columns.problem or wrong or any(numbers.values())):
        wrong = whole
    return {
        "columns": columns.problem,
        "names": {"coordinates": list(names.coordinates), "fields": fields_of(draft, table)},
        "equations": equations,
        "conditions": conditions,
        "equation": wrong,
        "numbers": numbers,
        "ready": not (columns.problem or wrong or any(numbers.values())),
        "yaml": text,
        "templates": templates(names.coordinates, fields_of(draft, table)),
    }


def _vocabulary(draft: Draft, table: pd.DataFrame) -> Names:
    coordinates, fields = _declared(draft, table)
    by_kind = {kind: [name.name for name in draft.names if name.kind is kind] for kind in NameRole}
    return Names(
        tuple(coordinates),
        (*fields, *by_kind[NameRole.HIDDEN]),
        tuple(by_kind[NameRole.UNKNOWN]),
        dict.fromkeys(by_kind[NameRole.CONSTANT], 1.0),
    )


def _equation(text: str, names: Names) -> dict[str, Any]:
    if not text.strip():
        return {"math": None, "problem": None, "notes": []}
    try:
        return {"math": mathml(bind(text, names)), "problem": None, "notes": notes_on(names)}
    except InputError as error:
        return {"math": None, "problem": _QUOTED.sub("this equation", str(error)), "notes": notes_on(names)}


def notes_on(names: Names) -> list[str]:
    """What a name was taken for where it may have been meant otherwise.

    :param names: The names that the equations may use."""
    notes = []
    for name in (*names.unknowns, *names.constants):
        head, _, tail = name.partition("_")
        alike = [known for known in (*names.coordinates, *names.fields) if known.lower() == name.lower()]
        if tail and head in names.fields:
            axes = ", ".join(names.coordinates)
            notes.append(f"{name} is a coefficient, not a derivative of {head}: the coordinates are {axes}.")
        elif alike:
            notes.append(f"{name} is not {alike[0]}: capital and small letters differ.")
    return notes


def _condition(text: str, names: Names, columns: ColumnsFeedback) -> dict[str, Any]:
    if not text.strip():
        return {"math": None, "problem": None, "notes": []}
    try:
        condition = bind_condition(text, names, _box(text, names.coordinates, columns))
    except InputError as error:
        return {"math": None, "problem": str(error), "notes": []}
    place = ", ".join(f"{name} = {value:g}" for name, value in condition.at.items())
    return {"math": f"{mathml(condition.equation)}<span>at {escape(place)}</span>", "problem": None, "notes": []}


def _box(text: str, coordinates: Sequence[str], columns: ColumnsFeedback) -> dict[str, tuple[float, float]]:
    """The box of the readings, stretched to where the condition holds, as a problem file does it."""
    places = named_places(text)
    box = {}
    points = np.zeros((1, len(coordinates))) if columns.readings is None else columns.readings.points
    for axis, name in enumerate(coordinates):
        reached = [float(points[:, axis].min()), float(points[:, axis].max()), places.get(name, float(points[0, axis]))]
        box[name] = (min(reached), max(reached))
    return box


def _numbers(draft: Draft) -> dict[str, str | None]:
    """By name, what is wrong with the numbers that were typed for it."""
    found: dict[str, str | None] = {}
    for name in draft.names:
        try:
            content_of(draft.model_copy(update={"names": (name,), "columns": ()}), pd.DataFrame())
            found[name.name] = _order(name)
        except InputError as error:
            found[name.name] = str(error)
    return found


def _order(name: Name) -> str | None:
    if name.kind is not NameRole.UNKNOWN:
        return None
    typed = {"lowest value": name.low, "start": name.start, "highest value": name.high}
    given = {what: number(text, what) for what, text in typed.items() if text.strip()}
    for (left, low), (right, high) in zip(list(given.items()), list(given.items())[1:], strict=False):
        if not low < high:
            return f"the {left} of {name.name}, {low:g}, is not below its {right}, {high:g}."
    return None


def _whole(draft: Draft, table: pd.DataFrame, columns: ColumnsFeedback) -> tuple[str | None, str | None]:
    """The problem file, and what is wrong with the problem as a whole."""
    try:
        content = content_of(draft, table)
        file = parse_problem(content, draft.title)
        if columns.readings is not None:
            file.problem(columns.readings.points)
        return problem_text(content), None
    except InputError as error:
        return None, str(error)


def bound(draft: Draft, table: pd.DataFrame, source: str) -> tuple[ProblemFile, Problem, Readings]:
    """The problem and its readings as a fit would have them, or an `InputError`.

    :param draft: What was filled in, with its names.
    :param table: The readings as they were read.
    :param source: The file's name, for sentences."""
    file = parse_problem(content_of(draft, table), draft.title)
    return file, *bind_loosely(file, table, source, draft.title)
