"""The verb: a problem and readings in, a `FitResult` out."""

import time
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import PRNGKeyArray

from napinn.errors import InputError
from napinn.gate import FLAG_BELOW, Gate
from napinn.methods import law_pinn
from napinn.objective import Learned, reliabilities, unknown_values
from napinn.partials import FieldNetwork
from napinn.problem import Problem
from napinn.readings import Readings, check_inside
from napinn.result import FitResult, FitStatus
from napinn.scaling import Frame, fitted_frame, identity_frame
from napinn.suiting import suited
from napinn.training import (
    Data,
    DivergedError,
    Kind,
    Method,
    Phase,
    Snapshot,
    State,
    all_misfits,
    begin,
    load,
    run_phase,
)

Progress = Callable[[Snapshot], None]


def fit(
    problem: Problem,
    readings: Readings,
    method: Method | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitResult:
    """Fit field, unknowns and noise law to readings.

    An interrupt (Ctrl-C) ends the training early and gives what has been found so far, with status `INTERRUPTED`.
    """
    method = method or law_pinn()
    check_readings(problem, readings)
    # Precision is a setting of the fit, not of the process.
    with jax.enable_x64(method.double):
        return _fit(problem, readings, method, seed, progress or (lambda snapshot: None))


def check_readings(problem: Problem, readings: Readings) -> None:
    if readings.coordinates != tuple(problem.coordinates) or readings.fields != problem.fields:
        raise InputError("the readings are of other coordinates or fields than the problem's.")
    check_inside(readings, problem.lows, problem.highs)


def _fit(problem: Problem, readings: Readings, method: Method, seed: int, progress: Progress) -> FitResult:
    began = time.perf_counter()
    dtype = jnp.dtype(jnp.float64 if method.double else jnp.float32)
    method, crowded = suited(method, readings, problem)
    for_network, for_training = jax.random.split(jax.random.key(seed))
    data, place = load(problem, readings, dtype, method.held_out, seed)
    frame = frame_of(problem, readings, method, dtype, crowded)
    # Compiled as one: run op by op, the many small arrays of a network take longer to make than to train on.
    start = eqx.filter_jit(lambda key, later: begin(method, initial(problem, method, frame, key), later))
    state = start(for_network, for_training)
    total = sum(phase.steps for phase in method.phases)
    rows: list[dict[str, float | str]] = []
    status = FitStatus.FINISHED
    done = 0
    try:
        for phase in method.phases:
            seconds = _allotted(method, phase, time.perf_counter() - began, total - done)
            for latest, snapshot in run_phase(problem, method, phase, state, data, done, total, seconds):
                state = latest
                rows.append(snapshot.row())
                progress(snapshot)
            done += phase.steps
    except KeyboardInterrupt:
        status = FitStatus.INTERRUPTED
    except DivergedError:
        status = FitStatus.DIVERGED
    seconds = time.perf_counter() - began
    return _finish(problem, readings, method, seed, state, data, place, pd.DataFrame(rows), status, seconds)


def _allotted(method: Method, phase: Phase, spent: float, steps_left: int) -> float | None:
    """The phase's share of what is left of the budget of time."""
    if method.minutes is None:
        return None
    return max(60.0 * method.minutes - spent, 1.0) * phase.steps / steps_left


def initial(problem: Problem, method: Method, frame: Frame, key: PRNGKeyArray) -> Learned:
    """Network, unknowns and gate before the first step."""
    inputs, outputs = len(problem.coordinates), len(problem.outputs)
    dtype = frame.gain.dtype
    low, high = ((jnp.asarray(side, dtype) + frame.shift) * frame.factor for side in (problem.lows, problem.highs))
    network = method.backbone.init(key, inputs, outputs, low, high)
    units = np.asarray(frame.unknowns, float)
    raw = {
        name: jnp.asarray(unknown.raw_start(units[index]), dtype)
        for index, (name, unknown) in enumerate(problem.unknowns.items())
    }
    gate = method.gating.gate if method.gating else Gate()
    return Learned(FieldNetwork(network, frame), raw, gate.init(dtype))


def frame_of(
    problem: Problem,
    readings: Readings,
    method: Method,
    dtype: jnp.dtype,
    crowded: Sequence[float] | None = None,
) -> Frame:
    if not method.scaled:
        return blank_frame(problem, dtype)
    values = [readings.of_field(index) for index in range(len(problem.fields))]
    return fitted_frame(problem, values, dtype, method.equation_weight, crowded)


def blank_frame(problem: Problem, dtype: jnp.dtype) -> Frame:
    """The identity frame, of a problem's sizes."""
    residuals = len(problem.equations) + len(problem.conditions)
    return identity_frame(len(problem.coordinates), len(problem.outputs), dtype, residuals, len(problem.unknowns))


def _finish(
    problem: Problem,
    readings: Readings,
    method: Method,
    seed: int,
    state: State,
    data: Data,
    place: np.ndarray,
    history: pd.DataFrame,
    status: FitStatus,
    seconds: float,
) -> FitResult:
    misfit = all_misfits(state.learned, data)
    reliability = np.ones(len(readings))
    gated = any(phase.kind is Kind.GATED for phase in method.phases)
    if state.law is not None and method.gating is not None and gated:
        reliability = np.asarray(reliabilities(method.gating, state.learned, state.law, misfit, data.owner), float)[
            place
        ]
    elif state.kept is not None:
        reliability = np.asarray(state.kept, float).reshape(-1)[place]
    gains = np.asarray(state.learned.field.frame.gain, float)[readings.field_index]
    unit = gains if readings.spread is None else gains * readings.spread
    predicted = readings.values - np.asarray(misfit, float)[place] * unit
    unknowns = {name: float(value) for name, value in unknown_values(problem, state.learned).items()}
    if status is FitStatus.FINISHED:
        status = _judge(problem, unknowns, reliability)
    return FitResult(
        problem, method, readings, seed, state.learned, state.law, unknowns, predicted, reliability,
        history, status, seconds,
    )  # fmt: skip


def _judge(problem: Problem, unknowns: dict[str, float], reliability: np.ndarray) -> FitStatus:
    if np.mean(reliability < FLAG_BELOW) > 0.5:
        return FitStatus.REJECTS_MOST
    for name, unknown in problem.unknowns.items():
        width = abs(unknown.start) + 1e-30
        if unknown.low is not None and unknown.high is not None:
            width = unknown.high - unknown.low
        if any(
            bound is not None and abs(unknowns[name] - bound) < 1e-4 * width for bound in (unknown.low, unknown.high)
        ):
            return FitStatus.AT_BOUND
    return FitStatus.FINISHED
