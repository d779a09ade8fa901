"""Splines as a backend: from a request to a result."""

import logging
import time
from dataclasses import replace

import numpy as np
import pandas as pd

from napinn.data.readings import Readings
from napinn.diagnostics.sensors import judge_sensors, noisy_scales
from napinn.engines.base import Backend, Estimate, RunOptions
from napinn.engines.request import Request
from napinn.engines.snapshot import Snapshot
from napinn.engines.spline_limits import check_splines
from napinn.engines.splines.cost import TooSlowError
from napinn.engines.splines.discrepancy import discrepancy_of
from napinn.engines.splines.engine import Engine, Fit, estimated_seconds
from napinn.engines.splines.finish import fitted_model, judged, reliabilities
from napinn.engines.splines.journal import Journal, Level
from napinn.engines.splines.method import Splines
from napinn.engines.splines.model import SplineModel, restored, restored_spread
from napinn.engines.splines.points import Point
from napinn.engines.splines.priors import PriorRole, prior_roles
from napinn.engines.splines.profiling import profiles_of
from napinn.engines.splines.screening import SensorJudge
from napinn.engines.splines.task import Task
from napinn.engines.splines.threads import one_blas_thread
from napinn.engines.splines.uncertainty import uncertainty_of
from napinn.errors import InputError
from napinn.field.splines.banded import NotPositiveError
from napinn.problem import Problem
from napinn.results.discrepancy import Discrepancy
from napinn.results.intervals import FieldSpread, Interval, Uncertainty
from napinn.results.model import FittedModel
from napinn.results.profiles import Profiles
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult, FitStatus
from napinn.results.verdicts import left_out
from napinn.storage.arrays import SavedArrays

log = logging.getLogger(__name__)


class SplineBackend(Backend):
    def fit(self, request: Request, options: RunOptions) -> FitResult:
        try:
            return fit_splines(request, options)[0]
        except TooSlowError:
            raise InputError(f"{TOO_LARGE}; use --method law_pinn.") from None

    def restore(self, request: Request, arrays: SavedArrays, has_law: bool) -> SplineModel:
        return restored(request.problem, request.readings, arrays)

    def restore_spread(self, model: FittedModel, arrays: SavedArrays) -> FieldSpread:
        assert isinstance(model, SplineModel)
        return restored_spread(model, arrays)

    def estimate_uncertainty(self, result: FitResult, seed: int) -> Uncertainty:
        if result.uncertainty is None:
            raise InputError("this fit failed or was interrupted before its intervals were known; fit again for them.")
        return result.uncertainty

    def profiles(self, result: FitResult) -> Profiles:
        assert isinstance(result.model, SplineModel)
        with one_blas_thread():
            return profiles_of(result, result.model)

    def discrepancy(self, result: FitResult) -> Discrepancy:
        assert isinstance(result.model, SplineModel)
        with one_blas_thread():
            return discrepancy_of(result, result.model)

    def estimate(self, problem: Problem, readings: Readings, method: Recipe) -> Estimate:
        check_splines(problem, readings)
        return Estimate("splines", estimated_seconds(Task(problem, readings)))


BACKEND = SplineBackend()


def density_of(method: Recipe) -> str:
    assert isinstance(method, Splines)
    return method.density


TOO_LARGE = "the readings and the mesh that they need are too many for splines"


def fit_splines(request: Request, options: RunOptions) -> tuple[FitResult, Fit | None]:
    """The result, and where the engine ended (None if it was interrupted or failed).

    Raises `TooSlowError`, with what was found until then, where readings and mesh are too many."""
    check_splines(request.problem, request.readings)
    task, recorder = Task(request.problem, request.readings, density_of(request.method)), _Recorder(request, options)
    screen = SensorJudge(task, request.method.false_alarms)
    journal = _journal(request, task, options, recorder)
    engine = Engine(task, request.seed, screen, recorder, journal)
    # Numbers that are not finite are answered where they matter: a step is refused, a fit ends as diverged.
    with np.errstate(all="ignore"), one_blas_thread():
        try:
            fit = engine.run()
            return _finished(request, recorder, fit, prior_roles(fit, request.seed, screen)), fit
        except TooSlowError as error:
            if recorder.newest is not None:
                error.model, error.unknowns = fitted_model(recorder.newest), _unknowns(request, recorder.newest)
            raise
        except KeyboardInterrupt:
            journal.write()
            return _interrupted(request, recorder, engine), None
        except (NotPositiveError, np.linalg.LinAlgError):
            return _failed(request, recorder, engine), None


def _journal(request: Request, task: Task, options: RunOptions, recorder: "_Recorder") -> Journal:
    """The stages of an earlier run that are to be continued, and where those of this one are kept."""
    if options.checkpoints is None:
        return Journal()
    journal = Journal(request.digest(), options.checkpoints, recorded=lambda: (recorder.rows, recorder.seconds))
    if options.resume:
        recorder.rows, recorder.earlier = journal.restore(task)
        log.info("resumed after %d points of the descent", len(recorder.rows))
    return journal


USUAL_POINTS = 50
"""Points of a descent, for the share that a progress bar shows: how many there will be is not known before."""
POINTS_BEFORE = 4
"""Smoothing and the first point take about as long as so many later ones: the median of 13 fits, of 0.6 to 15."""


class _Recorder:
    """Every point of the descent as a row of the history, and the newest point for an interrupt."""

    def __init__(self, request: Request, options: RunOptions) -> None:
        self.request, self.options = request, options
        self.rows: list[dict[str, float | str]] = []
        self.newest: Point | None = None
        self.begun, self.earlier = time.perf_counter(), 0.0
        """`earlier` are the seconds of the fit that this one continues."""

    @property
    def seconds(self) -> float:
        return self.earlier + time.perf_counter() - self.begun

    def __call__(self, point: Point, happened: str, stage: str) -> None:
        value, unknowns = point.solution.value, self.request.problem.unknowns
        if "undone" not in happened:
            self.newest = point
        losses = {
            "total": value.total,
            "equation": value.equation_cost,
            "data": value.data,
            "tolerance": point.tolerance,
            "cells": float(np.prod([axis.cells for axis in point.system.space.axes])),
        }
        found = dict(zip(unknowns, map(float, point.state.unknowns), strict=False))
        number = len(self.rows) + 1
        total = max(USUAL_POINTS, number + 1)
        mesh = "×".join(str(axis.cells) for axis in point.system.space.axes)
        detail = f"ε {point.tolerance:.1g}  {mesh} cells  cost of equations {value.equation_cost:.3g}"
        seconds, rate = self.seconds, number / max(self.seconds, 1e-9)
        left = (total - number) * seconds / (number + POINTS_BEFORE)
        snapshot = Snapshot(stage, number, total, number, total, losses, found, {}, seconds, rate, detail, left)
        self.rows.append(snapshot.row())
        self.options.progress(snapshot)


def _finished(request: Request, recorder: _Recorder, fit: Fit, roles: list[PriorRole]) -> FitResult:
    result = _result(request, recorder, fit.point)
    result = replace(result, uncertainty=uncertainty_of(fit.point, fit.drift))
    return replace(judged(result, fit, roles), seconds=recorder.seconds)


def _interrupted(request: Request, recorder: _Recorder, engine: Engine) -> FitResult:
    reached = recorder.newest or engine.newest_level()
    return replace(_result(request, recorder, reached), status=FitStatus.INTERRUPTED)


def _failed(request: Request, recorder: _Recorder, engine: Engine) -> FitResult:
    """Open intervals where a point of the descent was reached, and none where there was none."""
    reached = recorder.newest or engine.newest_level()
    result = replace(_result(request, recorder, reached), status=FitStatus.DIVERGED)
    if not isinstance(reached, Point):
        return result
    uncertainty = uncertainty_of(reached, np.zeros(len(reached.state.unknowns)))
    opened = {name: Interval(-np.inf, np.inf, np.inf) for name in request.problem.unknowns}
    return replace(result, uncertainty=replace(uncertainty, intervals=opened))


def _result(request: Request, recorder: _Recorder, point: Point | Level) -> FitResult:
    problem, readings = request.problem, request.readings
    predicted = np.asarray(point.system.everywhere @ point.state.coefficients, float)
    verdicts = judge_sensors(problem, readings, predicted, request.method.false_alarms)
    model = fitted_model(point)
    scales = noisy_scales(readings, predicted, verdicts)
    reliability = reliabilities(model, point, left_out(verdicts, len(readings)), scales)
    return FitResult(
        problem, request.method, readings, request.seed, model, _unknowns(request, point), predicted, reliability,
        pd.DataFrame(recorder.rows), FitStatus.BUDGET_SPENT, recorder.seconds, verdicts,
    )  # fmt: skip


def _unknowns(request: Request, point: Point | Level) -> dict[str, float]:
    # Coefficients of unknown functions follow after the unknowns.
    return dict(zip(request.problem.unknowns, map(float, point.state.unknowns), strict=False))
