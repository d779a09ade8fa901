"""How far residuals that the mesh cannot remove may move the unknowns.

The fit is a least-squares problem of whitened rows A, and the estimate of an unknown is a weighted sum of their right
sides: its weights are its row of (AᵀA)⁻¹ Aᵀ, and their norm is its standard error by the normal matrix. Only weights on
rows of the equations matter here. If these have norm w and residuals of the equations have norm r, the residuals move
the estimate by at most w r (Cauchy–Schwarz), where r² is twice the cost of the equations in nats."""

import math

import numpy as np

from napinn.engines.splines.normal_equations import equation_roots
from napinn.engines.splines.solver import Solution
from napinn.engines.splines.state import Residual


def most_moved_by_residuals(solution: Solution) -> np.ndarray:
    """(unknowns that move,) the most that the residuals of the equations can move each, in the unit of its steps: the
    unknown or its logarithm.

    Args:
        solution: the end of a fit."""
    return weights_on_equations(solution) * math.sqrt(2.0 * solution.value.equation_cost)


def weights_on_equations(solution: Solution) -> np.ndarray:
    """(unknowns that move,) the norm of the weights by which each depends on whitened rows of the equations.

    Args:
        solution: the end of a fit."""
    system, named = solution.system, len(solution.system.task.problem.unknowns)
    coefficients, moves = _joint_columns(solution, int(solution.normal.active[:named].sum()))
    squares = np.zeros(coefficients.shape[1])
    roots = equation_roots(system, solution.units, solution.tolerance)
    for residual, root in zip(solution.value.residuals, roots, strict=True):
        for number in range(len(squares)):
            weights = root * _change(solution, residual, coefficients[:, number], moves[:, number])
            squares[number] += float(np.sum(weights**2))
    return np.sqrt(squares)


def _joint_columns(solution: Solution, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first columns of active border parameters in the inverse of the whole normal matrix: their part in the
    coefficients of the field, and their part in the unknowns."""
    state, active, columns = solution.state, solution.normal.active, solution.covariance[:, :count]
    every = np.zeros((len(active), count))
    every[active] = columns
    moves = every[: len(state.unknowns)] * solution.system.task.rates(state.unknowns)[:, None]
    return -solution.followed @ columns, moves


def _change(solution: Solution, residual: Residual, coefficients: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The first-order change of a residual by a change of the coefficients and of the unknowns."""
    task, grid = solution.system.task, residual.grid
    change = np.zeros_like(residual.value)
    for leaf, slope in residual.fields.items():
        change += slope * grid.values(coefficients, task.field_of[leaf.field], task.orders_of(leaf))
    for name, move in zip(task.unknowns, moves, strict=True):
        if name in residual.unknowns:
            change += residual.unknowns[name] * move
    return change
