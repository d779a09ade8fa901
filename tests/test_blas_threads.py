"""Fits with splines take one thread of BLAS, and give the others back."""

import numpy as np  # noqa: F401  Loads BLAS.
from threadpoolctl import threadpool_info, threadpool_limits

from napinn.engines.splines.threads import one_blas_thread


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_threads_inside_and_after():
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {2}
