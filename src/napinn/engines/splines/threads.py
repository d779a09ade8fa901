"""Threads of BLAS in a fit with splines."""

import contextlib
from collections.abc import Iterator

WIDE_BANDS = 3
"""Axes from which the bands of the normal matrix are wide enough for several threads. Below, products are so small that
threads wait for each other: a fit took 3 s with one thread and 60 s with two beside other work."""


@contextlib.contextmanager
def blas_threads(dimensions: int) -> Iterator[None]:
    """One thread of BLAS where the bands of a problem are narrow; elsewhere as many as it takes by itself.

    Args:
        dimensions: number of axes of the problem."""
    if dimensions >= WIDE_BANDS:
        yield
        return
    # Looks through all loaded libraries, so only where a fit begins.
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
