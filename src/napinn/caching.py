"""Where napinn keeps what costs time to make again, such as reference solutions.

Folder: NAPINN_CACHE, or napinn under XDG_CACHE_HOME or ~/.cache. It may be deleted at any time."""

import os
from pathlib import Path


def folder() -> Path:
    chosen = os.environ.get("NAPINN_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "napinn"
