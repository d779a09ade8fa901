"""The verb: jobs in, one outcome a job out, in the same order."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napinn.errors import InputError
from napinn.studies.jobs import cluster as dask_cluster
from napinn.studies.jobs import local, store
from napinn.studies.jobs.events import Ended, Event, Moved, Started
from napinn.studies.jobs.job import Job, JobOutcome, Status, check
from napinn.studies.jobs.tally import StudySnapshot, Tally

if TYPE_CHECKING:
    from distributed import Client
else:
    Client = Any


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int | None = None,
    cluster: str | Client | None = None,
    retries: int = 2,
    progress: Callable[[StudySnapshot], None] | None = None,
    allowed: Sequence[str] = (),
) -> list[JobOutcome]:
    """Run the jobs that have no row in `folder` yet.

    They run in local processes, one a core or as many as `workers`, or on a Dask cluster, given by the address of its
    scheduler or as a `distributed.Client`. A job that raises is recorded as failed, the others continue, and the next
    call tries it again; a job whose worker dies is tried again at once, up to `retries` times. Work must be in
    napinn or in a module named in `allowed`. Ctrl-C stops the workers and keeps every outcome so far.
    """
    check(jobs, allowed)
    _check_numbers(workers, cluster, retries)
    store.make(folder)
    outcomes = {job.name: outcome for job in jobs if (outcome := store.finished(job, folder))}
    waiting = {job.name: job for job in jobs if job.name not in outcomes}
    tell = progress or (lambda snapshot: None)
    tally = Tally(len(jobs), len(outcomes))
    tell(tally.snapshot())
    if waiting:
        with closing(_events(tuple(waiting.values()), allowed, workers, cluster, retries)) as events:
            for event in events:
                match event:
                    case Started(name):
                        tally.started(name)
                    case Moved(name, share):
                        tally.moved(name, share)
                    case Ended(name, report, attempts):
                        status = Status.FAILED if report.row is None else Status.DONE
                        outcome = JobOutcome(waiting[name], status, report.row, report.reason, report.seconds, attempts)
                        store.keep(outcome, report.trace, folder)
                        outcomes[name] = outcome
                        tally.ended(outcome)
                tell(tally.snapshot())
    return [outcomes[job.name] for job in jobs]


def _events(
    jobs: Sequence[Job], allowed: Sequence[str], workers: int | None, cluster: str | Client | None, retries: int
) -> Generator[Event, None, None]:
    if cluster is None:
        return local.events(jobs, allowed, workers, retries)
    return dask_cluster.events(jobs, allowed, cluster, retries)


def _check_numbers(workers: int | None, cluster: str | Client | None, retries: int) -> None:
    if workers is not None and cluster is not None:
        raise InputError("give either a number of local workers or a cluster; a cluster has its own workers.")
    if workers is not None and workers < 1:
        raise InputError(f"{workers} workers cannot run a study; give at least 1.")
    if retries < 0:
        raise InputError(f"a job cannot be tried again {retries} times; give 0 or more.")
