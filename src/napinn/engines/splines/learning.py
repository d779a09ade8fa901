"""The noise law and the field in turn, until both no longer change."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.points import Point, Watch, point_of
from napinn.engines.splines.solver import solve
from napinn.noise.kernels import learn_kernels
from napinn.noise.mixture import Mixture, learn_mixture

ENOUGH = 400
"""Readings a field from which a law of any shape can be learned; below, Cauchy's law is used."""
ROUNDS = 12
"""Of fitting and learning in turn; the least width reaches its floor after seven."""
FIRST_FLOOR, LEAST_FLOOR, ANNEALING = 0.6, 0.05, 0.7
"""The least width of a component falls from the first to the least, each round by the factor, but never below twice
the standard error of the field: a narrower peak would be the field's own error."""
MOVED = 0.1
"""Of the standard error of the field, by which it may still move at the end."""


LEARNERS: Mapping[str, Callable[[np.ndarray, float], Mixture]] = {"mixture": learn_mixture, "kde": learn_kernels}
"""By the name of the density, what learns it; the other densities are working laws that stay."""


def learn_law(point: Point, least: Units, watch: Watch, enough: int = ENOUGH) -> Point:
    """The point with a learned law of every noise group; a group of which a field has too few readings keeps its law,
    and all do where the law is fixed. `enough` is how many readings of a field suffice."""
    system, tolerance = point.system, point.tolerance
    learn, groups = LEARNERS.get(system.task.density), _learnable(point, enough)
    if learn is None or not groups:
        return point
    floor = 0.0 if isinstance(point.state.laws[groups[0]], Mixture) else FIRST_FLOOR
    units = measured_units(system, point.state, least)
    for _ in range(ROUNDS):
        floor = max(LEAST_FLOOR, 2.0 * field_error(point), ANNEALING * floor)
        standard, laws = system.standardised(point.state), list(point.state.laws)
        for number in groups:
            laws[number] = learn(standard[system.group == number], floor)
        before = system.misfits(point.state.coefficients)
        point = point_of(solve(system, units, tolerance, replace(point.state, laws=tuple(laws)), steps=3))
        shift = (system.misfits(point.state.coefficients) - before) / point.state.sigma[system.scatter]
        error = field_error(point)
        components = sum(law.components for law in laws if isinstance(law, Mixture))
        watch(point, f"noise law, {components} component(s)")
        if np.sqrt(np.mean(shift**2)) < MOVED * error and ANNEALING * floor < max(LEAST_FLOOR, 2.0 * error):
            break
    return point


def _learnable(point: Point, enough: int) -> list[int]:
    """The noise groups of which every field has enough readings."""
    scatters = point.system.task.scatters
    counts = np.bincount(point.system.scatter, minlength=len(scatters.names))
    return [number for number in range(point.system.task.groups) if counts[scatters.group == number].min() >= enough]


def field_error(point: Point) -> float:
    """The standard error of the field at a reading, in deviations of the noise."""
    each = [law.information if isinstance(law, Mixture) else 1.0 for law in point.state.laws]
    information = each[0] if len(each) == 1 else float(np.mean(np.array(each)[point.system.group]))
    return float(np.sqrt(point.parameters / point.system.count / information))
