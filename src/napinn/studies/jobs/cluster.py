"""Jobs on a Dask cluster: each is a task, and all that comes back goes through one queue.

Workers report starts and progress as Dask events under a topic of this study; a future's callback reports the end.
Dask itself gives the task of a dead worker to another one, as often as its scheduler's `allowed-failures` says. It
blames every task that the worker held, also those that only waited there, so a job that kills its workers would take
its neighbours along. Here a job is blamed for a death only if it had started.
"""

import dataclasses
import importlib
import queue
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from napinn.errors import InputError
from napinn.studies.jobs.events import Ended, Event, Moved, Started, wait_for_next
from napinn.studies.jobs.job import Job
from napinn.studies.jobs.work import Report, perform, request_for, sentence

if TYPE_CHECKING:
    from distributed import Client, Future
else:
    Client = Future = Any

MISSING = "running on a cluster needs Dask, which is not installed; add it with: pip install napinn[cluster]"
SECONDS_TO_CONNECT = 15
"""To a scheduler: enough for a slow network, and no long wait for a wrong address."""
SECONDS_FOR_THE_WORD = 0.05
"""That a job waits once it has reported its start, for the report to leave the process; little beside any job."""
MOST_SUBMISSIONS = 20
"""A bound on the patience with a job that is never heard to start and whose workers die all the same."""


def events(
    jobs: Sequence[Job], allowed: Sequence[str], cluster: str | Client, retries: int
) -> Generator[Event, None, None]:
    """Run the jobs; closing the iterator early cancels those that wait. A client that was given stays open."""
    with _client(cluster) as client:
        tasks = _Tasks(client, allowed)
        try:
            for job in jobs:
                tasks.submit(job)
            while tasks.futures:
                event = tasks.next()
                if not isinstance(event, _Finished):
                    yield event
                    continue
                report = _report(event.future)
                if report is None and tasks.may_retry(event.job, retries):
                    tasks.submit(event.job)
                else:
                    yield tasks.ended(event.job, report)
        finally:
            tasks.cancel()


@dataclasses.dataclass(frozen=True)
class _Finished:
    job: Job
    future: Future


class _Tasks:
    """The tasks of one study that have not ended, and what has been heard of them."""

    def __init__(self, client: Client, allowed: Sequence[str]):
        self.client, self.allowed = client, allowed
        self.topic = f"napinn-{uuid.uuid4().hex}"
        self.futures: dict[str, Future] = {}
        self.starts: Counter[str] = Counter()
        self.submissions: Counter[str] = Counter()
        self.posted: queue.SimpleQueue[Event | _Finished] = queue.SimpleQueue()
        client.subscribe_topic(self.topic, lambda event: self.posted.put(_event_of(event[1])))

    def submit(self, job: Job) -> None:
        # A key of its own, or Dask would hand out what an earlier call of the same name left behind.
        key = f"{job.name}-{uuid.uuid4().hex}"
        request = request_for(job, self.allowed)
        future = self.client.submit(_attempt, request, job.name, self.topic, key=key, pure=False)
        self.futures[job.name] = future
        self.submissions[job.name] += 1
        future.add_done_callback(lambda done: self.posted.put(_Finished(job, done)))

    def next(self) -> Event | _Finished:
        while True:
            event = wait_for_next(self.posted)
            if isinstance(event, _Finished):
                return event
            # Events and results take different ways, so word of a start may come after the end.
            if event.name in self.futures:
                self.starts[event.name] += isinstance(event, Started)
                return event

    def may_retry(self, job: Job, retries: int) -> bool:
        return self.starts[job.name] <= retries and self.submissions[job.name] < MOST_SUBMISSIONS

    def ended(self, job: Job, report: Report | None) -> Ended:
        del self.futures[job.name]
        attempts = max(1, self.starts[job.name])
        return Ended(job.name, report or _lost(attempts), attempts)

    def cancel(self) -> None:
        if self.client.status == "running":
            self.client.unsubscribe_topic(self.topic)
            self.client.cancel(list(self.futures.values()))


def _attempt(request: str, name: str, topic: str) -> dict[str, Any]:
    """Runs on a Dask worker."""
    worker = importlib.import_module("distributed").get_worker()
    worker.log_event(topic, {"name": name})
    # Report the start first: if the work ends this process, the report says which job it was.
    time.sleep(SECONDS_FOR_THE_WORD)
    report = perform(request, lambda share: worker.log_event(topic, {"name": name, "share": share}))
    return dataclasses.asdict(report)


def _event_of(message: dict[str, Any]) -> Event:
    name = message["name"]
    return Moved(name, message["share"]) if "share" in message else Started(name)


def _report(future: Future) -> Report | None:
    """What came of a task; nothing if its workers died until Dask gave up."""
    try:
        return Report(**future.result())
    except _distributed().KilledWorker:
        return None
    except Exception as error:
        # The work's own errors come as reports, so this is the cluster: no napinn on a worker, a lost scheduler.
        return Report(None, f"on the cluster, {sentence(error)}", traceback.format_exc(), 0.0)


def _lost(attempts: int) -> Report:
    times = "once" if attempts == 1 else f"{attempts} times"
    reason = f"WorkerDied: the Dask worker that ran it died {times}; the workers' logs may say why."
    return Report(None, reason, reason + "\n", 0.0)


@contextmanager
def _client(cluster: str | Client) -> Iterator[Client]:
    distributed = _distributed()
    if not isinstance(cluster, str) and isinstance(cluster, distributed.Client):
        yield cluster
        return
    try:
        client = distributed.Client(cluster, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {cluster} ({sentence(error)}).") from None
    with client:
        yield client


def _distributed() -> ModuleType:
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise InputError(MISSING) from None
