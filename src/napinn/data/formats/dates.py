"""Dates and times of day that a logger writes into two columns, joined in a third."""

import re

import pandas as pd

LOOKED_AT = 200
"""Rows by which the columns are known."""
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?(\s*[AaPp][Mm])?")


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
    for column in table.columns:
        cells = table[column].head(LOOKED_AT).dropna().str.strip()
        cells = cells[cells != ""]
        if len(cells) and cells.str.fullmatch(kind).all():
            found.append(column)
    return found
