"""Where napinn keeps what costs time to make again: reference solutions and compiled programs.

Folder: NAPINN_CACHE, or napinn under XDG_CACHE_HOME or ~/.cache. It may be deleted at any time."""

import os
from pathlib import Path

MOST_BYTES = 500_000_000
"""Of compiled programs; the longest unused go first."""
WORTH_KEEPING = 0.3
"""Seconds of compilation below which a program is not kept."""


def folder() -> Path:
    chosen = os.environ.get("NAPINN_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "napinn"


def keep_compiled() -> None:
    """Let this process and its children find programs that an earlier one compiled; call it before JAX is imported.

    JAX reads these settings from the environment, and what the user has set there stays."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder() / "compiled"))
    os.environ.setdefault("JAX_COMPILATION_CACHE_MAX_SIZE", str(MOST_BYTES))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", str(WORTH_KEEPING))
