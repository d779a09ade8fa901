"""What every reader asks of a file before it opens it, and of its header before it takes memory."""

from pathlib import Path

from napinn.errors import InputError

LARGEST_TABLE = 100_000_000
"""Numbers in one table: 800 MB, and several times that while it is read."""
LARGEST_TEXT = 4_000_000_000


def check_file(path: Path, what: str) -> None:
    try:
        there, folder = path.exists(), path.is_dir()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if not there:
        raise InputError(f"{path} does not exist; check the path.")
    if folder:
        raise InputError(f"{path} is a folder; give the {what} file itself.")


def check_count(path: Path, count: int) -> None:
    if count > LARGEST_TABLE:
        raise InputError(
            f"{path} says that it holds {count:.3g} numbers, and napinn reads at most {LARGEST_TABLE:.3g}; "
            "thin the data or cut a part out of it."
        )
