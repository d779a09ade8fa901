"""Checkpoints of a fit: where and how often they are kept, and the file that every backend puts its arrays into.

The newest two are kept: if the machine went down while one was written, the other is whole. A file is a line
(`napinn checkpoint 1`, the SHA-256 of all that follows, the length of the header), a header in JSON, and the arrays
one after another. The header names the run by its digest and each array with shape and type; nothing is unpickled."""

import contextlib
import hashlib
import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from napinn.errors import InputError
from napinn.storage.atomic import write_atomic

MAGIC = "napinn checkpoint 1"
LONGEST_LINE = 200
LARGEST_HEADER = 256 * 2**20
# NumPy would parse any text as a type; only these are ever written.
DTYPES = {dtype.str: dtype for dtype in map(np.dtype, ("float32", "float64", "int32", "int64", "uint32", "bool"))}
FOLDER = "checkpoints"
EVERY = 60.0
"""Seconds between two checkpoints, by default."""
KEPT = 2
log = logging.getLogger(__name__)
Found = TypeVar("Found")


def found(folder: Path) -> list[Path]:
    """The checkpoints of a run folder, newest first."""
    named = [path for path in (folder / FOLDER).glob("*.checkpoint") if path.stem.isdecimal()]
    return sorted(named, key=lambda path: int(path.stem), reverse=True)


@dataclass
class Checkpoints:
    """Where and how often a fit keeps its state, so that one that was killed can be continued.

    :param folder: A folder; its subfolder `checkpoints` holds the newest two.
    :param every: Seconds between two; each phase of a network ends with one too. Default 60.
    :param last: When the last one was written, by `time.monotonic`; for the fit itself.
    :param failed: Why the last one could not be written; empty when it could.

    >>> kept = napinn.Checkpoints("runs/first", every=600)
    >>> napinn.fit(problem, readings, napinn.bsplines(), checkpoints=kept).status.name
    'CONVERGED'
    """

    folder: Path | str
    every: float = EVERY
    """Seconds between two; each phase ends with one too."""
    last: float = field(default_factory=time.monotonic)
    failed: str = ""
    """Why the last one could not be written; empty when it could."""

    @property
    def due(self) -> bool:
        """Whether it is time for the next one."""
        return time.monotonic() - self.last >= self.every

    def keep(self, content: Callable[[], bytes]) -> None:
        """Write a checkpoint. A disk that fails costs the checkpoint, not the fit: the one before stays, and the next
        may succeed."""
        self.last = time.monotonic()
        try:
            self._write(content())
            self.failed = ""
        except OSError as error:
            if not self.failed:
                log.warning("no checkpoint could be written to %s: %s; the fit continues.", self.folder, error.strerror)
            self.failed = str(error.strerror)

    def _write(self, content: bytes) -> None:
        earlier = found(Path(self.folder))
        number = int(earlier[0].stem) + 1 if earlier else 1
        (Path(self.folder) / FOLDER).mkdir(parents=True, exist_ok=True)
        write_atomic(Path(self.folder) / FOLDER / f"{number:06d}.checkpoint", content)
        log.debug("checkpoint %d, %d bytes", number, len(content))
        for path in earlier[KEPT - 1 :]:
            path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove all checkpoints, because what follows cannot continue from them."""
        for path in found(Path(self.folder)):
            with contextlib.suppress(OSError):
                path.unlink()


def packed(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a checkpoint file; the header must have the entry `run`, the digest of the request."""
    shapes = {name: {"shape": list(array.shape), "dtype": array.dtype.str} for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": shapes}).encode()
    body = text + b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    return f"{MAGIC} {hashlib.sha256(body).hexdigest()} {len(text)}\n".encode() + body


Content = tuple[dict[str, Any], dict[str, np.ndarray]]
"""The header of a checkpoint and its arrays by name."""


def unpacked(path: Path, run: str) -> Content:
    """Header and arrays of a checkpoint of this run, or an `InputError` if the file is damaged, of another kind or of
    another run."""
    with reading(path), path.open("rb") as stream:
        header, offset, digest = _header(stream, path)
        if header["run"] != run:
            raise InputError(f"{path} is a checkpoint of another run: problem, readings, method or seed differ.")
        _check_size(path, header, offset)
        body = stream.read()
        digest.update(body)
        if digest.hexdigest() != header["digest"]:
            raise InputError(f"{path} is damaged: its content does not match its checksum.")
        arrays, start = {}, 0
        for name, each in header["arrays"].items():
            dtype, shape = DTYPES[each["dtype"]], tuple(each["shape"])
            arrays[name] = np.frombuffer(body, dtype, math.prod(shape), start).reshape(shape)
            start += math.prod(shape) * dtype.itemsize
        return header, arrays


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever is wrong with a checkpoint is one sentence that names its file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
        raise InputError(f"{path} is not a checkpoint that can be read.") from None


def _header(stream: BinaryIO, path: Path) -> tuple[dict[str, Any], int, Any]:
    """The header with the promised digest in it, where the arrays begin, and the digest so far."""
    line = stream.readline(LONGEST_LINE)
    magic, _, rest = line.decode("ascii", "replace").rpartition(f"{MAGIC} ")
    words = rest.split()
    if magic or not line.endswith(b"\n") or len(words) != 2 or not words[1].isdecimal():
        raise InputError(f"{path} is not a checkpoint of this version of napinn.")
    length = int(words[1])
    if length > LARGEST_HEADER:
        raise InputError(f"{path} is damaged: its header would be {length:.3g} bytes long.")
    text = stream.read(length)
    digest = hashlib.sha256(text)
    return {**json.loads(text), "digest": words[0]}, len(line) + length, digest


def _check_size(path: Path, header: Mapping[str, Any], offset: int) -> None:
    """Before any memory is taken for arrays."""
    promised = sum(math.prod(each["shape"]) * DTYPES[each["dtype"]].itemsize for each in header["arrays"].values())
    if offset + promised != path.stat().st_size:
        raise InputError(f"{path} is damaged: it was not written to its end.")


def newest(folder: Path, read: Callable[[Path], Found]) -> Found | None:
    """What `read` makes of the newest checkpoint that it does not refuse; None where there is no checkpoint at all."""
    refused: InputError | None = None
    for path in found(folder):
        try:
            return read(path)
        except InputError as error:
            log.warning("%s The one before it is tried.", error)
            refused = refused or error
    if refused is not None:
        raise InputError(f"{str(refused).removesuffix('.')}; no other is left, so start again with --overwrite.")
    return None


def newest_header(folder: Path) -> dict[str, Any]:
    """The header of the newest checkpoint whose header can be read, without its arrays; empty where there is none."""
    for path in found(folder):
        with contextlib.suppress(InputError), reading(path), path.open("rb") as stream:
            return _header(stream, path)[0]
    return {}
