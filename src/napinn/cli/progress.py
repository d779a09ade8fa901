"""Progress of a fit: a live bar on a terminal, a plain line at intervals elsewhere. Always on standard error."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.progress import BarColumn, Progress, TextColumn

from napinn.cli.console import Console
from napinn.data.durations import duration
from napinn.engines.snapshot import Snapshot

SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_PHASES = 15.0, 1.0
"""A new phase has a line of its own, unless it follows the last line at once."""


@contextlib.contextmanager
def progress_display(title: str, console: Console) -> Iterator[Callable[[Snapshot], None]]:
    if not console.is_terminal:
        yield _Lines(title, console)
        return
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[detail]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, detail="starting", left="")

        def show(snapshot: Snapshot) -> None:
            bar.update(
                task, description=f"{title} · {snapshot.phase}", total=snapshot.total, completed=snapshot.done,
                detail=detail(snapshot), left=left(snapshot),
            )  # fmt: skip

        yield show


class _Lines:
    def __init__(self, title: str, console: Console):
        self.title, self.console, self.last, self.phase = title, console, 0.0, ""

    def __call__(self, snapshot: Snapshot) -> None:
        finished = snapshot.step == snapshot.steps
        wait = SECONDS_BETWEEN_LINES if snapshot.phase == self.phase else SECONDS_BETWEEN_PHASES
        if not finished and time.monotonic() - self.last < wait:
            return
        self.last, self.phase = time.monotonic(), snapshot.phase
        text = f"{self.title} · {snapshot.phase} {snapshot.step}/{snapshot.steps}  {detail(snapshot)}  {left(snapshot)}"
        self.console.print(text.rstrip(), soft_wrap=True, highlight=False, markup=False)


def detail(snapshot: Snapshot) -> str:
    parts = [snapshot.detail or f"loss {snapshot.losses['total']:.4g}"]
    parts += [f"{name} {value:.4g}" for name, value in snapshot.unknowns.items()]
    if not snapshot.detail:
        if snapshot.gate and snapshot.losses["data"]:
            parts.append(f"flagged {100 * snapshot.losses['rejected']:.1f} %")
        rate = snapshot.steps_a_second
        parts.append(f"{rate:.{0 if rate >= 10.0 else 1}f} steps/s")
    return "  ".join(parts)


def left(snapshot: Snapshot) -> str:
    """How long the fit still takes; empty text where that is not known."""
    return "" if snapshot.seconds_left is None else f"{duration(snapshot.seconds_left)} left"
