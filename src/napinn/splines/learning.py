"""The noise law and the field in turn, until both stand still."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from napinn.splines.descent import Point, Watch, point_of
from napinn.splines.kernels import learn_kernels
from napinn.splines.learned import Mixture, learn_mixture
from napinn.splines.solver import solve
from napinn.splines.system import Units, measured_units

ENOUGH = 400
"""Readings a field from which a law of any shape can be learned; below, Cauchy's law is used."""
ROUNDS = 12
FIRST_FLOOR, LEAST_FLOOR, ANNEALING = 0.6, 0.05, 0.7
"""The least width of a component falls from the first to the least, each round by the factor, but never below twice
the standard error of the field: a narrower peak would be the field's own error."""
MOVED = 0.1
"""Of the standard error of the field, by which it may still move at the end."""


LEARNERS: Mapping[str, Callable[[np.ndarray, float], Mixture]] = {"mixture": learn_mixture, "kde": learn_kernels}
"""By the name of the density, what learns it; the other densities are working laws that stay."""


def learn_law(point: Point, least: Units, watch: Watch) -> Point:
    """The point with a learned law; unchanged where a field has too few readings, or the law is fixed."""
    system, tolerance = point.system, point.tolerance
    learn = LEARNERS.get(system.task.density)
    if learn is None or np.bincount(system.field, minlength=system.task.measured).min() < ENOUGH:
        return point
    floor = 0.0 if isinstance(point.state.law, Mixture) else FIRST_FLOOR
    units = measured_units(system, point.state, least)
    for _ in range(ROUNDS):
        floor = max(LEAST_FLOOR, 2.0 * _field_error(point), ANNEALING * floor)
        law = learn(system.standardised(point.state), floor)
        before = system.misfits(point.state.coefficients)
        point = point_of(solve(system, units, tolerance, replace(point.state, law=law), steps=3))
        shift = (system.misfits(point.state.coefficients) - before) / point.state.sigma[system.field]
        error = _field_error(point)
        watch(point, f"noise law, {law.components} component(s)")
        if np.sqrt(np.mean(shift**2)) < MOVED * error and ANNEALING * floor < max(LEAST_FLOOR, 2.0 * error):
            break
    return point


def _field_error(point: Point) -> float:
    """The standard error of the field at a reading, in deviations of the noise."""
    law = point.state.law
    information = law.information if isinstance(law, Mixture) else 1.0
    return float(np.sqrt(point.parameters / point.system.count / information))
