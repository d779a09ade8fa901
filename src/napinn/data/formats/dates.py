"""Dates and times of day that a logger writes into two columns, joined in a third."""

import re

import pandas as pd

LOOKED_AT = 200
"""Rows by which the columns are known."""
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}", re.ASCII)
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?(\s*[AaPp][Mm])?", re.ASCII)


def with_joined_dates(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The table with a first column that holds both, and a note; as it is where there is not one column of each.

    A column of dates alone stays usable, because nothing is taken away.

    :param table: Cells as text."""
    dates, times = (_columns_like(table, kind) for kind in (_DATE, _TIME_OF_DAY))
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


def _columns_like(table: pd.DataFrame, kind: re.Pattern[str]) -> list[str]:
    """Columns whose filled cells are all of one kind."""
    found = []
    # As plain text: a table may have thousands of columns, and pandas takes a millisecond for each.
    for column, cells in zip(table.columns, table.head(LOOKED_AT).to_numpy(dtype=object).T, strict=True):
        filled = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
        if filled and all(map(kind.fullmatch, filled)):
            found.append(column)
    return found
