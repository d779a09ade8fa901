"""Tables from text files, read as text first so that a bad cell is reported by row and column, not swallowed.

The layout of the file is guessed from its lines. Where the comma does not separate cells, numbers such as `1,5` may be
written with it."""

import mmap
import re
from pathlib import Path

import numpy as np
import pandas as pd

from napinn.data.formats.dates import with_joined_dates
from napinn.data.formats.header import joined_names
from napinn.data.formats.layout import SEPARATORS, Layout, cells, layout_of
from napinn.data.formats.sizes import LARGEST_TEXT, check_columns, check_file
from napinn.errors import InputError

LONGEST_HEADER = 10_000_000
"""Characters: as many columns as a table may have, each with a long name."""
_FORMULA = re.compile(r"'*[=+\-@]")
_ESCAPED = r"^'('*[=+\-@])"
"""A cell that would be run has an apostrophe put before it, and one that looks so escaped already one more."""
_SEVERAL_CELLS = re.compile(r".*\S[\s;,|]+[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")
"""Text that ends in a number behind what may separate cells; a date with a time of day does not."""
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


def read_csv(path: Path) -> pd.DataFrame:
    """The table in a text file with a header row; numbers stay text until a column is asked for as numbers."""
    return read_text(path)[0]


def read_text(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table, and what was guessed about its writing."""
    check_file(path, "CSV")
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise InputError(f"{path} is larger than {LARGEST_TEXT // 10**9} GB; thin it or save it as Parquet.")
        layout = layout_of(path)
        check_columns(path, _header_cells(path, layout))
        # The header is read as a row, because pandas would quietly rename a repeated column; blank lines are kept,
        # so that rows are counted as the user counts them.
        rows = pd.read_csv(
            path, header=None, dtype=str, keep_default_na=False, skipinitialspace=True, skip_blank_lines=False,
            encoding=layout.encoding, sep=layout.separator, skiprows=layout.above,
        )  # fmt: skip
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty; it needs a header and at least one reading.") from None
    except pd.errors.ParserError as error:
        raise InputError(f"{path} is not a regular table: {_irregular(error)}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if _may_hold_escapes(path):
        rows = rows.apply(lambda column: column.str.replace(_ESCAPED, r"\1", regex=True))
    table = _with_header(path, rows, layout.below)
    decimal = "point"
    if layout.separator != "," and _has_decimal_commas(table):
        table, decimal = _with_points(table), "comma"
    table, joined = with_joined_dates(table)
    return table, (_note(layout.separator, decimal) + layout.notes() + joined,)


def csv_text(table: pd.DataFrame, index: bool = False, separator: str = ",") -> str:
    """The table as text, with an apostrophe before every cell that a spreadsheet would run as a formula.

    `index` is whether the index is written as the first column. `read_text` takes the apostrophe away again."""
    written = table.reset_index() if index else table.copy(deep=False)
    for place in range(written.shape[1]):
        if written.dtypes.iloc[place].kind == "O":
            written.isetitem(place, _escaped(written.iloc[:, place].to_numpy(dtype=object)))
    names = np.array([str(name) for name in written.columns], dtype=object)
    written.columns = [str(name) for name in _escaped(names)]
    return written.to_csv(index=False, sep=separator)


def _escaped(cells: np.ndarray) -> np.ndarray:
    begun = [place for place, cell in enumerate(cells) if isinstance(cell, str) and _FORMULA.match(cell)]
    # A negative number begins as a formula does and is none.
    numbers = pd.to_numeric(pd.Series(cells[begun], dtype=object), errors="coerce").to_numpy(dtype=float)
    running = np.array(begun, dtype=int)[np.isnan(numbers)]
    if not running.size:
        return cells
    found = cells.copy()
    found[running] = [f"'{cell}" for cell in cells[running]]
    return found


def _may_hold_escapes(path: Path) -> bool:
    """Whether any cell needs a closer look; a search in the bytes costs next to nothing, millions of cells seconds."""
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(b"'" + mark) >= 0 for mark in (b"=", b"+", b"-", b"@"))


def _note(separator: str, decimal: str) -> str:
    return f"separator: {SEPARATORS[separator]}; decimal mark: {decimal}"


def _with_header(path: Path, rows: pd.DataFrame, below: int) -> pd.DataFrame:
    filled = rows.fillna("") != ""
    if not filled.any(axis=None):
        raise InputError(f"{path} is empty; it needs a header and at least one reading.")
    # A spreadsheet may end every row in separators of columns that hold nothing.
    rows, filled = rows.loc[:, filled.any()], filled.any(axis=1)
    table = rows.iloc[1 + below : filled[filled].index[-1] + 1].reset_index(drop=True)
    names, units = ([str(cell).strip() for cell in rows.iloc[row].fillna("")] for row in (0, 1 if below else 0))
    table.columns = joined_names(names, units) if below else names
    if len(table) and not pd.to_numeric(pd.Series(table.columns), errors="coerce").isna().any():
        raise InputError(
            f"{path} has no header: its first row holds numbers only; write the names of the columns above it, as t,u."
        )
    _check_separated(path, table)
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        twice = (
            f"two columns named '{repeated[0]}'; rename one" if repeated[0] else "two columns without a name; name them"
        )
        raise InputError(f"{path} has {twice}.")
    return table


def _check_separated(path: Path, table: pd.DataFrame) -> None:
    """Refuse rows that are separated otherwise than the header, so that each is one cell."""
    first, others = table.iloc[:, 0].fillna("").str.strip(), table.iloc[:, 1:].fillna("")
    whole = first[first.str.fullmatch(_SEVERAL_CELLS)]
    if others.shape[1] and not whole.empty and (others == "").all(axis=None):
        raise InputError(
            f"{path}, row {whole.index[0] + 2}: '{whole.iloc[0][:40]}' is one cell, and the header has "
            f"{table.shape[1]}; separate the rows as the header is separated."
        )


def _irregular(error: pd.errors.ParserError) -> str:
    """What pandas complains of, in words that name the row."""
    message = str(error).strip().splitlines()[-1]
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if found is None:
        return f"{message}."
    return (
        f"row {found[2]} has {found[3]} cells and the rows before it have {found[1]}; correct the row, or remove lines "
        "that are not part of the table."
    )


def _header_cells(path: Path, layout: Layout) -> int:
    """How many columns the header has, which stands below the lines that are no part of the table."""
    with path.open(encoding=layout.encoding, newline="") as stream:
        for _ in range(layout.above):
            stream.readline(LONGEST_HEADER)
        line = stream.readline(LONGEST_HEADER)
    if len(line) == LONGEST_HEADER and not line.endswith("\n"):
        raise InputError(f"{path} has a first line of more than {LONGEST_HEADER} characters, which cannot be a header.")
    plain = '"' not in line and layout.separator in line
    return line.count(layout.separator) + 1 if plain else cells(line, layout.separator)


def _has_decimal_commas(table: pd.DataFrame) -> bool:
    shown = [str(cell).strip() for column in table.columns for cell in table[column].head(200)]
    return any(map(_WITH_COMMA.fullmatch, shown)) and not any(map(_WITH_POINT.fullmatch, shown))


def _with_points(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers written with a comma, rewritten with a point; every other cell as it is."""
    return table.apply(
        lambda column: column.where(
            ~column.str.strip().str.fullmatch(_WITH_COMMA).fillna(False).astype(bool), column.str.replace(",", ".")
        )
    )


PLAIN = _note(",", "point")
"""The note on a file in the usual format."""
