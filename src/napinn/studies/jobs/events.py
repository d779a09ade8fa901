"""What a machine tells the study while jobs run."""

from dataclasses import dataclass

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
