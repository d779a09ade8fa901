"""Outcomes on disk: one folder a job, one file that is there whole or not at all.

The file carries the job's key. A file that is torn, of another format, or of a job with other content counts as absent:
the price of a doubt is one job run again. Two studies may share a folder: each replaces whole files only."""

import json
from pathlib import Path
from typing import Any

from napinn.errors import InputError, storing
from napinn.storage.atomic import write_atomic
from napinn.studies.jobs import packed
from napinn.studies.jobs.job import FORMAT, Job, JobOutcome, Status

OUTCOME = "outcome.json"
TRACE = "traceback.txt"


def finished(job: Job, folder: Path) -> JobOutcome | None:
    """The row of a job that need not run again, from its own folder or from the packed ones."""
    match _content(folder / job.name / OUTCOME):
        case {
            "format": form, "key": job.key, "status": Status.DONE.value,
            "row": dict(row), "seconds": int() | float() as seconds, "attempts": int(attempts),
        } if form == FORMAT:  # fmt: skip
            return JobOutcome(job, Status.DONE, row, None, float(seconds), attempts)
    entry = packed.find(job.name, folder)
    if entry is None or entry["key"] != job.key:
        return None
    return JobOutcome(job, Status.DONE, packed.unpacked(entry), None, float(entry["seconds"]), int(entry["attempts"]))


def pack_finished(folder: Path) -> int:
    """Move every finished job of a folder into one file, and return how many were moved."""
    contents = {path.parent.name: _content(path) for path in sorted(folder.glob(f"*/{OUTCOME}"))}
    done = {name: each for name, each in contents.items() if each and each.get("status") == Status.DONE.value}
    with storing(f"the finished jobs of {folder} could not be packed"):
        return packed.pack(folder, done) if done else 0


def _content(path: Path) -> dict[str, Any] | None:
    """The content of an outcome file; None where it is absent or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def keep(outcome: JobOutcome, trace: str, folder: Path) -> None:
    """Write an outcome, and beside a failure the full traceback to help find the cause."""
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
            write_atomic(place / TRACE, trace, shared=True)
        write_atomic(place / OUTCOME, _text(content), shared=True)
        if outcome.status is Status.DONE:
            (place / TRACE).unlink(missing_ok=True)


def make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the study's folder {folder} cannot be made: {error.strerror}.") from None


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
