"""Outcomes on disk: one folder a job, one file that is there whole or not at all.

The file carries the job's key. A file that is torn, of another format, or of a job with other content counts as absent:
the price of a doubt is one job run again. Two studies may share a folder: each replaces whole files only."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

from napinn.engine.jobs import FORMAT, Job, Outcome, Status
from napinn.errors import InputError, storing

OUTCOME = "outcome.json"
TRACE = "traceback.txt"


def finished(job: Job, folder: Path) -> Outcome | None:
    """The row of a job that need not run again."""
    try:
        content = json.loads((folder / job.name / OUTCOME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    match content:
        case {
            "format": form, "key": job.key, "status": Status.DONE.value,
            "row": dict(row), "seconds": int() | float() as seconds, "attempts": int(attempts),
        } if form == FORMAT:  # fmt: skip
            return Outcome(job, Status.DONE, row, None, float(seconds), attempts)
    return None


def keep(outcome: Outcome, trace: str, folder: Path) -> None:
    """Write an outcome, and beside a failure the full traceback for whoever must find the cause."""
    job = outcome.job
    place = folder / job.name
    content = {
        "format": FORMAT,
        "name": job.name,
        "key": job.key,
        "status": outcome.status.value,
        "row": outcome.row,
        "reason": outcome.reason,
        "seconds": round(outcome.seconds, 3),
        "attempts": outcome.attempts,
        "work": job.work,
        "payload": job.payload,
    }
    with storing(f"the outcome of '{job.name}' could not be written to {place}"):
        place.mkdir(parents=True, exist_ok=True)
        if outcome.status is Status.FAILED:
            _replace(place / TRACE, trace)
        _replace(place / OUTCOME, _text(content))
        if outcome.status is Status.DONE:
            (place / TRACE).unlink(missing_ok=True)


def make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the study's folder {folder} cannot be made: {error.strerror}.") from None


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _replace(path: Path, text: str) -> None:
    # A name of its own for two studies at once; not from tempfile, whose files only their owner may read.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        # UTF-8 has no half of a surrogate pair; written as an escape it is JSON again, and the row is not lost.
        with temporary.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            # Without this a power cut may leave the new name on an empty file.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
