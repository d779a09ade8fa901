"""The problem file as a whole, and what it comes to: a `Problem`, and which column is which."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pydantic
import pydantic_core

from napinn.data.formats import ArrayName, read_file
from napinn.data.readings import Clock, Columns, Conversion, flag_columns
from napinn.data.readings.cells import column_of, numbers_in
from napinn.errors import InputError, nearest
from napinn.problem import Problem, Unknown
from napinn.problem.equations import named_places
from napinn.problem.file.entries import (
    STRICT,
    ArrayEntry,
    ColumnEntry,
    ColumnsEntry,
    CoordinateEntry,
    Finite,
    FlagsEntry,
    NoiseEntry,
    Range,
    TableEntry,
    UnknownEntry,
)
from napinn.problem.prior import read_prior
from napinn.problem.tables import Table, table_from_rows
from napinn.problem.units import UnitSystem
from napinn.problem.varying import VaryingUnknown


class ProblemFile(pydantic.BaseModel):
    """A problem of napinn: what is measured, what the physics says, and which column is which."""

    model_config = STRICT

    name: str = "problem"
    coordinates: dict[str, Range | CoordinateEntry | None]
    """Name to range, `[low, high]`; empty to take the range from the readings."""
    fields: list[str] = []
    """What is measured; a field that only observables measure may stand here or under `hidden`."""
    observables: dict[str, str] = {}
    """What is measured but is not a field itself: an expression of fields and unknowns, such as `y: log10(C)`."""
    hidden: list[str] | dict[str, Finite | None] = []
    """Fields in no column; as names, or as names with their typical size."""
    equations: list[str]
    """What holds everywhere in the box, such as `T_t = D*T_xx`."""
    left: list[str] = []
    """For `napinn discover`: the derivative that each equation is solved for, such as `u_t`."""
    terms: list[str] | dict[str, list[str]] = []
    """For `napinn discover`: candidates for the right-hand side, for all equations or by left side."""
    known: list[str] | dict[str, list[str]] = []
    """For `napinn discover`: certain parts of the right-hand side, with their coefficients."""
    unknowns: dict[str, UnknownEntry | Finite | None] = {}
    """Coefficients to find: nothing, a start, or a start with bounds."""
    constants: dict[str, Finite | ColumnEntry | dict[str | int, Finite]] = {}
    """Numbers that are known: one, one for each experiment by name, or `{column: dose}`."""
    noise: NoiseEntry | None = None
    """One noise law for each value of a column; without it, one for all readings."""
    tables: dict[str, TableEntry] = {}
    """Known functions of the coordinates."""
    conditions: list[str] = []
    """What holds on a face of the box, such as `T = 0 at x = 1`."""
    periodic: list[str] = []
    """Coordinates along which the fields repeat themselves."""
    units: dict[str, str] = {}
    """Name to unit, such as `{x: m, t: h, T: °C}`; the units of unknowns follow from the equations."""
    own_units: list[str] = []
    """Counts that no list of units holds, such as `cells`, so that `units` may contain them."""
    columns: ColumnsEntry = ColumnsEntry()
    sensors: dict[str, dict[str, Finite]] | str = {}
    """Where there is a column per sensor: its place, or a file of places with a column `sensor`."""
    missing: list[Finite | str] = []
    """Values and words that mean 'no reading', such as -999 or `OVERFLOW`."""
    flags: FlagsEntry = FlagsEntry()
    """Quality flags in the table; a flag that says missing always makes a missing reading."""
    arrays: dict[str, ArrayEntry | str] = {}
    """For MATLAB and NumPy files: coordinate or field to the array that holds it."""
    _folder: Path = pydantic.PrivateAttr(Path())
    # Files beside the problem file are read once, however often problem and columns are made.
    _tables_read: dict[str, Table] = pydantic.PrivateAttr(default_factory=dict)
    _places_read: dict[str, dict[str, float]] | None = pydantic.PrivateAttr(None)

    @pydantic.field_validator("constants", mode="before")
    @classmethod
    def _check_columns_of_constants(cls, given: object) -> object:
        """`{column: 3}` is a misspelt column and no constant of an experiment called 'column'."""
        for name, entry in given.items() if isinstance(given, dict) else ():
            if isinstance(entry, dict) and [*entry] == ["column"] and not isinstance(entry["column"], str):
                raise pydantic_core.PydanticCustomError(
                    "column", "constant {name} must name its column, as '{column: dose}'", {"name": f"'{name}'"}
                )
        return given

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
            self.flags.column,
            self.flags.scheme,
            self.flags.leave_out_bad,
            self.columns.experiment,
            None if self.noise is None else self.noise.by,
            self._conversions(clocks),
        )

    def _problem_units(self) -> dict[str, str]:
        """The unit of each name in equations."""
        units = dict(self.units)
        for name, entry in self.coordinates.items():
            if isinstance(entry, CoordinateEntry) and entry.unit is not None:
                units.setdefault(name, entry.unit)
        return units

    def _conversions(self, clocks: Mapping[str, Clock]) -> dict[str, Conversion]:
        """How columns in another unit than the problem are read."""
        held = {*self.coordinates, *self.fields, *self.observables}
        held |= {name for name, entry in self.constants.items() if isinstance(entry, ColumnEntry)}
        given = {name: (f"columns: units: {name}", unit) for name, unit in self.columns.units.items()}
        for name, entry in self.coordinates.items():
            if isinstance(entry, CoordinateEntry) and entry.unit is not None and name in self.units:
                given.setdefault(name, (f"coordinates: {name}: unit", entry.unit))
        return {name: each for name, (where, unit) in given.items()
                if (each := self._conversion(name, unit, where, held, clocks)) is not None}  # fmt: skip

    def _conversion(
        self, name: str, unit: str, where: str, held: Collection[str], clocks: Mapping[str, Clock]
    ) -> Conversion | None:
        """From the unit of a column to that of the problem; None where they are the same."""
        wanted = self._problem_units().get(name)
        if name not in held:
            raise InputError(f"{where}: '{name}' has no column; {nearest(name, held)}")
        if wanted is None:
            raise InputError(
                f"{where}: the problem has no unit for '{name}'; give one, as 'units: {{{name}: {unit}}}'."
            )
        factor, offset = UnitSystem(self.own_units).conversion(unit, wanted, where)
        if (factor, offset) == (1.0, 0.0):
            return None
        if name in clocks:
            raise InputError(
                f"{where}: '{name}' is given as dates, which are counted in {unit}, and 'units' says {wanted}; write "
                "the same unit in both."
            )
        return Conversion(unit, factor, offset)

    def _check_observable_names(self) -> None:
        for name, text in self.observables.items():
            if re.search(rf"\b{re.escape(name)}\b", text):
                raise InputError(
                    f"observable '{name}: {text[:60]}' has the name of something in it; give it another, and name its "
                    "column under 'columns: {rename: …}'."
                )

    def _check_unit_names(self) -> None:
        known = {*self.coordinates, *self.fields, *self.hidden, *self.observables, *self.unknowns, *self.constants,
                 *self.tables}  # fmt: skip
        for name in self.units:
            if name not in known:
                raise InputError(f"units: '{name}' is not a name of the problem; {nearest(name, known)}")

    def wanted_columns(self) -> set[str]:
        """Every column that readings may come from."""
        columns = self.table_columns()
        own = {columns.of(name) for name in (*self.coordinates, *self.fields, *self.observables)}
        own |= {entry.column for entry in self.constants.values() if isinstance(entry, ColumnEntry)}
        own |= {columns.experiment, *((columns.group,) if columns.group else ())}
        own |= flag_columns(columns, (*self.fields, *self.observables))
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

    def problem(
        self,
        points: np.ndarray | None = None,
        measured: Sequence[str] | None = None,
        constants: Mapping[str, float] | None = None,
    ) -> Problem:
        """The problem of one experiment.

        Args:
            points: give the range of coordinates that the file leaves open.
            measured: the fields that readings are of; None for all that the file names.
            constants: values of those that the file gives by experiment or by column."""
        self._check_unit_names()
        self._check_observable_names()
        fields = [name for name in self.fields if measured is None or name in measured]
        sizes = self.hidden if isinstance(self.hidden, dict) else {}
        return Problem(
            coordinates=self.ranges(points),
            fields=tuple(fields),
            equations=tuple(self.equations),
            unknowns={name: _unknown(name, entry) for name, entry in self.unknowns.items() if not _varies(entry)},
            constants={**{name: self._known(name) for name in self.constants}, **(constants or {})},
            units=self._problem_units(),
            own_units=tuple(self.own_units),
            name=self.name,
            hidden=(*(name for name in self.fields if name not in fields), *self.hidden),
            scales={name: size for name, size in sizes.items() if size is not None},
            tables={name: self._table(name, entry) for name, entry in self.tables.items()},
            conditions=tuple(self.conditions),
            periodic=tuple(self.periodic),
            observables=dict(self.observables),
            varying={name: _varying(name, entry) for name, entry in self.unknowns.items() if _varies(entry)},
        )

    def _known(self, name: str) -> float:
        """The value of a constant; of one that differs between experiments, one of its values."""
        match self.constants[name]:
            case ColumnEntry():
                return 1.0
            case dict() as each:
                if not each:
                    raise InputError(f"constant '{name}' has no values; write '{name}: {{experiment: value}}'.")
                return next(iter(each.values()))
            case number:
                return number

    def ranges(self, points: np.ndarray | None, experiment: str | None = None) -> dict[str, tuple[float, float]]:
        """The range of every coordinate, of all readings or of those of one experiment."""
        found: dict[str, tuple[float, float]] = {}
        for axis, (name, entry) in enumerate(self.coordinates.items()):
            span = entry.range if isinstance(entry, CoordinateEntry) else entry
            own = {str(key): each for key, each in entry.ranges.items()} if isinstance(entry, CoordinateEntry) else {}
            if experiment is None and own:
                ends = [end for each in own.values() for end in each] + list(span or ())
                span = min(ends), max(ends)
            elif experiment in own:
                span = own[experiment]
            found[name] = span or self._reached(name, points if points is None else points[:, axis])
        return found

    def _reached(self, name: str, along: np.ndarray | None) -> tuple[float, float]:
        """The range of a coordinate that the file leaves open."""
        if along is None or np.all(np.isnan(along)):
            raise InputError(f"coordinate '{name}' has no range; write it as '{name}: [low, high]'.")
        places = [place[name] for text in self.conditions if name in (place := named_places(text))]
        # What is known beyond the last sensor belongs to the box as well.
        reached = [float(np.nanmin(along)), float(np.nanmax(along)), *places]
        return min(reached), max(reached)

    @property
    def is_closed(self) -> bool:
        """Whether every coordinate has its range."""
        spans = [
            entry.range or entry.ranges or None if isinstance(entry, CoordinateEntry) else entry
            for entry in self.coordinates.values()
        ]
        return all(span is not None for span in spans)

    def _table(self, name: str, entry: TableEntry) -> Table:
        if not entry.coordinates:
            raise InputError(f"table '{name}' has no coordinates; name at least one, as 'coordinates: [t]'.")
        if name not in self._tables_read:
            rows = read_file(self._beside(entry.file), {*entry.coordinates, entry.value}).table
            self._tables_read[name] = table_from_rows(rows, entry.coordinates, entry.value, entry.file)
        return self._tables_read[name]

    def _places(self) -> dict[str, dict[str, float]]:
        if isinstance(self.sensors, dict):
            return {name: dict(place) for name, place in self.sensors.items()}
        if self._places_read is None:
            self._places_read = self._places_in(self.sensors)
        return self._places_read

    def _places_in(self, file: str) -> dict[str, dict[str, float]]:
        rows = read_file(self._beside(file)).table
        sensors = column_of(rows, self.columns.sensor, file, "sensor").astype(str)
        axes = {
            name: numbers_in(rows[name], file, np.ones(len(rows), bool))
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
            raise InputError(f"'{name[:80]}' is outside the problem file's folder; move the file into that folder.")
        return path


def _varies(entry: UnknownEntry | float | None) -> bool:
    return isinstance(entry, UnknownEntry) and entry.of is not None


def _varying(name: str, entry: UnknownEntry | float | None) -> VaryingUnknown:
    assert isinstance(entry, UnknownEntry)
    try:
        return entry.varying()
    except InputError as error:
        raise InputError(f"unknown '{name}': {error}") from None


def _unknown(name: str, entry: UnknownEntry | float | None) -> Unknown:
    try:
        if not isinstance(entry, UnknownEntry):
            return Unknown(entry)
        low = max(entry.low or 0.0, 0.0) if entry.positive else entry.low
        if entry.steps:
            raise InputError("'steps: true' needs the coordinate that it varies along, as 'of: [t]'.")
        prior = None if entry.prior is None else read_prior(entry.prior)
        return Unknown(entry.start, low, entry.high, prior, entry.scale == "log", entry.per)
    except InputError as error:
        raise InputError(f"unknown '{name}': {error}") from None
