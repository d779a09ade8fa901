"""Fits as processes of their own: started, followed, stopped and continued by what is on disk.

A fit belongs to its run folder and not to the server: if one is killed, the other is not affected. The lock of the run
folder says whether a fit is running there, whichever server has started it."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from napinn.app.workspace import PROBLEM, Analysis
from napinn.errors import InputError, printable
from napinn.report.watching import colour_of, status
from napinn.results.intervals import formatted_ends
from napinn.results.result import FitStatus
from napinn.runs.folder import RESULT, VERIFICATION
from napinn.runs.request import REQUEST
from napinn.storage.atomic import write_atomic
from napinn.storage.checkpoints import FOLDER as CHECKPOINTS
from napinn.storage.lock import holder, is_running

STARTED, OUTPUT = "fit.json", "fit.log"
START_UP = 60.0
"""Seconds in which a fit that was started takes the lock of its folder; loading takes one or two."""
LOG_SHOWN = 4000
"""Characters from the end of what a fit has printed."""
PATIENCE = 15.0
"""Seconds after which a fit that was asked to stop may be ended at once."""
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from napinn.cli.main import run; run()"
)
"""A server in the background ignores interrupts, and its children would do so too."""


class Fits:
    """The fits of one server, and those that an earlier one has left running."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def start(self, analysis: Analysis) -> None:
        """Fit the problem file of an analysis in a new run folder.

        :param analysis: One whose draft is ready."""
        with self._lock:
            self._check_idle(analysis)
            run = f"run-{_number(analysis) + 1}"
            self._spawn(analysis, run, arguments(analysis, run), _problem_digest(analysis))

    def resume(self, analysis: Analysis) -> None:
        """Continue the newest fit from its last checkpoint.

        :param analysis: One whose newest fit was stopped."""
        with self._lock:
            self._check_idle(analysis)
            run = _newest(analysis)
            if run is None or not (run / REQUEST).is_file():
                raise InputError("there is no fit to continue; start a new one.")
            self._spawn(analysis, run.name, ["resume", run.name], _launch(analysis).get("of"))

    def stop(self, analysis: Analysis) -> None:
        """Ask the running fit to stop with what it has; if that was long ago, end it.

        :param analysis: One with a running fit."""
        pid, launch = self._process(analysis), _launch(analysis)
        if pid is None:
            return
        stop_time = launch.get("asked")
        late = stop_time is not None and time.time() - stop_time > PATIENCE
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM if late else signal.SIGINT)
        if stop_time is None:
            write_atomic(analysis.folder / STARTED, json.dumps({**launch, "asked": time.time()}), durable=False)

    def running(self, analysis: Analysis) -> bool:
        """Whether a fit of this analysis is running.

        :param analysis: Any."""
        return self._process(analysis) is not None

    def state(self, analysis: Analysis) -> dict[str, Any]:
        """Where the newest fit stands, as values of JSON.

        :param analysis: Any."""
        run, launch = _newest(analysis), _launch(analysis)
        if self._process(analysis) is not None:
            return _running(analysis, run, launch)
        if run is None or launch.get("run") not in (None, run.name):
            return {"state": "failed", "log": _log(analysis), "why": _why(analysis)} if launch else {"state": "none"}
        return {**_ended(analysis, run), "stale": launch.get("of") not in (None, _problem_digest(analysis))}

    def _check_idle(self, analysis: Analysis) -> None:
        if self._process(analysis) is not None:
            raise InputError("a fit of this analysis is running already; stop it first.")

    def _spawn(self, analysis: Analysis, run: str, arguments: list[str], of: str | None) -> None:
        with (analysis.folder / OUTPUT).open("wb") as output:
            child = subprocess.Popen(
                command(arguments),
                cwd=analysis.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        self._children[analysis.identifier] = child
        launch = {"run": run, "pid": child.pid, "started": time.time(), "of": of}
        write_atomic(analysis.folder / STARTED, json.dumps(launch), durable=False)

    def _process(self, analysis: Analysis) -> int | None:
        """The process of the running fit, if there is one."""
        child = self._children.get(analysis.identifier)
        if child is not None:
            return child.pid if child.poll() is None else None
        launch, run = _launch(analysis), _newest(analysis)
        held = None if run is None else holder(run)
        if held is not None:
            return held
        young = time.time() - float(launch.get("started", 0.0)) < START_UP
        started_it = launch.get("run") is not None and not (analysis.folder / str(launch["run"])).exists()
        return int(launch["pid"]) if young and started_it and is_running(int(launch["pid"])) else None


def command(arguments: Sequence[str]) -> list[str]:
    """A process that is called as `napinn` is.

    :param arguments: What follows `napinn` on a command line."""
    return [sys.executable, "-P", "-c", PROGRAM, *arguments]


def arguments(analysis: Analysis, run: str) -> list[str]:
    """What `napinn` is called with in the folder of the analysis.

    :param analysis: One whose draft is ready.
    :param run: Name of the run folder."""
    return ["fit", analysis.readings.name, "--problem", PROBLEM, "--out", run]


def _problem_digest(analysis: Analysis) -> str:
    """The problem file as a digest, by which a fit of an earlier draft is known."""
    try:
        return hashlib.sha256(analysis.problem.read_bytes()).hexdigest()
    except OSError:
        return ""


def _number(analysis: Analysis) -> int:
    run = _newest(analysis)
    return 0 if run is None else int(run.name.removeprefix("run-"))


def _newest(analysis: Analysis) -> Path | None:
    runs = analysis.runs()
    return runs[-1] if runs else None


def _launch(analysis: Analysis) -> dict[str, Any]:
    """How the newest fit was started; empty where none was."""
    return _read(analysis.folder / STARTED) or {}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _running(analysis: Analysis, run: Path | None, launch: dict[str, Any]) -> dict[str, Any]:
    state = {} if run is None else status(run)
    history, stop_time = state.get("history") or {}, launch.get("asked")
    return {
        "state": "running" if stop_time is None else "stopping",
        "patient": stop_time is None or time.time() - stop_time < PATIENCE,
        "run": launch.get("run"),
        "progress": state.get("progress"),
        "seconds": time.time() - float(launch.get("started", time.time())),
        "unknowns": {name: history[name][-1] for name in state.get("unknowns", ()) if history.get(name)},
        "log": _log(analysis),
    }


def _ended(analysis: Analysis, run: Path) -> dict[str, Any]:
    """What a fit that is no longer running has left."""
    state = {"run": run.name, "log": _log(analysis), "can_resume": False, "report": (run / "report.html").is_file()}
    result = _read(run / RESULT)
    if result is None:
        resumable = (run / REQUEST).is_file()
        return {**state, "state": "stopped" if resumable else "failed", "can_resume": resumable, "why": _why(analysis)}
    interrupted = result.get("status") == FitStatus.INTERRUPTED.name
    return {
        **state,
        "state": "interrupted" if interrupted else "finished",
        "can_resume": interrupted and (run / CHECKPOINTS).is_dir(),
        "colour": colour_of(result.get("status")),
        "message": result.get("message", ""),
        "notes": result.get("notes", []),
        "unknowns": result.get("unknowns", {}),
        "units": result.get("units", {}),
        "intervals": _intervals(result.get("intervals") or {}),
        "seconds": result.get("seconds"),
        "flagged": result.get("readings", {}).get("flagged"),
        "count": result.get("readings", {}).get("count"),
        "trust": _read(run / VERIFICATION),
        "faulty": result.get("readings", {}).get("faulty_sensors", {}),
    }


def _intervals(ends: dict[str, Any]) -> dict[str, str]:
    """As the page shows them; those with an open end are left out."""
    closed = {name: (each.get("low"), each.get("high")) for name, each in ends.items()}
    return {name: " to ".join(formatted_ends(*each)) for name, each in closed.items() if None not in each}


def _log(analysis: Analysis) -> str:
    try:
        return printable((analysis.folder / OUTPUT).read_text(encoding="utf-8", errors="replace")[-LOG_SHOWN:])
    except OSError:
        return ""


def _why(analysis: Analysis) -> str:
    """The sentence with which a fit has refused or ended."""
    lines = [line for line in _log(analysis).splitlines() if line.startswith("napinn:")]
    return lines[-1].removeprefix("napinn:").strip() if lines else ""
