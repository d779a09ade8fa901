"""What the columns of a table are: coordinates, fields, sensor and deviation, by their names and cells.

A column of dates is time, in whatever way they are written. A column that is named as time or a place is a coordinate,
and so is one that never changes within a sensor. Without such a time, the one column whose unit is one of time is time,
and where no column is named as a coordinate either, the first one whose numbers only grow. Every other column of
numbers is a field, because leaving one out takes less work than finding its name."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from napinn.data.formats.header import is_unit
from napinn.data.names import normal
from napinn.data.readings import (
    ADDED_COLUMNS,
    TIME_NAMES,
    TIME_UNITS,
    Columns,
    certain_sentinels,
    words_for_nothing,
)
from napinn.data.readings.axes import PLACE_NAMES
from napinn.data.readings.cells import TIME_WORDS, numbers_if_all, readings_in
from napinn.data.readings.given_flags import OF_ONE
from napinn.problem.equations import RESERVED
from napinn.problem.file.entries import dates_entry
from napinn.problem.units import UnitSystem

SENSOR_NAMES = frozenset({"sensor", "sensor_id", "station", "probe", "device", "node", "channel", "site", "id"})
LABELLED = re.compile(r"\s*(.*?)\s*[\(\[]\s*([^()\[\]]*?)\s*[\)\]]\s*")
"""A column named with its unit: `temp (K)`, `depth [m]`."""
AFTER_COMMA = re.compile(r"\s*(.*?)\s*,\s*([^,()\[\]]*?)\s*(?:\(.*\))?\s*")
"""A column named with its unit behind a comma: `pressure, Pa`, `Temp, °C (LGR S/N: 12)`."""
TIMED = re.compile(r"(t|time|timestamp)[ _]([a-z]+)", re.IGNORECASE)
"""A column of time named with its unit: `time_h`, `t_min`."""
PLACED = re.compile(rf"({'|'.join(sorted(PLACE_NAMES))})[ _](mm|cm|m|km|in|ft)", re.IGNORECASE)
"""A column of places named with its unit: `x_km`, `depth_m`."""
DEVIATIONS = re.compile(r"(?:(.*?)[ _.-]?)(err|error|std|sd|stdev|stddev|unc|uncertainty)", re.IGNORECASE)
"""A column of standard deviations: `u_err`, `Temp std`, `error`."""
COUNTERS = frozenset({"record", "index", "row", "no", "no.", "nr", "nr.", "#", "obs", "sample", "id"})
"""What a column is called that numbers the rows."""
TEMPERATURES = {"C": "°C", "F": "°F", "Deg C": "°C", "Deg F": "°F", "deg C": "°C", "deg F": "°F"}
"""What these mean above a column; to pint the letters are coulomb and farad."""
DATES_SHOWN = 1000
"""Cells that are enough to know a column of dates."""
DATE_FORMATS = tuple(
    f"{date}{hour}"
    for date in ("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%Y/%m/%d")
    for hour in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
)
"""What spreadsheets and loggers write beside ISO 8601; of two that read every cell, the one that spans less time."""


@dataclass
class Roles:
    """What each column was taken for."""

    coordinates: dict[str, str] = field(default_factory=dict)
    """Name in equations to column; so are the fields."""
    fields: dict[str, str] = field(default_factory=dict)
    time: str | None = None
    clock: str | None = None
    """The unit in which dates are counted, if time is given as dates."""
    written: str | None = None
    """The format of these dates, if it is not that of ISO 8601."""
    guessed: bool = False
    """Whether a column was taken for time only because its numbers grow."""
    sensor: str | None = None
    deviation: str | None = None
    """The column of standard deviations of the readings."""
    labels: str | None = None
    """A column of names that tells apart rows of the same time: sensors, or quantities."""
    units: dict[str, str] = field(default_factory=dict)
    missing: list[float | str] = field(default_factory=list)
    """Values and words in the columns of the fields that mean 'no reading'."""
    ignored: list[str] = field(default_factory=list)

    @property
    def time_column(self) -> str | None:
        """The column of time."""
        return None if self.time is None else self.coordinates[self.time]

    @property
    def dates_entry(self) -> dict[str, str] | None:
        """The entry of a time that is given as dates, as a problem file has it; None where it is a number."""
        if self.clock is None or self.time is None:
            return None
        return dates_entry(self.coordinates[self.time], self.clock, self.written)

    def measure(self, names: Collection[str]) -> None:
        """Take some coordinates for what was measured: the position of a pendulum is no place.

        :param names: What an equation differentiates; time stays a coordinate."""
        moved = [name for name in self.coordinates if name in names and name != self.time]
        self.fields = {name: self.coordinates.pop(name) for name in moved} | self.fields


def roles_of(table: pd.DataFrame) -> Roles:
    """What the columns of a table are, by their names and cells.

    :param table: The readings as they were read."""
    special, roles = Columns(), Roles()
    table, roles.missing = _without_sentinels(table)
    long = special.value in table.columns
    for column in map(str, table.columns):
        cells = numbers_if_all(table[column])
        plain, unit = plain_name(column)
        if _counts_rows(column, cells):
            continue
        if column in ADDED_COLUMNS or column == special.sigma or column.endswith("_" + special.sigma):
            continue
        if column.endswith(OF_ONE) and column.removesuffix(OF_ONE) in table.columns:
            roles.ignored.append(column)
            continue
        if roles.sensor is None and _names_sensors(plain, table[column]):
            roles.sensor = column
        elif roles.time is None and (dates := _dates(table[column])) is not None:
            span, roles.written = dates
            roles.time = _identifier("t", roles)
            roles.coordinates[roles.time], roles.clock = column, _unit_for(span)
        elif not pd.api.types.is_numeric_dtype(cells):
            roles.ignored += [column] if column != special.field else []
        elif not _is_field(plain):
            name = _identifier(plain, roles)
            roles.coordinates[name] = column
            roles.time = name if plain.lower() in TIME_NAMES and roles.time is None else roles.time
            roles.units |= {name: unit} if unit else {}
        elif not long:
            name = _identifier(plain, roles)
            roles.fields[name] = column
            roles.units |= {name: unit} if unit else {}
    _find_places(table, roles)
    _find_time(table, roles)
    _find_sensors(table, roles)
    _leave_out_counters(table, roles)
    _find_deviation(table, roles)
    if long:
        named = table[special.field].dropna().unique() if special.field in table.columns else ["u"]
        roles.fields = {str(name): str(name) for name in named}
    elif not roles.fields and roles.time is not None:
        # Time beside places alone: the motion itself was measured.
        roles.fields = {name: column for name, column in roles.coordinates.items() if name != roles.time}
        roles.coordinates = {roles.time: roles.coordinates[roles.time]}
    roles.units = _known_units(roles.units)
    return roles


def _is_field(name: str) -> bool:
    """Whether a column of this name is not a coordinate; T is a temperature."""
    return name == "T" or name.lower() not in PLACE_NAMES | TIME_NAMES


def _without_sentinels(table: pd.DataFrame) -> tuple[pd.DataFrame, list[float | str]]:
    """The table with nothing in the cells that mean 'no reading', and what stood there."""
    cleared: dict[str, np.ndarray] = {}
    missing: dict[float | str, None] = {}
    for column in map(str, table.columns):
        if not _is_field(plain_name(column)[0]):
            continue
        words = words_for_nothing(table[column])
        if words or _holds_numbers(table[column]):
            here: list[float | str] = [*certain_sentinels(table[column], words), *words]
            missing |= dict.fromkeys(here)
            cleared |= {column: readings_in(table[column], "", here)} if here else {}
    return table.assign(**cleared), list(missing)


def _holds_numbers(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(cells := numbers_if_all(column)) and not pd.api.types.is_bool_dtype(cells)


def _names_sensors(name: str, cells: pd.Series) -> bool:
    """Whether a column says which sensor a reading is of; an `id` that differs in every row numbers the rows."""
    return name.lower() in SENSOR_NAMES and (name.lower() == Columns().sensor or cells.nunique() < len(cells))


def _known_units(units: Mapping[str, str]) -> dict[str, str]:
    """The units in names of columns, without those that are not known: a bracket may hold anything."""
    system, named = UnitSystem(), {name: TEMPERATURES.get(text, text) for name, text in units.items()}
    return {name: unit for name, unit in named.items() if system.knows(unit)}


def _find_places(table: pd.DataFrame, roles: Roles) -> None:
    """Take columns that never change within a sensor, and differ between sensors, for places."""
    if roles.sensor is None:
        _find_levels(table, roles)
        return
    if table[roles.sensor].nunique() < 2:
        return
    for name, column in list(roles.fields.items()):
        cells = numbers_if_all(table[column])
        within = cells.groupby(table[roles.sensor]).nunique()
        repeated = table[roles.sensor].value_counts().max() > 1
        if repeated and within.max() == 1 and cells.nunique() > 1 and len(roles.fields) > 1:
            del roles.fields[name]
            roles.coordinates[name] = column


def _find_levels(table: pd.DataFrame, roles: Roles) -> None:
    """Where each time stands in several rows, take for a place a column of which all times have the same values."""
    if roles.time is None or len(roles.fields) < 2 or len(roles.coordinates) > 1:
        return
    times = table[roles.time_column]
    rows = times.value_counts()
    if len(rows) < 2 or rows.min() != rows.max() or rows.max() < 2:
        return
    for name, column in list(roles.fields.items()):
        cells = numbers_if_all(table[column])
        within = cells.groupby(times).nunique()
        if cells.nunique() == within.min() == rows.max():
            del roles.fields[name]
            roles.coordinates[name] = column
            return


def _find_time(table: pd.DataFrame, roles: Roles) -> None:
    """Take for time the one column whose unit or name is a unit of time, else the first whose numbers only grow.

    The second only where no column is named as a coordinate."""
    if roles.time is not None:
        return
    timed = [name for name in roles.fields if _is_time_unit(roles.units.get(name, "")) or _is_time_word(name)]
    if len(timed) == 1 and len(roles.fields) > 1:
        _take_for_time(timed[0], roles)
    elif not any(name.lower() in PLACE_NAMES for name in roles.coordinates):
        growing = (name for name, column in roles.fields.items() if _only_grows(table, column, roles.sensor))
        if len(roles.fields) > 1 and (name := next(growing, None)) is not None:
            _take_for_time(name, roles)
            roles.guessed = True


def _is_time_unit(unit: str) -> bool:
    """Whether a unit is one of time; a capital letter is another one, as W and H."""
    return unit in TIME_WORDS or (len(unit) > 1 and unit.lower() in TIME_WORDS)


def _is_time_word(name: str) -> bool:
    """Whether a column is called by a unit of time, as `day`; single letters are names of many things."""
    return len(name) > 2 and name.lower() in TIME_WORDS


def _take_for_time(name: str, roles: Roles) -> None:
    """Make a field the coordinate t."""
    column, unit = roles.fields.pop(name), roles.units.pop(name, TIME_WORDS.get(name.lower(), ""))
    roles.time = _identifier("t", roles)
    roles.coordinates[roles.time] = column
    roles.units |= {roles.time: unit} if unit else {}


def _only_grows(table: pd.DataFrame, column: str, sensor: str | None) -> bool:
    """Whether the numbers of a column, or those of each sensor, never fall."""
    cells = numbers_if_all(table[column]).dropna()
    records = [cells] if sensor is None else [part for _, part in cells.groupby(table[sensor])]
    return len(cells) > 2 and all(part.is_monotonic_increasing for part in records)


def _find_sensors(table: pd.DataFrame, roles: Roles) -> None:
    """Take the first column of names for the sensors, if each name stands at one place, or for labels of the rows of
    one time, if no time repeats under a name."""
    places = [column for name, column in roles.coordinates.items() if name != roles.time]
    for column in roles.ignored if roles.sensor is None else []:
        rows = table[table[column].astype(str).str.strip() != ""]
        groups = rows.groupby(column)
        if groups.ngroups < 2 or groups.size().min() < 2:
            continue
        if places:
            stands = groups[places].nunique().max().max() == 1
            if stands and not rows.drop_duplicates(column).duplicated(places).any():
                roles.sensor = column
        elif roles.time is not None and rows[roles.time_column].duplicated().any():
            roles.labels = None if rows.duplicated([column, roles.time_column]).any() else column
        if roles.sensor or roles.labels:
            roles.ignored.remove(column)
            return


def _leave_out_counters(table: pd.DataFrame, roles: Roles) -> None:
    """Take the numbers of the rows for no field, where there is a time and another field."""
    for name, column in list(roles.fields.items()):
        steps = numbers_if_all(table[column]).diff().dropna()
        if (
            plain_name(column)[0].lower() in COUNTERS
            and len(steps)
            and steps.eq(1).all()
            and roles.time
            and len(roles.fields) > 1
        ):
            del roles.fields[name]
            roles.units.pop(name, None)
            roles.ignored.append(column)


def _find_deviation(table: pd.DataFrame, roles: Roles) -> None:
    """Take for deviations the column that is named as those of the one field, or as deviations, if all are positive."""
    if len(roles.fields) != 2:
        return
    for name, column in list(roles.fields.items()):
        (other,) = roles.fields.keys() - {name}
        found = DEVIATIONS.fullmatch(plain_name(column)[0])
        whose = plain_name(roles.fields[other])[0].lower()
        if found and (found[1] or "").strip().lower() in ("", whose) and (numbers_if_all(table[column]) > 0).all():
            del roles.fields[name]
            roles.units.pop(name, None)
            roles.deviation = column
            return


def _counts_rows(column: str, cells: pd.Series) -> bool:
    """Whether a column without a name holds the numbers of the rows, as pandas saves them."""
    return column == "" and pd.api.types.is_numeric_dtype(cells) and bool(cells.dropna().diff().dropna().eq(1).all())


def plain_name(column: str) -> tuple[str, str]:
    """A column's name without its unit, and the unit."""
    text = column.strip()
    behind, timed = AFTER_COMMA.fullmatch(text), TIMED.fullmatch(text)
    if behind is not None and is_unit(behind[2]):
        return behind[1], behind[2]
    if timed is not None and (timed[2].lower() in TIME_WORDS or timed[2].lower() in ("ms", "us", "ns")):
        return timed[1], timed[2]
    found = LABELLED.fullmatch(text) or PLACED.fullmatch(text)
    return (found[1], found[2]) if found else (text, "")


def _identifier(text: str, roles: Roles) -> str:
    """The text as a name that an equation may hold, and that no other column has."""
    name = re.sub(r"\W+", "_", normal(text)).strip("_")
    if not name.isidentifier() or name in RESERVED:
        name = f"u_{name}" if name else "u"
    name = name.replace("_", "") if name.replace("_", "").isidentifier() else name
    taken, number = {*roles.coordinates, *roles.fields}, 2
    while name in taken:
        name, number = f"{name.rstrip('0123456789')}{number}", number + 1
    return name


def _dates(column: pd.Series) -> tuple[float, str | None] | None:
    """How many seconds a column of dates spans, and their format if it is not that of ISO 8601; None for no dates."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return _span(column.dropna(), None)
    if pd.api.types.is_numeric_dtype(numbers_if_all(column)):
        return None
    shown = column.dropna().astype(str).str.strip()
    shown = shown[shown != ""]
    # Most columns of text are names, which forty formats need not be tried on.
    if not shown.str.contains(r"\d").all():
        return None
    shown = shown.iloc[np.linspace(0, len(shown) - 1, min(len(shown), DATES_SHOWN)).astype(int)]
    found = [
        span
        for written in ("ISO8601", *DATE_FORMATS)
        if not (moments := pd.to_datetime(shown, format=written, errors="coerce", utc=True)).isna().any()
        and (span := _span(moments, None if written == "ISO8601" else written)) is not None
    ]
    return min(found, key=lambda span: span[0], default=None)


def _span(moments: pd.Series, written: str | None) -> tuple[float, str | None] | None:
    return None if moments.empty else (float((moments.max() - moments.min()).total_seconds()), written)


def _unit_for(seconds: float) -> str:
    """The largest unit of which the span holds ten, so that the numbers are neither tiny nor huge."""
    fitting = [unit for unit, length in TIME_UNITS.items() if unit != "weeks" and seconds >= 10 * length]
    return fitting[-1] if fitting else "seconds"
