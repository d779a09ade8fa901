"""Gauss–Newton steps in coefficients, unknowns and noise locations together.

The coefficients have a banded normal matrix; unknowns and locations border it and are eliminated by their Schur
complement, whose inverse is also the covariance of the unknowns. Steps are damped (Levenberg) only where the objective
would rise."""

from dataclasses import dataclass

import numpy as np

from napinn.engines.splines.equation_units import Units
from napinn.engines.splines.matrix_free import Iterative, MatrixFree, border_of
from napinn.engines.splines.normal_equations import Normal, Value, evaluate, linearise
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.field.splines.banded import Factor, NotPositiveError

LEAST_GAIN = 0.05
"""Nats below which a further step is not worth its time: a twentieth of what one standard error costs."""
MOST_DAMPINGS = 9
"""Factors of ten of damping before a step is given up: beyond, the step is below rounding."""
MOST_HALVINGS = 7
"""Of a matrix-free step before it is given up: what is left is below a hundredth of it."""
SINGULAR = 1e-14
"""Eigenvalue, relative to a parameter's own curvature, below which nothing but rounding determines a direction."""
NEARER_TO_BOUND = 0.2
"""A step may reduce the distance of an unknown from its bound to this share, never to zero."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A state at which steps have ended, and what is known there."""

    system: System
    units: Units
    tolerance: float
    state: State
    value: Value
    normal: Normal
    factor: Factor | Iterative
    """Of the normal matrix without damping, which would make errors too small."""
    covariance: np.ndarray
    """Of the active border parameters."""

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the unknowns; nan for one that no equation depends on."""
        count = len(self.state.unknowns)
        found = np.full(count, np.nan)
        variances = np.maximum(np.diag(self.covariance), 0.0)
        inside = self.normal.active[:count]
        found[inside] = np.sqrt(variances[: int(inside.sum())])
        return found * self.system.task.rates(self.state.unknowns)

    @property
    def promised_gain(self) -> float:
        """Nats that one more whole step would gain if all were linear: half of gradient × inverse × gradient."""
        normal, active = self.normal, self.normal.active
        solved = self.factor.solve(normal.gradient)
        right = normal.border_gradient[active] - normal.border[:, active].T @ solved
        return 0.5 * float(normal.gradient @ solved + right @ self.covariance @ right)


def solve(
    system: System,
    units: Units,
    tolerance: float,
    state: State,
    *,
    steps: int = 10,
    least_gain: float = LEAST_GAIN,
    free: bool | np.ndarray = True,
) -> Solution:
    """Steps from a state until they gain less than `least_gain`, or until there were `steps` of them; `free` says which
    unknowns move, one for all or one each.

    Raises `NotPositiveError` where the normal equations have no solution, or an equation has no value at the state."""
    if steps == 0:
        # What is found from a kept state must not depend on what came before it.
        system.preconditioner = None
    damping, value = 1e-6, evaluate(system, units, tolerance, state)
    if not np.isfinite(value.total):
        raise NotPositiveError
    normal = linearise(system, units, tolerance, state, value, free)
    for taken in range(steps):
        system.meter.spend(system.step_seconds)
        if taken:
            normal = linearise(system, units, tolerance, state, value, free)
        found = _damped_step(system, units, tolerance, state, value, normal, damping)
        if found is None:
            break
        gain, before = value.total - found[1].total, damping
        state, value, damping = found
        damping = max(damping / 30.0, 1e-13) if damping == before else damping
        if gain < least_gain:
            break
    # The last step moved little, so the normal equations before it serve; to form them again costs as much as a step.
    factor = normal.matrix.factor(normal.floor)
    covariance = inverse(normal.schur(factor))
    return Solution(system, units, tolerance, state, value, normal, factor, covariance)


def _damped_step(
    system: System, units: Units, tolerance: float, state: State, value: Value, normal: Normal, damping: float
) -> tuple[State, Value, float] | None:
    """The next state, its value and the damping that it took; None where no damping lets the objective fall."""
    if isinstance(normal.matrix, MatrixFree):
        return _shortened_step(system, units, tolerance, state, value, normal, damping)
    for _ in range(MOST_DAMPINGS):
        try:
            moved = _step(system, state, normal, damping)
        except (NotPositiveError, np.linalg.LinAlgError):
            damping = max(100.0 * damping, 1e-8)
            continue
        after = evaluate(system, units, tolerance, moved)
        if after.total < value.total + 1e-9 * abs(value.total):
            return moved, after, damping
        damping = max(10.0 * damping, 1e-7)
    return None


def _shortened_step(
    system: System, units: Units, tolerance: float, state: State, value: Value, normal: Normal, damping: float
) -> tuple[State, Value, float] | None:
    """The same by conjugate gradients, whose solution for another damping would cost as much as a step: the step is
    halved instead. It points downhill however early the iterations ended."""
    try:
        whole = _step(system, state, normal, damping)
    except (NotPositiveError, np.linalg.LinAlgError):
        return None
    for halvings in range(MOST_HALVINGS):
        moved = _between(state, whole, 0.5**halvings)
        after = evaluate(system, units, tolerance, moved)
        if after.total < value.total + 1e-9 * abs(value.total):
            return moved, after, damping
    return None


def _between(state: State, whole: State, share: float) -> State:
    """The state at a share of the way; bounds hold, since they hold at both ends."""
    if share == 1.0:
        return whole
    pairs = ((state.coefficients, whole.coefficients), (state.unknowns, whole.unknowns), (state.offsets, whole.offsets))
    return state.moved(*(before + share * (after - before) for before, after in pairs))


def _step(system: System, state: State, normal: Normal, damping: float) -> State:
    active, unknowns = normal.active, len(state.unknowns)
    factor = normal.matrix.factor(damping * normal.matrix.diagonal + normal.floor)
    if isinstance(factor, Iterative):
        return _iterative_step(system, state, normal, factor, damping)
    border = normal.border[:, active]
    solved = factor.solve(np.concatenate([normal.gradient[:, None], border], axis=1))
    moves = np.zeros(len(active))
    if active.any():
        corner = normal.corner[np.ix_(active, active)]
        schur = corner + damping * np.diag(np.diag(corner)) - border.T @ solved[:, 1:]
        right = normal.border_gradient[active] - border.T @ solved[:, 0]
        moves[active] = -_scaled_solution(schur, right)
    task = system.task
    values = _inside_bounds(system, state.unknowns, task.after_moves(state.unknowns, moves[:unknowns]))
    moves[:unknowns] = task.moves_between(state.unknowns, values)
    coefficients = state.coefficients - solved[:, 0] - solved[:, 1:] @ moves[active]
    return state.moved(coefficients, values, state.offsets + moves[unknowns:])


def _iterative_step(system: System, state: State, normal: Normal, factor: Iterative, damping: float) -> State:
    """Coefficients and border parameters together; where a bound stops an unknown, the coefficients once more."""
    active, unknowns, task = normal.active, len(state.unknowns), system.task
    border = border_of(normal.border, normal.corner, active, damping)
    found = factor.moves(normal.gradient, border, normal.border_gradient[active], active)
    own, moves = found[: system.space.size], np.zeros(len(active))
    moves[active] = found[system.space.size :]
    values = _inside_bounds(system, state.unknowns, task.after_moves(state.unknowns, moves[:unknowns]))
    held = task.moves_between(state.unknowns, values)
    if not np.allclose(held, moves[:unknowns], rtol=1e-9, atol=0.0):
        moves[:unknowns] = held
        own = -factor.solve(normal.gradient + border.columns @ moves[active])
    return state.moved(state.coefficients + own, values, state.offsets + moves[unknowns:])


def inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a positive semidefinite matrix; a direction that it does not determine gets a huge variance.

    Parameters are taken in units of their own curvature first: they may differ by many powers of ten."""
    unit = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(_finite(matrix * unit[:, None] * unit[None, :]))
    scaled = vectors * unit[:, None]
    return (scaled / np.maximum(values, SINGULAR)) @ scaled.T


def _scaled_solution(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least squares with unknowns in units of their own curvature: they may differ by many powers of ten."""
    unit = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), np.finfo(float).tiny))
    scaled = matrix * unit[:, None] * unit[None, :]
    return unit * np.linalg.lstsq(_finite(scaled), _finite(unit * right), rcond=1e-14)[0]


def _finite(numbers: np.ndarray) -> np.ndarray:
    """The numbers themselves; LAPACK would print a complaint of its own about others."""
    if not np.all(np.isfinite(numbers)):
        raise NotPositiveError
    return numbers


def _inside_bounds(system: System, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    low, high = system.task.low, system.task.high
    with np.errstate(invalid="ignore"):
        lowest = np.where(np.isfinite(low), low + NEARER_TO_BOUND * (before - low), low)
        highest = np.where(np.isfinite(high), high + NEARER_TO_BOUND * (before - high), high)
    return np.clip(after, lowest, highest)


def spent(solution: Solution, probes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """By noise scale: how many parameters its readings pay for (the trace of the hat matrix, by random probes), and
    how many readings there are to pay, each counted by its weight."""
    system, state = solution.system, solution.state
    curvature = system.curvature(state)
    weight = curvature / (state.sigma[system.scatter] * system.spread) ** 2
    signs = np.sign(np.random.default_rng(1).normal(size=(system.count, probes or solution.factor.probes)))
    hat = system.rows.matrix @ solution.factor.solve(system.rows.transposed @ (signs * weight[:, None]))
    scales = len(state.sigma)
    parameters = np.bincount(system.scatter, np.mean(signs * hat, axis=1), minlength=scales)
    readings = np.bincount(system.scatter, curvature, minlength=scales)
    if system.task.curves:
        parameters = parameters + _spent_on_functions(solution) * readings / max(float(readings.sum()), 1.0)
    return parameters, readings


def _spent_on_functions(solution: Solution) -> float:
    """How many parameters of unknown functions the readings pay for, beside those that smoothness pays for."""
    task, active = solution.system.task, np.flatnonzero(solution.normal.active)
    mine = np.flatnonzero(np.isin(active, np.flatnonzero(task.of_curves)))
    rough = solution.normal.roughness[np.ix_(active, active)]
    return len(mine) - float(np.trace((solution.covariance @ rough)[np.ix_(mine, mine)]))
