"""Splines where they can follow a field, a network where they cannot."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from napinn.data.readings import Readings
from napinn.engines.base import Backend, Estimate, RunOptions, backend_of
from napinn.engines.catalogue import DENSITIES, METHODS, NETWORK
from napinn.engines.network_limits import network_refusal
from napinn.engines.request import Request, check_single_precision
from napinn.engines.spline_limits import check_splines, refusal
from napinn.engines.splines.backend import TOO_LARGE, density_of, fit_splines
from napinn.engines.splines.cost import TooSlowError
from napinn.engines.splines.doubts import DoubtKind
from napinn.engines.splines.engine import Fit, estimated_seconds
from napinn.engines.splines.journal import STAGES
from napinn.engines.splines.method import bsplines
from napinn.engines.splines.task import Task
from napinn.errors import InputError
from napinn.problem import Problem, Unknown
from napinn.problem.precision import beyond_single
from napinn.results.intervals import FieldSpread, Uncertainty
from napinn.results.model import FittedModel
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult
from napinn.storage.arrays import SavedArrays
from napinn.storage.checkpoints import newest_header


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
        except TooSlowError as error:
            return _handed_over(request, _after_splines(options, began), TOO_LARGE, error.model, error.unknowns)
        reason = None if fit is None else failure(fit)
        if reason is None:
            return result
        untried = _why_no_network(request)
        if untried is not None:
            return replace(result, notes=(*result.notes, untried))
        return _handed_over(request, _after_splines(options, began), reason, result.model, result.unknowns)

    def restore(self, request: Request, arrays: SavedArrays, has_law: bool) -> FittedModel:
        raise TypeError("a result names the method that made it, never the choice")

    def restore_spread(self, model: FittedModel, arrays: SavedArrays) -> FieldSpread:
        raise TypeError("a result names the method that made it, never the choice")

    def estimate_uncertainty(self, result: FitResult, seed: int) -> Uncertainty:
        return backend_of(result.method).estimate_uncertainty(result, seed)

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
    unmet = [doubt for doubt in fit.doubts if doubt.kind is DoubtKind.UNMET]
    if unmet and fit.full:
        return "the mesh that the field needs is too large for splines"
    return None


def _why_no_network(request: Request) -> str | None:
    """A note on what keeps a network from being tried after splines; None where nothing does."""
    reason = network_refusal(request.problem, request.readings)
    if reason is not None:
        return f"No network was tried, because {reason}."
    sentence = next(beyond_single(request.problem, request.readings), None)
    return None if sentence is None else f"No network was tried: {sentence}"


def _handed_over(
    request: Request, options: RunOptions, reason: str, model: FittedModel | None, unknowns: Mapping[str, float]
) -> FitResult:
    """The fit of a network that begins with the field and the unknowns that splines found; as usual where there are
    none. The noise law follows from the field: the network learns it from the misfits that it begins with."""
    if model is None:
        return _network(request, options, reason)
    result = _network(continued(request, unknowns), replace(options, begin_with=model), reason)
    first, *others = result.notes
    return replace(result, notes=(first, STARTED, *others))


STARTED = "It started from the field and the unknowns that splines had found."


def continued(request: Request, found: Mapping[str, float]) -> Request:
    """The request with the unknowns that splines found as starts, where they are inside their bounds."""
    unknowns = {
        name: replace(unknown, start=found[name]) if _inside(unknown, found[name]) else unknown
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
    from napinn.engines.network.methods import compressed

    return {"estimator": compressed(DENSITIES[density].make())}


def _network(request: Request, options: RunOptions, reason: str) -> FitResult:
    lacking = network_refusal(request.problem, request.readings)
    if lacking is not None:
        raise InputError(f"{reason}, and {lacking}, which only splines can fit with; change one of the two.")
    method = METHODS[NETWORK].make(**estimator_of(density_of(request.method)))
    check_single_precision(request.problem, request.readings)
    result = backend_of(method).fit(replace(request, method=method), options)
    return replace(result, notes=(f"A network was fitted, because {reason}.", *result.notes))
