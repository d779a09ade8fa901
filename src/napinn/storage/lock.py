"""One fit at a time in a run folder: a lock file that names the process which holds it.

The lock itself is the system's (`flock`), which ends with its process: the file of a process that was killed holds
nobody up. Where a file system has no such locks, the process named in the file must still be running to count."""

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from napinn.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks, and two fits in one folder go unnoticed there.
    fcntl = None

LOCK = ".lock"
ATTEMPTS = 20
"""How often to try again when the holder removed the file between opening and locking it; once is rare already."""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder, or refuse in a sentence that names the process which holds it."""
    path = folder / LOCK
    try:
        handle = _taken(path)
    except OSError as error:
        raise InputError(f"{folder} cannot be written to: {error.strerror}.") from None
    try:
        yield
    finally:
        # Removed while it is still held, so that only our own lock is removed.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(handle)


def holder(folder: Path) -> int | None:
    """The process that holds the lock of a run folder, None where none does; the lock itself is not changed.

    :param folder: A run folder."""
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        owner = _holder(handle)
        here = owner.get("host") == platform.node() and is_running(owner.get("pid"))
        if not here or (fcntl is not None and _locked(handle)):
            return None
        return int(owner["pid"])
    finally:
        os.close(handle)


def _taken(path: Path) -> int:
    for _ in range(ATTEMPTS):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            if not _locked(handle):
                _refuse(path, _holder(handle))
            if _is_at(handle, path):
                os.lseek(handle, 0, os.SEEK_SET)
                os.ftruncate(handle, 0)
                os.write(handle, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    _refuse(path, {})
    raise AssertionError


def _refuse(path: Path, holder: dict[str, Any]) -> None:
    who = f"process {holder['pid']} on {holder.get('host')}" if "pid" in holder else "another process"
    raise InputError(
        f"a fit is running in {path.parent} ({who}); wait until it ends, or name another folder with --out."
    )


def _locked(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        holder = _holder(handle)
    return holder.get("host") != platform.node() or not is_running(holder.get("pid"))


def _holder(handle: int) -> dict[str, Any]:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        owner = json.loads(os.read(handle, 1000))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def is_running(pid: object) -> bool:
    """Whether a process of this machine has this number.

    :param pid: What a file says of it; anything that is not the number of a process counts as not running."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It exists and belongs to someone else.
        return True
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether the file that was opened is still the one at the path."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False
