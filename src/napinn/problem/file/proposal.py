"""A problem file proposed from the columns of a table.

Equations cannot be read from a table, so the simplest one for these coordinates is written instead, marked as to be
replaced. Columns `T_10cm`, `T_20cm` are proposed as one field at several places."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import yaml

from napinn.data.readings import TIME_NAMES, Columns
from napinn.data.readings.axes import PLACE_NAMES
from napinn.data.readings.cells import readings_in
from napinn.errors import InputError, listed
from napinn.problem.file.places import one_field_at_places
from napinn.problem.file.roles import Roles, plain_name, roles_of

THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d)?(\s*[AaPp][Mm])?")
MOSTLY = 0.5
"""Share of filled cells that are numbers above which the others are mistakes, such as a row of units."""


def propose(table: pd.DataFrame, source: str) -> str:
    """The text of a problem file for a table.

    :param table: The readings as they were read.
    :param source: The file's name, for sentences and as the problem's name."""
    roles = roles_of(table)
    _check_ignored(table, roles, source)
    if not roles.coordinates:
        _check_named_coordinates(table, source)
        raise InputError(
            f"no column of {source} ({listed([str(name) for name in table.columns])}) is named as a coordinate; "
            "name one x, t or time, or write the file by hand from: napinn new problem.yaml"
        )
    if not roles.fields:
        raise InputError(f"{source} has no column of numbers except its coordinates, so nothing is measured.")
    return _text(roles, source, one_field_at_places(roles))


def _check_ignored(table: pd.DataFrame, roles: Roles, source: str) -> None:
    """Refuse a column of numbers with a cell that is none, or with commas between thousands, and times of day apart
    from their dates."""
    for column in roles.ignored:
        filled = table[column].dropna().astype(str).str.strip()
        if filled.empty:
            continue
        if pd.to_numeric(filled, errors="coerce").notna().mean() > MOSTLY:
            readings_in(table[column], source, ())
        if filled.str.fullmatch(THOUSANDS).any() and filled.str.replace(",", "").str.fullmatch(NUMBER).all():
            raise InputError(
                f"{source}, column '{column}': numbers such as {filled[filled.str.fullmatch(THOUSANDS)].iloc[0]} have "
                "commas between thousands; save the table without them."
            )
        if roles.clock is not None and _dates_alone(table, roles) and filled.str.fullmatch(TIME_OF_DAY).all():
            raise InputError(
                f"{source} has dates in '{roles.time_column}' and times of day in '{column}'; join them in one column, "
                "such as 2024-03-01 12:30."
            )


def _check_named_coordinates(table: pd.DataFrame, source: str) -> None:
    """Refuse a column that is named as a coordinate and holds words, or times of day that begin again."""
    for column in map(str, table.columns):
        filled = table[column].dropna().astype(str).str.strip()
        if plain_name(column)[0].lower() not in TIME_NAMES | PLACE_NAMES or filled.empty:
            continue
        if filled.str.fullmatch(TIME_OF_DAY).all():
            raise InputError(
                f"{source}, column '{column}' holds times of day, such as {filled.iloc[0]}, that do not only grow; "
                "write them with their dates, as 2024-03-01 12:30, or as numbers."
            )
        raise InputError(
            f"{source}, column '{column}' is named as a coordinate, but holds '{filled.iloc[0][:40]}', which is "
            "neither a number nor a date; a table has one row for each time and one column for each quantity."
        )


def _dates_alone(table: pd.DataFrame, roles: Roles) -> bool:
    """Whether the dates have no time of day of their own."""
    return not table[roles.time_column].astype(str).str.contains(":").any()


def _text(roles: Roles, source: str, sensors: Mapping[str, Mapping[str, float]]) -> str:
    equations, unknowns = _equations(roles)
    lines = [
        f"# Proposed by napinn from the columns of {_scalar(source)}. Correct what is wrong, mainly the equations;",
        "# napinn new shows all other entries.",
        f"name: {_scalar(source.rpartition('.')[0] or source)}",
        "",
        "# Ranges are taken from the readings; write x: [0, 1] where the equations hold beyond them.",
        *(
            ["# Time is the first column whose numbers only grow; correct it if that is wrong."]
            if roles.guessed
            else []
        ),
        "coordinates:",
        *(f"  {_scalar(name)}: {_coordinate(name, roles)}".rstrip() for name in roles.coordinates),
        "",
        "# What is measured; remove what the equations do not contain.",
        f"fields: [{', '.join(map(_scalar, roles.fields))}]",
        "",
        "# REPLACE: a table does not hold its physics, so these are the simplest equations for such coordinates.",
        "equations:",
        *(f"  - {_scalar(text)}" for text in equations),
        "",
        "# Coefficients to find.",
        "unknowns:",
        *(f"  {name}: {{positive: true}}" for name in unknowns),
    ]
    if roles.units:
        lines += ["", f"units: {_flow(roles.units)}"]
    lines += _columns(roles)
    if roles.missing:
        lines += ["", "# These mean that there is no reading.", f"missing: {_flow(roles.missing)}"]
    if sensors:
        lines += ["", "# A column per sensor: where each of them stands, by the names of the columns."]
        lines += ["sensors:", *(f"  {_scalar(column)}: {_flow(place)}" for column, place in sensors.items())]
    if len(roles.fields) > 2 and list(roles.coordinates) == [roles.time]:
        lines += [
            "",
            "# If these columns are sensors of one quantity, name it alone under 'fields' and give each of them its",
            "# place, or {} where it has none (replicates):",
        ]
        lines += ["# sensors:", *(f"#   {_scalar(column)}: {{x: 0.0}}" for column in roles.fields.values())]
    if roles.ignored:
        lines += ["", f"# Kept and not used: {', '.join(map(_scalar, roles.ignored))}."]
    return "\n".join(lines) + "\n"


def _coordinate(name: str, roles: Roles) -> str:
    return "" if name != roles.time or roles.dates_entry is None else _flow(roles.dates_entry)


def _columns(roles: Roles) -> list[str]:
    named = {**roles.coordinates, **roles.fields}
    dated = roles.time if roles.clock else None
    renamed = {name: column for name, column in named.items() if name != column and name != dated}
    sensor = roles.sensor or roles.labels
    known = [f"  sigma: {_scalar(roles.deviation)}"] if roles.deviation is not None else []
    lines = [f"  sensor: {_scalar(sensor)}"] if sensor not in (None, Columns().sensor) else []
    if roles.labels is not None:
        values = next(iter(roles.fields.values()))
        remark = f"field: {_scalar(roles.labels)} and value: {_scalar(values)}"
        lines += [
            f"  # If these names are quantities and not sensors, name them under 'fields' and write here {remark}."
        ]
    lines += [*known, f"  rename: {_flow(renamed)}"] if renamed else known
    return ["", "columns:", *lines] if lines else []


def _equations(roles: Roles) -> tuple[list[str], list[str]]:
    """Diffusion where there are time and places, decay in time alone, and Poisson's equation in places alone."""
    places = [name for name in roles.coordinates if name != roles.time]
    letter = "q" if roles.time is None else "D" if places else "k"
    equations, unknowns = [], []
    for name in roles.fields:
        unknown = letter if len(roles.fields) == 1 else f"{letter}_{name}"
        while unknown in {*roles.coordinates, *roles.fields}:
            unknown += "0"
        bends = " + ".join(partial_text(name, place, place) for place in places)
        if roles.time is None:
            equations.append(f"{bends} = -{unknown}")
        elif places:
            equations.append(
                f"{partial_text(name, roles.time)} = {unknown}*" + (bends if len(places) == 1 else f"({bends})")
            )
        else:
            equations.append(f"{partial_text(name, roles.time)} = -{unknown}*{name}")
        unknowns.append(unknown)
    return equations, unknowns


def partial_text(name: str, *axes: str) -> str:
    """A derivative as text: `T_xx` where the coordinates are single letters, else `d(T, depth, depth)`.

    :param name: The field.
    :param axes: The coordinates by which it is differentiated."""
    if all(len(axis) == 1 for axis in axes):
        return f"{name}_{''.join(axes)}"
    return f"d({name}, {', '.join(axes)})"


def _scalar(text: str) -> str:
    """Text as YAML reads it back, on one line."""
    style = None if text.isprintable() else '"'  # Only this style keeps a line break in one line.
    return yaml.safe_dump(text, width=100_000, allow_unicode=True, default_style=style).partition("\n")[0]


def _flow(entries: Mapping[str, Any] | Sequence[Any]) -> str:
    return yaml.safe_dump(
        dict(entries) if isinstance(entries, Mapping) else entries,
        width=100_000,
        allow_unicode=True,
        default_flow_style=True,
        sort_keys=False,
    ).strip()
