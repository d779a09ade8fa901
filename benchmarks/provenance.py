"""What made a result: commit, versions and machine, to be written beside every committed number."""

import os
import platform
import subprocess
from datetime import date
from importlib import metadata
from typing import Any


def provenance() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run(["git", "status", "--porcelain", "src"], capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip() + ("+changes" if changed.stdout.strip() else ""),
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 2),
        "versions": {name: metadata.version(name) for name in ("jax", "equinox", "optax", "numpy")},
    }
