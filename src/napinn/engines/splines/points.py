"""A solution of the engine with the noise level that its misfits have.

Noise level and solution depend on each other, so they are found in turn (`settle`). What the parameters use up of the
readings is no noise, and is taken out of the estimate."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.journal import Level
from napinn.engines.splines.roughness import chosen_roughness_weights
from napinn.engines.splines.solver import Solution, solve, spent
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.noise.laws import deviation
from napinn.noise.mixture import Mixture

SETTLING_ROUNDS, SETTLED = 3, 0.02
"""The noise level is estimated again until it moves by less than this share."""
STIFF_AS_BEFORE = 0.3
"""The change of the logarithm of a roughness weight that moves a function by less than its error."""
SMALLEST_NOISE = 1e-4
"""Of the size of a field."""
MOST_QUIETER = 0.25
"""Of the noise level so far, below which the next estimate does not fall: a field that happens to pass through readings
at one step must not set a level that keeps it there. A level that is really lower is reached in a few estimates."""
MOST_SPENT = 0.5
"""Share of the readings that parameters may use up before misfits no longer tell the noise level."""


@dataclass(frozen=True, eq=False)
class Point:
    """A solution, and how much of the readings its parameters use up."""

    solution: Solution
    parameters: float
    share: float
    shares: np.ndarray
    """Of the readings of each measured field."""

    @property
    def state(self) -> State:
        return self.solution.state

    @property
    def system(self) -> System:
        return self.solution.system

    @property
    def equation_cost(self) -> float:
        return self.solution.value.equation_cost

    @property
    def tolerance(self) -> float:
        return self.solution.tolerance

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the unknowns."""
        return self.solution.errors

    @property
    def level(self) -> Level:
        """What the next stage gets."""
        return Level(
            self.system,
            self.state,
            self.tolerance,
            self.equation_cost,
            self.parameters,
            self.share,
            self.errors,
        )


Watch = Callable[[Point, str], None]
"""Gets every point of a descent, with a word on what happened there."""


def point_of(solution: Solution) -> Point:
    parameters, readings = spent(solution)
    total = float(parameters.sum())
    shares = np.clip(parameters / np.maximum(readings, 1.0), 0.0, 1.0)
    return Point(solution, total, total / max(float(readings.sum()), 1.0), shares)


def noise_levels(system: System, state: State) -> np.ndarray:
    """The deviation of the misfits of each measured field; of few readings, one for all, in units of the field."""
    task, misfit = system.task, system.misfits(state.coefficients) - state.offsets[system.scatter]
    scale, group = task.noise_unit, task.scatters.group
    if task.few:
        relative = misfit / scale[system.scatter]
        found = np.array([_deviation(relative[system.group == number]) for number in range(task.groups)])[group]
    else:
        found = np.array([_deviation(misfit[system.scatter == number]) for number in range(len(scale))]) / scale
    return np.maximum(found, SMALLEST_NOISE) * scale


def _deviation(misfit: np.ndarray) -> float:
    return deviation(misfit) if misfit.size else 0.0


def with_noise_level(point: Point) -> Point:
    """The point with the noise level of its misfits, corrected for the parameters spent; a learned law keeps its.

    A field whose readings are used up keeps its level: its misfits are small because the splines pass through the
    readings, and a level that followed them would make it pass through ever more closely. Unknown functions get the
    roughness weight that goes with the level so far."""
    if point.system.task.curves:
        state = replace(point.state, roughness_weight=chosen_roughness_weights(point.solution))
        point = replace(point, solution=replace(point.solution, state=state))
    state = point.state
    learned = np.array([isinstance(law, Mixture) for law in state.laws])[point.system.task.scatters.group]
    if learned.all() or point.share >= MOST_SPENT:
        return point
    shares = np.full_like(point.shares, point.share) if point.system.task.few else point.shares
    sigma = noise_levels(point.system, state) / np.sqrt(1.0 - np.minimum(shares, MOST_SPENT))
    kept = learned | (shares >= MOST_SPENT)
    state = replace(state, sigma=np.where(kept, state.sigma, np.maximum(sigma, MOST_QUIETER * state.sigma)))
    return replace(point, solution=replace(point.solution, state=state))


def settle(system: System, state: State, tolerance: float, least: Units) -> Point:
    """Solutions and noise levels in turn, until the noise level no longer changes."""
    units = measured_units(system, state, least)
    point = with_noise_level(point_of(solve(system, units, tolerance, state, steps=8)))
    for _ in range(SETTLING_ROUNDS - 1):
        if np.all(np.abs(point.state.sigma / state.sigma - 1.0) < SETTLED) and _as_stiff(point.state, state):
            break
        state = point.state
        point = with_noise_level(point_of(solve(system, units, tolerance, state, steps=8)))
    return point


def _as_stiff(state: State, before: State) -> bool:
    """Whether unknown functions are about as stiff as before."""
    return bool(np.allclose(np.log(state.roughness_weight), np.log(before.roughness_weight), atol=STIFF_AS_BEFORE))


def rebuilt(level: Level, least: Units) -> Point:
    """The point of a level, with its factorisation."""
    units = measured_units(level.system, level.state, least)
    return point_of(solve(level.system, units, level.tolerance, level.state, steps=0))
