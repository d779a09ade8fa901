"""The one guard of every file that a command writes: nothing is lost that the user did not give up.

An existing file is replaced only with `--overwrite`, or where it is what the same command wrote into the run folder
before. A file that the command or its run reads is never replaced. The ending must fit the content, because a table
under the name of another format cannot be opened. Links are followed, and what is not a plain file (a
device, a pipe) is never written to: renaming over it would remove it."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from napinn.errors import InputError
from napinn.storage.atomic import atomic_path
from napinn.storage.json_files import read_settings

Written = TypeVar("Written")
RUN_FILES = frozenset(
    {
        ".lock", "certainty.npz", "checkpoints", "csv-metadata.json", "discovery.json", "history.csv", "log.txt",
        "model.npz", "progress.json", "readings.csv", "readings.parquet", "request.json", "result.json", "seeds.csv",
        "sensors.csv", "tables.npz", "tensorboard", "verify.json",
    }
)  # fmt: skip
"""What a run is read from, or what only its fit can write; `napinn.runs.folder` writes them."""
RUN_MARKS = ("result.json", "request.json")
"""A folder that holds one of these is that of a run."""


def read_by(run: Path) -> list[Path]:
    """What no command may replace: the files of a run, whether they are there or not, and those it was fitted to."""
    try:
        named = read_settings(run / "request.json")["wishes"]["inputs"]
        inputs = [run / name for name in named if isinstance(name, str)]
    except (InputError, KeyError, TypeError):
        inputs = []
    return [*(run / name for name in sorted(RUN_FILES)), *inputs]


@dataclass(frozen=True)
class Output:
    """Where a command may write, after all checks."""

    path: Path
    """As the user named it."""
    target: Path
    """With links followed."""

    def write(self, write: Callable[[Path], Written]) -> Written:
        """Call `write` with the path of a new file, and move the file to its place once it is complete.

        What was there before stays if `write` fails. A disk that fails is one sentence."""
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(self.target) as beside:
                return write(beside)
        except OSError as error:
            raise InputError(f"{self.path} cannot be written: {error.strerror or error}.") from None


def output(
    path: Path,
    endings: Sequence[str],
    *,
    overwrite: bool = False,
    reads: Iterable[Path] = (),
    own: Path | None = None,
) -> Output:
    """Check that a file may be written, before any work is done.

    `endings` are those that fit the content. `reads` are files and folders that the command or its run reads. `own` is
    the file that the same command writes into the run folder by default, which it may write again."""
    check_ending(path, endings)
    try:
        target = path.resolve()
        there = os.path.lexists(target)
        _check_unread(path, target, reads)
        _check_no_run(path, target)
        if there and target.is_dir():
            raise InputError(f"{path} is a folder; name a file in it.")
        if there and not target.is_file():
            raise InputError(f"{path} is a device or a pipe and not a plain file; name another file.")
        mine = own is not None and target == own.resolve()
    except (OSError, RuntimeError) as error:
        # A ring of links is a RuntimeError.
        raise InputError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.") from None
    if there and not overwrite and not mine:
        raise InputError(f"{path} already exists; choose another name or add --overwrite.")
    return Output(path, target)


def check_ending(path: Path, endings: Sequence[str]) -> None:
    """Refuse a name that does not fit the content.

    :param path: As the user named it.
    :param endings: Those that fit."""
    if path.suffix.lower() not in endings:
        named = ", ".join(ending for ending in endings if ending)
        raise InputError(f"{path} does not fit what is written there; name a file that ends in {named}.")


def _check_unread(path: Path, target: Path, reads: Iterable[Path]) -> None:
    for read in reads:
        found = read.resolve()
        same = target.is_relative_to(found)
        # Two names of one file, as hard links are.
        if same or (target.exists() and found.exists() and target.samefile(found)):
            raise InputError(f"{path} is read by this command or belongs to the run; name another file.")


def _check_no_run(path: Path, target: Path) -> None:
    """Also of a run that the command does not read."""
    for place in (target, *target.parents):
        if place.name in RUN_FILES and any((place.parent / mark).is_file() for mark in RUN_MARKS):
            raise InputError(f"{path} belongs to the run in {place.parent}; name another file.")
