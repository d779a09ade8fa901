"""What to run and what came of it, as plain data; and the checks that cost nothing before anything runs."""

import enum
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from napinn.errors import InputError

FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+,-]{0,119}")
_WORK = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)


class Status(enum.StrEnum):
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Job:
    """One piece of a study: `work` names a function(payload, progress) that gives a row of JSON values."""

    name: str
    work: str
    payload: dict[str, Any]

    @functools.cached_property
    def key(self) -> str:
        """The job's content as a hash: a result counts for this job only if it carries the same one."""
        content = {"format": FORMAT, "work": self.work, "payload": self.payload}
        return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


@dataclass(frozen=True)
class JobOutcome:
    """A row, or the reason why there is none. `seconds` are those of the last attempt."""

    job: Job
    status: Status
    row: dict[str, Any] | None
    reason: str | None
    seconds: float
    attempts: int


def check(jobs: Sequence[Job], allowed: Iterable[str]) -> None:
    """Refuse a study that could not be stored or run, before its first job."""
    seen: set[str] = set()
    for job in jobs:
        if not _NAME.fullmatch(job.name):
            raise InputError(
                f"'{job.name}' cannot name a job's folder: use up to 120 letters, digits and ._=+,- and begin with a "
                "letter or a digit."
            )
        # Some file systems take 'A' and 'a' for the same folder.
        if job.name.lower() in seen:
            raise InputError(f"two jobs are named '{job.name}'; every job of a study needs a different name.")
        seen.add(job.name.lower())
        split(job.work, allowed)
        try:
            _ = job.key
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the payload of job '{job.name}' is not plain JSON: {error}.") from None


def split(work: str, allowed: Iterable[str]) -> tuple[str, str]:
    """Module and function of a dotted name, if it may be run at all."""
    parts = _WORK.fullmatch(work)
    if parts is None:
        raise InputError(f"'{work}' does not name work to do; write it as 'package.module:function'.")
    module, function = parts.groups()
    if module == "__main__":
        raise InputError(f"'{work}' is in the script itself, which workers cannot import; move it to a module.")
    if not permitted(module, allowed):
        raise InputError(f"'{work}' is outside napinn; name its module in allowed=('{module}',) if you trust it.")
    return module, function


def permitted(module: str, allowed: Iterable[str]) -> bool:
    return module == "napinn" or module.startswith("napinn.") or module in allowed
