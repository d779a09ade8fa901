"""Gauss–Newton steps in coefficients, unknowns and noise locations together.

The coefficients have a banded normal matrix; unknowns and locations border it and are eliminated by their Schur
complement, whose inverse is also the covariance of the unknowns. Steps are damped (Levenberg) only where the objective
would rise."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from napinn.engines.splines.matrix_free import Iterative, MatrixFree, Preconditioner, border_of
from napinn.engines.splines.system import CONDITION_TOLERANCE, MOST_AT_ONCE, Residual, State, System, Units
from napinn.field.splines.banded import Banded, Factor, NotPositiveError
from napinn.field.splines.factorised import ResidualRows
from napinn.field.splines.space import Orders

LEAST_GAIN = 0.05
"""Nats below which a further step is not worth its time: a twentieth of what one standard error costs."""
MOST_DAMPINGS = 9
"""Factors of ten of damping before a step is given up: beyond, the step is below rounding."""
MOST_HALVINGS = 7
"""Of a matrix-free step before it is given up: what is left is below a hundredth of it."""
FLOOR = 1e-9
"""Of the weight of the readings, added to the diagonal: a coefficient that nothing determines stays where it is."""
SINGULAR = 1e-14
"""Eigenvalue, relative to a parameter's own curvature, below which nothing but rounding determines a direction."""
NEARER_TO_BOUND = 0.2
"""A step may reduce the distance of an unknown from its bound to this share, never to zero."""
LOCATION_PRIOR = 0.5
"""Standard deviation, in deviations of the noise, that is expected of the location of a learned law."""


@dataclass(frozen=True, eq=False)
class Value:
    """The objective and its parts, in nats."""

    total: float
    data: float
    equation_cost: float
    """What the equations cost."""
    residuals: list[Residual]
    faces: list[Residual]


@dataclass(frozen=True, eq=False)
class Normal:
    """The normal equations at a state: banded for the coefficients, bordered by unknowns and locations."""

    matrix: Banded | MatrixFree
    gradient: np.ndarray
    border: np.ndarray
    corner: np.ndarray
    border_gradient: np.ndarray
    active: np.ndarray
    """Which border parameters move."""
    floor: np.ndarray
    roughness: np.ndarray
    """What the smoothness of unknown functions adds to `corner`."""

    def schur(self, factor: Factor | Iterative) -> np.ndarray:
        """The normal matrix of the active border parameters once the coefficients follow them."""
        border = self.border[:, self.active]
        return self.corner[np.ix_(self.active, self.active)] - border.T @ factor.solve(border)


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


def evaluate(system: System, units: Units, tolerance: float, state: State) -> Value:
    """The objective at a state; infinite where an equation has no value."""
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = system.residuals(state.coefficients, state.unknowns)
        faces = system.face_residuals(state.coefficients, state.unknowns)
        data = float(np.sum(system.loss(state)))
        equation_cost = sum(
            float(np.sum(weight * (residual.value / unit) ** 2))
            for residual, unit, weight in zip(residuals, units.equations, system.equation_weights, strict=True)
        )
        held = sum(
            float(np.sum(weight * (face.value / unit) ** 2))
            for face, unit, weight in zip(faces, units.conditions, system.face_weights, strict=True)
        )
        held += sum(float(np.sum((rows @ state.coefficients) ** 2)) for rows in system.jumps)
        equation_cost *= _weight(system, tolerance)
        prior = 0.5 * float(np.sum((state.offsets / (LOCATION_PRIOR * state.sigma)) ** 2))
        if system.task.has_priors:
            prior += 0.5 * float(np.sum(system.task.prior_terms(state.unknowns)[0] ** 2))
        if system.task.curves:
            rough = system.task.roughness_matrix(state.roughness_weight)
            prior += 0.5 * float(state.unknowns @ rough @ state.unknowns)
        total = data + equation_cost + _weight(system, min(tolerance, CONDITION_TOLERANCE)) * held + prior
    return Value(total if np.isfinite(total) else np.inf, data, equation_cost, residuals, faces)


def _weight(system: System, tolerance: float) -> float:
    return system.count / (2.0 * tolerance**2)


def linearise(
    system: System,
    units: Units,
    tolerance: float,
    state: State,
    value: Value,
    free: bool | np.ndarray = True,
    direct: bool = False,
) -> Normal:
    """The normal equations at a state; `free` says which unknowns move, `direct` that the matrix is formed on any
    mesh."""
    space, unknowns, scales = system.space, len(state.unknowns), len(state.sigma)
    size = unknowns + scales

    def assembled() -> Banded:
        matrix = linearise(system, units, tolerance, state, value, free, direct=True).matrix
        assert isinstance(matrix, Banded)
        return matrix

    free_of_matrix = system.matrix_free and not direct
    matrix = MatrixFree(space.size, assembled) if free_of_matrix else Banded(space.size, space.bandwidth)
    totals = np.zeros((space.size, 1 + unknowns))
    corner, border_gradient = np.zeros((size, size)), np.zeros(size)
    inside = [
        (residual, np.sqrt(2.0 * _weight(system, tolerance) * weight) / unit)
        for residual, unit, weight in zip(value.residuals, units.equations, system.equation_weights, strict=True)
    ]
    tight = 2.0 * _weight(system, min(tolerance, CONDITION_TOLERANCE))
    faces = [
        [(face, np.sqrt(tight * weight) / unit)]
        for face, unit, weight in zip(value.faces, units.conditions, system.face_weights, strict=True)
    ]
    for block in (inside, *faces):
        _add_block(system, block, matrix, totals, corner[:unknowns, :unknowns], border_gradient[:unknowns])
    if system.jump_matrix is not None:
        matrix.add_sparse(tight * system.jump_matrix)
        totals[:, 0] += tight * (system.jump_matrix @ state.coefficients)
    _take_steps_in_logarithms(system, state, totals, corner, border_gradient)
    if system.task.has_priors:
        away, slope = system.task.prior_terms(state.unknowns)
        corner[:unknowns, :unknowns] += np.diag(slope**2)
        border_gradient[:unknowns] += slope * away
    rough = np.zeros((size, size))
    if system.task.curves:
        rough[:unknowns, :unknowns] = system.task.roughness_matrix(state.roughness_weight)
        corner += rough
        border_gradient[:unknowns] += rough[:unknowns, :unknowns] @ state.unknowns
    border = np.concatenate([totals[:, 1:], np.zeros((space.size, scales))], axis=1)
    gradient = totals[:, 0]
    _add_readings(system, state, matrix, gradient, border, corner, border_gradient)
    located = np.array([law.located for law in state.laws])[system.task.scatters.group]
    active = np.concatenate([free & (np.diag(corner)[:unknowns] > 0.0), located])
    scale = np.tile(system.count / (system.task.scale[: space.fields] ** 2 * space.functions), space.functions)
    if isinstance(matrix, MatrixFree):
        kept = system.preconditioner
        if kept is None or not kept.serves(tolerance, active):
            kept = system.preconditioner = Preconditioner(matrix.assembled(), border, corner, tolerance)
        matrix.preconditioner = kept
    return Normal(matrix, gradient, border, corner, border_gradient, active, FLOOR * scale, rough)


def _add_block(
    system: System,
    block: list[tuple[Residual, np.ndarray]],
    matrix: Banded | MatrixFree,
    totals: np.ndarray,
    corner: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Add residuals on one grid, each with the square root of its weight."""
    if not block:
        return
    space, grid, task = system.space, block[0][0].grid, system.task
    right = np.concatenate([_right_sides(task.unknowns, residual, root) for residual, root in block], axis=1)
    flat = right.reshape(-1, right.shape[2])
    corner += flat[:, 1:].T @ flat[:, 1:]
    gradient += flat[:, 1:].T @ flat[:, 0]
    if isinstance(matrix, MatrixFree):
        matrix.residuals.append(rows := _residual_rows(system, block))
        parts = np.moveaxis(right.reshape(grid.cells, len(block), grid.points, -1), 1, 0)
        for column in range(totals.shape[1]):
            totals[:, column] += rows.transposed([grid.by_axis(part[..., column]) for part in parts])
        return
    step = max(1, MOST_AT_ONCE // (len(block) * grid.points * len(space.all_offsets)))
    for start in range(0, grid.cells, step):
        part = slice(start, start + step)
        jacobian = np.concatenate([_jacobian(system, residual, root, part) for residual, root in block], axis=1)
        transposed = jacobian.transpose(0, 2, 1)
        matrix.add_cells(grid.pattern, np.matmul(transposed, jacobian), start)
        local = np.matmul(transposed, right[part])
        rows = (grid.first[part, None] * space.fields + space.all_offsets).ravel()
        gather = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(space.size, len(rows)))
        totals += gather @ local.reshape(len(rows), -1)


def _residual_rows(system: System, block: list[tuple[Residual, np.ndarray]]) -> ResidualRows:
    """The weighted Jacobian of residuals on one grid."""
    grid, task = block[0][0].grid, system.task
    terms = [
        [
            (task.field_of[leaf.field], task.orders_of(leaf), grid.by_axis(slope * root))
            for leaf, slope in residual.fields.items()
        ]
        for residual, root in block
    ]
    return ResidualRows(system.factorised(grid), terms)


def _take_steps_in_logarithms(
    system: System, state: State, totals: np.ndarray, corner: np.ndarray, gradient: np.ndarray
) -> None:
    """The normal equations for the logarithm of each unknown that moves in it, in place of the unknown."""
    if not system.task.logarithmic.any():
        return
    count, rates = len(state.unknowns), system.task.rates(state.unknowns)
    totals[:, 1:] *= rates
    corner[:count, :count] *= rates[:, None] * rates[None, :]
    gradient[:count] *= rates


def _right_sides(names: tuple[str, ...], residual: Residual, root: np.ndarray) -> np.ndarray:
    """(cells, points, 1 + unknowns): the weighted residual and its derivative along each unknown."""
    columns = [residual.value, *(residual.unknowns.get(name, np.zeros(())) for name in names)]
    return np.stack([np.broadcast_to(column, root.shape) * root for column in columns], axis=-1)


def _jacobian(system: System, residual: Residual, root: np.ndarray, part: slice) -> np.ndarray:
    """(cells, points, L × fields): the weighted residual's derivative along the coefficients of each cell."""
    grid, fields, task = residual.grid, system.space.fields, system.task
    weight = root[part]
    jacobian = np.zeros((*weight.shape, len(system.space.offsets), fields))
    by_field: dict[int, list[tuple[Orders, np.ndarray]]] = {}
    for leaf, slope in residual.fields.items():
        by_field.setdefault(task.field_of[leaf.field], []).append((task.orders_of(leaf), slope[part] * weight))
    for field, terms in by_field.items():
        jacobian[..., field] = grid.jacobian(terms, part)
    return jacobian.reshape(*weight.shape, -1)


def _add_readings(
    system: System,
    state: State,
    matrix: Banded | MatrixFree,
    gradient: np.ndarray,
    border: np.ndarray,
    corner: np.ndarray,
    border_gradient: np.ndarray,
) -> None:
    unit, of_field = state.sigma[system.scatter] * system.spread, system.task.scatter_of_field
    weight, score = system.curvature(state) / unit**2, system.score(state) / unit
    if isinstance(matrix, MatrixFree):
        matrix.add_readings(system.at_readings, system.from_readings, weight)
    elif of_field is not None and state.laws[0].constant_curvature:
        system.add_constant_normal(matrix, state.laws[0].curvature(np.zeros(1)) / state.sigma[of_field] ** 2)
    else:
        system.rows.add_normal(matrix, weight)
    gradient -= system.from_readings(score)
    for number, group in enumerate(system.task.scatters.group):
        if not state.laws[group].located:
            continue
        column, mine = len(state.unknowns) + number, system.scatter == number
        # A location of one moves a reading by its known spread.
        share = np.where(mine, system.spread, 0.0)
        prior = 1.0 / (LOCATION_PRIOR * state.sigma[number]) ** 2
        border[:, column] = system.from_readings(weight * share)
        corner[column, column] = float(np.sum(weight * share**2)) + prior
        border_gradient[column] = prior * state.offsets[number] - float(np.sum(score * share))


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
