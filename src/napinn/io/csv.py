"""Tables from CSV files, read as text first so that a bad cell is reported by row and column, not swallowed."""

from pathlib import Path

import pandas as pd

from napinn.errors import InputError


def read_csv(path: Path) -> pd.DataFrame:
    """The table in a CSV file with a header row; numbers stay text until a column is asked for as numbers."""
    if not path.exists():
        raise InputError(f"{path} does not exist; check the path.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the CSV file itself.")
    try:
        # The header is read as a row, because pandas would quietly rename a repeated column; blank lines are kept,
        # so that rows are counted as the user counts them.
        cells = pd.read_csv(
            path, header=None, dtype=str, keep_default_na=False, skipinitialspace=True, skip_blank_lines=False,
            encoding="utf-8-sig",
        )  # fmt: skip
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty; it needs a header and at least one reading.") from None
    except pd.errors.ParserError as error:
        raise InputError(f"{path} is not a regular table: {str(error).strip().splitlines()[-1]}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    filled = (cells.fillna("") != "").any(axis=1)
    if not filled.any():
        raise InputError(f"{path} is empty; it needs a header and at least one reading.")
    table = cells.iloc[1 : filled[filled].index[-1] + 1].reset_index(drop=True)
    table.columns = [str(column).strip() for column in cells.iloc[0].fillna("")]
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise InputError(f"{path} has two columns named '{repeated[0]}'; rename one.")
    return table
