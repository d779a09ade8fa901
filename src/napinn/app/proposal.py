"""The first draft for a table: roles of the columns as `napinn init` guesses them."""

import contextlib
from collections.abc import Mapping

import pandas as pd

from napinn.app.draft import MOST_COLUMNS, Column, Draft, Role
from napinn.data.readings import Columns
from napinn.errors import InputError
from napinn.problem.file.places import one_field_at_places
from napinn.problem.file.roles import Roles, roles_of

SPECIAL = Columns()
LONGEST_NAME = 150
"""Characters of a column; its name in equations may have a few more."""
SHOWN = 3
"""Different cells of a column that the page shows."""
LOOKED_AT = 1000
"""Rows in which they are looked for."""
LONGEST_CELL, LONGEST_NUMBER = 24, 8
"""Characters that are shown of text and of a number."""


def first_draft(table: pd.DataFrame, title: str) -> Draft:
    """The columns with a guess of their roles; the equation is left to the person.

    :param table: The readings as they were read.
    :param title: Name of the analysis."""
    if len(table.columns) > MOST_COLUMNS:
        raise InputError(
            f"{title} has {len(table.columns)} columns, and the page takes at most {MOST_COLUMNS}; give the table in "
            "long form, one row a reading."
        )
    if max((len(str(name)) for name in table.columns), default=0) > LONGEST_NAME:
        raise InputError(f"{title} has a column whose name is longer than {LONGEST_NAME} characters; shorten it.")
    roles = roles_of(table)
    places = one_field_at_places(roles)
    columns = tuple(_column(str(name), roles, places) for name in table.columns)
    return Draft(title=title, columns=columns, missing=", ".join(map(str, roles.missing)))


def _column(column: str, roles: Roles, places: Mapping[str, Mapping[str, float]]) -> Column:
    if column in places:
        (field,) = roles.fields
        place = ", ".join(f"{name} = {value:g} {roles.units.get(name, '')}" for name, value in places[column].items())
        return Column(
            column=column, role=Role.STATION, name=field, unit=roles.units.get(field, ""), place=place.strip()
        )
    for role, names in ((Role.COORDINATE, roles.coordinates), (Role.FIELD, roles.fields)):
        name = next((name for name, held in names.items() if held == column), None)
        if name is not None:
            dates = roles.dates_entry if name == roles.time and role is Role.COORDINATE else None
            clock, written = (dates or {}).get("unit", ""), (dates or {}).get("format", "")
            unit = roles.units.get(name, "")
            return Column(column=column, role=role, name=name, unit=unit, clock=clock, written=written)
    if column == roles.sensor:
        return Column(column=column, role=Role.SENSOR)
    if column in (SPECIAL.sigma, roles.deviation) or column.endswith("_" + SPECIAL.sigma):
        return Column(column=column, role=Role.DEVIATION)
    if column == SPECIAL.value:
        return Column(column=column, role=Role.VALUE, name=next(iter(roles.fields), "u"))
    return Column(column=column, role=Role.LABEL if column == SPECIAL.field else Role.UNUSED)


def sample(table: pd.DataFrame) -> dict[str, list[str]]:
    """A few different cells of every column, from the beginning of the table.

    :param table: The readings as they were read."""
    head = table.head(LOOKED_AT)
    return {
        str(name): [_cell(value) for value in head.iloc[:, place].drop_duplicates().head(SHOWN).tolist()]
        for place, name in enumerate(table.columns)
    }


def _cell(value: object) -> str:
    text = str(value)
    with contextlib.suppress(ValueError):
        text = f"{float(text):.6g}" if len(text) > LONGEST_NUMBER else text
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
