"""The tables of a fit: one, or several of which each is an experiment."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from napinn.data.formats import Sheet
from napinn.errors import InputError


def joined_tables(paths: Sequence[Path], read: Callable[[Path], Sheet], column: str) -> Sheet:
    """One table of all files; the name of each file says in `column` which experiment its rows belong to.

    Args:
        paths: of the files, at least one. A single one stays as it is.
        read: reads one of them.
        column: of experiments."""
    if len(paths) == 1:
        return read(paths[0])
    names = [path.stem for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two files are called '{twice}', which names their experiments; rename one of them.")
    tables, notes = [], []
    for path, name in zip(paths, names, strict=True):
        sheet = read(path)
        if column in sheet.table.columns:
            raise InputError(
                f"{path} has a column '{column}', and each of several files is an experiment; give one file, or remove "
                "the column."
            )
        tables.append(sheet.table.assign(**{column: name}))
        notes += [note for note in sheet.notes if note not in notes]
    return Sheet(pd.concat(tables, ignore_index=True), tuple(notes))


def names_of_files(paths: Sequence[Path]) -> str:
    """The files as messages name them."""
    return " + ".join(map(str, paths))


def run_name(paths: Sequence[Path]) -> str:
    """What a run of these files is called."""
    return paths[0].stem if len(paths) == 1 else f"{paths[0].stem}_and_{len(paths) - 1}_more"
