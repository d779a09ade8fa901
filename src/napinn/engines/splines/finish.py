"""What a finished descent says of noise, readings and itself: the law, the gate, the status."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from napinn.data.robust import NEGLIGIBLE
from napinn.diagnostics.correlation import ALL_NOISE, NO_NOISE
from napinn.diagnostics.status import judge_fit
from napinn.engines.splines.doubts import DoubtKind, sign_agreement
from napinn.engines.splines.engine import Fit
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.journal import Level
from napinn.engines.splines.law_check import doubt_of_law
from napinn.engines.splines.missing_terms import doubt_of_terms
from napinn.engines.splines.model import SplineModel
from napinn.engines.splines.points import Point
from napinn.engines.splines.priors import PriorRole
from napinn.engines.splines.uncertainty import found_functions
from napinn.noise.mixture import Mixture, few_readings_law
from napinn.results.result import FitResult, FitStatus

STEEPNESS = 5.0
"""Of the gate, as where the paper's begins."""
REJECTED_BEYOND = 2.5
"""Deviations of Gaussian noise at which the gate's weight is one half. For another law: the same loss of
log-density."""


def fitted_model(point: Point | Level) -> SplineModel:
    """The model at a point, with the learned law or, of few readings, one that is mostly prior."""
    system, state = point.system, point.state
    standard = system.standardised(state)
    laws = tuple(
        law if isinstance(law, Mixture) else few_readings_law(standard[system.group == number])
        for number, law in enumerate(state.laws)
    )
    units = measured_units(system, state)
    sizes = np.array([*(math.sqrt(mean) for mean in units.typical), *units.conditions])
    sizes = np.where((sizes > 0.0) & np.isfinite(sizes), sizes, 1.0)
    return SplineModel(
        system.task.problem, system.space, state.coefficients, laws, system.task.scatters, state.offsets, state.sigma,
        (STEEPNESS, _cutoff(laws, standard, system.group)), _noise_share(point), sizes,
        _natural_sizes(point, sizes), point.tolerance,
        found_functions(point), state.roughness_weight,
    )  # fmt: skip


def _log_density(laws: tuple[Mixture, ...], standard: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The log-density of every reading under the law of its group; laws are shifted to the same highest value, so that
    one gate serves all groups."""
    found = np.empty(len(standard))
    for number, law in enumerate(laws):
        mine = group == number
        found[mine] = -law.loss(standard[mine]) + (_highest(laws[0]) - _highest(law) if number else 0.0)
    return found


def _highest(law: Mixture) -> float:
    return float(np.max(-law.loss(np.linspace(-4.0, 4.0, 2001))))


def _cutoff(laws: tuple[Mixture, ...], standard: np.ndarray, group: np.ndarray) -> float:
    """How many deviations of the log-density below its mean the gate's weight is one half."""
    log_density = _log_density(laws, standard, group)
    threshold = _highest(laws[0]) - 0.5 * REJECTED_BEYOND**2
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
    for name, value in zip(system.task.problem.unknowns, state.unknowns, strict=False):
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
    return float(np.clip((NO_NOISE - correlation) / (NO_NOISE - ALL_NOISE), 0.0, 1.0))


def reliabilities(model: SplineModel, point: Point | Level, corrupted: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The gate's weight of every reading, judged beside those that no faulty sensor spoils; 0 for the others.

    `scales` says how many times as much as others the sensor of each reading scatters. Misfits that are negligible
    beside the variation of the field are the field's own error and doubt no reading."""
    task = point.system.task
    field, readings, scatter = task.readings.field_index, task.readings, task.scatter
    misfits = (readings.values - point.system.everywhere @ point.state.coefficients) / (task.spread * scales)
    standard = (misfits - model.centres[scatter]) / model.scales[scatter]
    log_density = _log_density(model.laws, standard, task.scatters.group[scatter])
    steepness, cutoff = model.gate_curve
    sound = log_density[~corrupted] if (~corrupted).any() else log_density
    place = (log_density - sound.mean()) / max(float(sound.std()), 1e-6)
    weight = 1.0 / (1.0 + np.exp(-np.clip(steepness * (place + cutoff), -500.0, 500.0)))
    weight = np.where(np.abs(misfits) < NEGLIGIBLE * task.scale[field], 1.0, weight)
    return np.where(corrupted, 0.0, weight)


def judged(result: FitResult, fit: Fit, roles: Sequence[PriorRole] = ()) -> FitResult:
    """A finished fit with its status, and a sentence for every doubt and remark; `roles` are those of its priors."""
    status, notes = judge_fit(result, settled=True)
    # What neighbouring misfits and bounds say is in the notes already.
    doubts = [
        doubt.text
        for doubt in fit.doubts
        if doubt.kind in (DoubtKind.LOUD, DoubtKind.UNMET, DoubtKind.LOOSE) or status.trusted
    ]
    of_terms = None
    if result.uncertainty is not None:
        of_terms, of_law = (
            check(fit.point, fit.least, result.uncertainty.intervals) for check in (doubt_of_terms, doubt_of_law)
        )
        doubts += [each for each in (of_terms, of_law) if each is not None]
    if status.trusted and (doubts or any(role.disagree for role in roles)):
        status = FitStatus.DOUBTFUL
    on_priors = [sentence for role in roles for sentence in role.sentences]
    told = tuple(dict.fromkeys((*doubts, *notes, *on_priors)))
    return replace(result, status=status, notes=told, lacks_a_term=of_terms is not None)
