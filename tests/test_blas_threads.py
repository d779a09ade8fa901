"""Narrow bands take one thread of BLAS, wide ones as many as before."""

import numpy as np  # noqa: F401  Loads BLAS.
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from napinn.engines.splines.threads import blas_threads


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize(("dimensions", "inside"), [(1, 1), (2, 1), (3, 2)])
def test_threads_inside_and_after(dimensions, inside):
    with threadpool_limits(limits=2, user_api="blas"):
        with blas_threads(dimensions):
            assert threads() == {inside}
        assert threads() == {2}
