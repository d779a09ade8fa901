"""The entries of a problem file, each with what it comes to."""

import datetime
from typing import Annotated, Literal

import pydantic

from napinn.data.readings import TIME_UNITS, TIME_WORDS, Clock
from napinn.errors import InputError
from napinn.problem.varying import VaryingUnknown

FIRST_READING = "first reading"

Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]
Range = tuple[Finite, Finite]
STRICT = pydantic.ConfigDict(extra="forbid", frozen=True)
"""No entry of another name, so that a misspelled one is found."""


def dates_entry(column: str, unit: str, written: str | None) -> dict[str, str]:
    """The entry of a coordinate that is given as dates, counted from the first reading.

    Args:
        column: that holds them.
        unit: in which they are counted.
        written: how they are written; None or empty for ISO 8601."""
    entry = {"column": column, "unit": unit, "origin": FIRST_READING}
    return {**entry, "format": written} if written else entry


class _Strict(pydantic.BaseModel):
    model_config = STRICT


class CoordinateEntry(_Strict):
    """A coordinate in full: its range, its column, and for dates the unit and the origin that they are counted from."""

    range: Range | None = None
    """Low and high end; empty to take it from the readings."""
    ranges: dict[str | int, Range] = {}
    """Low and high end by experiment, where they differ."""
    column: str | None = None
    unit: str | None = None
    """For dates one of seconds, minutes, hours, days, weeks, years, or short as `h`; otherwise any unit."""
    origin: str | datetime.datetime | datetime.date | None = None
    """For dates: `first reading`, or a date. Without an origin and a format the column holds numbers."""
    format: str | None = None
    """How dates are written, as of strptime; the default is ISO 8601."""

    def clock(self, name: str) -> Clock | None:
        if self.origin is None and self.format is None:
            return None
        if self.unit is None or self.unit not in TIME_WORDS:
            raise InputError(
                f"coordinate '{name}' is given as dates, so its unit must be one of {', '.join(TIME_UNITS)}."
            )
        given = FIRST_READING if self.origin is None else self.origin
        origin = given if isinstance(given, str) else given.isoformat()
        return Clock(TIME_WORDS[self.unit], None if origin == FIRST_READING else origin, self.format)


class UnknownEntry(_Strict):
    """Where an unknown starts and where it must stay."""

    start: Finite | None = None
    """None starts from the size at which the unknown matters in its equation."""
    low: Finite | None = None
    high: Finite | None = None
    positive: bool = False
    """The same as a low end of 0."""
    prior: str | None = None
    """What is known beforehand: `normal(0.3, 0.05)`, mean and deviation, or `lognormal(0.3, 0.5)`, median and deviation
    of the natural logarithm."""
    scale: Literal["linear", "log"] = "linear"
    """`log` for a coefficient that is known to a decade: it is positive, and its interval is one of its logarithm."""
    per: Literal["experiment"] | None = None
    """`experiment` where each experiment has a value of its own."""

    of: list[str] | None = None
    """Coordinates along which the unknown varies, one or two: it is then a function to be found."""
    steps: bool = False
    """Whether a function of one coordinate is constant but for jumps; otherwise it is smooth."""

    def varying(self) -> VaryingUnknown:
        """The unknown function that this entry, which has an `of`, describes."""
        for entry in ("low", "high", "prior", "per"):
            if getattr(self, entry) is not None:
                raise InputError(f"it varies, so it takes no '{entry}'; leave it out.")
        if self.scale == "log":
            raise InputError("it varies; write 'positive: true' instead of 'scale: log'.")
        return VaryingUnknown(tuple(self.of or ()), self.positive, self.steps, self.start)


class ColumnEntry(_Strict):
    """A constant that the table of readings holds: one value in all rows of an experiment."""

    column: str


class NoiseEntry(_Strict):
    """Which readings have a noise law of their own."""

    by: str
    """A column, such as one of laboratories: one law and one scale for each of its values."""


class TableEntry(_Strict):
    """A known function of some coordinates: a file with one row a grid node."""

    file: str
    """In the folder of the problem file, or below it."""
    coordinates: list[str]
    value: str = "value"
    """The column that holds the values."""


class ArrayEntry(_Strict):
    """The array of a MATLAB or NumPy file that holds a coordinate or field; for a field on a grid, its axes."""

    name: str
    axes: list[str] = []


class ColumnsEntry(_Strict):
    """Which column holds what, where the file does not use napinn's own names."""

    value: str = "value"
    """The values, where the table is in long form."""
    field: str = "field"
    """Which field a value is of, in long form."""
    sensor: str = "sensor"
    experiment: str = "experiment"
    """Which experiment a row belongs to."""
    sigma: str = "sigma"
    """The known standard deviation of each reading."""
    rename: dict[str, str] = {}
    """Coordinate or field to the column that holds it."""
    units: dict[str, str] = {}
    """Coordinate, field or observable to the unit of its column, where that is not the unit under `units`; its numbers
    are converted."""


class FlagsEntry(_Strict):
    """Quality flags that came with the readings."""

    column: str | None = None
    """Default: `quality_flag`, or `T_qc` beside a column `T`."""
    scheme: Literal["qartod", "argo", "saqc"] | None = None
    """Default: the first of the three whose table holds every code."""
    leave_out_bad: bool = False
    """Whether readings that the flags call bad take no part in the fit."""
