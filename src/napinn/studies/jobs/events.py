"""Events that a machine sends to the study while jobs run."""

import queue
from dataclasses import dataclass
from typing import TypeVar

from napinn.studies.jobs.work import Report


@dataclass(frozen=True)
class Started:
    """An attempt at a job has begun; a second one means that the first one's worker died."""

    name: str


@dataclass(frozen=True)
class Moved:
    name: str
    share: float


@dataclass(frozen=True)
class Ended:
    name: str
    report: Report
    attempts: int


Event = Started | Moved | Ended

SECONDS_BETWEEN_LOOKS = 0.5
"""Windows delivers Ctrl-C between waits only, so no wait is longer."""

Posted = TypeVar("Posted")


def wait_for_next(posted: "queue.SimpleQueue[Posted]") -> Posted:
    """The next entry of a queue, however long it takes; Ctrl-C ends the wait."""
    while True:
        try:
            return posted.get(timeout=SECONDS_BETWEEN_LOOKS)
        except queue.Empty:
            continue
