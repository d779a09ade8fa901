"""A study on the screen: a live bar on a terminal, a plain line at intervals elsewhere.

with study_display("main table", Console(stderr=True)) as show:
    run_jobs(jobs, folder, progress=show)
"""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from napinn.data.durations import duration
from napinn.studies.jobs.tally import StudySnapshot

SECONDS_BETWEEN_LINES = 15.0


@contextlib.contextmanager
def study_display(title: str, console: Console) -> Iterator[Callable[[StudySnapshot], None]]:
    if not console.is_terminal:
        yield _Lines(title, console)
        return
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(title, bar)


class _Bar:
    """Failures stay on the screen above the bar."""

    def __init__(self, title: str, bar: Progress):
        self.bar, self.failed = bar, 0
        self.task = bar.add_task(title, total=None, detail="")

    def __call__(self, snapshot: StudySnapshot) -> None:
        if snapshot.failed > self.failed:
            self.bar.console.print(snapshot.latest, style="red", highlight=False, markup=False)
        self.failed = snapshot.failed
        self.bar.update(self.task, total=snapshot.total, completed=snapshot.completed, detail=detail(snapshot))


class _Lines:
    """Every failure and the end are printed; of the rest one line in a while."""

    def __init__(self, title: str, console: Console):
        self.title, self.console, self.last, self.seen = title, console, 0.0, (-1, 0)

    def __call__(self, snapshot: StudySnapshot) -> None:
        counts = (snapshot.done, snapshot.failed)
        over = sum(counts) == snapshot.total and counts != self.seen
        changed = over or snapshot.failed > self.seen[1]
        if not changed and time.monotonic() - self.last < SECONDS_BETWEEN_LINES:
            return
        latest = f" · {snapshot.latest}" if snapshot.latest and counts != self.seen else ""
        self.last, self.seen = time.monotonic(), counts
        self.console.print(
            f"{self.title}: {detail(snapshot)}{latest}", soft_wrap=True, highlight=False, markup=False
        )  # fmt: skip


def detail(snapshot: StudySnapshot) -> str:
    parts = [f"{snapshot.done} of {snapshot.total} done"]
    if snapshot.failed:
        parts.append(f"{snapshot.failed} failed")
    if snapshot.done + snapshot.failed == snapshot.total:
        return ", ".join([*parts, f"in {duration(snapshot.seconds, tenths=True)}"])
    parts.append(f"{snapshot.running} running")
    if snapshot.seconds_left is not None:
        parts.append(f"{duration(snapshot.seconds_left)} left")
    return ", ".join(parts)
