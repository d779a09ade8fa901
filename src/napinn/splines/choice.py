"""Splines where they can follow a field, a network where they cannot."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from napinn.backend import Backend, Estimate, RunOptions, backend_of
from napinn.catalogue import DENSITIES, METHODS, NETWORK
from napinn.checkpoints import newest_header
from napinn.fitting import check_readings
from napinn.intervals import Certainty, FieldSpread
from napinn.io.saved import SavedArrays
from napinn.model import FittedModel
from napinn.problem import Problem, Unknown
from napinn.readings import Readings
from napinn.recipe import Recipe
from napinn.request import Request
from napinn.result import FitResult
from napinn.splines.backend import TOO_LARGE, check_splines, density_of, fit_splines, refusal
from napinn.splines.cost import TooSlowError
from napinn.splines.doubts import Kind
from napinn.splines.engine import Fit, estimated_seconds
from napinn.splines.journal import STAGES
from napinn.splines.method import bsplines
from napinn.splines.task import Task


class Choosing(Backend):
    def fit(self, request: Request, options: RunOptions) -> FitResult:
        reason = refusal(request.problem, request.readings)
        if reason is not None:
            return _network(request, options, reason)
        began = network_began(options)
        # A network's checkpoints hold nothing for splines, and must stay for the network.
        spline_options = replace(options, resume=False, checkpoints=None) if began else options
        try:
            result, fit = fit_splines(replace(request, method=bsplines(density_of(request.method))), spline_options)
        except TooSlowError:
            return _network(request, _after_splines(options, began), TOO_LARGE)
        reason = None if fit is None else failure(fit)
        if reason is None:
            return result
        return _network(_continued(request, result), _after_splines(options, began), reason)

    def restore(self, request: Request, arrays: SavedArrays, has_law: bool) -> FittedModel:
        raise TypeError("a result names the method that made it, never the choice")

    def restore_spread(self, model: FittedModel, arrays: SavedArrays) -> FieldSpread:
        raise TypeError("a result names the method that made it, never the choice")

    def how_sure(self, result: FitResult, seed: int) -> Certainty:
        return backend_of(result.method).how_sure(result, seed)

    def estimate(self, problem: Problem, readings: Readings, method: Recipe) -> Estimate:
        reason = refusal(problem, readings)
        try:
            if reason is None:
                check_splines(problem, readings)
                return Estimate("splines", estimated_seconds(Task(problem, readings)))
        except TooSlowError:
            reason = TOO_LARGE
        network = METHODS[NETWORK].make()
        return replace(backend_of(network).estimate(problem, readings, network), reason=reason)


BACKEND = Choosing()


def network_began(options: RunOptions) -> bool:
    """Whether a fit is resumed in which splines had handed over to a network already. Splines are then fitted again,
    because the network starts from what they found, and the network continues from its checkpoint."""
    if not options.resume or options.checkpoints is None:
        return False
    header = newest_header(Path(options.checkpoints.folder))
    return bool(header) and STAGES not in header


def _after_splines(options: RunOptions, began: bool) -> RunOptions:
    """The options of the network: the checkpoints of splines are of no use to it, and are removed."""
    if options.checkpoints is not None and not began:
        options.checkpoints.clear()
    return replace(options, resume=began)


def failure(fit: Fit) -> str | None:
    """Why splines failed, as a clause; None where they did not."""
    unmet = [doubt for doubt in fit.doubts if doubt.kind is Kind.UNMET]
    if unmet and fit.full:
        return "the mesh that the field needs is too large for splines"
    return None


def _continued(request: Request, result: FitResult) -> Request:
    """The request with the unknowns that splines found as starts, where they are inside their bounds."""
    unknowns = {
        name: replace(unknown, start=found) if _inside(unknown, found := result.unknowns[name]) else unknown
        for name, unknown in request.problem.unknowns.items()
    }
    return replace(request, problem=replace(request.problem, unknowns=unknowns))


def _inside(unknown: Unknown, value: float) -> bool:
    low, high = (
        (-math.inf if unknown.low is None else unknown.low),
        (math.inf if unknown.high is None else unknown.high),
    )
    return low < value < high


def estimator_of(density: str) -> dict[str, Any]:
    """The part of the network that learns the law as splines were to; none where only splines can."""
    if density not in DENSITIES:
        return {}
    # Loads JAX, which splines do not need.
    from napinn.methods import compressed

    return {"estimator": compressed(DENSITIES[density].make())}


def _network(request: Request, options: RunOptions, reason: str) -> FitResult:
    method = METHODS[NETWORK].make(**estimator_of(density_of(request.method)))
    check_readings(request.problem, request.readings, method.double)
    result = backend_of(method).fit(replace(request, method=method), options)
    return replace(result, notes=(f"A network was fitted, because {reason}.", *result.notes))
