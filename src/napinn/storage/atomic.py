"""Files that are whole or not there: written beside their place, flushed to the disk, and renamed."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

UNFINISHED = ".part-"
"""What the name of a file begins with until all of it is written."""


def write_atomic(path: Path, content: bytes | str, durable: bool = True, shared: bool = False) -> None:
    """Text is written in UTF-8. The bytes of a file name that is not UTF-8 are escaped, which JSON reads back."""
    with atomic_path(path, durable, shared) as beside:
        beside.write_bytes(content.encode(errors="backslashreplace") if isinstance(content, str) else content)


@contextlib.contextmanager
def atomic_path(path: Path, durable: bool = True, shared: bool = False) -> Iterator[Path]:
    """Where to write what will be at `path` once all of it is there.

    A reader never meets half a file, not even after a power cut (`durable`).

    :param path: Where the file is to be.
    :param durable: Whether it has to survive a power cut.
    :param shared: Whether several processes may write this file at once; the last of them wins."""
    # Not from tempfile, whose files only their owner may read.
    own = f"{uuid.uuid4().hex}." if shared else ""
    # The ending stays: some writers choose the format by it.
    beside = path.with_name(f"{UNFINISHED}{own}{path.name}")
    try:
        yield beside
        if durable:
            _sync(beside)
        os.replace(beside, path)
    except BaseException:
        _forget(beside)
        raise
    if durable:
        _sync_folder(path.parent)


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        # Where the disk has failed once, clearing up may fail too; the first failure is the one to report.
        return


def _sync_folder(folder: Path) -> None:
    """The new name, too, has to reach the disk; systems that cannot open a folder do so by themselves."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
