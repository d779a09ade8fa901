"""Whether the installed jaxlib computes correct sums: a check that runs once before the first fit of a network.

The CPU compiler of jaxlib 0.10.2 loses elements of a product that is squared and summed, from 128 KB of rows on, and
reports nothing (https://github.com/jax-ml/jax/issues/39103). The check is that program, at the smallest size that shows
the fault in either precision. A jaxlib that passes is remembered in the cache folder, so that later processes read one
small file (milliseconds) and compile nothing."""

import contextlib
import functools
import hashlib
import os
from importlib import metadata

import jax
import jax.numpy as jnp
import numpy as np

from napinn.errors import InputError
from napinn.storage.cache import folder, machine

ROWS = {"float64": 16_385, "float32": 32_769}
"""One row more than 128 KB of numbers hold, where the fault begins."""


def check_compiler() -> None:
    """Raise `InputError` where this jaxlib, on this processor and with these flags, computes a wrong sum.

    The outcome is kept for the process; a success also for later ones."""
    if not _passes():
        raise InputError(
            f"jaxlib {_version()} computes wrong sums on this machine, so no fit would be right; install another "
            "version, such as jax==0.10.1 with jaxlib==0.10.1."
        )


@functools.cache
def _passes() -> bool:
    known = folder() / "compiler_check" / _key()
    # The fault is one of the CPU compiler; on a GPU, products in reduced precision would not be exact either.
    if jax.default_backend() != "cpu" or known.exists():
        return True
    if not all(sums_are_right(precision) for precision in ROWS):
        return False
    # A folder that cannot be written costs a tenth of a second in every process, and nothing else.
    with contextlib.suppress(OSError):
        known.parent.mkdir(parents=True, exist_ok=True)
        known.touch()
    return True


def _version() -> str:
    return metadata.version("jaxlib")


def _key() -> str:
    """Processor and version of jaxlib, and the flags of the compiler, which may switch the faulty part on or off."""
    description = f"{machine()}\n{os.environ.get('XLA_FLAGS', '')}"
    return hashlib.sha256(description.encode()).hexdigest()[:16]


def sums_are_right(precision: str) -> bool:
    """Whether the squared norms of the rows (i, 0, 0) are i², exactly, in "float32" or "float64"."""
    count = np.arange(ROWS[precision])
    rows = np.zeros((len(count), 3), precision)
    rows[:, 0] = count
    return bool(np.array_equal(squared_norms(rows), (count**2).astype(precision)))


def squared_norms(rows: np.ndarray) -> np.ndarray:
    """The squared norm of each row by a compiled product, square and sum, the pattern of a network's loss."""
    with jax.enable_x64(rows.dtype == np.float64):
        unit = jnp.eye(rows.shape[1], dtype=rows.dtype)
        return np.asarray(jax.jit(jax.vmap(lambda row: jnp.sum((unit @ row) ** 2)))(jnp.asarray(rows)))
