"""Threads of BLAS in a fit with splines."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread of BLAS. Products in a step are so small that several threads mostly wait for each other, and waiting
    takes processor time: beside other work, fits took up to twenty times as long with two. On an idle machine a problem
    in the plane and time takes as long with one."""
    # Looks through all loaded libraries, so only where a fit begins.
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
