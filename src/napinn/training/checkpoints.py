"""Moments on disk, so that a fit that was killed goes on bit for bit as if it had not been.

A checkpoint is a line (`napinn checkpoint 1`, the SHA-256 of all that follows, the length of the header), a header in
JSON, and the arrays one after another. The header names each array by the path of its leaf, with shape and type; the
tree itself is rebuilt from the method, so a file can only fill in numbers, and nothing is unpickled."""

import hashlib
import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from napinn.checkpoints import Checkpoints, found
from napinn.errors import InputError
from napinn.leaves import fill, leaves
from napinn.objective import blank_law
from napinn.settings import decode, encode
from napinn.training.course import Course, Level, Pace, Watch
from napinn.training.data import Data
from napinn.training.moments import Moment
from napinn.training.phases import Method
from napinn.training.steps import State, first_moments

MAGIC = "napinn checkpoint 1"
LONGEST_LINE = 200
LARGEST_HEADER = 256 * 2**20
# NumPy would parse any text as a type; only these are ever written.
DTYPES = {dtype.str: dtype for dtype in map(np.dtype, ("float32", "float64", "int32", "int64", "uint32", "bool"))}
COURSES: Mapping[str, type] = {cls.__name__: cls for cls in (Course, Level, Pace, Watch)}
log = logging.getLogger(__name__)


def skeleton(method: Method, first: State, data: Data, phase: int, begun: bool, screened: bool) -> State:
    """The shapes of a state in which this phase is next to take a step, from those of the first state."""
    met = method.phases[: phase + begun]
    averaged = begun and method.phases[phase].averaging > 0.0
    optimiser = next((each.optimiser for each in reversed(met) if each.optimiser is not None), method.optimiser)
    gating = method.gating if any(each.wants_law(there=False) for each in met) else None

    def blank(state: State) -> State:
        dtype = data.values.dtype
        return State(
            state.learned,
            first_moments(optimiser, state.learned),
            None if gating is None else blank_law(gating, data.fields, dtype, state.key),
            jnp.zeros(data.values.shape, dtype) if screened else None,
            state.learned if averaged else None,
            state.key,
        )

    return eqx.filter_eval_shape(blank, first)


def pack(moment: Moment, run: str) -> bytes:
    """A moment of the run with this digest as the content of a file."""
    arrays = leaves(moment.state)
    header = {
        "run": run,
        "phase": moment.phase,
        "course": encode(moment.course),
        "slowed": moment.slowed,
        "seconds": moment.seconds,
        "notes": list(moment.notes),
        "rows": list(moment.rows),
        "arrays": {name: {"shape": list(array.shape), "dtype": array.dtype.str} for name, array in arrays.items()},
    }
    text = json.dumps(header).encode()
    body = text + b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    return f"{MAGIC} {hashlib.sha256(body).hexdigest()} {len(text)}\n".encode() + body


def read(path: Path, run: str, method: Method, first: State, data: Data) -> Moment:
    """The moment in a file, or an `InputError` if the file is torn, of another kind or of another run."""
    try:
        with path.open("rb") as stream:
            header, offset, digest = _header(stream, path)
            if header["run"] != run:
                raise InputError(f"{path} is a checkpoint of another run: problem, readings, method or seed differ.")
            _check_size(path, header, offset)
            body = stream.read()
        digest.update(body)
        if digest.hexdigest() != header["digest"]:
            raise InputError(f"{path} is damaged: its content does not match its checksum.")
        return _moment(path, header, body, method, first, data)
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


def _moment(path: Path, header: Mapping[str, Any], body: bytes, method: Method, first: State, data: Data) -> Moment:
    course: Course | None = decode(header["course"], COURSES)
    if not 0 <= header["phase"] <= len(method.phases):
        raise ValueError("no such phase")
    places, start = {}, 0
    for name, each in header["arrays"].items():
        dtype, shape = DTYPES[each["dtype"]], tuple(each["shape"])
        places[name] = (start, dtype, shape)
        start += math.prod(shape) * dtype.itemsize

    def array(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray | None:
        if name not in places or places[name][1:] != (dtype, shape):
            return None
        return np.frombuffer(body, dtype, math.prod(shape), places[name][0]).reshape(shape)

    # Whether readings were screened out depends on them as well as on the settings.
    shapes = skeleton(method, first, data, header["phase"], course is not None, ".kept" in places)
    return Moment(
        state=fill(shapes, array, path),
        phase=header["phase"],
        course=course,
        slowed=header["slowed"],
        seconds=header["seconds"],
        rows=tuple(header["rows"]),
        notes=tuple(header["notes"]),
    )


def latest(folder: Path, run: str, method: Method, first: State, data: Data) -> Moment | None:
    """The newest moment that can be read; None where there is no checkpoint at all."""
    refused: InputError | None = None
    for path in found(folder):
        try:
            return read(path, run, method, first, data)
        except InputError as error:
            log.warning("%s The one before it is tried.", error)
            refused = refused or error
    if refused is not None:
        raise InputError(f"{str(refused).removesuffix('.')}; no other is left, so start again with --overwrite.")
    return None


def offer_checkpoint(kept: Checkpoints, moment: Moment, run: str) -> None:
    """Keep a moment if it is time to, or a phase has ended, and if it is one to come back to."""
    if (moment.course is None or kept.due) and moment.sound:
        keep_checkpoint(kept, moment, run)


def keep_checkpoint(kept: Checkpoints, moment: Moment, run: str) -> None:
    kept.keep(lambda: pack(moment, run))
