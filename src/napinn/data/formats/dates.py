"""Times as loggers write them: dates and times of day in two columns, joined in a third, and stopwatches as hours."""

import re

import pandas as pd

LOOKED_AT = 200
"""Rows by which the columns are known."""
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}", re.ASCII)
_TIME_OF_DAY = re.compile(r"\d{1,3}:\d\d(:\d\d(\.\d+)?)?(\s*[AaPp][Mm])?", re.ASCII)
_STOPWATCH = re.compile(r"(\d{1,3}):(\d\d)(?::(\d\d(?:\.\d+)?))?", re.ASCII)
"""Hours, minutes and seconds; a plate reader counts beyond 24 hours."""
_BRACKETS = re.compile(r"[\(\[].*[\)\]]")


def with_joined_dates(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The table with a first column that holds both, and a note; as it is where there is not one column of each.

    A column of dates alone stays usable, because nothing is taken away.

    :param table: Cells as text."""
    dates, times = (_columns_like(table, kind) for kind in (_DATE, _TIME_OF_DAY))
    if not dates and len(times) == 1:
        return _with_hours(table, times[0])
    if len(dates) != 1 or len(times) != 1:
        return table, ""
    (date,), (time,) = dates, times
    name = f"{date} {time}"
    if name in table.columns:
        return table, ""
    cells = [table[column].fillna("").str.strip() for column in (date, time)]
    joined = (cells[0] + " " + cells[1]).where((cells[0] != "") & (cells[1] != ""), "")
    found = pd.concat([joined.rename(name), table], axis=1)
    return found, f"; '{date}' and '{time}' joined in the column '{name}'"


def _with_hours(table: pd.DataFrame, column: str) -> tuple[pd.DataFrame, str]:
    """The table with a first column that holds hours in place of 1:30:00; as it is where these ever fall, because they
    are then times of several days or begin again with another sensor."""
    name = f"{_BRACKETS.sub('', column).strip()} (h)"
    cells = table[column].fillna("").str.strip()
    counted = cells[cells != ""].str.extract(_STOPWATCH).fillna("0").astype(float)
    # What follows the cells that were looked at may be another thing, and AM and PM need a date.
    if name in table.columns or not cells[cells != ""].str.fullmatch(_STOPWATCH).all():
        return table, ""
    hours = counted[0] + counted[1] / 60.0 + counted[2] / 3600.0
    if not hours.is_monotonic_increasing or hours.nunique() < 2:
        return table, ""
    written = hours.map(lambda value: f"{value:.8g}").reindex(table.index, fill_value="")
    found = pd.concat([written.rename(name), table], axis=1)
    return found, f"; '{column}' counted in hours in the column '{name}'"


def _columns_like(table: pd.DataFrame, kind: re.Pattern[str]) -> list[str]:
    """Columns whose filled cells are all of one kind."""
    found = []
    # As plain text: a table may have thousands of columns, and pandas takes a millisecond for each.
    for column, cells in zip(table.columns, table.head(LOOKED_AT).to_numpy(dtype=object).T, strict=True):
        filled = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
        if filled and all(map(kind.fullmatch, filled)):
            found.append(column)
    return found
