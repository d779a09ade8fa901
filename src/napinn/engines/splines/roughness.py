"""How smooth unknown functions are: the roughness weights that the readings make most likely.

A function's coefficients have a normal prior, whose precision is a sum of squared differences, each times a roughness
weight. The weight that maximises the marginal likelihood (Fellner and Schall; for single jumps, sparse Bayesian
learning) is found on the quadratic form that the last Gauss–Newton step left, so it costs a few small
matrices and no further step.
"""

import numpy as np

from napinn.engines.splines.solver import Solution
from napinn.engines.splines.task import Task

LOOSEST = 0.1
"""Above this tolerance of the equations, what readings say of a function is mostly the error of the smoothed field."""
TOGETHER, APART = 30, 80
"""Rounds in which all differences of a function share one roughness weight, and in which each jump then has its own."""
SOFTEST, STIFFEST = 1e-9, 1e7
"""Times the largest curvature of the readings along a coefficient, between which a roughness weight stays."""
FIRST_OF_SHRUNK = (1e4, 10.0)
"""Roughness weights of a function whose size is penalised, in units of that size, of its differences and of its
coefficients: at first it is smooth, and a third of its unit in size."""


def chosen_roughness_weights(solution: Solution) -> np.ndarray:
    """The roughness weight of every set of differences, in the order of `Task.curves` and their penalties.

    Args:
        solution: under the roughness weights so far."""
    system, state = solution.system, solution.state
    task = system.task
    if not task.curves or solution.tolerance > LOOSEST:
        return state.roughness_weight
    chosen = np.flatnonzero(task.of_curves)
    active = solution.normal.active
    if not active[chosen].all():
        return state.roughness_weight
    information = _information(solution, chosen)
    penalty = solution.normal.roughness[np.ix_(chosen, chosen)]
    score = (information + penalty) @ state.unknowns[chosen]
    found = _together(task, information, score, chosen, state.roughness_weight)
    if any(curve.space.shrunk for curve in task.curves):
        other = _together(task, information, score, chosen, _anew(task, state.roughness_weight))
        found = max((found, other), key=lambda weights: _evidence(task, information, score, chosen, weights))
    return _apart(task, information, score, chosen, found)


def _anew(task: Task, roughness_weight: np.ndarray) -> np.ndarray:
    """The roughness weights with those of every shrunk function as at first. A function that vanished while the
    equations were loose has the weights of no function, from which rounds do not find to those of a smooth one."""
    found = roughness_weight.copy()
    for curve in task.curves:
        if curve.space.shrunk:
            found[curve.sets] = FIRST_OF_SHRUNK[0]
            found[curve.sets[-1]] = FIRST_OF_SHRUNK[1]
    return found


def _evidence(
    task: Task, information: np.ndarray, score: np.ndarray, chosen: np.ndarray, roughness_weight: np.ndarray
) -> float:
    """The logarithm of the marginal likelihood, up to a constant. Directions that no penalty holds are the same for
    all weights."""
    penalty = task.roughness_matrix(roughness_weight)[np.ix_(chosen, chosen)]
    own = np.linalg.eigvalsh(penalty)
    held = own > 1e-10 * max(float(own.max()), np.finfo(float).tiny)
    _, logarithm = np.linalg.slogdet(information + penalty)
    explained = float(score @ _inverse(information + penalty) @ score)
    return 0.5 * (float(np.sum(np.log(own[held]))) - float(logarithm) + explained)


def _information(solution: Solution, chosen: np.ndarray) -> np.ndarray:
    """What the readings alone say of the coefficients, once field, unknowns and locations follow them."""
    normal = solution.normal
    active = np.flatnonzero(normal.active)
    whole = normal.schur(solution.factor) - normal.roughness[np.ix_(active, active)]
    mine = np.isin(active, chosen)
    own, across, rest = whole[np.ix_(mine, mine)], whole[np.ix_(mine, ~mine)], whole[np.ix_(~mine, ~mine)]
    return _positive(own - across @ _inverse(rest) @ across.T if len(rest) else own)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    unit = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    try:
        scaled = np.linalg.inv(np.linalg.cholesky(matrix * unit[:, None] * unit[None, :])) * unit[None, :]
        return scaled.T @ scaled
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(matrix * unit[:, None] * unit[None, :])
    scaled = vectors * unit[:, None]
    return (scaled / np.maximum(values, 1e-13 * values.max())) @ scaled.T


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The nearest matrix without negative curvature: rounding leaves some where the penalty is large."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.maximum(values, 1e-12 * max(float(values.max()), 0.0))) @ vectors.T


def _together(
    task: Task, information: np.ndarray, score: np.ndarray, chosen: np.ndarray, roughness_weight: np.ndarray
) -> np.ndarray:
    """One roughness weight for all jumps of a function, and one for each coordinate of a smooth one."""
    found, largest = roughness_weight.copy(), float(np.diag(information).max())
    for curve in task.curves:
        if curve.space.jumps:
            found[curve.sets] = np.exp(np.mean(np.log(np.maximum(found[curve.sets], np.finfo(float).tiny))))
    for _ in range(TOGETHER):
        covariance, coefficients, penalty = _solved(task, information, score, chosen, found)
        before = found.copy()
        for curve in task.curves:
            inside = np.searchsorted(chosen, np.arange(curve.start, curve.start + curve.space.size))
            own, values = covariance[np.ix_(inside, inside)], coefficients[inside]
            groups = [np.concatenate(curve.rows)] if curve.space.jumps else curve.rows
            sets = [curve.sets] if curve.space.jumps else [np.array([number]) for number in curve.sets]
            plain = None if len(groups) == 1 else np.linalg.pinv(penalty[np.ix_(inside, inside)], 1e-10, hermitian=True)
            for rows, members in zip(groups, sets, strict=True):
                expected = -float(np.sum((rows @ own) * rows))
                # The rows of a single set are independent: the prior variance of each is one over its roughness weight.
                expected += len(rows) / found[members[0]] if plain is None else float(np.sum((rows @ plain) * rows))
                size = float(np.sum((rows @ values) ** 2))
                factor = max(expected, 1e-12) / max(size, np.finfo(float).tiny)
                found[members] = np.clip(
                    found[members] * np.clip(factor, 0.1, 10.0), SOFTEST * largest, STIFFEST * largest
                )
        if np.allclose(found, before, rtol=0.01):
            break
    return found


def _apart(
    task: Task, information: np.ndarray, score: np.ndarray, chosen: np.ndarray, roughness_weight: np.ndarray
) -> np.ndarray:
    """Each jump its own roughness weight: most become so stiff that there is no jump."""
    if not any(curve.space.jumps for curve in task.curves):
        return roughness_weight
    found, largest = roughness_weight.copy(), float(np.diag(information).max())
    for _ in range(APART):
        covariance, coefficients, _ = _solved(task, information, score, chosen, found)
        before = found.copy()
        for curve in task.curves:
            if not curve.space.jumps:
                continue
            inside = np.searchsorted(chosen, np.arange(curve.start, curve.start + curve.space.size))
            rows = np.concatenate(curve.rows)
            known = 1.0 - found[curve.sets] * np.sum((rows @ covariance[np.ix_(inside, inside)]) * rows, axis=1)
            squares = (rows @ coefficients[inside]) ** 2
            wanted = np.clip(known, 1e-6, 1.0) / np.maximum(squares, np.finfo(float).tiny)
            found[curve.sets] = np.clip(wanted, SOFTEST * largest, STIFFEST * largest)
        if np.allclose(found, before, rtol=0.02):
            break
    return found


def _solved(
    task: Task, information: np.ndarray, score: np.ndarray, chosen: np.ndarray, roughness_weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariance and coefficients under a roughness weight, and its penalty."""
    penalty = task.roughness_matrix(roughness_weight)[np.ix_(chosen, chosen)]
    covariance = _inverse(information + penalty)
    return covariance, covariance @ score, penalty
