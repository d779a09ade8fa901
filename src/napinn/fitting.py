"""The verb: a problem and readings in, a `FitResult` out."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray

from napinn.compiled import owned_jit
from napinn.diagnosis import judge as judge_sensors
from napinn.errors import InputError
from napinn.gate import Gate
from napinn.judgement import judge
from napinn.methods import law_pinn
from napinn.objective import Learned, reliabilities, unknown_values
from napinn.partials import FieldNetwork
from napinn.problem import Problem
from napinn.readings import Readings, check_inside
from napinn.request import Request
from napinn.result import FitResult, FitStatus
from napinn.scaling import Frame, fitted_frame, identity_frame
from napinn.suiting import suited
from napinn.training import (
    Checkpoints,
    Data,
    GaveUpError,
    Kind,
    Method,
    Moment,
    SensorScreen,
    Snapshot,
    State,
    all_misfits,
    begin,
    keeping,
    load,
    train,
)
from napinn.training.checkpoints import latest
from napinn.training.devices import Device, everywhere, mesh_of
from napinn.verdicts import SensorVerdict, condemned

log = logging.getLogger(__name__)
Progress = Callable[[Snapshot], None]
COARSEST = 1e-4
"""The least change of a coordinate that single precision holds, as a share of its range."""
MOST_CONDEMNED = 0.5
"""Where sensors that mislead hold more than this share of the readings, none is left out: no majority is left."""


def fit(
    problem: Problem,
    readings: Readings,
    method: Method | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoints: Checkpoints | Path | str | None = None,
    resume: bool = False,
    devices: Sequence[Device] | None = None,
) -> FitResult:
    """Fit field, unknowns and noise law to readings.

    An interrupt (Ctrl-C) ends the training early and gives what has been found so far, with status `INTERRUPTED`.
    With a folder for `checkpoints`, the fit can be taken up there by the same call with `resume=True`; it then goes on
    bit for bit as if it had never stopped.
    With several `devices`, such as `jax.devices()`, each takes its part of every batch; the default is one.
    """
    request = Request(problem, readings, method or law_pinn(), seed)
    check_readings(problem, readings, request.method.double)
    kept = Checkpoints(checkpoints) if isinstance(checkpoints, Path | str) else checkpoints
    if resume and kept is None:
        raise InputError("a fit can be resumed only from its folder of checkpoints; pass checkpoints=….")
    # Precision is a setting of the fit, not of the process.
    with jax.enable_x64(request.method.double):
        return _fit(request, progress or (lambda snapshot: None), kept, resume, mesh_of(devices, request.method))


def check_readings(problem: Problem, readings: Readings, double: bool = False) -> None:
    """Whether these readings can be fitted, in this precision."""
    if readings.coordinates != tuple(problem.coordinates) or readings.fields != problem.fields:
        raise InputError("the readings are of other coordinates or fields than the problem's.")
    check_inside(readings, problem.lows, problem.highs)
    if double:
        return
    single = np.finfo(np.float32)
    for name, (low, high) in problem.coordinates.items():
        if max(abs(low), abs(high)) > float(single.max):
            raise InputError(f"'{name}' runs from {low:g} to {high:g}, beyond single precision; use --double.")
    if max(np.abs(readings.values).max(), np.abs(readings.points).max()) > single.max:
        raise InputError(f"{readings.source} holds numbers beyond single precision; use --double or larger units.")
    for name, (low, high) in problem.coordinates.items():
        if single.eps * max(abs(low), abs(high)) > COARSEST * (high - low):
            raise InputError(
                f"{readings.source}: '{name}' runs from {low:.10g} to {high:.10g}, too far from zero for single "
                "precision to tell its values apart; count it from the first reading, or use --double."
            )


def _fit(request: Request, progress: Progress, kept: Checkpoints | None, resume: bool, mesh: Mesh | None) -> FitResult:
    problem, readings, seed = request.problem, request.readings, request.seed
    run = "" if kept is None else request.digest()
    method = suited(request.method, readings, problem)
    request = replace(request, method=method)
    dtype = jnp.dtype(jnp.float64 if method.double else jnp.float32)
    for_network, for_training = jax.random.split(jax.random.key(seed))
    data, place = load(problem, readings, dtype, method.held_out, seed, mesh)
    frame = frame_of(problem, readings, method, dtype)
    # Compiled as one: run op by op, the many small arrays of a network take longer to make than to train on.
    start = owned_jit(lambda key, later: begin(method, initial(problem, method, frame, key), later))
    moment = Moment(start(for_network, for_training))
    if kept is not None and resume:
        moment = latest(Path(kept.folder), run, method, moment.state, data) or moment
        log.info("resumed after %s steps", moment.rows[-1]["step"] if moment.rows else 0)
    moment = replace(moment, state=everywhere(moment.state, mesh))

    def between(number: int, state: State) -> State:
        return _without_misleading(request, state, data, place) if method.judges_before(number) else state

    offer = (lambda moment: None) if kept is None else (lambda moment: kept.offer(moment, run))
    moment, status = _train(request, data, moment, progress, offer, between)
    if status is FitStatus.INTERRUPTED and kept is not None:
        kept.keep(moment, run)
    return _finish(request, moment, data, place, status)


def _train(
    request: Request,
    data: Data,
    moment: Moment,
    progress: Progress,
    offer: Callable[[Moment], None],
    between: Callable[[int, State], State],
) -> tuple[Moment, FitStatus | None]:
    """The last moment worth having, and how training ended if not in its own time."""
    good = moment
    try:
        for after, snapshot in train(request.problem, request.method, data, moment, between):
            moment = after
            good = moment if moment.sound else good
            offer(moment)
            progress(snapshot)
    except KeyboardInterrupt:
        return good, FitStatus.INTERRUPTED
    except GaveUpError as error:
        return error.moment, FitStatus.DIVERGED
    return moment, None


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
    return fitted_frame(problem, values, dtype, method.equation_weight, method.crowding)


def blank_frame(problem: Problem, dtype: jnp.dtype) -> Frame:
    """The identity frame, of a problem's sizes."""
    residuals = len(problem.equations) + len(problem.conditions) + len(problem.periodic)
    return identity_frame(len(problem.coordinates), len(problem.outputs), dtype, residuals, len(problem.unknowns))


def _without_misleading(request: Request, state: State, data: Data, place: np.ndarray) -> State:
    """The state that goes on without the readings of sensors that mislead; the same where there are none."""
    problem, readings, method = request.problem, request.readings, request.method
    misfit = np.asarray(all_misfits(state.learned, data), float)[place]
    bad = _left_out(judged(problem, readings, method, _predicted(readings, state, misfit)), len(readings))
    if not bad.any():
        return state
    kept = np.ones(len(readings)) if state.kept is None else np.array(state.kept, float).reshape(-1)
    kept[place[bad]] = 0.0
    return keeping(state, data, kept)


def judged(problem: Problem, readings: Readings, method: Method, predicted: np.ndarray) -> tuple[SensorVerdict, ...]:
    """The verdicts on all sensors, with as few false alarms as the method allows."""
    return judge_sensors(problem, readings, predicted, (method.sensors or SensorScreen()).false_alarms)


def _left_out(verdicts: tuple[SensorVerdict, ...], count: int) -> np.ndarray:
    bad = condemned(verdicts, count)
    return bad if bad.mean() <= MOST_CONDEMNED else np.zeros(count, bool)


def _predicted(readings: Readings, state: State, misfit: np.ndarray) -> np.ndarray:
    """The field at every reading, in its own units, from misfits in the units of training."""
    gains = np.asarray(state.learned.field.frame.gain, float)[readings.field_index]
    unit = gains if readings.spread is None else gains * readings.spread
    return readings.values - misfit * unit


def _finish(request: Request, moment: Moment, data: Data, place: np.ndarray, ended: FitStatus | None) -> FitResult:
    problem, readings, method, state = request.problem, request.readings, request.method, moment.state
    misfit = all_misfits(state.learned, data)
    predicted = _predicted(readings, state, np.asarray(misfit, float)[place])
    verdicts = judged(problem, readings, method, predicted)
    screens = any(method.judges_before(number) for number in range(len(method.phases)))
    bad = _left_out(verdicts, len(readings)) if screens else np.zeros(len(readings), bool)
    reliability = _reliability(method, state, misfit, data, place, bad)
    unknowns = {name: float(value) for name, value in unknown_values(problem, state.learned).items()}
    result = FitResult(
        problem, method, readings, request.seed, state.learned, state.law, unknowns, predicted, reliability,
        pd.DataFrame(moment.rows), ended or FitStatus.BUDGET_SPENT, moment.seconds, verdicts, moment.notes,
    )  # fmt: skip
    if ended is not None:
        return result
    status, notes = judge(result)
    return replace(result, status=status, notes=(*moment.notes, *notes))


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
