"""The whole fit: mesh, starts, faulty sensors, noise law, final tolerance."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napinn.engines.splines.cost import Meter
from napinn.engines.splines.descent import (
    FALL,
    FIELD_STEPS,
    STIFF_AS_BEFORE,
    Descent,
    Point,
    bisected,
    marks_of,
    point_of,
    rebuilt,
    with_noise_level,
)
from napinn.engines.splines.doubts import Doubt, doubts_of
from napinn.engines.splines.journal import Journal, Level, recalled
from napinn.engines.splines.learning import learn_law
from napinn.engines.splines.screening import Screen, screened
from napinn.engines.splines.smoothing import Start, choose_start, first_space, sharper, smooth_values, smoothed
from napinn.engines.splines.solver import solve
from napinn.engines.splines.system import State, System, Units, measured_units
from napinn.engines.splines.task import Curve, Task, tree_of
from napinn.engines.splines.weak_form import weak_start
from napinn.field.splines.banded import NotPositiveError
from napinn.field.splines.space import Space
from napinn.noise.laws import Cauchy
from napinn.noise.mixture import Mixture
from napinn.problem.equations import Constant, Derivative, Leaf
from napinn.problem.equations import Unknown as UnknownLeaf
from napinn.problem.equations.gradient import value_and_partials

FIRST_END, FIRST_END_CLOSE = 0.03, 0.003
"""The tolerance at which starts are compared; tighter where it costs little, with one axis, and with few readings,
whose field little else holds."""
GIVEN_START = 0.03
"""The tolerance at which a descent from given unknowns begins: looser, the readings would move them away."""
FEW = 100
"""Readings below which several starts are always tried."""
OTHER_STARTS = (3.0, 1.0 / 3.0)
"""Factors of the given start that are tried when others are doubtful."""
LOOSELY_HELD = 0.15
"""Share of the readings that parameters use up, above which the equations hardly hold the field, so that the unknowns
of one start prove little."""
LAST = {1: 3e-4, 2: 1e-3, 3: 1e-3}
"""The final tolerance by the number of axes."""
LAST_WITH_JUMPS = 0.01
"""The final tolerance where an unknown function jumps: the field then has a kink, which no mesh of smooth functions
meets to a thousandth."""
FAR = 10.0
"""Times the size at which an unknown matters, beyond which its start does not count as the size of its terms."""
MOST = {1: 20_000, 2: 12_000, 3: 6_000}
"""Coefficients by the number of axes that the direct solver takes in seconds."""
MOST_AT_FIRST = 4_000
"""Coefficients a field while starts are compared."""
FIRST_BUDGET = 14.0
"""Seconds by the model of cost in which the first start must be done. Where it is not, the mesh and the readings are
too many for a direct solver, and the whole fit would take many minutes."""
FINER = {1: 1.5, 2: 1.5, 3: 1.0}
"""How many times the most coefficients the last check of the mesh may take, by the number of axes."""
AROUND_FIT = 3.0
"""Seconds that imports, files and the report take."""
FIRST_STEPS = 40
"""Gauss–Newton steps of the first start."""
USUAL_STEPS = {1: 800, 2: 1000, 3: 150}
"""Steps of a whole fit in units of one at the first mesh, by the number of axes: the mesh grows on the way. The first
two were chosen by the cases of the gallery (`python benchmarks/time_estimates.py`)."""
FIRST_ROUGHNESS_WEIGHT = 1e6
"""Of unknown functions, in units of their size: at first they are straight lines, and none of their jumps is larger
than a thousandth."""
ROUGHNESS_ROUNDS = 8
"""Of unknown functions and their roughness weights in turn, at most."""
NOTHING = 1e-30
"""A positive function that is as good as absent."""

StagedWatch = Callable[[Point, str, str], None]
"""Is told of every point, what happened there, and of the stage: which start is tried, or which one is continued."""


@dataclass(frozen=True, eq=False)
class Attempt:
    name: str
    level: Level
    least: Units
    """The units of the smoothed field that it began with."""
    doubts: list[Doubt]

    @property
    def sound(self) -> bool:
        """Whether nothing makes it doubtful and the equations hold its field."""
        return not self.doubts and self.level.share <= LOOSELY_HELD


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
        self, task: Task, seed: int, screen: Screen, watch: StagedWatch, journal: Journal | None = None
    ) -> None:
        self.task, self.seed, self.screen, self.watch = task, seed, screen, watch
        self.journal = journal or Journal()
        self.first = np.ones(len(task.unknowns))
        """Where the unknowns start."""
        self.natural = np.full(len(task.unknowns), np.inf)
        """The size at which each matters."""
        self.roughness_weight = np.ones(sum(len(curve.rows) for curve in task.curves))
        """Of unknown functions, at first."""
        self.all = np.ones(len(task.readings), bool)
        self.start: Start | None = None
        self.stage = "smoothed readings"
        """What is being done, in the words of a progress line."""
        self.meter = Meter(FIRST_BUDGET)

    def run(self) -> Fit:
        task = self.task
        most = MOST[task.dimensions]
        start = self.start = choose_start(task, self.seed, most // task.fields, self.meter)
        self._find_first(start)
        attempts = self._attempts(start, min(MOST_AT_FIRST * task.fields, most))
        if not attempts:
            raise NotPositiveError
        best = self._best(attempts)
        self.stage = f"continuing '{best.name}'" if len(attempts) > 1 else f"start '{best.name}'"
        least = best.least
        level = self._with_first_law(best, start)
        descent = Descent("last", least, most, self._report, self.journal)
        quietest, tolerance = float(min(best.level.state.sigma[0], level.state.sigma[0])), level.tolerance / FALL
        level = descent.run(level.system, level.state, tolerance, self._last, level, quietest)
        point = self._with_law(rebuilt(level, least), start, least)
        if not any(isinstance(law, Mixture) for law in point.state.laws):
            point = self._polished(point, least)
        if task.curves:
            point = self._with_stiffness(point, least)
        drift = self._drift(point, least, most)
        return Fit(point, least, start, self._doubts(point, start), attempts, descent.full, drift)

    @property
    def _last(self) -> float:
        """The final tolerance."""
        jumps = any(curve.space.jumps for curve in self.task.curves)
        return max(LAST[self.task.dimensions], LAST_WITH_JUMPS if jumps else 0.0)

    def _find_first(self, start: Start) -> None:
        """Where the unknowns start: as given, or at the size at which they matter."""
        system, state = self._smoothed(start)
        self.natural = np.where(self.task.of_curves, np.inf, natural_sizes(system, state))
        if self.task.problem.observables:
            # Behind a mean, fields are constant at first, and show no size at which an unknown matters.
            self.natural = np.where(np.isfinite(self.natural), self.natural, box_sizes(self.task))
        usual = np.where(np.isfinite(self.natural), self.natural, 1.0)
        unknowns = self.task.parameters.values()
        self.first = np.array([each.started(size) for each, size in zip(unknowns, usual, strict=True)])
        for curve in self.task.curves:
            value, size = first_of_curve(system, state.coefficients, self.first, curve)
            self.first[curve.start : curve.start + curve.size] = curve.space.constant(value)
            self.roughness_weight[curve.sets] = FIRST_ROUGHNESS_WEIGHT / (1.0 if curve.space.positive else size) ** 2

    def _with_first_law(self, best: Attempt, start: Start) -> Level:
        """The best attempt with three points a cell, without faulty sensors, and with a learned law."""
        kept = recalled(self.journal, "law", self.task, self.meter)
        if kept is not None:
            return kept
        point = self._with_law(
            screened(self._with_three_points(best), best.least, self.screen, self._report), start, best.least
        )
        self.journal.keep("law", point.level.arrays())
        return point.level

    def _with_three_points(self, best: Attempt) -> Point:
        """The best attempt with three points a cell. A mesh that meets the equations at two points of each cell may be
        too coarse to meet them at three, so it is refined as in a descent."""
        level, least, most = best.level, best.least, MOST[self.task.dimensions]
        system, tolerance = level.system.with_points(3), level.tolerance
        units = measured_units(system, level.state, least)
        state = solve(system, units, tolerance, level.state, steps=FIELD_STEPS, free=False).state
        before = replace(level, system=system, equation_cost=np.inf)
        descent = Descent("three points", least, most, self._report, self.journal)
        level = descent.run(system, state, tolerance, tolerance, before, float(level.state.sigma[0]))
        return rebuilt(level, least)

    def _drift(self, point: Point, least: Units, most: int) -> np.ndarray:
        """How far the unknowns move when cells are bisected once more and the tolerance falls once more."""
        finer, state = bisected(point, marks_of(point), int(FINER[self.task.dimensions] * most))
        system = point.system if finer is None else finer
        units = measured_units(system, state, least)
        try:
            after = solve(system, units, point.tolerance / FALL, state, steps=3)
        except (NotPositiveError, np.linalg.LinAlgError):
            return np.full(len(state.unknowns), np.inf)
        return after.state.unknowns - point.state.unknowns

    def newest_level(self) -> Level:
        """Of a fit that ended before it computed a point: that of the checkpoint it began with, or else the smoothed
        readings."""
        self.meter.limit = float("inf")
        kept = recalled(self.journal, self.journal.newest, self.task, self.meter)
        if kept is not None:
            return kept
        most = MOST[self.task.dimensions] // self.task.fields
        start = self.start or choose_start(self.task, self.seed, most, self.meter)
        self._find_first(start)
        system, state = self._smoothed(start)
        return Level(system, state, 1.0, np.inf, 0.0, 0.0, np.full(len(state.unknowns), np.inf))

    def _report(self, point: Point, happened: str) -> None:
        self.watch(point, happened, self.stage)

    def _doubts(self, point: Point | Level, start: Start) -> list[Doubt]:
        return doubts_of(point, start, self.first, self.natural)

    def _attempts(self, start: Start, most: int) -> list[Attempt]:
        """Descents from different unknowns and meshes, as many as there is doubt."""
        few, single = len(self.task.readings) < FEW, self.task.dimensions == 1
        unknowns = self.task.parameters
        end = max(FIRST_END_CLOSE if few or single else FIRST_END, self._last)
        found: list[Attempt] = []

        def attempt(name: str, first: Start, given: np.ndarray | None, tolerance: float) -> None:
            """From given unknowns, or where there are none from those of the weak form."""
            self.stage = f"start '{name}'"
            system, state = self._smoothed(first)
            # A start of 1 where 1e-4 is right must not make the equations look large, and so loosely met.
            small = np.sign(self.first) * np.minimum(np.abs(self.first), FAR * self.natural)
            small = np.where(self.task.expected, self.first, small)
            least = measured_units(system, replace(state, unknowns=small))
            try:
                if given is None:
                    given = weak_start(system, state, least)
                    given = None if given is None else self.task.near_priors(given)
                begun = state if given is None else replace(state, unknowns=given)
                level = Descent(name, least, most, self._report, self.journal).run(system, begun, tolerance, end)
            except (NotPositiveError, np.linalg.LinAlgError):
                return
            found.append(Attempt(name, level, least, self._doubts(level, start)))

        def doubtful() -> bool:
            return not any(each.sound for each in found)

        attempt("weak form", start, None, 1.0)
        self.meter.limit = float("inf")
        if few or single or (doubtful() and self.task.dimensions == 2):
            finer = sharper(self.task, start)
            if finer.cells != start.cells:
                attempt("weak form, sharper", finer, None, 1.0)
        if few or doubtful():
            attempt("given start", start, self.first, GIVEN_START)
        if few or doubtful():
            for factor in OTHER_STARTS:
                attempt(f"given start × {factor:.2g}", start, self._times(factor), GIVEN_START)
            free = np.array([u.start is None and u.low is None and u.high is None for u in unknowns.values()], bool)
            for curve in self.task.curves:
                free[curve.start : curve.start + curve.size] = not curve.space.positive and curve.varying.start is None
            if free.any():
                attempt("other signs", start, np.where(free, -self.first, self.first), GIVEN_START)
        return found

    def _times(self, factor: float) -> np.ndarray:
        """The first values times a factor; a positive function has its logarithm among them."""
        found = factor * self.first
        for curve in self.task.curves:
            if curve.space.positive:
                found[curve.start : curve.start + curve.size] = curve.of(self.first) + np.log(factor)
        return found

    def _smoothed(self, start: Start) -> tuple[System, State]:
        """The smoothed readings on the first mesh; hidden fields are constant."""
        task = self.task
        space = first_space(task, start.cells, task.fields)
        measured = smoothed(task, space.with_fields(task.measured), start.roughness_weight, self.meter)
        coefficients = np.tile(task.centre, (space.functions, 1))
        coefficients[:, : task.measured] = measured.reshape(-1, task.measured)
        self._start_indirect(space, coefficients, start.roughness_weight)
        held_out = start.held_out if task.groups == 1 else np.array(start.by_group)[task.scatters.group]
        sigma = held_out * task.noise_unit
        offsets = np.zeros(len(sigma))
        state = State(coefficients.ravel(), self.first, offsets, sigma, task.working_laws, self.roughness_weight)
        # Two points a cell: a coarse mesh must not lock.
        return System(task, space, 2, self.all, self.meter), state

    def _start_indirect(self, space: Space, coefficients: np.ndarray, roughness_weight: float) -> None:
        """Hidden fields behind observables, from the smoothed observables."""
        task, single = self.task, space.with_fields(1)

        def observed(number: int) -> np.ndarray:
            places = task.points[task.readings.field_index == number]
            return single.design(places, 0) @ coefficients[:, number]

        for name, number, values in task.inverted(observed):
            field = task.field_of[name]
            places = task.points[task.readings.field_index == number]
            coefficients[:, field] = smooth_values(single, places, values, float(task.scale[field]), roughness_weight)

    def _best(self, attempts: list[Attempt]) -> Attempt:
        """Of the sound attempts, or of those without doubts, or of all: the least robust loss at a
        common noise level, plus the cost of the equations and, as BIC counts them, the parameters that the readings
        pay for."""
        undoubted = [attempt for attempt in attempts if not attempt.doubts]
        attempts = [attempt for attempt in attempts if attempt.sound] or undoubted or attempts
        sigma = np.min([attempt.level.state.sigma for attempt in attempts], axis=0)
        each = 0.5 * np.log(len(self.task.readings))

        def score(attempt: Attempt) -> float:
            level, system, state = attempt.level, attempt.level.system, attempt.level.state
            standard = (system.misfits(state.coefficients) - state.offsets[system.scatter]) / sigma[system.scatter]
            return float(np.sum(Cauchy().loss(standard))) + level.equation_cost + each * level.parameters

        return min(attempts, key=score)

    def _with_law(self, point: Point, start: Start, least: Units) -> Point:
        return point if self._doubts(point, start) else learn_law(point, least, self._report)

    def _with_stiffness(self, point: Point, least: Units) -> Point:
        """Unknown functions and their roughness_weight in turn, until both stand still."""
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
        for _ in range(3):
            before = point.state.sigma
            units = measured_units(point.system, point.state, least)
            solution = solve(point.system, units, point.tolerance, point.state, steps=30, least_gain=1e-3)
            point = with_noise_level(point_of(solution))
            if np.all(np.abs(point.state.sigma / before - 1.0) < 0.01):
                break
        return point


def first_of_curve(
    system: System, coefficients: np.ndarray, parameters: np.ndarray, curve: Curve
) -> tuple[float, float]:
    """The constant from which an unknown function starts, and the size at which it matters.

    Args:
        system: on the first mesh.
        coefficients: of the smoothed readings.
        parameters: where unknowns and functions start so far.
        curve: the function."""
    inside = slice(curve.start, curve.start + curve.size)
    none, one = parameters.copy(), parameters.copy()
    none[inside] = curve.space.constant(NOTHING if curve.space.positive else 0.0)
    one[inside] = curve.space.constant(1.0)
    values, sizes = [], []
    for rest, whole in zip(system.residuals(coefficients, none), system.residuals(coefficients, one), strict=True):
        slope = whole.value - rest.value
        square = float(np.mean(slope**2))
        if square > 0.0 and np.isfinite(square):
            values.append(-float(np.mean(slope * rest.value)) / square)
            sizes.append(float(np.sqrt(np.mean(rest.value**2) / square)))
    size = min((each for each in sizes if np.isfinite(each) and each > 0.0), default=1.0)
    value = values[int(np.argmin(sizes))] if sizes else size
    if curve.varying.start is not None:
        return curve.varying.start, max(size, abs(curve.varying.start))
    return (value if value > 0.1 * size else size) if curve.space.positive else value, size


def natural_sizes(system: System, state: State) -> np.ndarray:
    """The size at which each unknown matters at the smoothed field, beside the terms without unknowns; infinite where
    there are none."""
    task = system.task
    absent = system.residuals(state.coefficients, np.zeros(len(task.unknowns)))
    found = []
    for name in task.unknowns:
        sizes = []
        for residual in absent:
            slope, rest = residual.unknowns.get(name), residual.value
            if slope is None:
                continue
            ratio = np.sqrt(np.mean(rest**2) / max(float(np.mean(slope**2)), np.finfo(float).tiny))
            sizes.extend([float(ratio)] if np.isfinite(ratio) and ratio > 0.0 else [])
        found.append(min(sizes, default=np.inf))
    return np.array(found)


def box_sizes(task: Task) -> np.ndarray:
    """The size at which each unknown matters where every field varies by its scale over the box."""

    def value(leaf: Leaf) -> Any:
        match leaf:
            case Derivative(name, _):
                return task.scale[task.field_of[name]] / float(np.prod(task.lengths ** np.array(task.orders_of(leaf))))
            case UnknownLeaf():
                return 0.0
            case Constant(_, number):
                return number
            case _:
                return 1.0

    found = np.full(len(task.unknowns), np.inf)
    for equation in task.equations:
        rest, slopes = value_and_partials(tree_of(equation), value)
        for number, name in enumerate(task.unknowns):
            slope = abs(float(slopes.get(UnknownLeaf(name), 0.0)))
            ratio = abs(float(rest)) / slope if slope > 0.0 else np.inf
            found[number] = min(found[number], ratio if ratio > 0.0 else np.inf)
    return found


def estimated_seconds(task: Task) -> float:
    """About how long a fit takes from the command to the report, by the model of cost at the first mesh.

    Raises `TooSlowError` where the first start alone would use up its budget."""
    meter = Meter(FIRST_BUDGET)
    start = choose_start(task, 0, MOST[task.dimensions] // task.fields, meter)
    system = System(task, first_space(task, start.cells, task.fields), 3, np.ones(len(task.readings), bool), meter)
    meter.spend(FIRST_STEPS * system.step_seconds)
    return AROUND_FIT + meter.spent + USUAL_STEPS[task.dimensions] * system.step_seconds
