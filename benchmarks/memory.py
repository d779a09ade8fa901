"""Seconds and peak memory of one command of napinn's, in a process of its own (Linux).

The peak is the process's own high-water mark: `ru_maxrss` begins at what the process that started it had reached."""

import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

WATCHED = """
from pathlib import Path
from napinn.cli.main import run
try:
    run()
finally:
    print("@", *[line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line])
"""


def watched(*words: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    began = time.perf_counter()
    command = [sys.executable, "-c", WATCHED, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    peak = [line for line in done.stdout.splitlines() if line.startswith("@")]
    if done.returncode not in (0, 3) or not peak:
        sys.exit(done.stderr)
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "gigabytes": round(int(peak[0].split()[1]) * 1024 / 1e9, 2),
        "exit_code": done.returncode,
    }
