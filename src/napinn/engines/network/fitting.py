"""Training a network: what `napinn.fit` does for a method of phases."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax.sharding import Mesh

from napinn.data.readings import Readings
from napinn.diagnostics.sensors import judge_sensors, noisy_scales
from napinn.diagnostics.status import judge_fit
from napinn.engines.base import Progress, RunOptions
from napinn.engines.network.adaptation import adapted
from napinn.engines.network.compiled import owned_jit
from napinn.engines.network.convergence import settled
from napinn.engines.network.model import NetworkModel, frame_of, initial
from napinn.engines.network.objective import reliabilities, unknown_values
from napinn.engines.network.pretraining import pretrained
from napinn.engines.network.signs import with_better_signs
from napinn.engines.network.training import (
    Data,
    FitState,
    GaveUpError,
    Method,
    PhaseKind,
    TrainingState,
    all_misfits,
    begin,
    keep_checkpoint,
    keeping,
    offer_checkpoint,
    prepare_data,
    train,
)
from napinn.engines.network.training.checkpoints import latest
from napinn.engines.network.training.devices import everywhere, mesh_of
from napinn.engines.request import Request
from napinn.problem import Problem
from napinn.results.result import FitResult, FitStatus
from napinn.results.verdicts import left_out

log = logging.getLogger(__name__)


def fit_network(request: Request, options: RunOptions) -> FitResult:
    """Train a network on readings that were checked already."""
    method = method_of(request)
    # Precision is a setting of the fit, not of the process.
    with jax.enable_x64(method.double):
        return _fit(request, method, options, mesh_of(options.devices, method))


def method_of(request: Request) -> Method:
    assert isinstance(request.method, Method)
    return request.method


def _fit(request: Request, given: Method, options: RunOptions, mesh: Mesh | None) -> FitResult:
    problem, readings, seed = request.problem, request.readings, request.seed
    kept = options.checkpoints
    run = "" if kept is None else request.digest()
    method = adapted(given, readings, problem)
    request = replace(request, method=method)
    dtype = jnp.dtype(jnp.float64 if method.double else jnp.float32)
    for_network, for_training = jax.random.split(jax.random.key(seed))
    data, place = prepare_data(problem, readings, dtype, method.held_out, seed, mesh)
    frame = frame_of(problem, readings, method, dtype)
    # Compiled as one: run op by op, the many small arrays of a network take longer to make than to train on.
    start = owned_jit(lambda key, later: begin(method, initial(problem, method, frame, key), later))
    fit_state, resumed = FitState(start(for_network, for_training)), None
    if kept is not None and options.resume:
        resumed = latest(Path(kept.folder), run, method, fit_state.state, data)
        fit_state = resumed or fit_state
        log.info("resumed after %s steps", fit_state.rows[-1]["step"] if fit_state.rows else 0)
    if resumed is None and options.begin_with is not None:
        learned = pretrained(fit_state.state.learned, options.begin_with, problem, readings, for_network)
        fit_state = replace(fit_state, state=replace(fit_state.state, learned=learned))
    fit_state = replace(fit_state, state=everywhere(fit_state.state, mesh))
    if options.begin_with is None:
        fit_state = with_better_signs(problem, method, data, fit_state)

    def between(number: int, state: TrainingState) -> TrainingState:
        return _without_misleading(request, state, data, place) if method.judges_before(number) else state

    offer = (lambda fit_state: None) if kept is None else (lambda fit_state: offer_checkpoint(kept, fit_state, run))
    fit_state, status = _train(problem, method, data, fit_state, options.progress, offer, between)
    if status is FitStatus.INTERRUPTED and kept is not None:
        keep_checkpoint(kept, fit_state, run)
    return _finish(request, fit_state, data, place, status)


def _train(
    problem: Problem,
    method: Method,
    data: Data,
    fit_state: FitState,
    progress: Progress,
    offer: Callable[[FitState], None],
    between: Callable[[int, TrainingState], TrainingState],
) -> tuple[FitState, FitStatus | None]:
    """The last state worth having, and how training ended if not in its own time."""
    good = fit_state
    try:
        for after, snapshot in train(problem, method, data, fit_state, between):
            fit_state = after
            good = fit_state if fit_state.sound else good
            offer(fit_state)
            progress(snapshot)
    except KeyboardInterrupt:
        return good, FitStatus.INTERRUPTED
    except GaveUpError as error:
        return error.fit_state, FitStatus.DIVERGED
    return fit_state, None


def _without_misleading(request: Request, state: TrainingState, data: Data, place: np.ndarray) -> TrainingState:
    """The state without the readings of misleading sensors; the same where there are none."""
    problem, readings, method = request.problem, request.readings, method_of(request)
    misfit = np.asarray(all_misfits(state.learned, data), float)[place]
    verdicts = judge_sensors(problem, readings, _predicted(readings, state, misfit), method.false_alarms)
    bad = left_out(verdicts, len(readings))
    if not bad.any():
        return state
    kept = np.ones(len(readings)) if state.kept is None else np.array(state.kept, float).reshape(-1)
    kept[place[bad]] = 0.0
    return keeping(state, data, kept)


def _predicted(readings: Readings, state: TrainingState, misfit: np.ndarray) -> np.ndarray:
    """The field at every reading, in its own units, from misfits in the units of training."""
    gains = np.asarray(state.learned.field.frame.gain, float)[readings.field_index]
    unit = gains if readings.spread is None else gains * readings.spread
    return readings.values - misfit * unit


def _finish(request: Request, fit_state: FitState, data: Data, place: np.ndarray, ended: FitStatus | None) -> FitResult:
    problem, readings, method, state = request.problem, request.readings, method_of(request), fit_state.state
    misfit = all_misfits(state.learned, data)
    predicted = _predicted(readings, state, np.asarray(misfit, float)[place])
    verdicts = judge_sensors(problem, readings, predicted, method.false_alarms)
    screens = any(method.judges_before(number) for number in range(len(method.phases)))
    bad = left_out(verdicts, len(readings)) if screens else np.zeros(len(readings), bool)
    if screens:
        # The readings of a noisy sensor are weighed by its own noise, or a tenth of the good ones would be flagged.
        misfit = misfit / jnp.asarray(noisy_scales(readings, predicted, verdicts)[np.argsort(place)], misfit.dtype)
    reliability = _reliability(method, state, misfit, data, place, bad)
    unknowns = {name: float(value) for name, value in unknown_values(problem, state.learned).items()}
    result = FitResult(
        problem, method, readings, request.seed, NetworkModel(problem, method, readings, state.learned, state.law),
        unknowns, predicted, reliability,
        pd.DataFrame(fit_state.rows), ended or FitStatus.BUDGET_SPENT, fit_state.seconds, verdicts, fit_state.notes,
        held_out=place >= data.trained * data.values.shape[1],
    )  # fmt: skip
    if ended is not None:
        return result
    status, notes = judge_fit(result, settled(result))
    return replace(result, status=status, notes=(*fit_state.notes, *notes))


def _reliability(
    method: Method, state: TrainingState, misfit: jax.Array, data: Data, place: np.ndarray, bad: np.ndarray
) -> np.ndarray:
    """The gate's weight of every reading, judged beside those that are not left out; 0 for the others."""
    gated = any(phase.kind is PhaseKind.GATED for phase in method.phases)
    if state.law is None or method.gating is None or not gated:
        return np.ones(len(place)) if state.kept is None else np.asarray(state.kept, float).reshape(-1)[place]
    if not bad.any():
        return np.asarray(reliabilities(method.gating, state.learned, state.law, misfit, data.owner), float)[place]
    reliability, good = np.zeros(len(place)), place[~bad]
    weights = reliabilities(method.gating, state.learned, state.law, misfit[good], data.owner[good])
    reliability[~bad] = np.asarray(weights, float)
    return reliability
