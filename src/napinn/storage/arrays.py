"""Arrays of a run on disk: read by name from a NumPy archive, each only after its header was looked at."""

import contextlib
import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napinn.data.formats.arrays import npz_shapes
from napinn.data.formats.sizes import check_count
from napinn.errors import InputError
from napinn.storage.atomic import write_atomic


@dataclass(frozen=True, eq=False)
class SavedArrays:
    """The arrays of a model in an archive that is open; whatever is wrong with them is one sentence."""

    path: Path
    shapes: Mapping[str, tuple[int, ...]]
    """What the headers say, which may be anything."""
    archive: Any

    def of_shape(self, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
        """The array of this name, or None where there is none of this shape."""
        with _reading(self.path):
            return self.archive[name] if self.shapes.get(name) == shape else None

    def any_shape(self, name: str) -> np.ndarray:
        """The array of this name, whatever its shape, within what napinn reads at most."""
        if name not in self.shapes:
            raise InputError(f"{self.path} does not match the settings of the run (array '{name}').")
        check_count(self.path, math.prod(self.shapes[name]))
        with _reading(self.path):
            return self.archive[name]


@contextlib.contextmanager
def saved_arrays(path: Path) -> Iterator[SavedArrays]:
    """The arrays of a model, open as long as the context lasts."""
    with _reading(path):
        shapes, archive = npz_shapes(path), np.load(path, allow_pickle=False)
    with archive:
        yield SavedArrays(path, shapes, archive)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error):
        # A damaged archive may also ask for a compression or a password that there is not (RuntimeError).
        raise InputError(f"{path} cannot be read as the arrays of a model.") from None


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Arrays by name as one file, whole or not there."""
    content, named = io.BytesIO(), dict[str, Any](arrays)
    np.savez(content, **named)
    write_atomic(path, content.getvalue())
