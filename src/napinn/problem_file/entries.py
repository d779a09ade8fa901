"""The entries of a problem file, and what they come to: a `Problem`, and which column is which."""

import datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import pydantic

from napinn.equations import named_places
from napinn.errors import InputError
from napinn.io import ArrayName, read_file
from napinn.problem import Problem, Unknown
from napinn.readings import TIME_UNITS, TIME_WORDS, Clock, Columns
from napinn.readings.cells import column_of, numbers_in
from napinn.tables import Table, table_from_rows

FIRST_READING = "first reading"
Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]
Range = tuple[Finite, Finite]


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CoordinateEntry(_Strict):
    """A coordinate in full: its range, its column, and for dates the unit and the origin that they are counted from."""

    range: Range | None = None
    """Low and high end; empty to take it from the readings."""
    column: str | None = None
    unit: str | None = None
    """For dates one of seconds, minutes, hours, days, weeks, years, or short as `h`; otherwise a label."""
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
    sigma: str = "sigma"
    """The known standard deviation of each reading."""
    rename: dict[str, str] = {}
    """Coordinate or field to the column that holds it."""


class ProblemFile(_Strict):
    """A problem of napinn: what is measured, what the physics says, and which column is which."""

    name: str = "problem"
    coordinates: dict[str, Range | CoordinateEntry | None]
    """Name to range, `[low, high]`; empty to take the range from the readings."""
    fields: list[str]
    """What is measured."""
    hidden: list[str] | dict[str, Finite | None] = []
    """Fields in no column; as names, or as names with their typical size."""
    equations: list[str]
    """What holds everywhere in the box, such as `T_t = D*T_xx`."""
    unknowns: dict[str, UnknownEntry | Finite] = {}
    """Coefficients to find: a start, or a start with bounds."""
    constants: dict[str, Finite] = {}
    tables: dict[str, TableEntry] = {}
    """Known functions of the coordinates."""
    conditions: list[str] = []
    """What holds on a face of the box, such as `T = 0 at x = 1`."""
    periodic: list[str] = []
    """Coordinates along which the fields repeat themselves."""
    units: dict[str, str] = {}
    """For labels only."""
    columns: ColumnsEntry = ColumnsEntry()
    sensors: dict[str, dict[str, Finite]] | str = {}
    """Where there is a column per sensor: its place, or a file of places with a column `sensor`."""
    missing: list[Finite] = []
    """Values that stand for no reading, such as -999."""
    arrays: dict[str, ArrayEntry | str] = {}
    """For MATLAB and NumPy files: coordinate or field to the array that holds it."""
    _folder: Path = pydantic.PrivateAttr(Path())

    def table_columns(self) -> Columns:
        entries = {name: entry for name, entry in self.coordinates.items() if isinstance(entry, CoordinateEntry)}
        clocks = {name: clock for name, entry in entries.items() if (clock := entry.clock(name)) is not None}
        named = {name: entry.column for name, entry in entries.items() if entry.column is not None}
        return Columns(
            self.columns.value,
            self.columns.field,
            self.columns.sensor,
            {**self.columns.rename, **named},
            self.columns.sigma,
            tuple(self.missing),
            clocks,
            self._places(),
        )

    def wanted_columns(self) -> set[str]:
        """Every column that readings may come from."""
        columns = self.table_columns()
        own = {columns.of(name) for name in (*self.coordinates, *self.fields)}
        return own | set(columns.places) | {columns.value, columns.field, columns.sensor, columns.sigma}

    def side_files(self) -> list[Path]:
        """The other files that the problem is read from: tables, and the places of sensors."""
        named = [entry.file for entry in self.tables.values()]
        return [self._beside(name) for name in (*named, *([self.sensors] if isinstance(self.sensors, str) else []))]

    def array_names(self) -> dict[str, ArrayName]:
        return {
            name: ArrayName(entry) if isinstance(entry, str) else ArrayName(entry.name, tuple(entry.axes))
            for name, entry in self.arrays.items()
        }

    def problem(self, points: np.ndarray | None = None) -> Problem:
        """The problem; `points` gives the range of coordinates that the file leaves open."""
        ranges: dict[str, tuple[float, float]] = {}
        units = dict(self.units)
        for axis, (name, entry) in enumerate(self.coordinates.items()):
            span = entry.range if isinstance(entry, CoordinateEntry) else entry
            if isinstance(entry, CoordinateEntry) and entry.unit is not None:
                units.setdefault(name, entry.unit)
            if span is None:
                if points is None:
                    raise InputError(f"coordinate '{name}' has no range; write it as '{name}: [low, high]'.")
                told = [place[name] for text in self.conditions if name in (place := named_places(text))]
                # What is known beyond the last sensor belongs to the box as well.
                reached = [float(points[:, axis].min()), float(points[:, axis].max()), *told]
                span = min(reached), max(reached)
            ranges[name] = span
        sizes = self.hidden if isinstance(self.hidden, dict) else {}
        return Problem(
            coordinates=ranges,
            fields=tuple(self.fields),
            equations=tuple(self.equations),
            unknowns={name: _unknown(name, entry) for name, entry in self.unknowns.items()},
            constants=dict(self.constants),
            units=units,
            name=self.name,
            hidden=tuple(self.hidden),
            scales={name: size for name, size in sizes.items() if size is not None},
            tables={name: self._table(name, entry) for name, entry in self.tables.items()},
            conditions=tuple(self.conditions),
            periodic=tuple(self.periodic),
        )

    @property
    def is_closed(self) -> bool:
        """Whether every coordinate has its range."""
        spans = [entry.range if isinstance(entry, CoordinateEntry) else entry for entry in self.coordinates.values()]
        return all(span is not None for span in spans)

    def _table(self, name: str, entry: TableEntry) -> Table:
        if not entry.coordinates:
            raise InputError(f"table '{name}' has no coordinates; name at least one, as 'coordinates: [t]'.")
        rows = read_file(self._beside(entry.file), {*entry.coordinates, entry.value}).table
        return table_from_rows(rows, entry.coordinates, entry.value, entry.file)

    def _places(self) -> dict[str, dict[str, float]]:
        if isinstance(self.sensors, dict):
            return {name: dict(place) for name, place in self.sensors.items()}
        rows = read_file(self._beside(self.sensors)).table
        sensors = column_of(rows, self.columns.sensor, self.sensors, "sensor").astype(str)
        axes = {
            name: numbers_in(rows[name], self.sensors, np.ones(len(rows), bool))
            for name in self.coordinates
            if name in rows.columns
        }
        return {str(sensor): {name: float(axes[name][row]) for name in axes} for row, sensor in enumerate(sensors)}

    def _beside(self, name: str) -> Path:
        """A file in the problem file's folder; no path of a problem file leads out of it."""
        folder = self._folder.resolve()
        try:
            path = (folder / name).resolve()
        except (OSError, ValueError):
            path = folder.parent
        if not path.is_relative_to(folder):
            raise InputError(f"'{name[:80]}' leads out of the problem file's folder; put the file beside it.")
        return path


def _unknown(name: str, entry: UnknownEntry | float) -> Unknown:
    try:
        if not isinstance(entry, UnknownEntry):
            return Unknown(entry)
        low = max(entry.low or 0.0, 0.0) if entry.positive else entry.low
        return Unknown(entry.start, low, entry.high)
    except InputError as error:
        raise InputError(f"unknown '{name}': {error}") from None
