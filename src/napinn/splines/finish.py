"""What a finished descent says of noise, readings and itself: the law, the gate, the status."""

import math

import numpy as np

from napinn.judgement import judge
from napinn.result import FitResult, FitStatus
from napinn.robust import NEGLIGIBLE
from napinn.splines.descent import Point
from napinn.splines.doubts import Kind, sign_agreement
from napinn.splines.engine import Fit
from napinn.splines.journal import Level
from napinn.splines.learned import Mixture, few_readings_law
from napinn.splines.model import SplineModel
from napinn.splines.system import measured_units

STEEPNESS = 5.0
"""Of the gate, as where the paper's begins."""
REJECTED_BEYOND = 2.5
"""Deviations of Gaussian noise at which the gate's weight is one half. For another law: the same loss of
log-density."""
TRUSTED, DISTRUSTED = 0.2, 0.5
"""Correlations of neighbouring misfits up to which they are all noise, and from which they are none."""


def fitted_model(point: Point | Level) -> SplineModel:
    """The model at a point, with the learned law or, of few readings, one that is mostly prior."""
    system, state = point.system, point.state
    law = state.law if isinstance(state.law, Mixture) else few_readings_law(system.standardised(state))
    units = measured_units(system, state)
    sizes = np.array([*(math.sqrt(mean) for mean in units.typical), *units.conditions])
    sizes = np.where((sizes > 0.0) & np.isfinite(sizes), sizes, 1.0)
    return SplineModel(
        system.task.problem, system.space, state.coefficients, law, state.offsets, state.sigma,
        (STEEPNESS, _cutoff(law, system.standardised(state))), _noise_share(point), sizes,
        _natural_sizes(point, sizes),
    )  # fmt: skip


def _cutoff(law: Mixture, standard: np.ndarray) -> float:
    """How many deviations of the log-density below its mean the gate's weight is one half."""
    log_density = -law.loss(standard)
    highest = float(np.max(-law.loss(np.linspace(-4.0, 4.0, 2001))))
    threshold = highest - 0.5 * REJECTED_BEYOND**2
    spread = max(float(np.std(log_density)), 1e-6)
    return max((float(np.mean(log_density)) - threshold) / spread, 1e-3)


def _natural_sizes(point: Point | Level, sizes: np.ndarray) -> np.ndarray:
    """The change of each unknown that moves some equation or condition by the size of its terms."""
    system, state = point.system, point.state
    residuals = [
        *system.residuals(state.coefficients, state.unknowns),
        *system.face_residuals(state.coefficients, state.unknowns),
    ]
    found = []
    for name, value in zip(system.task.unknowns, state.unknowns, strict=True):
        moved = [
            float(np.sqrt(np.sum(residual.grid.weights * residual.unknowns[name] ** 2))) / size
            for residual, size in zip(residuals, sizes, strict=True)
            if name in residual.unknowns
        ]
        most = max((each for each in moved if math.isfinite(each)), default=0.0)
        found.append(1.0 / most if most > 0.0 else abs(float(value)) or 1.0)
    return np.array(found)


def _noise_share(point: Point | Level) -> float:
    """How much of the misfits is noise, from how far neighbours agree in sign beyond chance."""
    agreement = max(sign_agreement(point) - 2.0 / math.sqrt(point.system.count), 0.0)
    correlation = math.sin(0.5 * math.pi * min(agreement, 1.0))
    return float(np.clip((DISTRUSTED - correlation) / (DISTRUSTED - TRUSTED), 0.0, 1.0))


def reliabilities(model: SplineModel, point: Point | Level, spoilt: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The gate's weight of every reading, judged beside those that no faulty sensor spoils; 0 for the others.

    `scales` says how many times as much as others the sensor of each reading scatters. Misfits that are negligible
    beside the variation of the field are the field's own error and doubt no reading."""
    task = point.system.task
    field, readings = task.readings.field_index, task.readings
    misfits = (readings.values - point.system.everywhere @ point.state.coefficients) / (task.spread * scales)
    standard = (misfits - model.centres[field]) / model.scales[field]
    log_density = -model.law.loss(standard)
    steepness, cutoff = model.gate_curve
    sound = log_density[~spoilt] if (~spoilt).any() else log_density
    place = (log_density - sound.mean()) / max(float(sound.std()), 1e-6)
    weight = 1.0 / (1.0 + np.exp(-np.clip(steepness * (place + cutoff), -500.0, 500.0)))
    weight = np.where(np.abs(misfits) < NEGLIGIBLE * task.scale[field], 1.0, weight)
    return np.where(spoilt, 0.0, weight)


def judged(result: FitResult, fit: Fit) -> tuple[FitStatus, tuple[str, ...]]:
    """The status of a finished fit, and a sentence for every doubt and remark."""
    status, notes = judge(result, settled=True)
    # What neighbouring misfits and bounds say is in the notes already.
    doubts = [doubt.text for doubt in fit.doubts if doubt.kind in (Kind.LOUD, Kind.UNMET) or status.trusted]
    if status.trusted and doubts:
        status = FitStatus.DOUBTFUL
    return status, tuple(dict.fromkeys((*doubts, *notes)))
