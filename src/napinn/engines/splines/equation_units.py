"""The units of equations and conditions: what their residuals are divided by."""

from dataclasses import dataclass

import numpy as np

from napinn.engines.splines.state import Residual, State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.problem.equations import Derivative

LEAST_UNIT = 0.1
"""Of the size of an equation at the smoothed field: a constant field with vanishing unknowns must not look exact."""
AT_REST = 1e-12
"""Of the natural square of an equation: below it, all fields in it are constant, as those behind a mean are at first,
and the equation gets its natural size."""


@dataclass(frozen=True, eq=False)
class Units:
    """The size of each equation at every point, and of each condition: what their residuals are measured in."""

    equations: list[np.ndarray]
    conditions: list[float]
    typical: list[float]
    """Mean squares over the box of the terms of each equation."""


def measured_units(system: System, state: State, least: Units | None = None) -> Units:
    """The size of the terms of each equation, half of it local and half of it the mean over the box.

    `least` are the units of the smoothed field."""
    inside = system.residuals(state.coefficients, state.unknowns)
    sizes = [_term_squares(system, state, residual) for residual in inside]
    typical = [float(np.sum(weight * size)) for weight, size in zip(system.equation_weights, sizes, strict=True)]
    if system.task.problem.observables:
        naturals = [_natural_unit(system.task, residual) ** 2 for residual in inside]
        typical = [own if own > AT_REST * first else first for own, first in zip(typical, naturals, strict=True)]
    if least is not None:
        typical = [max(own, LEAST_UNIT * first) for own, first in zip(typical, least.typical, strict=True)]
    tiny = np.finfo(float).tiny
    equations = [np.sqrt(0.5 * (mean + size)) + tiny for mean, size in zip(typical, sizes, strict=True)]
    faces = system.face_residuals(state.coefficients, state.unknowns)
    return Units(equations, [_natural_unit(system.task, residual) for residual in faces], typical)


def _term_squares(system: System, state: State, residual: Residual) -> np.ndarray:
    """The sum of squares of what each leaf contributes to first order, at every point."""
    task, total = system.task, np.zeros((residual.grid.cells, residual.grid.points))
    for leaf, slope in residual.fields.items():
        value = residual.grid.values(state.coefficients, task.field_of[leaf.field], task.orders_of(leaf))
        total = total + (slope * value) ** 2
    for name, slope in residual.unknowns.items():
        if name in task.problem.unknowns:
            total = total + (slope * state.unknowns[task.unknowns.index(name)]) ** 2
    for leaf, slope in residual.varying.items():
        total = total + (slope * system.function(leaf, residual.grid, state.unknowns)) ** 2
    return np.where(np.isfinite(total), total, 0.0)


def natural_size(task: Task, leaf: Derivative) -> float:
    """Of a derivative of a field that varies by its scale over the box.

    Args:
        task: whose field it is.
        leaf: the derivative."""
    return float(task.scale[task.field_of[leaf.field]] / np.prod(task.lengths ** np.array(task.orders_of(leaf))))


def at_rest(task: Task, residual: Residual) -> bool:
    """Whether a residual is as good as zero beside the natural size of the derivatives in it.

    Args:
        task: whose equation it is.
        residual: with all unknowns at zero, so that nothing else cancels it."""
    return float(np.mean(residual.value**2)) <= AT_REST * _natural_unit(task, residual) ** 2


def _natural_unit(task: Task, residual: Residual) -> float:
    """The size of a condition where each derivative has its natural size: a variation over the length of the box."""
    total = 0.0
    for leaf, slope in residual.fields.items():
        natural = natural_size(task, leaf)
        total += float(np.sum(residual.grid.weights * (slope * natural) ** 2))
    return float(np.sqrt(total)) or 1.0
