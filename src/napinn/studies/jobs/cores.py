"""Dividing the machine among workers.

XLA starts a thread for every core it sees, so several workers side by side would fight over all of them. Each worker
is therefore confined to equally many cores of its own: by default one. How many decides the order of sums in XLA, and
with it the last bits of a fit; it depends on `workers` alone, so a resumed study computes like an undisturbed one."""

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

# XLA's own thread count is NPROC; the others are those of BLAS libraries under NumPy and SciPy.
_THREADS = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Place:
    """Where a worker runs: its cores, all if empty, and what its environment says about them."""

    cores: tuple[int, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def own_cores() -> tuple[int, ...]:
    """Those this process may use, which on a shared machine can be fewer than there are."""
    if sys.platform == "linux":
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def places(workers: int) -> list[Place]:
    """One place a worker; a lone worker has the machine as it is."""
    if workers == 1:
        return [Place()]
    cores = own_cores()
    each = max(1, len(cores) // workers)
    limits = {name: str(each) for name in _THREADS}
    # By default JAX takes three quarters of a GPU's memory for the first process that asks.
    limits["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    return [
        Place(tuple(cores[(index * each + i) % len(cores)] for i in range(each)), limits) for index in range(workers)
    ]


def confine(cores: Sequence[int]) -> None:
    """Pin this process where the platform can; elsewhere the thread counts must do."""
    if sys.platform == "linux" and cores:
        # A container may lose cores while a study runs.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cores)
