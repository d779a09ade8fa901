"""Does the answer depend on the noise law that few readings do not let us learn?

With few readings the law is fixed beforehand, symmetric about the field. Misfits in two heaps of unequal size then pull
the field towards the smaller one, smoothly enough for nothing else to show it. So a law is learned from the misfits all
the same, for this question alone. Under the fixed law the two estimates differ by less than the standard error of the
first, whose variance is the larger one (Hausman's test); unknowns that leave their intervals say that it does not hold.
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
"""Readings a field below which two heaps are not told from chance."""
CLEAR = 25.0
"""Nats on unseen misfits. Heaps that a law finds in chance gave at most 8 in sound fits, real ones 80 and more."""
MOST_AXES = 2
"""With more, the steps under a learned law take as long as the fit."""


def doubt_of_law(point: Point, least: Units, intervals: Mapping[str, Interval]) -> str | None:
    """A sentence where a law that is learned from the misfits gives other unknowns; None where it does not.

    Args:
        point: where the fit ended.
        least: units of the smoothed field, as the fit used them.
        intervals: those of the unknowns."""
    task = point.system.task
    if task.dimensions > MOST_AXES or any(isinstance(law, Mixture) for law in point.state.laws) or not _heaps(point):
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
        f"The misfits lie in several heaps, and a noise law that is learned from them moves {changes}; with so few "
        "readings neither value is sure. Take more readings, or correct those of one of the heaps."
    )


def _heaps(point: Point) -> bool:
    """Whether the misfits of some noise group are plainly in several heaps: a law that is learned from one half of them
    makes the other half likelier than a law of one heap does."""
    system = point.system
    learn, standard = LEARNERS.get(system.task.density), system.standardised(point.state)
    if learn is None:
        return False
    floor = max(LEAST_FLOOR, 2.0 * field_error(point))
    groups = (standard[system.group == number] for number in np.unique(system.group))
    return any(_gain(mine, learn, floor) > CLEAR for mine in groups if len(mine) >= FEWEST)


def _gain(standard: np.ndarray, learn: Callable[[np.ndarray, float], Mixture], floor: float) -> float:
    """Nats by which learned laws describe misfits that they have not seen better than laws of one heap."""
    first = np.random.default_rng(0).permutation(len(standard)) % 2 == 0
    halves = ((standard[first], standard[~first]), (standard[~first], standard[first]))
    return sum(
        float(np.sum(few_readings_law(seen).loss(unseen) - learn(seen, floor).loss(unseen))) for seen, unseen in halves
    )
