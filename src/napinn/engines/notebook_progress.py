"""The progress of a fit as a bar in a Jupyter notebook; it takes nothing but the notebook's own IPython."""

import contextlib
import html
import time
from collections.abc import Callable, Iterator

from napinn.data.durations import duration
from napinn.engines.snapshot import Snapshot
from napinn.results.notebook import in_notebook

SECONDS_BETWEEN = 0.25
"""Between two drawings of the bar: a browser shows no more, and every one is sent to it."""


@contextlib.contextmanager
def notebook_bar(title: str) -> Iterator[Callable[[Snapshot], None]]:
    """A bar below the cell that is removed at the end; outside a notebook, nothing is shown.

    :param title: What runs, in front of the bar."""
    if not in_notebook():
        yield lambda snapshot: None
        return
    from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

    handle = display(HTML(bar(title, None)), display_id=True)
    last = 0.0

    def show(snapshot: Snapshot) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN and handle is not None:
            last = time.monotonic()
            handle.update(HTML(bar(title, snapshot)))

    try:
        yield show
    finally:
        if handle is not None:
            handle.update(HTML(""))


def bar(title: str, snapshot: Snapshot | None) -> str:
    """The bar as HTML, with the phase, the unknowns and the time left; before the first snapshot it has no end."""
    if snapshot is None:
        return f"<div>{html.escape(title)} <progress></progress> starting</div>"
    parts = [snapshot.phase, *(f"{name} {value:.4g}" for name, value in snapshot.unknowns.items())]
    if snapshot.seconds_left is not None:
        parts.append(f"about {duration(snapshot.seconds_left)} left")
    size = f'max="{max(snapshot.total, 1)}" value="{snapshot.done}"'
    return f"<div>{html.escape(title)} <progress {size}></progress> {html.escape(' · '.join(parts))}</div>"
