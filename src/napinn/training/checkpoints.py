"""Moments on disk, so that a fit that was killed goes on bit for bit as if it had not been.

The tree of a moment is rebuilt from the method, so a file can only fill in numbers: `napinn.checkpoints` reads its
arrays, each named by the path of its leaf."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from napinn.checkpoints import Checkpoints, newest, packed, reading, unpacked
from napinn.leaves import fill, leaves
from napinn.objective import blank_law
from napinn.settings import decode, encode
from napinn.training.course import Course, Level, Pace, Watch
from napinn.training.data import Data
from napinn.training.moments import Moment
from napinn.training.phases import Method
from napinn.training.steps import State, first_moments

COURSES: Mapping[str, type] = {cls.__name__: cls for cls in (Course, Level, Pace, Watch)}


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
    header = {
        "run": run,
        "phase": moment.phase,
        "course": encode(moment.course),
        "slowed": moment.slowed,
        "seconds": moment.seconds,
        "notes": list(moment.notes),
        "rows": list(moment.rows),
    }
    return packed(header, leaves(moment.state))


def read(path: Path, run: str, method: Method, first: State, data: Data) -> Moment:
    """The moment in a file, or an `InputError` if the file is torn, of another kind or of another run."""
    header, arrays = unpacked(path, run)
    with reading(path):
        return _moment(path, header, arrays, method, first, data)


def _moment(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], method: Method, first: State, data: Data
) -> Moment:
    course: Course | None = decode(header["course"], COURSES)
    if not 0 <= header["phase"] <= len(method.phases):
        raise ValueError("no such phase")

    def array(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray | None:
        kept = arrays.get(name)
        return kept if kept is not None and (kept.dtype, kept.shape) == (dtype, shape) else None

    # Whether readings were screened out depends on them as well as on the settings.
    shapes = skeleton(method, first, data, header["phase"], course is not None, ".kept" in arrays)
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
    return newest(folder, lambda path: read(path, run, method, first, data))


def offer_checkpoint(kept: Checkpoints, moment: Moment, run: str) -> None:
    """Keep a moment if it is time to, or a phase has ended, and if it is one to come back to."""
    if (moment.course is None or kept.due) and moment.sound:
        keep_checkpoint(kept, moment, run)


def keep_checkpoint(kept: Checkpoints, moment: Moment, run: str) -> None:
    kept.keep(lambda: pack(moment, run))
