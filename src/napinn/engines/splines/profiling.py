"""Profile likelihood with splines: one unknown is held at values away from where the fit ended, all else is refitted.

Mesh, units, noise law and tolerance stay as they are, so that objectives can be compared."""

import math

import numpy as np

from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.model import SplineModel
from napinn.engines.splines.rebuilding import rebuilt_fit
from napinn.engines.splines.solver import Solution, solve
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.field.splines.banded import NotPositiveError
from napinn.results.profiles import THRESHOLD, Profile
from napinn.results.result import FitResult

FIRST_STEP = 0.6
"""Standard errors to the first value on either side."""
MOST_AT_ONCE = 0.5
"""Of its own size, by which an unknown moves in the first step: from farther away a refit would not find back to
values of the others that go with it."""
WIDEST_STEP = 2.0
"""By which a step may be longer than the one before, where the profile rises slowly."""
FARTHEST = 1e3
"""Times its own size that an unknown is taken away from where it was found, and the factor for one that moves in its
logarithm: what has not risen there never will."""
MOST_VALUES = 24
"""On either side."""
BEYOND = 1.6
"""Times the threshold at which a side ends: the picture shows the crossing."""
SMALL_GAIN = 1e-3
"""Nats below which a refit has ended: a two-thousandth of the threshold."""
STEPS = 20
"""Gauss–Newton steps of a refit with one unknown fixed; each starts at its neighbour on the profile."""


class Profiler:
    """Profiles of the unknowns of one finished fit."""

    def __init__(self, system: System, state: State, tolerance: float) -> None:
        units = measured_units(system, state)
        self.units: Units = units
        self.best = solve(system, units, tolerance, state, steps=2 * STEPS, least_gain=SMALL_GAIN)
        score, curvature = self._law_terms()
        self.ratio = float(np.mean(score**2) / np.mean(curvature))
        """By which the law's own likelihood is too steep: 1 where the noise follows the law."""

    def _law_terms(self) -> tuple[np.ndarray, np.ndarray]:
        system, state = self.best.system, self.best.state
        return system.score(state), system.curvature(state)

    def of(self, number: int) -> Profile:
        """The profile of the unknown with this number."""
        value = float(self.best.state.unknowns[number])
        found = {value: 0.0, **self._side(number, -1.0), **self._side(number, 1.0)}
        values = np.array(sorted(found))
        rises = np.array([found[each] for each in values]) / self.ratio
        # A refit may end below the fit itself, which had stopped a little early.
        return Profile(values, rises - min(float(rises.min()), 0.0))

    def _side(self, number: int, sign: float) -> dict[float, float]:
        task, best = self.best.system.task, self.best
        error = float(best.errors[number]) / float(task.rates(best.state.unknowns)[number])
        size = 1.0 if task.logarithmic[number] else max(abs(float(best.state.unknowns[number])), 1e-300)
        step = min(FIRST_STEP * (error if error > 0.0 else math.inf), MOST_AT_ONCE * size)
        found: dict[float, float] = {}
        last, before = best, 0.0
        for _ in range(MOST_VALUES):
            target = self._target(number, sign * step, last.state)
            if target is None:
                break
            refitted = self._refit(last, number, target)
            if refitted is None:
                break
            rise = refitted.value.total - best.value.total
            found[target], last = rise, refitted
            if rise > BEYOND * THRESHOLD * self.ratio or self._far(number, target):
                break
            # The root of a profile is nearly straight: a step shall raise it by a third of the threshold's root.
            climbed = math.sqrt(max(rise, 0.0)) - math.sqrt(max(before, 0.0))
            wanted = math.sqrt(THRESHOLD * self.ratio) / 3.0
            step *= min(WIDEST_STEP, max(0.3, wanted / max(climbed, 1e-12)))
            before = rise
        return found

    def _target(self, number: int, move: float, state: State) -> float | None:
        """The next value; None where a bound is reached."""
        task = self.best.system.task
        value = float(state.unknowns[number])
        target = value * math.exp(max(min(move, 5.0), -5.0)) if task.logarithmic[number] else value + move
        low, high = float(task.low[number]), float(task.high[number])
        if low < target < high:
            return target
        nearer = 0.5 * (value + (low if target <= low else high))
        far = abs(nearer - value) > 1e-3 * abs(value - float(self.best.state.unknowns[number]))
        return nearer if far and nearer != value else None

    def _far(self, number: int, target: float) -> bool:
        value = float(self.best.state.unknowns[number])
        if self.best.system.task.logarithmic[number]:
            return abs(math.log(target / value)) > math.log(FARTHEST)
        return abs(target - value) > FARTHEST * max(abs(value), float(self.best.errors[number]) / FARTHEST)

    def _refit(self, last: Solution, number: int, target: float) -> Solution | None:
        """From the last value on the side, with one unknown at the next; None where that cannot be solved."""
        free = np.arange(len(last.state.unknowns)) != number
        unknowns = np.where(free, last.state.unknowns, target)
        state = last.state.moved(last.state.coefficients, unknowns, last.state.offsets)
        try:
            found = solve(last.system, self.units, last.tolerance, state, steps=STEPS, least_gain=SMALL_GAIN, free=free)
        except (NotPositiveError, np.linalg.LinAlgError):
            return None
        return found if np.isfinite(found.value.total) else None


def profiles_of(result: FitResult, model: SplineModel) -> dict[str, Profile]:
    """The profile of every unknown of a finished fit.

    Args:
        result: the fit.
        model: its model."""
    system, state = rebuilt_fit(result, model)
    with np.errstate(all="ignore"):
        profiler = Profiler(system, state, model.tolerance)
        return {name: profiler.of(number) for number, name in enumerate(result.problem.unknowns)}
