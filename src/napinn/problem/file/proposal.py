"""A problem file proposed from the columns of a table: which are coordinates, fields, sensor and deviation.

A column of dates is time, in whatever way they are written. A column that is named as time or a place is a coordinate,
and so is one that never changes within a sensor. Where no column is named as a coordinate, the first one whose numbers
only grow is time. Every other column of numbers is a field, because leaving one out takes less work than finding its
name. Equations cannot be read from a table, so the
simplest one for these coordinates is written instead, marked as to be replaced."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import yaml

from napinn.data.names import normal
from napinn.data.readings import ADDED_COLUMNS, TIME_NAMES, TIME_UNITS, Columns
from napinn.data.readings.axes import PLACE_NAMES
from napinn.data.readings.cells import TIME_WORDS, numbers_if_all
from napinn.errors import InputError, listed
from napinn.problem.equations import RESERVED
from napinn.problem.units import UnitSystem

SENSOR_NAMES = frozenset({"sensor", "sensor_id", "station", "probe", "device", "node", "channel", "site", "id"})
LABELLED = re.compile(r"\s*(.*?)\s*[\(\[]\s*([^()\[\]]*?)\s*[\)\]]\s*")
"""A column named with its unit: `temp (K)`, `depth [m]`."""
TIMED = re.compile(r"(t|time)[ _]([a-z]+)", re.IGNORECASE)
"""A column of time named with its unit: `time_h`, `t_min`."""
TEMPERATURES = {"C": "°C", "F": "°F"}
"""What these letters mean above a column; to pint they are coulomb and farad."""
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
    units: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)

    @property
    def time_column(self) -> str | None:
        """The column of time."""
        return None if self.time is None else self.coordinates[self.time]


def propose(table: pd.DataFrame, source: str) -> str:
    """The text of a problem file for a table.

    :param table: The readings as they were read.
    :param source: The file's name, for sentences and as the problem's name."""
    roles = roles_of(table)
    if not roles.coordinates:
        raise InputError(
            f"no column of {source} ({listed([str(name) for name in table.columns])}) is named as a coordinate; "
            "name one x, t or time, or write the file by hand from: napinn new problem.yaml"
        )
    if not roles.fields:
        raise InputError(f"{source} has no column of numbers except its coordinates, so nothing is measured.")
    return _text(roles, source)


def roles_of(table: pd.DataFrame) -> Roles:
    """What the columns of a table are, by their names and cells.

    :param table: The readings as they were read."""
    special, roles = Columns(), Roles()
    long = special.value in table.columns
    for column in map(str, table.columns):
        cells = numbers_if_all(table[column])
        plain, unit = _plain(column)
        if column in ADDED_COLUMNS or column == special.sigma or column.endswith("_" + special.sigma):
            continue
        if roles.sensor is None and _names_sensors(plain, table[column]):
            roles.sensor = column
        elif roles.time is None and (dates := _dates(table[column])) is not None:
            span, roles.written = dates
            roles.time = _identifier("t", roles)
            roles.coordinates[roles.time], roles.clock = column, _unit_for(span)
        elif not pd.api.types.is_numeric_dtype(cells):
            roles.ignored += [column] if column != special.field else []
        elif plain != "T" and plain.lower() in PLACE_NAMES | TIME_NAMES:  # T is a temperature.
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
    if long:
        named = table[special.field].dropna().unique() if special.field in table.columns else ["u"]
        roles.fields = {str(name): str(name) for name in named}
    elif not roles.fields and roles.time is not None:
        # Time beside places alone: the motion itself was measured.
        roles.fields = {name: column for name, column in roles.coordinates.items() if name != roles.time}
        roles.coordinates = {roles.time: roles.coordinates[roles.time]}
    roles.units = _known_units(roles.units)
    return roles


def _names_sensors(name: str, cells: pd.Series) -> bool:
    """Whether a column says which sensor a reading is of; an `id` that differs in every row numbers the rows."""
    return name.lower() in SENSOR_NAMES and (name.lower() == Columns().sensor or cells.nunique() < len(cells))


def _known_units(units: Mapping[str, str]) -> dict[str, str]:
    """The units in names of columns, without those that are not known: a bracket may hold anything."""
    system, named = UnitSystem(), {name: TEMPERATURES.get(text, text) for name, text in units.items()}
    return {name: unit for name, unit in named.items() if system.knows(unit)}


def _find_places(table: pd.DataFrame, roles: Roles) -> None:
    """Take columns that never change within a sensor, and differ between sensors, for places."""
    if roles.sensor is None or table[roles.sensor].nunique() < 2:
        return
    for name, column in list(roles.fields.items()):
        cells = numbers_if_all(table[column])
        within = cells.groupby(table[roles.sensor]).nunique()
        repeated = table[roles.sensor].value_counts().max() > 1
        if repeated and within.max() == 1 and cells.nunique() > 1 and len(roles.fields) > 1:
            del roles.fields[name]
            roles.coordinates[name] = column


def _find_time(table: pd.DataFrame, roles: Roles) -> None:
    """Take the first column whose numbers only grow for time, where no column is named as a coordinate."""
    if roles.time is not None or any(name.lower() in PLACE_NAMES for name in roles.coordinates):
        return
    for name, column in list(roles.fields.items()):
        cells = numbers_if_all(table[column])
        records = [cells] if roles.sensor is None else [part for _, part in cells.groupby(table[roles.sensor])]
        if len(roles.fields) > 1 and len(cells) > 2 and all(part.is_monotonic_increasing for part in records):
            del roles.fields[name]
            unit = roles.units.pop(name, TIME_WORDS.get(name.lower(), ""))
            roles.time, roles.guessed = _identifier("t", roles), True
            roles.coordinates[roles.time] = column
            roles.units |= {roles.time: unit} if unit else {}
            return


def _plain(column: str) -> tuple[str, str]:
    """A column's name without its unit, and the unit."""
    found = LABELLED.fullmatch(column)
    if found is None:
        found = TIMED.fullmatch(column.strip())
        found = found if found and found[2].lower() in TIME_WORDS else None
    return (found[1], found[2]) if found else (column.strip(), "")


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


def _text(roles: Roles, source: str) -> str:
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
    if len(roles.fields) > 2 and list(roles.coordinates) == [roles.time]:
        lines += ["", "# If each column is a sensor, name one field above and give the places of the sensors:"]
        lines += ["# sensors:", *(f"#   {_scalar(column)}: {{x: 0.0}}" for column in roles.fields.values())]
    if roles.ignored:
        lines += ["", f"# Kept and not used: {', '.join(map(_scalar, roles.ignored))}."]
    return "\n".join(lines) + "\n"


def _coordinate(name: str, roles: Roles) -> str:
    if roles.clock is None or name != roles.time:
        return ""
    written = f", format: {_scalar(roles.written)}" if roles.written else ""
    return f"{{column: {_scalar(roles.coordinates[name])}, unit: {roles.clock}, origin: first reading{written}}}"


def _columns(roles: Roles) -> list[str]:
    named = {**roles.coordinates, **roles.fields}
    dated = roles.time if roles.clock else None
    renamed = {name: column for name, column in named.items() if name != column and name != dated}
    lines = [f"  sensor: {_scalar(roles.sensor)}"] if roles.sensor not in (None, Columns().sensor) else []
    lines += [f"  rename: {_flow(renamed)}"] if renamed else []
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


def _flow(entries: Mapping[str, str] | Sequence[str]) -> str:
    return yaml.safe_dump(entries, width=100_000, allow_unicode=True, default_flow_style=True, sort_keys=False).strip()
