"""A worker as its parent sees it: a fresh Python at the other end of two pipes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import IO

from napinn.studies.jobs.cores import Place
from napinn.studies.jobs.work import Report, Share

LONGEST_TAIL = 8000
"""Bytes of standard error that are kept of a process that died: the end of a long traceback fits in."""
SECONDS_TO_DIE = 5.0
"""For a process whose pipe has closed, which otherwise ends at once; one that takes longer hangs, and is killed."""


@dataclass(frozen=True)
class Death:
    """How a process ended, as a clause, and its last line on standard error."""

    cause: str
    tail: str


class Interpreter:
    """Does one request after another until it dies or is killed; `reap` must then be called.

    All but `kill` belong to one thread; `kill` may come from any, and `perform` then gives nothing.
    """

    def __init__(self, place: Place):
        self.born = time.monotonic()
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by reap()
        # -P: what lies in the working directory must not shadow a module.
        command = [sys.executable, "-P", "-m", "napinn.studies.jobs.worker", *map(str, place.cores)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=_environment(place)
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.replies = self.process.stdin, self.process.stdout

    @property
    def age(self) -> float:
        return time.monotonic() - self.born

    def perform(self, request: str, share: Share) -> Report | None:
        """The report, or nothing if the process died over it."""
        try:
            self.requests.write(request.encode() + b"\n")
            self.requests.flush()
        except OSError:
            return None
        for line in self.replies:
            # A line without its end was cut off by death.
            message = json.loads(line) if line.endswith(b"\n") else {}
            if "report" in message:
                return Report(**message["report"])
            if "share" in message:
                share(message["share"])
        return None

    def kill(self) -> None:
        self.process.kill()

    def reap(self) -> Death:
        try:
            # Its pipe closes a moment before it can be asked how it died.
            self.process.wait(SECONDS_TO_DIE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(OSError):
            self.requests.close()
        self.replies.close()
        with self.errors:
            length = self.errors.seek(0, os.SEEK_END)
            self.errors.seek(max(0, length - LONGEST_TAIL))
            return Death(_cause(self.process.returncode), self.errors.read().decode(errors="replace"))


def _environment(place: Place) -> dict[str, str]:
    # What the parent can import the worker can: a study's module may lie beside the script that runs it.
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    # The user's own word on threads comes before ours.
    return {**place.environment, **os.environ, "PYTHONPATH": path}


def _cause(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ", often a sign of too little memory" if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"
