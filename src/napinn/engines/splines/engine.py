"""The whole fit: mesh, starts, faulty sensors, noise law, final tolerance."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from napinn.engines.splines.bisection import bisected, marks_of
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.descent import FALL, FIELD_STEPS, Descent, precision_lost
from napinn.engines.splines.doubts import Doubt
from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.journal import Journal, Level, recalled
from napinn.engines.splines.learning import learn_law
from napinn.engines.splines.points import STIFF_AS_BEFORE, Point, point_of, rebuilt, with_noise_level
from napinn.engines.splines.screening import SensorJudge, screened
from napinn.engines.splines.smoothing import Start, choose_start, first_space
from napinn.engines.splines.solver import solve
from napinn.engines.splines.starts import SETTLED_PRICE, Attempt, Starts
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.threads import one_blas_thread
from napinn.field.splines.banded import NotPositiveError
from napinn.noise.mixture import Mixture

LAST = {1: 3e-4, 2: 1e-3, 3: 1e-3}
"""The final tolerance by the number of axes: residuals are then small beside a thousandth of their terms. How far the
unknowns still move with a tighter one is measured at the end and is part of their errors. With one axis cells cost
little, so that it can be tighter."""
LAST_WITH_JUMPS = 0.01
"""The final tolerance where an unknown function jumps: the field then has a kink, which no mesh of smooth functions
meets to a thousandth."""
MOST = {1: 20_000, 2: 12_000, 3: 6_000}
"""Coefficients by the number of axes that the direct solver takes in seconds."""
MOST_AT_FIRST = 4_000
"""Coefficients a field while starts are compared; an observable follows from fields, and is none here. The best start
may have more afterwards; one in a wrong valley would take all that it is given."""
FIRST_BUDGET = 14.0
"""Seconds by the model of cost in which the first start must be done. Where it is not, the mesh and the readings are
too many for a direct solver, and the whole fit would take many minutes."""
FINER = {1: 1.5, 2: 1.5, 3: 1.0}
"""How many times the most coefficients the last check of the mesh may take, by the number of axes. A mesh that is at
its most can only be checked by a larger one; with three axes a step on that would take too long, and the tighter
tolerance alone is tried."""
AROUND_FIT = 3.0
"""Seconds that imports, files and the report take."""
FIRST_STEPS = 40
"""Gauss–Newton steps of the first start."""
USUAL_STEPS = {1: 1000, 2: 3000, 3: 150}
"""Steps of a whole fit in units of one at the first mesh, by the number of axes: the mesh grows on the way. The first
two were chosen by the cases of the gallery, with five seeds each (`gallery.json`, `benchmarks/time_estimates.py`)."""
POLISHING_ROUNDS, POLISHED = 3, 0.01
"""Of the field and the noise level in turn at the end, where no law is learned: at most so many, or until the level
moves by less than this share. Its own error is larger: 6 % with 400 readings, and of more a law is learned."""
ROUGHNESS_ROUNDS = 8
"""Of unknown functions and their roughness weights in turn, at most."""
StagedWatch = Callable[[Point, str, str], None]
"""Gets every point, what happened there, and the stage: which start is tried, or which one is continued."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Where the engine ended."""

    point: Point
    least: Units
    start: Start
    doubts: list[Doubt]
    attempts: list[Attempt]
    full: bool
    """Whether a finer mesh was wanted than the direct solver takes."""
    drift: np.ndarray
    """How far each unknown moves with a finer mesh and a tighter tolerance."""


class Engine:
    """A fit in the making; `run` makes it."""

    def __init__(
        self, task: Task, seed: int, screen: SensorJudge, watch: StagedWatch, journal: Journal | None = None
    ) -> None:
        self.task, self.seed, self.screen, self.watch = task, seed, screen, watch
        self.journal = journal or Journal()
        self.start: Start | None = None
        self.stage = "smoothed readings"
        """What is being done, in the words of a progress line."""
        self.meter = Meter(FIRST_BUDGET)
        self.starts = Starts(task, self._report, self._begin, self.journal, self.meter)

    def _begin(self, stage: str) -> None:
        self.stage = stage

    def run(self) -> Fit:
        task = self.task
        most = MOST[task.dimensions]
        start = self.start = self._first_start(most // task.fields)
        attempts = self.starts.attempts(start, min(MOST_AT_FIRST * task.independent_fields, most), self._last)
        if not attempts:
            raise NotPositiveError
        best = self.starts.best(attempts)
        self.stage = f"continuing '{best.name}'" if len(attempts) > 1 else f"start '{best.name}'"
        least = best.least
        level = self._with_first_law(best, start)
        descent = Descent("last", least, most, self._report, self.journal)
        quietest, tolerance = float(min(best.level.state.sigma[0], level.state.sigma[0])), level.tolerance / FALL
        end = descent.run(level.system, level.state, tolerance, self._last, level, quietest)
        point = rebuilt(end, least)
        if precision_lost(end.errors, point.errors):
            # At the edge of double precision the same matrix, built anew, has other errors.
            point = rebuilt(level, least)
        point = self._with_law(point, start, least)
        if not any(isinstance(law, Mixture) for law in point.state.laws):
            point = self._polished(point, least)
        if task.curves:
            point = self._with_stiffness(point, least)
        drift = self._drift(point, least, most)
        return Fit(point, least, start, self.starts.doubts(point, start), attempts, descent.full, drift)

    def _first_start(self, most: int) -> Start:
        """Mesh and unknowns to start with, without stretches in which a sensor is stuck: they have no noise, so that a
        field on a mesh which is fine enough follows them exactly, whatever the equations say."""
        start = choose_start(self.task, self.seed, most, self.meter)
        stuck = self.screen.stuck(self.starts.find_first(start))
        if stuck.any():
            self.starts.used = ~stuck
            start = choose_start(self.task, self.seed, most, self.meter, ~stuck)
            self.starts.find_first(start)
        return start

    @property
    def _last(self) -> float:
        """The final tolerance."""
        jumps = any(curve.space.jumps for curve in self.task.curves)
        return max(LAST[self.task.dimensions], LAST_WITH_JUMPS if jumps else 0.0)

    def _with_first_law(self, best: Attempt, start: Start) -> Level:
        """The best attempt with three points a cell, without faulty sensors, and with a learned law."""
        kept = recalled(self.journal, "law", self.task, self.meter)
        if kept is not None:
            return kept
        point = self._with_three_points(self._first_screened(best))
        point = self._with_law(screened(point, best.least, self.screen, self._report), start, best.least)
        self.journal.keep("law", point.level.arrays())
        return point.level

    def _first_screened(self, best: Attempt) -> Attempt:
        """The best attempt without faulty sensors where its equations cost likelihood. A faulty sensor may be the
        reason, and no refinement of the mesh removes such a cost: it only lets the field bend towards the sensor."""
        if best.level.equation_cost <= SETTLED_PRICE:
            return best
        point = screened(rebuilt(best.level, best.least), best.least, self.screen, self._report)
        return replace(best, level=point.level)

    def _with_three_points(self, best: Attempt) -> Point:
        """The best attempt with three points a cell. A mesh that meets the equations at two points of each cell may be
        too coarse to meet them at three, so it is refined as in a descent."""
        level, least, most = best.level, best.least, MOST[self.task.dimensions]
        system, tolerance = level.system.with_points(3), level.tolerance
        units = measured_units(system, level.state, least)
        try:
            state = solve(system, units, tolerance, level.state, steps=FIELD_STEPS, free=False).state
        except NotPositiveError:
            # Between the two points the field leaves the domain of a root or of a power.
            return rebuilt(level, least)
        before = replace(level, system=system, equation_cost=np.inf)
        descent = Descent("three points", least, most, self._report, self.journal)
        level = descent.run(system, state, tolerance, tolerance, before, float(level.state.sigma[0]))
        return rebuilt(level, least)

    def _drift(self, point: Point, least: Units, most: int) -> np.ndarray:
        """How far the unknowns move when cells are bisected once more and the tolerance falls once more."""
        finer, state = bisected(point, marks_of(point), int(FINER[self.task.dimensions] * most))
        tighter, looser = point.tolerance / FALL, point.tolerance * FALL
        # Where a finer mesh exceeds double precision, the tighter tolerance alone is tried, and then the looser one.
        trials = [(point.system, point.state, tolerance) for tolerance in (tighter, looser)]
        if finer is not None:
            trials.insert(0, (finer, state, tighter))
        for system, begun, tolerance in trials:
            units = measured_units(system, begun, least)
            try:
                after = solve(system, units, tolerance, begun, steps=3)
            except (NotPositiveError, np.linalg.LinAlgError):
                continue
            moved = after.state.unknowns - point.state.unknowns
            return moved if tolerance < point.tolerance else -moved
        return np.full(len(point.state.unknowns), np.inf)

    def newest_level(self) -> Level:
        """Of a fit that ended before it computed a point: that of the checkpoint it began with, or else the smoothed
        readings."""
        self.meter.limit = float("inf")
        kept = recalled(self.journal, self.journal.newest, self.task, self.meter)
        if kept is not None:
            return kept
        most = MOST[self.task.dimensions] // self.task.fields
        start = self.start or choose_start(self.task, self.seed, most, self.meter)
        self.starts.find_first(start)
        system, state = self.starts.smoothed_state(start)
        return Level(system, state, 1.0, np.inf, 0.0, 0.0, np.full(len(state.unknowns), np.inf))

    def _report(self, point: Point, happened: str) -> None:
        self.watch(point, happened, self.stage)

    def _with_law(self, point: Point, start: Start, least: Units) -> Point:
        return point if self.starts.doubts(point, start) else learn_law(point, least, self._report)

    def _with_stiffness(self, point: Point, least: Units) -> Point:
        """Unknown functions and their roughness weight in turn, until both no longer change."""
        for _ in range(ROUGHNESS_ROUNDS):
            before = point.state
            point = with_noise_level(point)
            units = measured_units(point.system, point.state, least)
            point = point_of(solve(point.system, units, point.tolerance, point.state, steps=10, least_gain=1e-2))
            self._report(point, "smoothness of unknown functions")
            if np.allclose(np.log(point.state.roughness_weight), np.log(before.roughness_weight), atol=STIFF_AS_BEFORE):
                break
        return point

    def _polished(self, point: Point, least: Units) -> Point:
        for _ in range(POLISHING_ROUNDS):
            before = point.state.sigma
            units = measured_units(point.system, point.state, least)
            solution = solve(point.system, units, point.tolerance, point.state, steps=30, least_gain=1e-3)
            point = with_noise_level(point_of(solution))
            if np.all(np.abs(point.state.sigma / before - 1.0) < POLISHED):
                break
        return point


def estimated_seconds(task: Task) -> float:
    """About how long a fit takes from the command to the report, by the model of cost at the first mesh.

    Raises `TooSlowError` where the first start alone would use up its budget."""
    meter = Meter(FIRST_BUDGET)
    with one_blas_thread():
        start = choose_start(task, 0, MOST[task.dimensions] // task.fields, meter)
    system = System(task, first_space(task, start.cells, task.fields), 3, np.ones(len(task.readings), bool), meter)
    meter.spend(FIRST_STEPS * system.step_seconds)
    return AROUND_FIT + meter.spent + USUAL_STEPS[task.dimensions] * system.step_seconds
