"""How likely readings are in a fit without them, from the quadratic form at its end and without fitting again.

At the end of a fit the gradient vanishes. To leave a group of readings out takes their part from the gradient and from
the normal matrix; the field at these readings then moves by

    K (I - W K)⁻¹ p,        K = J M⁻¹ Jᵀ,

where J are the rows of the group, M is the normal matrix of all parameters, W holds the weights of the readings and p
their pull on the field. This is exact for a linear model with Gaussian noise, and otherwise one Gauss–Newton step.
"""

import numpy as np

from napinn.engines.splines.solver import Solution

MOST_LEVERAGE = 0.95
"""Of a direction in a group of readings: what nearly the group alone determines would move without bound, and one step
says nothing of it."""


def held_out_log_densities(solution: Solution, label: np.ndarray) -> np.ndarray:
    """(n,) the log-density of every reading under a fit without its group, in the unit of the readings.

    Args:
        solution: the end of a fit.
        label: (n,) the number of each reading's group; a reading that the fit does not use needs none."""
    system, state = solution.system, solution.state
    task, scatter = system.task, system.task.scatter
    misfit = (task.readings.values - system.everywhere @ state.coefficients) / task.spread - state.offsets[scatter]
    misfit[system.used] += _moves(solution, label[system.used]) / system.spread
    standard = misfit / state.sigma[scatter]
    found, group = np.zeros(len(standard)), task.scatters.group[scatter]
    for number, law in enumerate(state.laws):
        found[group == number] = -law.loss(standard[group == number])
    return found - np.log(state.sigma[scatter] * task.spread)


def _moves(solution: Solution, label: np.ndarray) -> np.ndarray:
    """How far the misfit of each reading grows when its group is left out; 0 for groups with a negative number."""
    system, state = solution.system, solution.state
    unit = state.sigma[system.scatter] * system.spread
    root, pull = np.sqrt(system.curvature(state)) / unit, system.score(state) / unit
    border = border_rows(solution)
    found = np.zeros(system.count)
    for group in np.unique(label[label >= 0]):
        mine = np.flatnonzero(label == group)
        rows, own = system.rows.matrix[mine], root[mine]
        hat = rows @ solution.factor.solve(rows.T.toarray()) + border[mine] @ solution.covariance @ border[mine].T
        shares, directions = np.linalg.eigh(own[:, None] * hat * own[None, :])
        shares = np.clip(shares, 0.0, MOST_LEVERAGE)
        found[mine] = directions @ (shares / (1.0 - shares) * (directions.T @ (pull[mine] / own))) / own
    return found


def border_rows(solution: Solution) -> np.ndarray:
    """(readings, border parameters): how the field and the location at each reading follow each active border
    parameter, once the coefficients follow it.

    Args:
        solution: the end of a fit."""
    system, normal = solution.system, solution.normal
    unknowns, active = len(solution.state.unknowns), normal.active
    through = system.rows.matrix @ solution.factor.solve(normal.border[:, active])
    direct = np.zeros_like(through)
    for column, number in enumerate(np.flatnonzero(active)):
        if number >= unknowns:
            direct[:, column] = np.where(system.scatter == number - unknowns, system.spread, 0.0)
    return direct - through
