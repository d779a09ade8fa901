"""May a command write into this folder? Asked before anything that fits is loaded, so that a refusal is quick."""

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from napinn.errors import InputError
from napinn.storage.atomic import UNFINISHED
from napinn.storage.json_files import RESULT
from napinn.storage.lock import LOCK
from napinn.storage.outputs import RUN_FILES, RUN_MARKS

STARTED = frozenset({"progress.json", "request.json"})
"""One of these stands in the folder of a fit that was killed."""
BEGUN = STARTED | {
    LOCK, "checkpoints", "history.csv", "log.txt", "readings.csv", "readings.parquet", "tables.npz", "tensorboard",
}  # fmt: skip
"""All that the folder of a fit may hold before it has a result."""
COMPARISON = "comparison.csv"
"""Stands in the folder of a comparison."""
DISCOVERY, FOUND_PROBLEM = "discovery.json", "problem.yaml"
"""The first stands in the folder of a discovery, and beside it the second where an equation is claimed. A fit of that
equation makes the folder that of a run as well."""
OWN_FILES = RUN_FILES | {
    "report.html", "field.nc", "readings.nc", "profile.png", COMPARISON, "comparison.png",
}  # fmt: skip
"""All that napinn writes into the folder of a run or a comparison by itself."""
FITS = "fits"
"""The folder of finished fits in that of a study."""


def check_folder(folder: Path, overwrite: bool, whole: str = RESULT, inputs: Sequence[Path] = ()) -> None:
    """Refuse a folder that holds something, unless it is a run that the user gives up.

    :param folder: Where a run or a comparison is to be written; it need not exist.
    :param overwrite: Whether what is there may be removed.
    :param whole: The file that marks the folder as one of napinn's.
    :param inputs: Files and folders that the command reads; none may lie in a folder that is emptied."""
    try:
        if not folder.exists():
            if folder.is_symlink():
                raise InputError(f"{folder} is a link to a folder that does not exist; name another folder.")
            return
        if not folder.is_dir():
            raise InputError(f"{folder} is a file; name a folder for the run.")
        if not any(folder.iterdir()):
            return
        for path in inputs:
            if path.resolve().is_relative_to(folder.resolve()):
                raise InputError(f"{path} would be lost if {folder} were overwritten; name another folder with --out.")
        if not overwrite:
            raise InputError(f"{folder} already exists and is not empty; choose another name or add --overwrite.")
        if not any((folder / mark).exists() for mark in (whole, DISCOVERY)) and not _only_begun(folder):
            raise InputError(f"{folder} is not a run of napinn, so it is not overwritten; choose another name.")
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from None


def remove_own_files(folder: Path) -> None:
    """Remove what napinn wrote into a folder, but for its lock; files and folders that a user put there stay.

    :param folder: Of a run, or of a comparison with the runs in it."""
    compared = (folder / COMPARISON).exists()
    own = OWN_FILES - {LOCK} | ({FOUND_PROBLEM} if (folder / DISCOVERY).exists() else set())
    try:
        for path in folder.iterdir():
            plain_folder = path.is_dir() and not path.is_symlink()
            if compared and plain_folder and any((path / mark).exists() for mark in RUN_MARKS):
                remove_own_files(path)
                with contextlib.suppress(OSError):  # Not empty: it holds files of the user.
                    path.rmdir()
            elif path.name.startswith(UNFINISHED) or path.name in own:
                shutil.rmtree(path) if plain_folder else path.unlink()
    except OSError as error:
        raise InputError(f"{folder} cannot be replaced: {error.strerror or error}.") from None


def check_study_folder(folder: Path) -> None:
    """Refuse a folder that a study would mix with something else. A study may add to its own folder.

    :param folder: Where the fits and tables of a study are to be written; it need not exist."""
    try:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise InputError(f"{folder} is a file; name a folder for the study.")
        if any((folder / mark).exists() for mark in RUN_MARKS):
            raise InputError(f"{folder} is the folder of a run; name another folder for the study.")
        if any(folder.iterdir()) and not (folder / FITS).is_dir():
            raise InputError(f"{folder} is not empty and holds no study of napinn; name another folder.")
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from None


def _only_begun(folder: Path) -> bool:
    """Whether a folder holds the sign of a running fit and nothing but what such a fit writes: one that was killed."""
    found = {path.name for path in folder.iterdir() if not path.name.startswith(UNFINISHED)}
    # The lock is the first that a fit writes, while its method is made; other files beside it need a better sign.
    return found == {LOCK} or (bool(STARTED & found) and found <= BEGUN)
