"""Limits that every reader checks: of a file before it is opened, and of its header before memory is allocated."""

from pathlib import Path

from napinn.data.paths import check_exist
from napinn.errors import InputError

LARGEST_TABLE = 100_000_000
"""Numbers in one table: 800 MB, and several times that while it is read."""
LARGEST_TEXT = 4_000_000_000
MOST_COLUMNS = 10_000
"""Of one table. A column per sensor may need thousands; pandas takes milliseconds for each column of text."""


def check_file(path: Path, what: str) -> None:
    check_exist(path)
    try:
        folder, plain = path.is_dir(), path.is_file()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if folder:
        raise InputError(f"{path} is a folder; give the {what} file itself.")
    if not plain:
        raise InputError(f"{path} is a device or a pipe, which may never end; save it as a {what} file first.")


def check_columns(path: Path, count: int) -> None:
    if count > MOST_COLUMNS:
        raise InputError(
            f"{path} has {count} columns, and napinn reads at most {MOST_COLUMNS}; give the table in long form, one "
            "row a reading."
        )


def check_count(path: Path, count: int) -> None:
    if count > LARGEST_TABLE:
        raise InputError(
            f"{path} says that it holds {count:.3g} numbers, and napinn reads at most {LARGEST_TABLE:.3g}; "
            "thin the data or cut a part out of it."
        )
