"""What made a result: commit, versions and machine, to be written beside every committed number."""

import functools
import os
import platform
import subprocess
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any


@functools.cache
def commit() -> str:
    """The commit of the checkout that this file lies in, or the version of an installed napinn."""
    here = Path(__file__).parent
    head = _git("rev-parse", "--short", "HEAD", folder=here)
    changed = "+changes" if _git("status", "--porcelain", ".", folder=here.parents[1]) else ""
    return head + changed if head else metadata.version("napinn")


def version(package: str) -> str:
    return metadata.version(package)


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores"


def _git(*arguments: str, folder: Path) -> str:
    try:
        return subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        return ""


def provenance() -> dict[str, Any]:
    return {
        "commit": commit(),
        "date": date.today().isoformat(),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 2),
        "versions": {name: version(name) for name in ("jax", "equinox", "optax", "numpy")},
    }
