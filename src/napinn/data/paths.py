"""Whether the files that a command names are there; nothing that reads them is loaded."""

from pathlib import Path

from napinn.errors import InputError

TABLE_FILES = (".csv", ".tsv", ".txt", ".dat", ".parquet", ".pq", ".nc", ".nc4", ".cdf", "")
"""Endings of tables that napinn writes; without one it writes text."""
PROBLEM_FILES = (".yaml", ".yml")


def check_exist(*paths: Path) -> None:
    """Refuse the first path that leads nowhere.

    :param paths: As the user wrote them."""
    for path in paths:
        try:
            there = path.exists()
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
        if not there:
            raise InputError(f"{path} does not exist; check the path.")
