"""Fit states on disk, so that a killed fit continues bit for bit as if it had not been killed.

The tree of a fit state is rebuilt from the method, so a file can only fill in numbers: `napinn.storage.checkpoints`
reads its arrays, each named by the path of its leaf."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from napinn.engines.network.objective import blank_law
from napinn.engines.network.training.data import Data
from napinn.engines.network.training.fit_state import FitState
from napinn.engines.network.training.phase_progress import DivergenceGuard, EarlyStopping, PhaseProgress, StepBudget
from napinn.engines.network.training.phases import Method
from napinn.engines.network.training.steps import TrainingState, first_moments
from napinn.storage.checkpoints import Checkpoints, newest, packed, reading, unpacked
from napinn.storage.pytrees import fill, leaves
from napinn.storage.settings import decode, encode

COURSES: Mapping[str, type] = {cls.__name__: cls for cls in (PhaseProgress, DivergenceGuard, StepBudget, EarlyStopping)}


def skeleton(
    method: Method, first: TrainingState, data: Data, phase: int, begun: bool, screened: bool
) -> TrainingState:
    """The shapes of a state in which this phase is next to take a step, from those of the first state."""
    met = method.phases[: phase + begun]
    optimiser = next((each.optimiser for each in reversed(met) if each.optimiser is not None), method.optimiser)
    gating = method.gating if any(each.wants_law for each in met) else None

    def blank(state: TrainingState) -> TrainingState:
        dtype = data.values.dtype
        return TrainingState(
            state.learned,
            first_moments(optimiser, state.learned),
            None if gating is None else blank_law(gating, data.fields, dtype, state.key),
            jnp.zeros(data.values.shape, dtype) if screened else None,
            state.key,
        )

    return eqx.filter_eval_shape(blank, first)


def pack(fit_state: FitState, run: str) -> bytes:
    """A fit state of the run with this digest as the content of a file."""
    header = {
        "run": run,
        "phase": fit_state.phase,
        "course": encode(fit_state.course),
        "slowed": fit_state.slowed,
        "seconds": fit_state.seconds,
        "notes": list(fit_state.notes),
        "rows": list(fit_state.rows),
    }
    return packed(header, leaves(fit_state.state))


def read(path: Path, run: str, method: Method, first: TrainingState, data: Data) -> FitState:
    """The fit state in a file, or an `InputError` if the file is torn, of another kind or of another run."""
    header, arrays = unpacked(path, run)
    with reading(path):
        return _fit_state(path, header, arrays, method, first, data)


def _fit_state(
    path: Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    method: Method,
    first: TrainingState,
    data: Data,
) -> FitState:
    course: PhaseProgress | None = decode(header["course"], COURSES)
    if not 0 <= header["phase"] <= len(method.phases):
        raise ValueError("no such phase")

    def array(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray | None:
        kept = arrays.get(name)
        return kept if kept is not None and (kept.dtype, kept.shape) == (dtype, shape) else None

    # Whether readings were screened out depends on them as well as on the settings.
    shapes = skeleton(method, first, data, header["phase"], course is not None, ".kept" in arrays)
    return FitState(
        state=fill(shapes, array, path),
        phase=header["phase"],
        course=course,
        slowed=header["slowed"],
        seconds=header["seconds"],
        rows=tuple(header["rows"]),
        notes=tuple(header["notes"]),
    )


def latest(folder: Path, run: str, method: Method, first: TrainingState, data: Data) -> FitState | None:
    """The newest fit state that can be read; None where there is no checkpoint at all."""
    return newest(folder, lambda path: read(path, run, method, first, data))


def offer_checkpoint(kept: Checkpoints, fit_state: FitState, run: str) -> None:
    """Keep a fit state if it is time to, or a phase has ended, and if it is one to come back to."""
    if (fit_state.course is None or kept.due) and fit_state.sound:
        keep_checkpoint(kept, fit_state, run)


def keep_checkpoint(kept: Checkpoints, fit_state: FitState, run: str) -> None:
    kept.keep(lambda: pack(fit_state, run))
