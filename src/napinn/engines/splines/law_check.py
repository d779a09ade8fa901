"""Does the answer depend on the noise law that few readings do not let us learn?

With few readings the law is fixed beforehand, symmetric about the field. Misfits with two modes of unequal weight then
shift the field towards the lighter mode, and no other check shows it. So a law is learned from the misfits for this
question alone. Under the fixed law the two estimates differ by less than the standard error of the first, whose
variance is the larger one (Hausman's test); unknowns that leave their intervals say that the fixed law does not hold.
"""

from collections.abc import Callable, Mapping

import numpy as np

from napinn.engines.splines.descent import Point
from napinn.engines.splines.learning import LEARNERS, LEAST_FLOOR, field_error, learn_law
from napinn.engines.splines.missing_terms import beyond_noise
from napinn.engines.splines.system import Units
from napinn.noise.mixture import Mixture, few_readings_law
from napinn.results.intervals import Interval

FEWEST = 80
"""Readings a field below which two modes cannot be distinguished from chance."""
CLEAR = 12.0
"""Nats on unseen misfits. In twelve draws each of 80 to 200 misfits, with and without 10 % gross errors, Gaussian,
Laplace and Student's noise gained at most 11. Two modes of unequal weight, 20 deviations apart, gained 21 and more with
100 misfits, and 6 apart half of the time 18 and more. Skewed and uniform noise gained up to 28: there a doubt follows
only where the learned law moves an unknown out of its interval, as everywhere."""
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
    learned = learn_law(point, least, lambda *_: None, enough=FEWEST)
    before, after = (
        dict(zip(task.unknowns, map(float, each.state.unknowns), strict=True)) for each in (point, learned)
    )
    moved = [name for name, each in intervals.items() if beyond_noise(after[name], before[name], each)]
    if not moved:
        return None
    changes = ", ".join(f"'{name}' from {before[name]:.4g} to {after[name]:.4g}" for name in moved)
    return (
        f"The misfits have several modes or are skewed, and a noise law that is learned from them moves {changes}; "
        "with so few readings neither value is reliable. Take more readings, or correct those of one of the modes."
    )


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
