"""Doing one job, wherever it runs: find the function, call it, and turn whatever happens into a report.

What may be imported is decided by the caller of `run_jobs`, whose list travels with every request. Requests live in
pipes and in Dask's memory only, so no file on disk can name code to run."""

import importlib
import inspect
import json
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from napinn.errors import InputError
from napinn.studies.jobs.job import Job, permitted, split

Work = Callable[[dict[str, Any], Callable[[float], None]], dict[str, Any]]
Share = Callable[[float], None]
"""Called by the work at intervals with the share of it that is done, 0 to 1."""

SECONDS_BETWEEN_SHARES = 1.0
"""Between two that are passed on: a display shows no more, and each takes a message through a pipe or a scheduler."""
LONGEST_REASON = 400
"""Characters of the reason why a job failed, which is one line of a display and of a table."""
HOMES: Mapping[str, str] = {"napinn.experiments.cases:run_case": "napinn.studies.paper.cases:run_case"}
"""By the id of work, where its function is today. An id is part of the key of every finished job, so a function that
moves keeps its id and gets a line here."""


@dataclass(frozen=True)
class Report:
    """What came of one attempt."""

    row: dict[str, Any] | None
    reason: str | None
    trace: str
    seconds: float


def request_for(job: Job, allowed: Sequence[str]) -> str:
    return json.dumps({"work": job.work, "payload": job.payload, "allowed": list(allowed)})


def perform(request: str, share: Share) -> Report:
    began = time.perf_counter()
    try:
        content = json.loads(request)
        work = resolve(content["work"], content["allowed"])
        row = _plain(work(content["payload"], Throttled(share)))
    # A job that calls sys.exit() has failed like any other; it must not take its worker along.
    except BaseException as error:
        return Report(None, sentence(error), traceback.format_exc(), time.perf_counter() - began)
    return Report(row, None, "", time.perf_counter() - began)


def resolve(work: str, allowed: Sequence[str]) -> Work:
    module, name = split(HOMES.get(work, work), allowed)
    found = vars(importlib.import_module(module)).get(name)
    # A module's namespace also holds what it imported, such as shutil's functions.
    if not inspect.isfunction(found) or not permitted(found.__module__, allowed):
        raise InputError(f"'{work}' is not a function of a module that may be run.")
    return found


def sentence(error: BaseException) -> str:
    """Type and message on one line."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def _plain(row: Any) -> dict[str, Any]:
    """The row as it will be read back, so that a fresh result and a stored one are the same to the last bit."""
    if not isinstance(row, dict):
        raise TypeError(f"the work gave {type(row).__name__}, not a row (a dict of JSON values)")
    return json.loads(json.dumps(row))


class Throttled:
    """Passes on at most one share a second, so that work may report as often as it likes."""

    def __init__(self, share: Share):
        self.share, self.last = share, time.monotonic()

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_SHARES:
            self.last = now
            self.share(min(max(float(share), 0.0), 1.0))
