"""A start for the unknowns from the smoothed field: the equations integrated against bumps.

Integration against functions that vanish at the border is insensitive to noise, and linear in unknowns that stand
linearly in their equation (the weak form, as in WSINDy). Only equations without hidden fields can be used. Unknowns
that stand in conditions alone are fitted to the smoothed field there."""

from dataclasses import dataclass, replace

import numpy as np

from napinn.engines.splines.elimination import without_defined
from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.scans import reached_by, scanned
from napinn.engines.splines.state import LinearResiduals, ResidualsAt, State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.field.splines.axis import uniform_axis
from napinn.field.splines.space import PointGrid
from napinn.noise.laws import Huber, deviation
from napinn.problem.equations import Equation

BUMP_DEGREE = 4
"""Of the test functions: derivatives up to the third vanish at their ends, so integration by parts leaves no
boundary."""
FEWEST_BUMPS, MOST_BUMPS = 6, {1: 100, 2: 24, 3: 24}
"""Cells of the bumps along each axis, the most by the number of axes."""
ROUNDS, ROBUST_ROUNDS = 8, 10
HALVINGS = 8
"""Of a step whose residuals are not those of the linear model."""
DISAGREEMENT = 0.25
"""Of the weak residuals before a step, by how much those after it may differ from the linear model. A Michaelis–Menten
constant that follows its tangent leaves for infinity."""
ROBUST_WIDTH = 1.5
"""In deviations, Huber's: 96 % as precise as least squares where errors are Gaussian (Huber 1964)."""
NEARER_TO_BOUND = 0.05
"""Of the distance between start and bound that a start keeps to the bound: on it the first step could not move."""


def weak_start(system: System, state: State, small: np.ndarray) -> np.ndarray | None:
    """The unknowns; None where every equation has a hidden field, or no unknown can be reached.

    Args:
        system: on the first mesh.
        state: the smoothed readings and the first unknowns.
        small: unknowns at which no equation looks large, by which residuals are measured."""
    if not len(state.unknowns):
        return None
    task = without_defined(system.task)
    system = system if task is system.task else system.of(task)
    units = measured_units(system, replace(state, unknowns=small))
    found = None
    for part in (_of_equations(system, state, units), _of_conditions(system, state, units)):
        begun = state if found is None else replace(state, unknowns=found)
        after = None if part is None else _fitted(system, begun, part)
        found = found if after is None else after
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the equations or conditions, and what is fitted to them."""

    equations: list[Equation]
    movable: frozenset[str]
    """The unknowns that are fitted."""
    residuals_at: ResidualsAt


def _fitted(system: System, state: State, part: _Part) -> np.ndarray | None:
    """The unknowns at which the residuals of a part are least; None where none can be reached."""
    unknowns = scanned(system, state, part.equations, part.movable, part.residuals_at)
    residuals = part.residuals_at(unknowns)
    for _ in range(ROUNDS):
        after = None if residuals is None else _regressed(system.task, unknowns, *residuals)
        if residuals is None or after is None:
            return None
        if np.allclose(after, unknowns, rtol=1e-4, atol=0.0):
            return after
        unknowns, residuals = _halved(part.residuals_at, unknowns, residuals, after)
    return unknowns


def _seen(task: Task, equation: Equation) -> bool:
    """Whether the readings show every field of an equation."""
    return not any(leaf.field in task.unseen for leaf in equation.needs)


def _of_equations(system: System, state: State, units: Units) -> _Part | None:
    """The equations without hidden fields, and their weak residuals."""
    task = system.task
    stated = len(task.equations) - len(task.problem.written) + len(task.problem.stated)
    usable = [number for number, equation in enumerate(task.equations[:stated]) if _seen(task, equation)]
    if not usable:
        return None
    tested = _Tested(system.grid)

    def residuals_at(unknowns: np.ndarray) -> LinearResiduals | None:
        return _weak_residuals(system, state.coefficients, unknowns, units, usable, tested)

    return _Part([task.equations[number] for number in usable], frozenset(task.unknowns), residuals_at)


def _of_conditions(system: System, state: State, units: Units) -> _Part | None:
    """The conditions with unknowns that no equation has, and their residuals with these unknowns alone."""
    task = system.task
    elsewhere = frozenset[str]().union(*(equation.unknowns for equation in task.equations))
    usable = {
        number: condition.equation
        for number, condition in enumerate(task.conditions)
        if condition.equation.unknowns - elsewhere and _seen(task, condition.equation)
    }
    if not usable:
        return None
    movable = frozenset[str]().union(*(equation.unknowns for equation in usable.values())) - elsewhere

    def residuals_at(unknowns: np.ndarray) -> LinearResiduals | None:
        faces = system.face_residuals(state.coefficients, unknowns)
        matrix, right = [], []
        for number in usable:
            weight = np.sqrt(system.face_weights[number]) / units.conditions[number]
            slopes = [faces[number].unknowns.get(name, 0.0) if name in movable else 0.0 for name in task.unknowns]
            matrix.append(np.stack([np.broadcast_to(slope * weight, weight.shape).ravel() for slope in slopes], axis=1))
            right.append((faces[number].value * weight).ravel())
        return _if_finite(np.concatenate(matrix), np.concatenate(right))

    return _Part(list(usable.values()), movable, residuals_at)


def _halved(
    residuals_at: ResidualsAt, unknowns: np.ndarray, residuals: LinearResiduals, after: np.ndarray
) -> tuple[np.ndarray, LinearResiduals | None]:
    """The unknowns after a step that is halved until the linear model holds, and the residuals there."""
    for _ in range(HALVINGS):
        found = residuals_at(after)
        if found is not None and _as_predicted(residuals, after - unknowns, found[1]):
            return after, found
        after = 0.5 * (unknowns + after)
    return after, residuals_at(after)


def _as_predicted(before: LinearResiduals, step: np.ndarray, misfit: np.ndarray) -> bool:
    """Whether the weak residuals after a step are those of the linear model; always so where the unknowns stand
    linearly in their equations."""
    predicted = before[1] + before[0] @ step
    return float(np.linalg.norm(misfit - predicted)) <= DISAGREEMENT * float(np.linalg.norm(before[1]))


class _Tested:
    """Integrals of point values against all bumps."""

    def __init__(self, grid: PointGrid) -> None:
        self.grid, self.bumps = grid, []
        for number, places in zip(grid.space.order, grid.along, strict=True):
            axis = grid.space.axes[number]
            cells = max(FEWEST_BUMPS, min(axis.cells, MOST_BUMPS[len(grid.along)]))
            coarse = uniform_axis(float(axis.breaks[0]), float(axis.breaks[-1]), cells, BUMP_DEGREE)
            where = places.places.ravel()
            full = np.zeros((len(where), coarse.size))
            columns = coarse.cell_of(where)[:, None] + np.arange(BUMP_DEGREE + 1)
            np.put_along_axis(full, columns, coarse.basis(where), axis=1)
            inner = full[:, BUMP_DEGREE:-BUMP_DEGREE] * places.weights.ravel()[:, None]
            self.bumps.append(inner.reshape(*places.places.shape, -1))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        tensor, dimensions = self.grid.folded(values), len(self.bumps)
        for position, bumps in enumerate(self.bumps):
            # The first cell axis and its axis of points go; the axis of bumps comes last.
            tensor = np.tensordot(tensor, bumps, ([0, dimensions - position], [0, 1]))
        return tensor.ravel()


def _weak_residuals(
    system: System,
    coefficients: np.ndarray,
    unknowns: np.ndarray,
    units: Units,
    usable: list[int],
    tested: _Tested,
) -> LinearResiduals | None:
    """Derivatives of the weak residuals by the unknowns, and the residuals; None where they are not finite."""
    residuals = system.residuals(coefficients, unknowns)
    matrix, right = [], []
    for number in usable:
        residual, unit = residuals[number], units.equations[number]
        inside = system.task.inside(system.task.equations[number], residual.grid)
        unit = unit if inside is None else np.where(inside, unit, np.inf)
        slopes = [np.broadcast_to(residual.unknowns.get(name, 0.0), unit.shape) for name in system.task.unknowns]
        matrix.append(np.stack([tested(slope / unit) for slope in slopes], axis=1))
        right.append(tested(residual.value / unit))
    return _if_finite(np.concatenate(matrix), np.concatenate(right))


def _if_finite(rows: np.ndarray, misfit: np.ndarray) -> LinearResiduals | None:
    return (rows, misfit) if np.isfinite(rows).all() and np.isfinite(misfit).all() else None


def _regressed(task: Task, unknowns: np.ndarray, rows: np.ndarray, misfit: np.ndarray) -> np.ndarray | None:
    """The unknowns after one robust least-squares step; None where no unknown can be reached."""
    groups, most = _groups(task)
    rows = rows @ groups
    reached = reached_by(rows)
    if not reached.any():
        return None
    after = unknowns + groups[:, reached] @ np.clip(
        _robust_step(rows[:, reached], misfit), -most[reached], most[reached]
    )
    low, high = task.low, task.high
    with np.errstate(invalid="ignore"):
        lowest = np.where(np.isfinite(low), low + NEARER_TO_BOUND * (unknowns - low), low)
        highest = np.where(np.isfinite(high), high + NEARER_TO_BOUND * (unknowns - high), high)
    return np.clip(after, lowest, highest)


def _groups(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """(parameters, groups): what moves together, and how far each may in one step. The coefficients of an unknown
    function move together, so that a constant is found for it; that of a positive one by at most a factor."""
    count = len(task.problem.unknowns)
    groups = np.zeros((len(task.unknowns), count + len(task.curves)))
    groups[:count, :count] = np.eye(count)
    most = np.full(groups.shape[1], np.inf)
    for number, curve in enumerate(task.curves):
        groups[curve.start : curve.start + curve.size, count + number] = 1.0
        most[count + number] = 1.0 if curve.space.positive else np.inf
    return groups, most


def _robust_step(rows: np.ndarray, misfit: np.ndarray) -> np.ndarray:
    size = np.abs(rows).max(axis=0)
    scaled, weight = rows / size, np.ones(len(misfit))
    step = np.zeros(rows.shape[1])
    for _ in range(ROBUST_ROUNDS):
        step = -np.linalg.lstsq(scaled * weight[:, None], misfit * weight, rcond=None)[0]
        left = misfit + scaled @ step
        spread = deviation(left)
        if spread <= 0.0:
            break
        weight = np.sqrt(Huber(ROBUST_WIDTH).curvature(left / spread))
    return step / size
