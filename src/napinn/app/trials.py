"""Questions that another process answers before and after a fit: how long will it take, and can it be trusted?"""

import json
import subprocess

from napinn.app.fits import command
from napinn.app.workspace import PROBLEM, Analysis
from napinn.data.durations import duration
from napinn.errors import InputError

LONGEST_TRIAL = 120.0
"""Seconds that finding out how long a fit takes may take itself; a network is compiled for it."""
LONGEST_CHECK = 900.0
"""Seconds of a trust check; splines take one or two, a network in the plane some minutes."""


def verify(analysis: Analysis, run: str) -> None:
    """Check whether a finished fit can be trusted, and write its report again with what was found.

    :param analysis: One with a finished fit.
    :param run: Name of its run folder."""
    for arguments in (["verify", run, "--json"], ["report", run]):
        try:
            done = _called(analysis, arguments, LONGEST_CHECK)
        except (OSError, subprocess.SubprocessError):
            raise InputError("the trust check did not end; try napinn verify on a command line.") from None
        if done.returncode not in (0, NOT_TRUSTED):
            message = done.stderr.decode(errors="replace").strip().removeprefix("napinn:").strip()
            raise InputError(message or "the trust check failed.")


NOT_TRUSTED = 3
"""`EXIT_NOT_TRUSTED` of the command line, which this room may not import."""


def _called(analysis: Analysis, arguments: list[str], longest: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(arguments),
        cwd=analysis.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=longest,
        check=False,
    )


def expected(analysis: Analysis) -> str:
    """What a fit will be, as one sentence; empty where that cannot be found out soon.

    :param analysis: One whose draft is ready."""
    arguments = ["check", PROBLEM, analysis.readings.name, "--json"]
    try:
        found = json.loads(_called(analysis, arguments, LONGEST_TRIAL).stdout)
        seconds, method, reason = float(found["seconds"]), str(found["method"]), str(found["reason"])
    except (OSError, ValueError, LookupError, TypeError, subprocess.SubprocessError):
        return ""
    why = f", because {reason}" if reason else ""
    return f"A fit by {method} will take roughly {duration(max(seconds, 1.0))} here{why}."
