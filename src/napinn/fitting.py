"""The verb: a problem and readings in, a `FitResult` out."""

import time
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import PRNGKeyArray

from napinn.diagnosis import judge
from napinn.errors import InputError
from napinn.gate import FLAG_BELOW, Gate
from napinn.methods import law_pinn
from napinn.objective import Learned, reliabilities, unknown_values
from napinn.partials import FieldNetwork
from napinn.problem import Problem
from napinn.readings import Readings, check_inside
from napinn.result import FitResult, FitStatus
from napinn.scaling import Frame, fitted_frame, identity_frame
from napinn.training import (
    Data,
    DivergedError,
    Kind,
    Method,
    Phase,
    SensorScreen,
    Snapshot,
    State,
    all_misfits,
    begin,
    keeping,
    load,
    run_phase,
)
from napinn.verdicts import SensorVerdict, condemned

Progress = Callable[[Snapshot], None]
MOST_CONDEMNED = 0.5
"""Where sensors that mislead hold more than this share of the readings, none is left out: no majority is left."""


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
    for_network, for_training = jax.random.split(jax.random.key(seed))
    data, place = load(problem, readings, dtype, method.held_out, seed)
    frame = frame_of(problem, readings, method, dtype)
    # Compiled as one: run op by op, the many small arrays of a network take longer to make than to train on.
    start = eqx.filter_jit(lambda key, later: begin(method, initial(problem, method, frame, key), later))
    state = start(for_network, for_training)
    total = sum(phase.steps for phase in method.phases)
    rows: list[dict[str, float | str]] = []
    status = FitStatus.FINISHED
    done = 0
    try:
        for number, phase in enumerate(method.phases):
            if method.judges_before(number):
                state = _without_misleading(problem, readings, method, state, data, place)
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


def frame_of(problem: Problem, readings: Readings, method: Method, dtype: jnp.dtype) -> Frame:
    if not method.scaled:
        return blank_frame(problem, dtype)
    values = [readings.of_field(index) for index in range(len(problem.fields))]
    return fitted_frame(problem, values, dtype, method.equation_weight)


def blank_frame(problem: Problem, dtype: jnp.dtype) -> Frame:
    """The identity frame, of a problem's sizes."""
    residuals = len(problem.equations) + len(problem.conditions)
    return identity_frame(len(problem.coordinates), len(problem.outputs), dtype, residuals, len(problem.unknowns))


def _without_misleading(
    problem: Problem, readings: Readings, method: Method, state: State, data: Data, place: np.ndarray
) -> State:
    """The state that goes on without the readings of sensors that mislead; the same where there are none."""
    misfit = np.asarray(all_misfits(state.learned, data), float)[place]
    bad = _left_out(judged(problem, readings, method, _predicted(readings, state, misfit)), len(readings))
    if not bad.any():
        return state
    kept = np.ones(len(readings)) if state.kept is None else np.array(state.kept, float).reshape(-1)
    kept[place[bad]] = 0.0
    return keeping(state, data, kept)


def judged(problem: Problem, readings: Readings, method: Method, predicted: np.ndarray) -> tuple[SensorVerdict, ...]:
    """The verdicts on all sensors, with as few false alarms as the method allows."""
    return judge(problem, readings, predicted, (method.sensors or SensorScreen()).false_alarms)


def _left_out(verdicts: tuple[SensorVerdict, ...], count: int) -> np.ndarray:
    bad = condemned(verdicts, count)
    return bad if bad.mean() <= MOST_CONDEMNED else np.zeros(count, bool)


def _predicted(readings: Readings, state: State, misfit: np.ndarray) -> np.ndarray:
    """The field at every reading, in its own units, from misfits in the units of training."""
    gains = np.asarray(state.learned.field.frame.gain, float)[readings.field_index]
    unit = gains if readings.spread is None else gains * readings.spread
    return readings.values - misfit * unit


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
    predicted = _predicted(readings, state, np.asarray(misfit, float)[place])
    verdicts = judged(problem, readings, method, predicted)
    screens = any(method.judges_before(number) for number in range(len(method.phases)))
    bad = _left_out(verdicts, len(readings)) if screens else np.zeros(len(readings), bool)
    reliability = _reliability(method, state, misfit, data, place, bad)
    unknowns = {name: float(value) for name, value in unknown_values(problem, state.learned).items()}
    if status is FitStatus.FINISHED:
        status = _judge(problem, unknowns, reliability)
    return FitResult(
        problem, method, readings, seed, state.learned, state.law, unknowns, predicted, reliability,
        history, status, seconds, verdicts,
    )  # fmt: skip


def _reliability(
    method: Method, state: State, misfit: jax.Array, data: Data, place: np.ndarray, bad: np.ndarray
) -> np.ndarray:
    """The gate's weight of every reading, judged beside those that are not left out; 0 for the others."""
    gated = any(phase.kind is Kind.GATED for phase in method.phases)
    if state.law is None or method.gating is None or not gated:
        return np.ones(len(place)) if state.kept is None else np.asarray(state.kept, float).reshape(-1)[place]
    if not bad.any():
        return np.asarray(reliabilities(method.gating, state.learned, state.law, misfit, data.owner), float)[place]
    reliability, good = np.zeros(len(place)), place[~bad]
    weights = reliabilities(method.gating, state.learned, state.law, misfit[good], data.owner[good])
    reliability[~bad] = np.asarray(weights, float)
    return reliability


def _judge(problem: Problem, unknowns: dict[str, float], reliability: np.ndarray) -> FitStatus:
    if np.mean(reliability < FLAG_BELOW) > 0.5:
        return FitStatus.REJECTS_MOST
    for name, unknown in problem.unknowns.items():
        width = abs(unknown.started()) + 1e-30
        if unknown.low is not None and unknown.high is not None:
            width = unknown.high - unknown.low
        if any(
            bound is not None and abs(unknowns[name] - bound) < 1e-4 * width for bound in (unknown.low, unknown.high)
        ):
            return FitStatus.AT_BOUND
    return FitStatus.FINISHED
