"""Does the answer depend on the noise law that few readings do not let us learn?

With few readings the law is fixed beforehand, symmetric about the field. Misfits with two modes of unequal weight then
shift the field towards the lighter mode, and no other check shows it. So a law is learned from the misfits for this
question alone. Under the fixed law the two estimates differ by less than the standard error of the first, whose
variance is the larger one (Hausman's test); unknowns that leave their intervals say that the fixed law does not hold.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from napinn.engines.splines.equation_units import Units
from napinn.engines.splines.held_out import border_rows
from napinn.engines.splines.learning import LEARNERS, LEAST_FLOOR, field_error, learn_law
from napinn.engines.splines.missing_terms import beyond_noise
from napinn.engines.splines.points import Point
from napinn.noise.mixture import BULK, Mixture, few_readings_law, learn_mixture
from napinn.results.intervals import Interval

FEWEST = 80
"""Readings a field below which two modes cannot be distinguished from chance."""
CLEAR = 12.0
"""Nats on unseen misfits. In twelve draws each of 80 to 200 misfits, with and without 10 % gross errors, Gaussian,
Laplace and Student's noise gained at most 11. Two modes of unequal weight, 20 deviations apart, gained 21 and more with
100 misfits, and 6 apart half of the time 18 and more. Skewed and uniform noise gained up to 28: there a doubt follows
only where the learned law moves an unknown out of its interval, as everywhere."""
HEAVIER = 2.0
"""By how many standard errors the weights of two modes differ if one is the main one. Modes of equal weight lie evenly
about the field, and then nothing is doubted."""
VALLEY = 0.5
"""Share of the lower of two peaks below which the density falls between them, if they are two modes."""
PLACES = 701
"""At which the density of the misfits is computed: a hundredth of a deviation apart."""
SHIFTED = 0.5
"""Of its interval, by which an unknown may move if the field goes through the main mode: a shift is no chance, and what
is left of the interval then no longer holds the truth with 95 %. The same share as of a drift."""
MOST_AXES = 2
"""With more, the steps under a learned law take as long as the fit."""


def doubt_of_law(point: Point, least: Units, intervals: Mapping[str, Interval]) -> str | None:
    """A sentence where a law that is learned from the misfits gives other unknowns; None where it does not.

    Args:
        point: where the fit ended.
        least: units of the smoothed field, as the fit used them.
        intervals: those of the unknowns."""
    task = point.system.task
    if task.dimensions > MOST_AXES or any(isinstance(law, Mixture) for law in point.state.laws) or not _differs(point):
        return None
    learned = learn_law(point, least, lambda *_: None, enough=FEWEST).state.unknowns
    before = dict(zip(task.unknowns, map(float, point.state.unknowns), strict=True))
    for values, share in ((learned, 1.0), (_at_main_mode(point), SHIFTED)):
        after = dict(zip(task.unknowns, map(float, values), strict=True))
        narrowed = {name: replace(each, error=share * each.error) for name, each in intervals.items()}
        moved = [name for name, each in narrowed.items() if beyond_noise(after[name], before[name], each)]
        if moved:
            changes = ", ".join(f"'{name}' from {before[name]:.4g} to {after[name]:.4g}" for name in moved)
            return (
                "The misfits have several modes or are skewed, and a noise law that is learned from them moves "
                f"{changes}; with so few readings neither value is reliable. Take more readings, or correct those of "
                "one of the modes."
            )
    return None


def _at_main_mode(point: Point) -> np.ndarray:
    """The unknowns, to first order, if the field went through the main mode of the misfits; where no mode is clearly
    the main one, as they are. A law that is learned from so few misfits may keep the field between its modes."""
    system, state, solution = point.system, point.state, point.solution
    away = np.zeros(len(system.group))
    for number in np.unique(system.group):
        mine = system.group == number
        away[mine] = main_mode(system.standardised(state)[mine], max(LEAST_FLOOR, 2.0 * field_error(point)))
    unit = state.sigma[system.scatter] * system.spread
    active = np.flatnonzero(solution.normal.active[: len(state.unknowns)])
    influence = (solution.covariance @ border_rows(solution).T)[: len(active)]
    moves = np.zeros(len(state.unknowns))
    moves[active] = influence @ (system.curvature(state) * away / unit)
    return system.task.after_moves(state.unknowns, moves)


def main_mode(standard: np.ndarray, floor: float) -> float:
    """Where the main mode of misfits is, in deviations of the noise; zero where they have one mode, or none that is
    clearly the main one.

    Args:
        standard: the misfits, in deviations of the noise about the field.
        floor: the least width of a component."""
    places = np.linspace(-BULK, BULK, PLACES)
    density = learn_mixture(standard, floor).density(places)
    lowest = np.flatnonzero((density[1:-1] < density[:-2]) & (density[1:-1] <= density[2:])) + 1
    parts = np.split(np.arange(PLACES), lowest)
    if len(parts) < 2:
        return 0.0
    weights = np.array([density[part].sum() for part in parts]) / density.sum()
    first, second = np.argsort(-weights)[:2]
    peaks = [int(part[np.argmax(density[part])]) for part in (parts[first], parts[second])]
    between = density[min(peaks) : max(peaks) + 1].min()
    heavier = weights[first] - weights[second] > HEAVIER / math.sqrt(len(standard))
    return float(places[peaks[0]]) if heavier and between < VALLEY * density[peaks].min() else 0.0


def _differs(point: Point) -> bool:
    """Whether the misfits of some noise group clearly have another law than one symmetric mode: a law that is learned
    from one half of them makes the other half likelier."""
    system = point.system
    learn, standard = LEARNERS.get(system.task.density), system.standardised(point.state)
    if learn is None:
        return False
    floor = max(LEAST_FLOOR, 2.0 * field_error(point))
    groups = (standard[system.group == number] for number in np.unique(system.group))
    return any(_gain(mine, learn, floor) > CLEAR for mine in groups if len(mine) >= FEWEST)


def _gain(standard: np.ndarray, learn: Callable[[np.ndarray, float], Mixture], floor: float) -> float:
    """Nats by which learned laws describe misfits that they have not seen better than laws of one mode."""
    first = np.random.default_rng(0).permutation(len(standard)) % 2 == 0
    halves = ((standard[first], standard[~first]), (standard[~first], standard[first]))
    return sum(
        float(np.sum(few_readings_law(seen).loss(unseen) - learn(seen, floor).loss(unseen))) for seen, unseen in halves
    )
