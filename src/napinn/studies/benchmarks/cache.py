"""Reference solutions kept on disk, so that each is solved once on a machine.

A file is named by the hash of everything its numbers depend on, and says so inside. A file that is torn, or that is not
what its name says, counts as absent.
"""

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from napinn.storage.atomic import atomic_path
from napinn.storage.cache import folder
from napinn.studies.benchmarks.solvers import VERSION, Recording, Square

Settings = Mapping[str, float]
"""Everything that a solution's numbers depend on, by name."""


def recorded(
    kind: str, settings: Settings, square: Square, instants: np.ndarray, solve: Callable[[], np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """A truth that is read or solved when it is first asked, so that the problem alone costs nothing."""

    @functools.cache
    def recording() -> Recording:
        return Recording(square, instants, remembered(kind, settings, solve))

    return lambda points: recording()(points)


def remembered(kind: str, settings: Settings, solve: Callable[[], np.ndarray]) -> np.ndarray:
    """The solution for these settings, from disk if it is there.

    Single precision rounds by 6e-8, far below the solver's own error; a fresh solution is rounded like a stored
    one, so that the first run and the second give the same numbers.
    """
    described = describe(kind, settings)
    path = location(kind, settings)
    found = _read(path, described)
    if found is not None:
        return found
    values = solve().astype(np.float32)
    # A cache that cannot be written costs time at the next run, not the result of this one.
    with contextlib.suppress(OSError):
        _write(path, described, values)
    return values


def describe(kind: str, settings: Settings) -> str:
    return json.dumps({"kind": kind, "solver": VERSION, "settings": dict(settings)}, sort_keys=True)


def location(kind: str, settings: Settings) -> Path:
    digest = hashlib.sha256(describe(kind, settings).encode()).hexdigest()
    return folder() / f"{kind}-{digest[:16]}.npz"


def _read(path: Path, described: str) -> np.ndarray | None:
    try:
        # Opened here because np.load leaves a file open that turns out to be torn.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if str(stored["described"]) != described:
                return None
            values = stored["values"]
    except Exception:
        # Absent, torn or foreign files fail in many ways (zip, header, checksum, permission), with one answer: solve.
        return None
    return values if values.dtype == np.float32 and np.isfinite(values).all() else None


def _write(path: Path, described: str, values: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path, durable=False, shared=True) as beside:
        np.savez(beside, described=np.array(described), values=values)
