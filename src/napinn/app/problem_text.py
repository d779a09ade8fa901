"""A draft as a problem file: the same entries that a person would write by hand."""

import math
import re
from collections.abc import Iterable
from typing import Any

import pandas as pd
import yaml

from napinn.app.draft import Column, Draft, Name, NameRole, Role
from napinn.data.readings import Columns
from napinn.errors import InputError
from napinn.problem.file.entries import dates_entry
from napinn.problem.units import UnitSystem

NONE = "(none)"
"""In place of a column that has one of napinn's own names and another role; no table has a column of this name."""
_NAMED = re.compile(r"([^\W\d]\w*)\s*=")
DEFAULTS = {Role.VALUE: "value", Role.LABEL: "field", Role.SENSOR: "sensor", Role.DEVIATION: "sigma"}
"""The entry under `columns` for each role; it is also the name that napinn looks for by itself."""


def content_of(draft: Draft, table: pd.DataFrame) -> dict[str, Any]:
    """The entries of the problem file; a number that cannot be read is an `InputError`.

    :param draft: What was filled in.
    :param table: The readings, for the names of fields in a long table."""
    content: dict[str, Any] = {
        "name": draft.title,
        "coordinates": _coordinates(draft),
        "fields": fields_of(draft, table),
    }
    hidden = {name.name: _size(name) for name in draft.names if name.kind is NameRole.HIDDEN}
    units = {each.name: each.unit for each in draft.columns if each.unit.strip() and _is_named(each.role)}
    units |= _units_of_places(draft)
    optional = {
        "hidden": hidden if any(hidden.values()) else list(hidden),
        "equations": list(draft.equations_written),
        "unknowns": {name.name: _bounds(name) for name in draft.names if name.kind is NameRole.UNKNOWN},
        "constants": {name.name: _constant(name) for name in draft.names if name.kind is NameRole.CONSTANT},
        "conditions": list(draft.conditions_written),
        "units": units,
        "own_units": _own_units(units.values()),
        "columns": _columns(draft),
        "sensors": _sensors(draft),
        "missing": [_value_or_word(part) for part in re.split("[,;]", draft.missing) if part.strip()],
    }
    return content | {entry: value for entry, value in optional.items() if value or entry == "equations"}


def _own_units(units: Iterable[str]) -> list[str]:
    """Words that no list of units holds: a count such as boys or cells need not be declared."""
    system = UnitSystem()
    return [unit for unit in dict.fromkeys(units) if unit.isidentifier() and not system.knows(unit)]


def problem_text(content: dict[str, Any]) -> str:
    """The entries as YAML.

    :param content: Entries of a problem file."""
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100_000)


def fields_of(draft: Draft, table: pd.DataFrame) -> list[str]:
    """The measured fields, by their names in the equations.

    :param draft: What was filled in.
    :param table: The readings: a long one names its fields in a column."""
    values, labels = draft.columns_as(Role.VALUE), draft.columns_as(Role.LABEL)
    stations = dict.fromkeys(column.name for column in draft.columns_as(Role.STATION))
    if stations:
        return [*stations, *(column.name for column in draft.columns_as(Role.FIELD))]
    if not values:
        return [column.name for column in draft.columns_as(Role.FIELD)]
    if labels and labels[0].column in table.columns:
        return [str(name) for name in table[labels[0].column].dropna().unique()[:100]]
    return [values[0].name]


def _is_named(role: Role) -> bool:
    return role in (Role.COORDINATE, Role.FIELD, Role.STATION, Role.VALUE)


def coordinates_of(draft: Draft) -> list[str]:
    """The coordinates, by their names in the equations: columns, and what the places of sensors name.

    :param draft: What was filled in."""
    named = [column.name for column in draft.columns_as(Role.COORDINATE)]
    in_places = [name for column in draft.columns_as(Role.STATION) for name in _NAMED.findall(column.place)]
    return list(dict.fromkeys([*named, *in_places]))


def _coordinates(draft: Draft) -> dict[str, Any]:
    dated = {
        column.name: dates_entry(column.column, column.clock, column.written)
        for column in draft.columns_as(Role.COORDINATE)
        if column.clock
    }
    return {name: dated.get(name) for name in coordinates_of(draft)}


def _sensors(draft: Draft) -> dict[str, dict[str, float]]:
    """The place of each sensor that has a column of its own; either all have one or none."""
    places = {column.column: place_of(column) for column in draft.columns_as(Role.STATION)}
    for column, place in places.items():
        if not place and any(places.values()):
            raise InputError(f"column '{column}' is one sensor among others with a place; give its place, as x = 0.2.")
    return places


def place_of(column: Column) -> dict[str, float]:
    """Where the one sensor of a column stands.

    :param column: Its place is text, as `x = 0.2 m, y = 1 m`; empty for no place."""
    return {
        name: number(value, f"the place of '{column.column}' along {name}")
        for name, value, _ in _parts_of_place(column)
    }


def _parts_of_place(column: Column) -> list[tuple[str, str, str]]:
    """Coordinate, number and unit, as they were typed."""
    found = []
    for part in filter(None, (part.strip() for part in re.split("[,;]", column.place))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name.isidentifier():
            raise InputError(f"column '{column.column}': '{part[:40]}' is not a place; write it as x = 0.2.")
        figure, _, unit = value.partition(" ")
        found.append((name, figure, unit.strip()))
    return found


def _units_of_places(draft: Draft) -> dict[str, str]:
    units: dict[str, str] = {}
    for column in draft.columns_as(Role.STATION):
        for name, _, unit in _parts_of_place(column):
            if unit and units.setdefault(name, unit) != unit:
                raise InputError(
                    f"places along {name} are in '{units[name]}' and '{unit}'; give all of them in one unit."
                )
    return units


def _value_or_word(text: str) -> float | str:
    try:
        value = float(text.strip().replace("−", "-"))
    except ValueError:
        return text.strip()
    return value if math.isfinite(value) else text.strip()


def _columns(draft: Draft) -> dict[str, Any]:
    held = {column.column for column in draft.columns}
    found: dict[str, Any] = {}
    for role, entry in DEFAULTS.items():
        own = [column.column for column in draft.columns_as(role)]
        usual = getattr(Columns(), entry)
        # Deviations that belong to one field are found by their own names, as u_sigma.
        plain = [name for name in own if role is not Role.DEVIATION or not name.endswith("_" + usual)]
        chosen = plain[0] if plain else usual if own or usual not in held else NONE
        found |= {entry: chosen} if chosen != usual else {}
    named = [column for column in draft.columns if column.role in (Role.COORDINATE, Role.FIELD) and not column.clock]
    renamed = {column.name: column.column for column in named if column.name != column.column}
    return found | ({"rename": renamed} if renamed else {})


def _bounds(name: Name) -> dict[str, float]:
    given = {"start": name.start, "low": name.low, "high": name.high}
    labels = {"start": "start", "low": "lowest value", "high": "highest value"}
    return {entry: number(text, f"the {labels[entry]} of {name.name}") for entry, text in given.items() if text.strip()}


def _constant(name: Name) -> float:
    if not name.value.strip():
        raise InputError(f"{name.name} is a known number; give its value.")
    return number(name.value, f"the value of {name.name}")


def _size(name: Name) -> float | None:
    return number(name.value, f"the typical size of {name.name}") if name.value.strip() else None


def number(text: str, what: str) -> float:
    """A number as it was typed.

    :param text: The text.
    :param what: What it is, for the sentence."""
    try:
        value = float(text.strip().replace("−", "-"))
    except ValueError:
        raise InputError(f"{what}, '{text.strip()[:40]}', is not a number; write it as 0.5 or 1e-3.") from None
    if not math.isfinite(value):
        raise InputError(f"{what} is not finite; give a number, or leave it empty.")
    return value
