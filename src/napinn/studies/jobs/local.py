"""Jobs on this machine: a few slots, each with a worker process that it feeds and replaces.

A slot is a thread that waits on its worker's pipe; it posts events to the one queue that the caller reads. A worker
serves several jobs, since starting Python and JAX can take longer than a small fit. It is replaced when it has died,
when a job failed in it, since what an exception leaves behind is unknown, and when it has lived long enough for its
start not to matter, since JAX keeps whatever it has compiled.
"""

import queue
import threading
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from napinn.studies.jobs.cores import Place, own_cores, places
from napinn.studies.jobs.events import Ended, Event, Moved, Started, wait_for_next
from napinn.studies.jobs.interpreter import Death, Interpreter
from napinn.studies.jobs.job import Job
from napinn.studies.jobs.work import Report, request_for

LONG_ENOUGH = 60.0


@dataclass
class SharedState:
    """What the slots share."""

    pending: deque[Job]
    allowed: Sequence[str]
    retries: int
    posted: "queue.SimpleQueue[Event | BaseException]" = field(default_factory=queue.SimpleQueue)
    stopping: threading.Event = field(default_factory=threading.Event)
    started: list[Interpreter] = field(default_factory=list)


def events(
    jobs: Sequence[Job], allowed: Sequence[str], workers: int | None, retries: int
) -> Generator[Event, None, None]:
    """Run the jobs; closing the iterator early stops the workers."""
    shared = SharedState(deque(jobs), allowed, retries)
    # The machine is divided by `workers`, not by the jobs left: see cores.py.
    slots = places(len(own_cores()) if workers is None else workers)[: len(jobs)]
    threads = [threading.Thread(target=_serve, args=(shared, place), daemon=True) for place in slots]
    try:
        for thread in threads:
            thread.start()
        left = len(jobs)
        while left:
            event = _next(shared)
            left -= isinstance(event, Ended)
            yield event
    finally:
        shared.stopping.set()
        for interpreter in tuple(shared.started):
            interpreter.kill()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def _next(shared: SharedState) -> Event:
    event = wait_for_next(shared.posted)
    if isinstance(event, BaseException):
        raise event
    return event


def _serve(shared: SharedState, place: Place) -> None:
    try:
        interpreter = None
        while shared.pending and not shared.stopping.is_set():
            interpreter = _run_next_job(shared, place, interpreter)
        if interpreter is not None:
            _end(shared, interpreter)
    except BaseException as error:
        shared.posted.put(error)


def _run_next_job(shared: SharedState, place: Place, interpreter: Interpreter | None) -> Interpreter | None:
    """Take a job and attempt it until it ends; gives the worker if it may take the next."""
    try:
        job = shared.pending.popleft()
    except IndexError:
        # Another slot was quicker.
        return interpreter
    request = request_for(job, shared.allowed)
    death = Death("", "")
    for attempt in range(1, shared.retries + 2):
        interpreter = interpreter or _start(shared, place)
        shared.posted.put(Started(job.name))
        report = interpreter.perform(request, lambda share: shared.posted.put(Moved(job.name, share)))
        if report is not None:
            shared.posted.put(Ended(job.name, report, attempt))
            if report.row is not None and interpreter.age < LONG_ENOUGH:
                return interpreter
            _end(shared, interpreter)
            return None
        death = _reap(shared, interpreter)
        interpreter = None
        if shared.stopping.is_set():
            return None
    shared.posted.put(Ended(job.name, _lost(death, shared.retries + 1), shared.retries + 1))
    return None


def _start(shared: SharedState, place: Place) -> Interpreter:
    interpreter = Interpreter(place)
    # Listed first, asked second, while the caller sets the flag first and reads the list second: so at least one of
    # the two sees the other, and no worker is left running.
    shared.started.append(interpreter)
    if shared.stopping.is_set():
        interpreter.kill()
    return interpreter


def _end(shared: SharedState, interpreter: Interpreter) -> None:
    interpreter.kill()
    _reap(shared, interpreter)


def _reap(shared: SharedState, interpreter: Interpreter) -> Death:
    shared.started.remove(interpreter)
    return interpreter.reap()


def _lost(death: Death, attempts: int) -> Report:
    times = "once" if attempts == 1 else f"{attempts} times"
    reason = f"WorkerDied: the process that ran it died {times}; the last one {death.cause}."
    return Report(None, reason, death.tail, 0.0)
