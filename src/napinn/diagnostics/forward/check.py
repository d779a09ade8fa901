"""The equation solved forward with the coefficients found, beside the field found and beside the readings.

The start and the edges of space are taken from the field. Compared with the field, the solution says whether field and
coefficients belong together: differences are root mean squares over the box in units of the field's own variation.
Compared with the readings, it says whether the equation with these coefficients explains them: its misfits are set
beside those of the field and beside the noise law.

A chaotic or long oscillatory system cannot be compared so over the whole box: there a hundredth more or less in a
coefficient or in the start moves the solution as far as a wrong coefficient would. Where that is so, it is solved
over eight windows in a row, each started from the field."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from napinn.data.robust import MAD_TO_STD, NEGLIGIBLE, robust_std
from napinn.diagnostics.calibration import CENTRAL, UNLIKELY, central_share, probabilities_of
from napinn.diagnostics.findings import Check, CheckOutcome
from napinn.diagnostics.forward.dispersion import wave_growth
from napinn.diagnostics.forward.evolution import Evolution, Obstacle, evolution_of
from napinn.diagnostics.forward.method_of_lines import MethodOfLines, lines_of
from napinn.diagnostics.forward.solver import Solver, Trajectory, apart
from napinn.results.model import FittedModel
from napinn.results.result import FitResult
from napinn.results.verdicts import excluded

NAME, BESIDE_READINGS = "forward solution", "forward solution and readings"
AGREES = 0.05
"""The largest difference, in units of the field's variation, with which solution and field agree."""
LOUDER = 1.5
"""How many times as large as the field's the misfits of the solution may be: then the solution is about one deviation
of the noise away from the field, which no reading asked for."""
TOO_FEW = 0.1
"""By how much fewer readings may lie in the central nine tenths of the noise law about the solution than about the
field, unless by chance."""
SMALL_CHANGE = 0.01
"""Of each unknown and of the start, to measure how far the solution follows them: linear for most equations."""
WINDOWS = 8
"""Stretches of time that are solved separately where the whole record cannot be: chaos or a far start then spoils
one."""
NODES = {0: 1, 1: 65, 2: 33}
"""Along each axis at first, by the number of space axes."""
MOST_NODES = {1: 513, 2: 65}
LARGEST_STATE = {1: 1100, 2: 9000}
"""A grid is refined until stencils of second order and of fourth agree; the state may have so many numbers at most."""


@dataclass(frozen=True, eq=False)
class Forward:
    """A solution that could be computed."""

    lines: MethodOfLines
    course: Trajectory
    how: str
    """How it was solved, the beginning of a sentence."""

    @property
    def windows(self) -> int:
        return len(self.course.times)

    def difference(self, points: np.ndarray) -> np.ndarray:
        """(n, fields): solution minus field at any points of the box, interpolated linearly. At the start of a window
        and on the edges of space both are the same."""
        course, lines, evolution = self.course, self.lines, self.lines.evolution
        order = [list(evolution.problem.coordinates).index(name) for name in (evolution.time, *evolution.spaces)]
        ordered = points[:, order]
        found = np.full((len(points), course.forward.shape[2]), np.nan)
        window = np.clip(np.searchsorted(course.times[:, 0], ordered[:, 0], side="right") - 1, 0, self.windows - 1)
        axes = [
            np.append(line.nodes, line.nodes[-1] + line.spacing) if line.periodic else line.nodes
            for line in lines.lines
        ]
        for number, times in enumerate(course.times):
            grid = np.zeros((len(times), course.forward.shape[2], len(lines.moves)))
            grid[..., lines.moves] = course.forward[number] - course.fitted[number]
            grid = np.moveaxis(grid.reshape(*grid.shape[:2], *lines.shape), 1, -1)
            for axis, line in enumerate(lines.lines, start=1):
                if line.periodic:
                    grid = np.concatenate([grid, grid.take([0], axis)], axis)
            mine = window == number
            interpolate = RegularGridInterpolator((times, *axes), grid)
            # Readings may lie outside of the box by rounding.
            inside = np.clip(ordered[mine], [axis[0] for axis in (times, *axes)], [axis[-1] for axis in (times, *axes)])
            found[mine] = interpolate(inside)
        return found


def check_forward(result: FitResult) -> list[Check]:
    """Solve the equations of a fit forward from its field, if they can be, and compare with field and readings."""
    if any(each.ranges for each in result.problem.experiments.values()):
        return [_cannot("The equations cannot be solved forward, because experiments have different ranges.")]
    evolution = evolution_of(result.problem, frozenset(result.readings.columns.clocks))
    if isinstance(evolution, Obstacle):
        return [_cannot(f"The equations cannot be solved forward, because {evolution.why}.")]
    found = solve(evolution, result.model, result.found)
    if isinstance(found, Obstacle):
        return [_cannot(f"The equations cannot be solved forward, because {found.why}.")]
    check = _beside_field(evolution, found)
    return [check, _beside_readings(result, found)] if found.course.complete else [check]


def _cannot(found: str) -> Check:
    return Check(NAME, CheckOutcome.CANNOT, found)


def solve(evolution: Evolution, model: FittedModel, unknowns: Mapping[str, float]) -> Forward | Obstacle:
    """The solution over the whole box, or over windows where a small change of anything moves it far."""
    first = MethodOfLines(evolution, model, lines_of(evolution, NODES[len(evolution.spaces)]))
    if wave_growth(first, unknowns).ill_posed:
        return Obstacle(
            "with the coefficients found they are ill posed: short waves grow without bound, as with a negative "
            "diffusivity"
        )
    solver, course = _resolved(evolution, model, unknowns)
    if course is None:
        nodes = " × ".join(str(len(line.nodes)) for line in solver.lines.lines)
        return Obstacle(f"{nodes} nodes do not resolve the solution")
    low, high = evolution.problem.coordinates[evolution.time]
    once = Forward(solver.lines, course, f"Solved from the field at {evolution.time} = {low:.4g} to {high:.4g}")
    if course.differences.max() <= AGREES:
        return once
    moved = _sensitivity(solver, unknowns, course)
    if moved <= AGREES:
        return once
    far = f"moves the solution by {100 * moved:.0f} %" if math.isfinite(moved) else "makes the solution diverge"
    why = f"a change of 1 % in a coefficient or in the start {far}"
    how = f"Solved over {WINDOWS} windows, each started from the field, because {why}"
    return Forward(solver.lines, solver.over(unknowns, WINDOWS), how)


def _beside_field(evolution: Evolution, found: Forward) -> Check:
    course, numbers = found.course, {"windows": found.windows}
    if not course.complete:
        if course.far:
            return Check(NAME, CheckOutcome.DOUBT, f"{found.how}: the solution diverges from the field.", numbers)
        return Check(NAME, CheckOutcome.CANNOT, f"{found.how}: the solver failed.", numbers)
    names = evolution.problem.outputs
    each = dict(zip(names, map(float, course.differences), strict=True))
    worst = max(each, key=lambda name: each[name])
    which = f" in '{worst}'" if len(names) > 1 else ""
    text = f"{found.how}: it differs from the field by {100 * each[worst]:.2g} % of its variation{which}"
    agrees = each[worst] <= AGREES
    text += "." if agrees else f"; agreement means {100 * AGREES:.0f} % or less."
    return Check(NAME, CheckOutcome.PASS if agrees else CheckOutcome.DOUBT, text, {"difference": each, **numbers})


def _probabilities(result: FitResult, misfits: np.ndarray, mine: np.ndarray) -> np.ndarray:
    """How probable a smaller misfit than each of these is."""
    scatters, found = result.readings.scatters, np.zeros(len(misfits))
    for number, name in enumerate(scatters.names):
        chosen = mine & (scatters.index == number)
        found[chosen] = probabilities_of(result, misfits[chosen], name, mine)
    return found[mine]


def _beside_readings(result: FitResult, found: Forward) -> Check:
    """Whether the solution explains the readings as well as the field does, field by field; the worst is reported."""
    readings = result.readings
    good = ~excluded(result.verdicts, len(readings))
    moved = found.difference(readings.points)[np.arange(len(readings)), readings.field_index]
    forward = readings.standard(readings.values - result.predicted - moved)
    field = result.standard_misfits
    sentences, numbers, doubted = [], {}, False
    for index, name in enumerate(result.problem.fields):
        mine = good & (readings.field_index == index)
        if not mine.any():
            continue
        centre = float(np.median(field[mine]))
        own, its = (float(MAD_TO_STD * np.median(np.abs(misfits[mine] - centre))) for misfits in (field, forward))
        usual, share = (central_share(_probabilities(result, misfits, mine)) for misfits in (field, forward))
        matters = its > NEGLIGIBLE * robust_std(readings.values[mine])
        larger = its > LOUDER * own
        few = share.coverage < min(CENTRAL, usual.coverage) - TOO_FEW and share.coverage_chance < UNLIKELY
        doubted = doubted or (matters and (larger or few))
        which = f" of '{name}'" if len(result.problem.fields) > 1 else ""
        sentences.append(
            f"The typical misfit{which} is {its:.3g} for the solution and {own:.3g} for the field, and "
            f"{100 * share.coverage:.0f} % of the readings lie within the central {100 * CENTRAL:.0f} % of the noise "
            "law about the solution."
        )
        numbers[name] = {"forward": its, "field": own, "coverage": share.coverage}
    return Check(
        BESIDE_READINGS, CheckOutcome.DOUBT if doubted else CheckOutcome.PASS, " ".join(sentences), {"misfits": numbers}
    )


def _resolved(
    evolution: Evolution, model: FittedModel, unknowns: Mapping[str, float]
) -> tuple[Solver, Trajectory | None]:
    """The solution on a grid that is fine enough: coarser stencils give the same. None where none is."""
    dimensions = len(evolution.spaces)
    nodes = NODES[dimensions]
    while True:
        lines = MethodOfLines(evolution, model, lines_of(evolution, nodes))
        stiff = wave_growth(lines, unknowns).stiff
        solver = Solver(lines, stiff)
        course = solver.over(unknowns)
        if not dimensions:
            return solver, course
        coarser = Solver(replace(lines, narrow=True), stiff).over(unknowns)
        if apart(course.forward, coarser.forward, course.fitted).max() <= AGREES or not (
            course.complete or coarser.complete
        ):
            return solver, course
        nodes = 2 * nodes - 1
        if nodes > MOST_NODES[dimensions] or len(evolution.state) * nodes**dimensions > LARGEST_STATE[dimensions]:
            return solver, None


def _sensitivity(solver: Solver, unknowns: Mapping[str, float], course: Trajectory) -> float:
    """How far a change of 1 % in the start or in a coefficient moves the solution over the whole box: the first change
    that moves it too far, or the largest of all."""
    starts = [(unknowns, SMALL_CHANGE)]
    starts += [
        ({**unknowns, name: (1.0 + SMALL_CHANGE) * value}, 0.0)
        for name, value in unknowns.items()
        if isinstance(value, float)
    ]
    largest = 0.0
    for values, shift in starts:
        moved = solver.over(values, shift=shift)
        largest = max(largest, float(apart(moved.forward, course.forward, course.fitted).max()))
        if largest > AGREES:
            break
    return largest
