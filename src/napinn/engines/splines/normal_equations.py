"""The objective at a state and its normal equations, which the solver steps by."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from napinn.engines.splines.equation_units import Units
from napinn.engines.splines.matrix_free import Iterative, MatrixFree, Preconditioner
from napinn.engines.splines.reading_rows import MOST_AT_ONCE
from napinn.engines.splines.state import Residual, State
from napinn.engines.splines.system import CONDITION_TOLERANCE, System
from napinn.field.splines.banded import Banded, Factor
from napinn.field.splines.factorised import ResidualRows
from napinn.field.splines.space import Orders

FLOOR = 1e-9
"""Of the weight of the readings, added to the diagonal: a coefficient that nothing determines stays where it is."""
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
    rough = _add_priors(system, state, corner, border_gradient)
    border = np.concatenate([totals[:, 1:], np.zeros((space.size, scales))], axis=1)
    gradient = totals[:, 0]
    _add_readings(system, state, matrix, gradient, border, corner, border_gradient)
    located = np.array([law.located for law in state.laws])[system.task.scatters.group]
    active = np.concatenate([free & (np.diag(corner)[:unknowns] > 0.0), located])
    scale = np.tile(system.count / (system.task.scale[: space.fields] ** 2 * space.functions), space.functions)
    if isinstance(matrix, MatrixFree):
        _set_preconditioner(system, matrix, border, corner, active, tolerance)
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


def _add_priors(system: System, state: State, corner: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Add what priors and the smoothness of unknown functions expect of the unknowns.

    Returns what the smoothness adds to `corner`."""
    unknowns = len(state.unknowns)
    if system.task.has_priors:
        away, slope = system.task.prior_terms(state.unknowns)
        corner[:unknowns, :unknowns] += np.diag(slope**2)
        gradient[:unknowns] += slope * away
    rough = np.zeros(corner.shape)
    if system.task.curves:
        rough[:unknowns, :unknowns] = system.task.roughness_matrix(state.roughness_weight)
        corner += rough
        gradient[:unknowns] += rough[:unknowns, :unknowns] @ state.unknowns
    return rough


def _set_preconditioner(
    system: System, matrix: MatrixFree, border: np.ndarray, corner: np.ndarray, active: np.ndarray, tolerance: float
) -> None:
    """The preconditioner of an earlier step as long as it serves, because a new one costs a factorisation."""
    kept = system.preconditioner
    if kept is None or not kept.serves(tolerance, active):
        kept = system.preconditioner = Preconditioner(matrix.assembled(), border, corner, tolerance)
    matrix.preconditioner = kept


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
