"""From loose to tight equations, with the mesh refined where the residual sits.

The tolerance ε of the equations falls in steps. With enough cells their cost falls as ε²; where it stops falling, the
mesh is at fault and not the readings, and cells are bisected. A refinement is kept only if it pays: cells also give the
readings freedom, which is charged."""

import numpy as np

from napinn.engines.splines.bisection import bisected, marks_of
from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.journal import LOOP, Journal, Level, recalled
from napinn.engines.splines.points import MOST_SPENT, Point, Watch, point_of, settle, with_noise_level
from napinn.engines.splines.solver import solve
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.field.splines.banded import NotPositiveError

FALL = 10**0.5
"""The factor between two tolerances."""
TOO_NOISY = 1.1
"""A noise level above this many times the least so far says that the field no longer follows the readings."""
ACCEPTED_COST = {1: 0.02, 2: 0.3, 3: 0.3}
"""Nats, by the number of axes, below which the equations are as good as met."""
LOOSEST_REFINED = 0.2
"""Above this tolerance residuals are meant to be large, so nothing is refined for them."""
REFINED_STEPS = {1: 24, 2: 24, 3: 8}
"""Steps on a refined mesh before it is compared with the coarser one, by the number of axes. A pulse on a mesh that was
too coarse for it moves far: after eight steps in one dimension and time, refinements were undone that pay."""
FIELD_STEPS = 2
"""Of these, the first, in which only the field moves: between the points where a coarse mesh met the equations its
residuals are large, and unknowns that follow them are led astray."""
TRIED_AGAIN = 2.0
"""Times the cost of the equations at which a refinement did not pay; above it the next one is tried. A try takes a
solution on the finer mesh, so it is not made at every tolerance."""
LEAST_GAIN = 0.5
"""Of the accepted cost of the equations: what a refinement must gain in the objective at least, even if the equations
cost much less with it."""
CHEAPER = 0.3
"""Share of the cost of the equations. A refinement that removes more of it pays, even if it gives the readings more
freedom than the objective gains; one that removes less must gain more than this freedom."""
WORTH = 0.1
"""Of the cost of the equations that remains: a refinement that gains less than this beyond the freedom that it gives
leaves the cost about as it is, and does not pay."""
HIDDEN = 0.1
"""Of the cost of the equations. An objective that is worse by more on the finer mesh says that the coarse mesh met the
equations only at its own points, so the finer one is kept."""
MOST_FREE = {1: np.inf, 2: MOST_SPENT, 3: 0.15}
"""Share of the readings that parameters use up, above which a mesh is not refined, by the number of axes. With several
axes, readings are few beside the places between them: a finer mesh gives these more freedom, until the field passes
through every reading and the unknowns are those of its noise. In the plane and time a finer mesh also costs most."""
LOOSE = 0.05
"""Tolerances below this are given up again if the cost of the equations doubles instead of falling."""
DOUBLED, NOTICED = 2.0, 3.0
"""Times the cost of the equations at the last tolerance, and nats: with more than both, a tolerance is given up. With
enough cells the cost falls to a tenth from one tolerance to the next; one that doubles says that the mesh cannot
follow. A cost of up to three nats hardly weighs against the readings, whatever it was before."""
AT_END = 0.9
"""Share of the final tolerance: a tolerance that is below the final one by rounding is still taken, and the next one, a
third of it, is not."""
PRECISION_LOST = 1e3
"""Times a standard error before a finer mesh or a tighter tolerance. Between two steps of a descent errors change by a
factor of some units, also those of unknowns that nothing determines; a thousandfold one is rounding in the normal
matrix, which grows with the fourth to eighth power of the number of cells."""
CALM_BELOW, CALM_MOVE, CALM_CHANGE = 0.02, 0.1, 0.1
"""Descent ends early after two tolerances below the first at which unknowns moved by less than a tenth of their
standard errors, and these by less than a tenth of themselves."""


class Descent:
    """One descent in the tolerance, from a state on a mesh."""

    def __init__(self, name: str, least: Units, most: int, watch: Watch, journal: Journal) -> None:
        """`name` is that of the stage in the journal, `least` are the units of the smoothed field, `most` is how many
        coefficients a mesh may have."""
        self.name, self.least, self.most, self.watch, self.journal = name, least, most, watch, journal
        self.full = False
        """Whether a refinement was wanted that is too large."""
        self._futile = 0.0

    def run(
        self,
        system: System,
        state: State,
        start: float,
        end: float,
        before: Level | None = None,
        quietest: float = np.inf,
    ) -> Level:
        """From tolerance `start` to `end`; `before` is the level that the state comes from, if there is one, and
        `quietest` is the least noise level of the first field that is known already."""
        accepted_cost = ACCEPTED_COST[system.task.dimensions]
        level, tolerance, calm, done = before, start, 0, False
        quietest = min(quietest, float(state.sigma[0]))
        kept = recalled(self.journal, self.name, system.task, system.meter)
        if kept is not None:
            level, system, state = kept, kept.system, kept.state
            tolerance, quietest, calm, done = self._recalled_loop(kept, quietest)
        while tolerance >= AT_END * end and not done:
            previous, last = level, level if level is not None and level.tolerance < LOOSE else None
            try:
                point = settle(system, state, tolerance, self.least)
            except NotPositiveError:
                if level is None or level.tolerance <= tolerance:
                    raise
                # Beyond double precision: high derivatives on fine cells at a tight tolerance.
                break
            if level is not None and level.tolerance < LOOSE and precision_lost(level.errors, point.errors):
                break
            self.watch(point, "")
            point, quietest = self._improved(point, previous, quietest, accepted_cost)
            if last is not None and point.equation_cost > max(NOTICED, DOUBLED * last.equation_cost):
                # The mesh cannot follow: back to the last tolerance.
                level, done = last, True
            else:
                level = point.level
                still = previous is not None and _stands_still(previous, level)
                calm = calm + 1 if still and point.equation_cost < accepted_cost and tolerance < CALM_BELOW else 0
                done = calm >= 2
            system, state, tolerance = level.system, level.state, tolerance / FALL
            loop = np.array([tolerance, quietest, calm, self._futile, self.full, done], float)
            self.journal.keep(self.name, {**level.arrays(), LOOP: loop})
        assert level is not None
        return level

    def _recalled_loop(self, kept: Level, quietest: float) -> tuple[float, float, int, bool]:
        """The next tolerance, the least noise level, how long unknowns have stood still, and whether the descent had
        ended, as they were kept with a level."""
        first = np.array([kept.tolerance / FALL, quietest, 0, 0, 0, 0])
        loop = self.journal.stages[self.name].get(LOOP, first)
        tolerance, quietest, calm, self._futile, self.full, done = _loop_of(loop)
        return tolerance, quietest, calm, done

    def _improved(
        self, point: Point, previous: Level | None, quietest: float, accepted_cost: float
    ) -> tuple[Point, float]:
        """The point on a mesh that follows the readings and meets the equations, as far as refinement can make one,
        and the least noise level with it."""
        if point.state.sigma[0] > TOO_NOISY * quietest and previous is not None and not self.full:
            point = self._mended(point, previous, quietest)
            quietest = max(quietest, float(point.state.sigma[0]) / TOO_NOISY)
        if point.share < MOST_SPENT:
            quietest = min(quietest, float(point.state.sigma[0]))
        return self._refined(point, accepted_cost), quietest

    def _mended(self, failed: Point, previous: Level, quietest: float) -> Point:
        """The mesh cannot follow the readings at this tolerance: go back and refine where the failed field needs it."""
        wanted, point = marks_of(failed), failed
        before: Level | Point = previous
        for _ in range(2):
            system, state = bisected(before, wanted, self.most)
            if system is None:
                break
            point = settle(system, state, failed.tolerance, self.least)
            self._futile = 0.0
            self.watch(point, "refined, because the noise level rose")
            if point.state.sigma[0] < TOO_NOISY * quietest:
                break
            wanted, before = marks_of(point), point
        return point

    def _refined(self, point: Point, accepted_cost: float) -> Point:
        """Refinements, one after the other, as long as they pay."""
        while (
            point.equation_cost > accepted_cost
            and point.tolerance < LOOSEST_REFINED
            and not self.full
            and point.equation_cost > TRIED_AGAIN * self._futile
            and point.share < MOST_FREE[point.system.task.dimensions]
        ):
            finer = self._try_refining(point, accepted_cost)
            if finer is None:
                self._futile = point.equation_cost
                break
            point, self._futile = finer, 0.0
        return point

    def _try_refining(self, point: Point, accepted_cost: float) -> Point | None:
        """Cells bisected where the residual varies inside them; None if that does not pay."""
        system, tolerance = point.system, point.tolerance
        units = measured_units(system, point.state, self.least)
        before = point_of(solve(system, units, tolerance, point.state, steps=2))
        finer, state = bisected(before, marks_of(before), self.most)
        if finer is None:
            self.full = True
            return None
        units = measured_units(finer, state, self.least)
        try:
            state = solve(finer, units, tolerance, state, steps=FIELD_STEPS, free=False).state
            after = point_of(solve(finer, units, tolerance, state, steps=REFINED_STEPS[system.task.dimensions]))
        except NotPositiveError:
            after = None
        if after is None or precision_lost(before.errors, after.errors):
            # High derivatives on so fine cells exceed double precision.
            self.full = True
            return None
        gain = before.solution.value.total - after.solution.value.total
        freedom = max(after.parameters - before.parameters, 0.0)
        cheaper = before.equation_cost - after.equation_cost > max(accepted_cost, CHEAPER * before.equation_cost)
        # A loss says that the coarse mesh met the equations only at its own points.
        hidden = gain < -max(accepted_cost, HIDDEN * before.equation_cost)
        least = LEAST_GAIN * accepted_cost
        pays = hidden or (gain > least and (cheaper or gain > max(least, WORTH * after.equation_cost) + freedom))
        self.watch(after, "refined" if pays else "refinement undone")
        return with_noise_level(after) if pays else None


def _loop_of(numbers: np.ndarray) -> tuple[float, float, int, float, bool, bool]:
    tolerance, quietest, calm, futile, full, done = map(float, numbers)
    return tolerance, quietest, int(calm), futile, bool(full), bool(done)


def precision_lost(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether standard errors grew as only rounding lets them grow.

    Args:
        before: on the coarser mesh or at the looser tolerance.
        after: on the finer mesh or at the tighter tolerance."""
    known = np.isfinite(before) & np.isfinite(after) & (before > 0.0)
    return bool(np.any(after[known] > PRECISION_LOST * before[known]))


def _stands_still(before: Level, after: Level) -> bool:
    moved = np.abs(after.state.unknowns - before.state.unknowns) / after.errors
    if not np.isfinite(moved).any():
        return True
    changed = np.abs(after.errors / before.errors - 1.0)
    return bool(np.nanmax(moved) < CALM_MOVE and np.nanmax(changed, initial=0.0) < CALM_CHANGE)
