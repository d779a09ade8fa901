"""Where napinn keeps what costs time to make again: reference solutions, compiled programs,
and which compilers were found to be right.

Folder: NAPINN_CACHE, or that of the system for caches, such as ~/.cache/napinn. It may be deleted at any time."""

import contextlib
import hashlib
import os
import platform
import warnings
from importlib import metadata
from pathlib import Path

import platformdirs

MOST_BYTES = 500_000_000
"""Of compiled programs; those that were not used for longest go first."""


def folder() -> Path:
    chosen = os.environ.get("NAPINN_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("napinn", appauthor=False)


def keep_compiled() -> None:
    """Let this process and its children find programs that an earlier one compiled; call it before JAX is imported.

    JAX reads these settings from the environment, and what the user has set there stays:
    `JAX_ENABLE_COMPILATION_CACHE=false` keeps nothing."""
    # A program that cannot be kept or found is compiled again, and that is all: nothing of it is for the user to read.
    warnings.filterwarnings("ignore", message=".*persistent compilation cache.*")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    place = folder() / "compiled" / machine()
    try:
        place.mkdir(parents=True, exist_ok=True)
        _thin_out(place)
        if not os.access(place, os.W_OK):
            return
    except OSError:
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(place))
    # The many small programs of a fit take as long together as a large one.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def machine() -> str:
    """A name for what a program was compiled for.

    JAX's own key does not hold the instructions that a processor knows, and a folder may be shared by machines that
    differ in them; a program that uses one which is not there ends the process."""
    known = [platform.machine(), platform.processor(), metadata.version("jaxlib")]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        known += [line for line in lines if line.startswith(("flags", "Features", "model name"))][:2]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def _thin_out(place: Path) -> None:
    if not place.is_dir():
        return
    files = sorted((found.stat().st_atime, found.stat().st_size, str(found)) for found in place.iterdir())
    excess = sum(size for _, size, _ in files) - MOST_BYTES
    for _, size, name in files:
        if excess <= 0:
            return
        Path(name).unlink(missing_ok=True)
        excess -= size
