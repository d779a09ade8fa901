"""The equation solved forward with the coefficients found, beside the field found.

The start and the ends of the line are taken from the field, so what is asked is whether the field, from there on, is
the solution of the equation with these coefficients. Differences are root mean squares over the box in units of the
field's own variation.

A chaotic or long oscillatory system cannot be asked that over the whole box: there a hundredth more or less in a
coefficient or in the start moves the solution as far as a wrong coefficient would. Where that is so, it is solved
over eight windows in a row, each started from the field."""

import math
from collections.abc import Mapping

import jax

from napinn.partials import FieldNetwork
from napinn.result import FitResult
from napinn.verification.called import CalledField, field_of
from napinn.verification.evolution import Evolution, Obstacle, evolution_of
from napinn.verification.findings import Check, Outcome
from napinn.verification.growth import pace_of
from napinn.verification.lines import Lines, line_of
from napinn.verification.solver import Course, Solver, apart

NAME = "forward solution"
AGREES = 0.05
"""The largest difference, in units of the field's variation, with which solution and field agree."""
SMALL_CHANGE = 0.01
WINDOWS = 8
NODES, MOST_NODES, LARGEST_STATE = 65, 513, 1100
"""A line is cut ever finer until stencils of second order and of fourth agree; the state may have so many numbers at
most."""


def check_forward(result: FitResult) -> Check:
    """Solve the equations of a fit forward from its field, if they can be, and compare."""
    evolution = evolution_of(result.problem, frozenset(result.readings.columns.clocks))
    if isinstance(evolution, Obstacle):
        return _cannot(f"The equations cannot be solved forward, because {evolution.why}.")
    # A solver needs double precision, whatever the fit was trained in.
    with jax.enable_x64(True):
        return _check(evolution, field_of(result), result.unknowns)


def _cannot(found: str) -> Check:
    return Check(NAME, Outcome.CANNOT, found)


def _check(evolution: Evolution, field: FieldNetwork | CalledField, unknowns: Mapping[str, float]) -> Check:
    if pace_of(Lines(evolution, field, line_of(evolution, NODES)), unknowns).ill_posed:
        return _cannot(
            "The equations cannot be solved forward, because with the coefficients found they are ill posed: short "
            "waves grow without bound, as with a negative diffusivity."
        )
    solver, course = _resolved(evolution, field, unknowns)
    if course is None:
        nodes = len(solver.lines.line.inner)
        return _cannot(f"The equations cannot be solved forward: {nodes} nodes do not resolve the solution.")
    low, high = evolution.problem.coordinates[evolution.time]
    once = f"Solved from the field at {evolution.time} = {low:.4g} to {high:.4g}"
    if course.differences.max() <= AGREES:
        return _told(evolution, course, once, 1)
    moved = _sensitivity(solver, unknowns, course)
    if moved <= AGREES:
        return _told(evolution, course, once, 1)
    far = f"moves one over the whole box by {100 * moved:.0f} %" if math.isfinite(moved) else "sends one anywhere"
    why = f"a hundredth more in a coefficient or in the start {far}"
    how = f"Solved over {WINDOWS} windows, each started from the field, because {why}"
    return _told(evolution, solver.over(unknowns, WINDOWS), how, WINDOWS)


def _told(evolution: Evolution, course: Course, how: str, windows: int) -> Check:
    names = evolution.problem.outputs
    if not course.whole:
        if course.far:
            return Check(NAME, Outcome.DOUBT, f"{how}: it leaves the field for good.", {"windows": windows})
        return Check(NAME, Outcome.CANNOT, f"{how}: the solver gave up.", {"windows": windows})
    each = dict(zip(names, map(float, course.differences), strict=True))
    worst = max(each, key=lambda name: each[name])
    which = f" in '{worst}'" if len(names) > 1 else ""
    found = f"{how}: it differs from the field by {100 * each[worst]:.2g} % of its variation{which}"
    agrees = each[worst] <= AGREES
    found += "." if agrees else f", and {100 * AGREES:.0f} % would be agreement."
    return Check(NAME, Outcome.PASS if agrees else Outcome.DOUBT, found, {"difference": each, "windows": windows})


def _resolved(
    evolution: Evolution, field: FieldNetwork | CalledField, unknowns: Mapping[str, float]
) -> tuple[Solver, Course | None]:
    """The solution on a line that is fine enough: coarser stencils give the same. None where none is."""
    nodes = NODES
    while True:
        lines = Lines(evolution, field, line_of(evolution, nodes))
        solver = Solver(lines, pace_of(lines, unknowns).stiff)
        course = solver.over(unknowns)
        if evolution.space is None:
            return solver, course
        coarser = solver.over(unknowns, narrow=True)
        if apart(course.forward, coarser.forward, course.fitted).max() <= AGREES or not (course.whole or coarser.whole):
            return solver, course
        nodes = 2 * nodes - 1
        if nodes > MOST_NODES or len(evolution.state) * nodes > LARGEST_STATE:
            return solver, None


def _sensitivity(solver: Solver, unknowns: Mapping[str, float], course: Course) -> float:
    """How far a hundredth more in a coefficient or in the start moves the solution over the whole box."""
    moved = [solver.over(unknowns, shift=SMALL_CHANGE)]
    moved += [solver.over({**unknowns, name: (1.0 + SMALL_CHANGE) * value}) for name, value in unknowns.items()]
    return float(max(apart(each.forward, course.forward, course.fitted).max() for each in moved))
