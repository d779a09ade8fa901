"""How far a study is, and how long it will still take."""

import time
from dataclasses import dataclass

from napinn.data.durations import duration
from napinn.studies.jobs.job import JobOutcome, Status


@dataclass(frozen=True)
class StudySnapshot:
    """A study at one moment. `completed` counts jobs, those under way by their share."""

    done: int
    failed: int
    running: int
    total: int
    completed: float
    seconds: float
    seconds_left: float | None
    latest: str


@dataclass
class _Running:
    since: float
    share: float = 0.0


class Tally:
    """Counts what happens; rows of an earlier run count as done, but say nothing about the time left."""

    def __init__(self, total: int, kept: int):
        self.total, self.done, self.failed = total, kept, 0
        self.began = time.monotonic()
        self.running: dict[str, _Running] = {}
        self.lengths: list[float] = []
        self.widest = 1
        self.latest = f"{kept} of {total} jobs were done before" if kept else ""

    def started(self, name: str) -> None:
        self.running[name] = _Running(time.monotonic())
        self.widest = max(self.widest, len(self.running))

    def moved(self, name: str, share: float) -> None:
        # On a cluster word of a start or a share may arrive after its job's end.
        if name in self.running:
            self.running[name].share = share

    def ended(self, outcome: JobOutcome) -> None:
        self.running.pop(outcome.job.name, None)
        if outcome.status is Status.DONE:
            self.done += 1
            self.lengths.append(outcome.seconds)
        else:
            self.failed += 1
        self.latest = line(outcome)

    def snapshot(self) -> StudySnapshot:
        now = time.monotonic()
        finished = self.done + self.failed
        shares = sum(job.share for job in self.running.values())
        return StudySnapshot(
            self.done, self.failed, len(self.running), self.total, finished + shares, now - self.began,
            self._seconds_left(self.total - finished - shares, now), self.latest,
        )  # fmt: skip

    def _seconds_left(self, jobs_left: float, now: float) -> float | None:
        """Jobs left at the pace so far: that of rows done now, and of running jobs that say how far they are."""
        telling = [job for job in self.running.values() if job.share > 0.0]
        spent = sum(self.lengths) + sum(now - job.since for job in telling)
        got = len(self.lengths) + sum(job.share for job in telling)
        if jobs_left <= 0.0:
            return 0.0
        if got <= 0.0:
            return None
        # Not the number running now, which dips whenever one job makes room for the next.
        return spent / got * jobs_left / min(self.widest, self.total - self.done - self.failed)


def line(outcome: JobOutcome) -> str:
    if outcome.status is Status.FAILED:
        return f"{outcome.job.name} failed: {outcome.reason}"
    return f"{outcome.job.name} done in {duration(outcome.seconds, tenths=True)}"
