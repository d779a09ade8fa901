"""Cells of a column to numbers, with the sentence for the first that is wrong."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from napinn.data.names import respelled
from napinn.data.readings.checks import row_number
from napinn.data.readings.columns import Clock
from napinn.errors import InputError, nearest

BLANKS = frozenset(
    {"", "nan", "na", "n/a", "null", "none", "<na>", "nat", "-", "--", "---"}
    | {"#n/a", "#nv", "#div/0!", "#value!", "#wert!"}
)
"""What people and programs write into a cell that holds nothing; those with # are errors of a spreadsheet."""
TIME_UNITS: Mapping[str, float] = {
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 604_800.0,
    "years": 31_557_600.0,
}
"""Seconds in each; a year is 365.25 days."""
_OTHER_UNITS = {
    "seconds": ("s", "sec", "second"),
    "minutes": ("min", "minute"),
    "hours": ("h", "hr", "hour"),
    "days": ("d", "day"),
    "weeks": ("w", "week"),
    "years": ("a", "y", "yr", "year"),
}
TIME_WORDS: Mapping[str, str] = {
    **{unit: unit for unit in TIME_UNITS},
    **{word: unit for unit, words in _OTHER_UNITS.items() for word in words},
}
"""Every word for a unit of time, with the one that is used for it here."""
_ZONE = re.compile(r"\d[T ]\d\d[\d:.,]*\s*(?:Z|z|[+-]\d\d(?::?\d\d)?)$")
"""The time zone at the end of a date with a time, as of ISO 8601."""


def column_of(table: pd.DataFrame, name: str, source: str, kind: str, remedy: str = "") -> pd.Series:
    if name not in table.columns:
        table = respelled(table, [name])
    if name not in table.columns:
        known = [str(column) for column in table.columns]
        raise InputError(f"{source} has no column '{name}' for the {kind}; {nearest(name, known)}{remedy}")
    return table[name]


def labels_in(column: pd.Series) -> np.ndarray:
    """Names as text, empty where a cell is blank; whole numbers are written without a point, whatever they came as."""
    if column.dtype.kind == "f":
        whole = bool(np.all(column.dropna() % 1 == 0))
        column = column.astype("Int64" if whole else object)
    found = column.astype(object).where(column.notna(), "").map(lambda cell: str(cell).strip())
    return found.where(~found.str.lower().isin(BLANKS), "").to_numpy(dtype=object)


def readings_in(column: pd.Series, source: str, missing: Sequence[float | str]) -> np.ndarray:
    """Numbers, with NaN for an empty cell and for a value or word that means 'no reading'."""
    numbers, blank = _parsed(column)
    words = [each.strip().casefold() for each in missing if isinstance(each, str)]
    said = column.astype(str).str.strip().str.casefold().isin(words).to_numpy() if words else blank
    _refuse(column, ~np.isfinite(numbers) & ~blank & ~said, source, ", or list what means 'no reading' under 'missing'")
    values = [each for each in missing if not isinstance(each, str)]
    return np.where(np.isin(numbers, values) | said, np.nan, numbers) if len(missing) else numbers


def numbers_in(column: pd.Series, source: str, needed: np.ndarray) -> np.ndarray:
    """Numbers, which must be there in the rows that are needed."""
    numbers, _ = _parsed(column)
    _refuse(column, ~np.isfinite(numbers) & needed, source)
    return numbers


def numbers_if_all(column: pd.Series) -> pd.Series:
    """A column of text as numbers, if its filled cells hold nothing else; a text file cannot tell."""
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return column
    numbers, blank = _parsed(column)
    return pd.to_numeric(column, errors="coerce") if (np.isfinite(numbers) | blank).all() else column


def times_in(column: pd.Series, clock: Clock, source: str, needed: np.ndarray) -> tuple[np.ndarray, Clock]:
    """Dates as numbers, and the clock with its origin settled."""
    moments = _moments(column, clock, source)
    if clock.format is None:
        _check_zones(column, needed, source)
    bad = moments.isna().to_numpy() & needed
    if bad.any():
        row = int(np.argmax(bad))
        wanted = f"like '{clock.format}'" if clock.format else "such as 2024-03-01 or 2024-03-01 12:30"
        raise InputError(
            f"{source}, row {row_number(row)}, column '{column.name}': expected a date {wanted}, found "
            f"{_shown(column.iloc[row])}; correct the cell, or give the coordinate a 'format'."
        )
    origin = moments[needed].min() if clock.origin is None else _moment(clock.origin)
    elapsed = (moments - origin).dt.total_seconds().to_numpy(dtype=float) / TIME_UNITS[clock.unit]
    return elapsed, Clock(clock.unit, origin.isoformat(), clock.format)


def _moments(column: pd.Series, clock: Clock, source: str) -> pd.Series:
    """Dates, and nothing where a cell holds none."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return pd.to_datetime(column, utc=True)
    try:
        return pd.to_datetime(column.astype(str), format=clock.format or "ISO8601", errors="coerce", utc=True)
    except (ValueError, re.error):
        # Only of a format: a cell that does not follow it is nothing here.
        raise InputError(
            f"{source}, column '{column.name}': '{clock.format}' is not a format of dates; write one such as "
            "'%d/%m/%Y %H:%M'."
        ) from None


def _check_zones(column: pd.Series, needed: np.ndarray, source: str) -> None:
    """Dates without a zone would be taken as UTC beside others that say where they are from."""
    if pd.api.types.is_datetime64_any_dtype(column) or not needed.any():
        return
    zoned = column[needed].astype(str).str.strip().str.contains(_ZONE).to_numpy(dtype=bool)
    if zoned.any() and not zoned.all():
        rows = np.flatnonzero(needed)
        first, second = rows[np.argmax(zoned)], rows[np.argmin(zoned)]
        raise InputError(
            f"{source}, column '{column.name}': row {row_number(first)} has a time zone ({_shown(column.iloc[first])}) "
            f"and row {row_number(second)} has none ({_shown(column.iloc[second])}); write all dates "
            "with a zone or none."
        )


def _moment(text: str) -> pd.Timestamp:
    moment = pd.to_datetime(text, format="ISO8601", errors="coerce", utc=True)
    if not isinstance(moment, pd.Timestamp):
        raise InputError(f"the origin '{text[:40]}' is not a date; write it as 2024-03-01 or 2024-03-01 12:30.")
    return moment


def _parsed(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The column as numbers (NaN where there is none), and which of its cells are empty."""
    if column.dtype.kind in "mM":
        # A date or a duration is no number, though pandas would count its nanoseconds.
        return np.full(len(column), np.nan), np.zeros(len(column), bool)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    blank = np.zeros(len(column), bool)
    odd = np.flatnonzero(~np.isfinite(numbers))
    cells = column.iloc[odd]
    blank[odd] = cells.isna().to_numpy() | cells.astype(str).str.strip().str.lower().isin(BLANKS).to_numpy()
    return numbers, blank


def _refuse(column: pd.Series, bad: np.ndarray, source: str, other_remedy: str = "") -> None:
    if not bad.any():
        return
    row = int(np.argmax(bad))
    cell = column.iloc[row]
    others = f" ({int(bad.sum())} such cells)" if bad.sum() > 1 else ""
    remedy = f"correct the cell or remove the row{other_remedy}"
    if _is_date(cell):
        remedy = "for dates, give the coordinate a unit and an origin in the problem file"
    raise InputError(
        f"{source}, row {row_number(row)}, column '{column.name}': expected a finite number, found "
        f"{_shown(cell)}{others}; {remedy}."
    )


def _is_date(cell: object) -> bool:
    return not pd.isna(pd.to_datetime(str(cell), format="ISO8601", errors="coerce", utc=True))


def _shown(cell: object) -> str:
    return "nothing" if str(cell).strip().lower() in BLANKS else f"'{str(cell)[:40]}'"
