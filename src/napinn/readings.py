"""Readings: a tidy, frozen, validated table of measured values.

One reading is one value of one field at one point, by one sensor. A table comes in one of two forms:

- wide: a column per coordinate and a column per field;
- long: a column per coordinate, a column of values, and, where there are several fields, a column that names the field.

In both, a sensor column is optional; without one, readings at the same place belong to the same sensor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from napinn.errors import InputError, nearest

ADDED_COLUMNS = ("predicted", "misfit", "reliability", "verdict")
"""What a finished fit adds to a table; columns of these names from an earlier fit are replaced."""
TIME_NAMES = frozenset({"t", "time"})


@dataclass(frozen=True)
class Columns:
    """Which column of a table is which; a coordinate or field that is not named here is looked for under its own
    name."""

    value: str = "value"
    field: str = "field"
    sensor: str = "sensor"
    renamed: Mapping[str, str] | None = None

    def of(self, name: str) -> str:
        return (self.renamed or {}).get(name, name)


@dataclass(frozen=True, eq=False)
class Readings:
    coordinates: tuple[str, ...]
    fields: tuple[str, ...]
    points: np.ndarray
    """(n, d) float64, one row a reading."""
    field_index: np.ndarray
    values: np.ndarray
    sensors: np.ndarray
    """(n,) sensor names, as text."""
    table: pd.DataFrame
    """The table as it was given."""
    rows: np.ndarray
    """The table row of each reading."""
    wide: bool
    columns: Columns
    source: str = "readings"

    def __len__(self) -> int:
        return len(self.values)

    def of_field(self, index: int) -> np.ndarray:
        return self.values[self.field_index == index]

    def annotated(self, added: Mapping[str, np.ndarray]) -> pd.DataFrame:
        """The table, every row in its original order, with columns of one entry per reading."""
        table = self.table.copy()
        several = self.wide and len(self.fields) > 1
        for name, entries in added.items():
            for index, field in enumerate(self.fields) if several else [(None, "")]:
                chosen = slice(None) if index is None else self.field_index == index
                column = np.empty(len(table), dtype=object if entries.dtype.kind in "OUT" else float)
                column[self.rows[chosen]] = entries[chosen]
                table[f"{field}_{name}" if several else name] = column
        return table


def read_table(
    table: pd.DataFrame,
    coordinates: Sequence[str],
    fields: Sequence[str],
    columns: Columns | None = None,
    source: str = "readings",
) -> Readings:
    """Readings of a table in wide or long form, or an `InputError` that names row, column and remedy."""
    columns = columns or Columns()
    if table.empty:
        raise InputError(f"{source} has no rows; it needs a header and at least one reading.")
    table = table.reset_index(drop=True)
    wide = columns.of(fields[0]) in table.columns and columns.value not in table.columns
    kept = table.drop(columns=_added_earlier(table, fields))
    points = np.stack([_numbers(table, columns.of(name), source, "coordinate") for name in coordinates], axis=1)
    sensors = _sensors(table, columns, coordinates, points)
    if wide:
        values = np.stack([_numbers(table, columns.of(name), source, "field") for name in fields], axis=1).reshape(-1)
        rows = np.repeat(np.arange(len(table)), len(fields))
        field_index = np.tile(np.arange(len(fields)), len(table))
    else:
        values = _values(table, columns, fields, source)
        rows = np.arange(len(table))
        field_index = _field_index(table, columns, fields, source)
    readings = Readings(
        tuple(coordinates),
        tuple(fields),
        points[rows],
        field_index,
        values,
        sensors[rows],
        kept,
        rows,
        wide,
        columns,
        source,
    )
    _refuse_duplicates(readings)
    return readings


def check_inside(readings: Readings, lows: Sequence[float], highs: Sequence[float]) -> None:
    """Every reading must lie in the problem's box."""
    outside = (readings.points < np.asarray(lows)) | (readings.points > np.asarray(highs))
    if outside.any():
        reading, axis = np.argwhere(outside)[0]
        name = readings.coordinates[axis]
        raise InputError(
            f"{readings.source}, row {_spoken(readings.rows[reading])}, column '{readings.columns.of(name)}': "
            f"{readings.points[reading, axis]:g} is outside the problem's range of '{name}', "
            f"{lows[axis]:g} to {highs[axis]:g} ({int(outside.any(axis=1).sum())} reading(s) are); "
            "widen the range or remove them."
        )


def _spoken(row: Any) -> int:
    """A table row as a person counts in a file whose first row is the header."""
    return int(row) + 2


def _added_earlier(table: pd.DataFrame, fields: Sequence[str]) -> list[str]:
    names = {*ADDED_COLUMNS, *(f"{field}_{name}" for field in fields for name in ADDED_COLUMNS)}
    return [column for column in table.columns if column in names]


def _column(table: pd.DataFrame, name: str, source: str, kind: str) -> pd.Series:
    if name not in table.columns:
        known = [str(column) for column in table.columns]
        raise InputError(f"{source} has no column '{name}' for the {kind}; {nearest(name, known)}")
    return table[name]


def _numbers(table: pd.DataFrame, name: str, source: str, kind: str) -> np.ndarray:
    column = _column(table, name, source, kind)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(np.argmax(bad))
        cell = column.iloc[row]
        shown = "nothing" if pd.isna(cell) or str(cell).strip() == "" else f"'{str(cell)[:40]}'"
        others = f" ({int(bad.sum())} such cells)" if bad.sum() > 1 else ""
        raise InputError(
            f"{source}, row {_spoken(row)}, column '{name}': expected a finite number, found {shown}{others}; "
            "correct the cell or remove the row."
        )
    return numbers


def _values(table: pd.DataFrame, columns: Columns, fields: Sequence[str], source: str) -> np.ndarray:
    if columns.value not in table.columns:
        known = ", ".join(f"'{column}'" for column in table.columns)
        raise InputError(
            f"{source} has neither a column '{columns.of(fields[0])}' (wide form) nor a column '{columns.value}' "
            f"(long form); it has {known}."
        )
    return _numbers(table, columns.value, source, "values")


def _field_index(table: pd.DataFrame, columns: Columns, fields: Sequence[str], source: str) -> np.ndarray:
    if columns.field not in table.columns:
        if len(fields) == 1:
            return np.zeros(len(table), int)
        raise InputError(
            f"{source} has no column '{columns.field}' that says which field ({', '.join(fields)}) each value is of."
        )
    named = table[columns.field].astype(str)
    index = named.map({name: number for number, name in enumerate(fields)})
    if index.isna().any():
        row = int(np.argmax(index.isna()))
        raise InputError(
            f"{source}, row {_spoken(row)}, column '{columns.field}': '{named.iloc[row]}' is not a field of the "
            f"problem; {nearest(str(named.iloc[row]), fields)}"
        )
    return index.to_numpy(dtype=int)


def _sensors(table: pd.DataFrame, columns: Columns, coordinates: Sequence[str], points: np.ndarray) -> np.ndarray:
    if columns.sensor in table.columns:
        return table[columns.sensor].astype(str).to_numpy(dtype=object)
    fixed = [axis for axis, name in enumerate(coordinates) if name.lower() not in TIME_NAMES]
    if not fixed:
        return np.full(len(table), "s1", dtype=object)
    places = np.unique(points[:, fixed], axis=0, return_inverse=True)[1].reshape(-1)
    first_seen = pd.unique(places)
    number = np.empty(len(first_seen), int)
    number[first_seen] = np.arange(1, len(first_seen) + 1)
    return np.array([f"s{n}" for n in number], dtype=object)[places]


def _refuse_duplicates(readings: Readings) -> None:
    frame = pd.DataFrame(readings.points)
    frame["field"] = readings.field_index
    frame["sensor"] = readings.sensors
    frame["value"] = readings.values
    again = frame.duplicated().to_numpy()
    if again.any():
        second = int(np.argmax(again))
        first = int(np.argmax((frame == frame.iloc[second]).all(axis=1).to_numpy()))
        column = readings.columns
        raise InputError(
            f"{readings.source}, rows {_spoken(readings.rows[first])} and {_spoken(readings.rows[second])} hold the "
            f"same reading ({int(again.sum())} repeated in all); remove one, "
            f"or tell them apart in column '{column.sensor}'."
        )
