"""Where the header of a text table stands: below what an instrument writes about itself, and above a row of units.

The readings are the rows at the end of the sample whose columns of numbers and dates hold nothing else. What is above
them is text: one line is the header. Of several, the last is the header or, if it holds only units, the one above."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from napinn.data.readings.cells import BLANKS, TIME_WORDS

LOOKED_AT = 60
"""Lines; oscilloscopes write some twenty above their table."""
COMPARED = 10
"""Rows at the end of these by which columns of numbers are known; in a short file a third of the lines."""
FEWEST_READINGS = 2
"""With one row of numbers, what stands above it could be readings too."""
FEWEST_LINES_ABOVE = 2
"""One line of text above a header-like line is rather the header itself, above a damaged row."""
UNITS = frozenset({
    *TIME_WORDS,
    "ms", "µs", "μs", "us", "ns", "v", "mv", "kv", "volt", "volts", "a", "ma", "µa", "ua", "amp", "amps", "w", "kw",
    "mw", "watt", "watts", "pa", "hpa", "kpa", "mpa", "bar", "mbar", "atm", "psi", "torr", "mmhg", "k", "c", "f",
    "°c", "°f", "degc", "degf", "celsius", "fahrenheit", "kelvin", "m", "mm", "cm", "km", "µm", "μm", "um", "nm",
    "in", "ft", "m/s", "cm/s", "km/h", "g", "kg", "mg", "µg", "mg/l", "g/l", "µg/l", "ug/l", "mg/dl", "mol/l",
    "mmol/l", "mol", "mmol", "ppm", "ppb", "%", "%rh", "hz", "khz", "mhz", "n", "kn", "j", "kj", "mj", "rad", "deg",
    "°", "l", "ml", "l/s", "l/min", "ml/min", "m3/s", "m^3/s", "m³/s", "s/m", "ms/cm", "µs/cm", "us/cm", "ph",
    "ntu", "psu", "lux", "w/m2", "w/m^2", "w/m²", "kg/m3", "kg/m^3", "kg/m³", "mm/h", "cells/ml", "od", "a.u.",
    "au", "count", "counts", "1", "ohm", "ω", "kω", "db",
})  # fmt: skip
"""In small letters: what stands alone in a cell below the name of a column."""
CAMPBELL = "TOA5"
"""The first cell of a table of Campbell's loggers: below the header it has units, and then what was done to values."""
_BRACKETS = re.compile(r"[\(\[].*[\)\]]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}.*|\d{1,2}:\d\d.*")


@dataclass(frozen=True)
class Header:
    """Where a header stands."""

    above: int
    """Lines above it."""
    below: int = 0
    """Rows between it and the readings; the first of them holds units."""


def header_of(lines: Sequence[str], separator: str) -> Header | None:
    """Where the header stands; None where it is the first line, or nothing is recognised.

    :param lines: The first lines of the file, without comments.
    :param separator: What divides a line, as of `napinn.data.formats.layout`."""
    rows = _without_empty_columns(
        [(number, cells_of(line, separator)) for number, line in enumerate(lines[:LOOKED_AT]) if line.strip()]
    )
    begin = _first_reading([cells for _, cells in rows])
    if begin is None or begin < 2:
        return None
    (before, name_cells), (last, last_cells) = rows[begin - 2 : begin]
    width = len(rows[-1][1])
    if rows[0][1][0] == CAMPBELL and begin == 4 and _is_header(rows[1][1], width):
        return Header(rows[1][0], 2)
    if _are_below_a_header(last_cells) and last == before + 1 and _is_header(name_cells, width):
        return Header(before, 1)
    if begin > FEWEST_LINES_ABOVE and _is_header(last_cells, width):
        return Header(last)
    return None


def joined_names(names: Sequence[str], units: Sequence[str]) -> list[str]:
    """Names of columns with the units that stand below them, as `Temp (degC)`; a name that brings its own keeps it.

    :param names: Of the columns.
    :param units: The row below them."""
    return [
        f"{name} ({unit.strip('()[] ')})" if is_unit(unit) and not _BRACKETS.search(name) else name
        for name, unit in zip(names, units, strict=True)
    ]


def is_unit(text: str) -> bool:
    """Whether a cell holds a unit, or something in brackets."""
    return bool(_BRACKETS.fullmatch(text)) or text.replace(" ", "").lower() in UNITS


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of a line.

    :param line: One line of the file.
    :param separator: What divides it."""
    if separator == r"\s+":
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [""])]
    except csv.Error:
        return [line]


def _without_empty_columns(rows: Sequence[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """The rows without the empty cells by which a spreadsheet fills up all of them to one width."""
    filled = max((place for _, cells in rows for place, cell in enumerate(cells, 1) if cell), default=0)
    return [(number, cells[:filled]) for number, cells in rows]


def _first_reading(rows: Sequence[Sequence[str]]) -> int | None:
    """The row from which on all rows are readings; None where there are too few, or some stand above text."""
    if len(rows) <= FEWEST_READINGS:
        return None
    tail = rows[-min(COMPARED, max(FEWEST_READINGS, len(rows) // 3)) :]
    width = len(tail[-1])
    if width < 2 or any(len(cells) != width for cells in tail):
        return None
    counted = [column for column in range(width) if _holds_numbers([cells[column] for cells in tail])]
    reading = [
        len(cells) == width and bool(counted) and _mostly_numbers([cells[column] for column in counted])
        for cells in rows
    ]
    begin = len(rows) - next((number for number, is_one in enumerate(reversed(reading)) if not is_one), len(rows))
    return None if len(rows) - begin < FEWEST_READINGS or any(reading[:begin]) else begin


def _holds_numbers(cells: Sequence[str]) -> bool:
    """Whether cells are numbers, dates or blank, and not all of them blank."""
    counted = [_is_number(cell) for cell in cells]
    return any(counted) and all(
        is_number or cell.lower() in BLANKS for is_number, cell in zip(counted, cells, strict=True)
    )


def _mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether a row has more numbers than words: an instrument writes OVERFLOW for a reading that it did not get."""
    counted = [_is_number(cell) for cell in cells if cell.lower() not in BLANKS]
    return 2 * sum(counted) > len(counted)


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def _is_header(cells: Sequence[str], width: int) -> bool:
    """Whether a line names as many columns as there are, each by another text."""
    return len(cells) == width and len(set(cells)) == width and all(cells) and not any(map(_NUMBER.fullmatch, cells))


def _are_below_a_header(cells: Sequence[str]) -> bool:
    """Whether a row holds units only, or a unit beside words that repeat: columns have different names."""
    filled = [cell for cell in cells if cell.lower() not in BLANKS]
    units = [is_unit(cell) for cell in filled]
    repeats = len(set(filled)) < len(filled) and not any(map(_is_number, filled))
    return any(units) and (all(units) or repeats)
