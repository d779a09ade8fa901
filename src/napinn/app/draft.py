"""What a person has filled in so far: the roles of the columns, the equations, and what each name in them is.

A draft may be wrong or unfinished at any time. Numbers are kept as they were typed, so that a page that is loaded again
shows what was there."""

import enum
from typing import Annotated, Any

import pydantic

from napinn.errors import InputError

MOST_COLUMNS, MOST_TEXTS, MOST_NAMES = 500, 50, 200
"""Columns, equations or conditions, and names of a draft: above what a person types, below what slows the page."""
Word = Annotated[str, pydantic.Field(max_length=200)]
Line = Annotated[str, pydantic.Field(max_length=4000)]


class Role(enum.StrEnum):
    """What a column of the table holds."""

    COORDINATE = "coordinate"
    FIELD = "field"
    STATION = "station"
    """Readings of one of several sensors, whose place is given apart, if it has one."""
    SENSOR = "sensor"
    DEVIATION = "deviation"
    VALUE = "value"
    """Readings of several fields, one below the other."""
    LABEL = "label"
    """Which field a value is of."""
    UNUSED = "unused"


class NameRole(enum.StrEnum):
    """What a name in an equation is, if it is not a column."""

    UNKNOWN = "unknown"
    CONSTANT = "constant"
    HIDDEN = "hidden"


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Column(_Strict):
    """A column and what it was taken for."""

    column: Annotated[str, pydantic.Field(max_length=1000)]
    role: Role
    name: Word = ""
    """In equations; for coordinates, fields and values."""
    unit: Word = ""
    clock: Word = ""
    """The unit in which dates are counted; empty where the column holds numbers."""
    written: Word = ""
    """How these dates are written; empty for ISO 8601."""
    place: Word = ""
    """Where the one sensor of the column stands, as `x = 0.2 m, y = 1 m`; empty where sensors have no places."""


class Name(_Strict):
    """A name in an equation that is not a column."""

    name: Word
    kind: NameRole = NameRole.UNKNOWN
    start: Word = ""
    low: Word = ""
    high: Word = ""
    value: Word = ""
    """Of a constant, or the typical size of a hidden field."""


class Draft(_Strict):
    """All that a person fills in."""

    title: Word = "analysis"
    columns: Annotated[tuple[Column, ...], pydantic.Field(max_length=MOST_COLUMNS)] = ()
    equations: Annotated[tuple[Line, ...], pydantic.Field(max_length=MOST_TEXTS)] = ("",)
    names: Annotated[tuple[Name, ...], pydantic.Field(max_length=MOST_NAMES)] = ()
    conditions: Annotated[tuple[Line, ...], pydantic.Field(max_length=MOST_TEXTS)] = ()
    missing: Line = ""
    """Values and words that mean 'no reading', with commas between."""

    def columns_as(self, role: Role) -> list[Column]:
        """The columns of one role, in the order of the table.

        :param role: Which columns."""
        return [column for column in self.columns if column.role is role]

    @property
    def equations_written(self) -> tuple[str, ...]:
        """The equations that are not empty."""
        return tuple(text for text in self.equations if text.strip())

    @property
    def conditions_written(self) -> tuple[str, ...]:
        """The conditions that are not empty."""
        return tuple(text for text in self.conditions if text.strip())


def read_draft(content: Any) -> Draft:
    """A draft from the values of JSON; anything but a draft is an `InputError`.

    :param content: What was sent or is on disk."""
    try:
        return Draft.model_validate(content)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the draft"
        raise InputError(f"{where[:200]}: {first['msg'][0].lower()}{first['msg'][1:]}.") from None
