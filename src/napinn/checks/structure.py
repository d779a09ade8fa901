"""Unknowns that no amount of readings can determine, found without training.

Three reasons are looked for. The unknown stands only in equations that no measured field is linked to. Or it stands
only beside derivatives along a coordinate in which the readings do not vary. Or it can be traded: the equations stay
true when it changes together with other unknowns, with the scale or the level of a hidden field, or with the scale of
an equation as a whole. The last is linear algebra: the change of every residual under each of these is written down at
random values of the derivatives, and a combination of changes that leaves all residuals at zero is a trade."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from napinn.checks.findings import Finding, Weight
from napinn.equations import Equation, Terms, wanted
from napinn.problem import Problem
from napinn.readings import Readings

SAMPLES = 40
NOTHING = 1e-8
"""Relative size below which a change counts as none: far above rounding, far below any coefficient."""


def inspect_problem(problem: Problem, readings: Readings) -> list[Finding]:
    """A doubt for every unknown that cannot be determined, with the reason."""
    unlinked = _unlinked(problem)
    # A trade is a change that is exactly none, which only double precision tells from a small one.
    with jax.enable_x64(True):
        blind = _blind(problem, readings)
        traded = _traded(problem) if problem.unknowns else {}
    found = []
    for name in problem.unknowns:
        reason = unlinked.get(name) or blind.get(name) or traded.get(name)
        if reason is not None:
            found.append(Finding(Weight.DOUBT, f"unknown '{name}' cannot be determined: {reason}."))
    return found


def _unlinked(problem: Problem) -> dict[str, str]:
    """Unknowns of equations that share no field, not even by way of other equations, with what is measured."""
    groups = [{need.field for need in equation.needs} for equation in _bound(problem)]
    linked = set(problem.fields)
    while any(linked & group and group - linked for group in groups):
        linked |= {name for group in groups if linked & group for name in group}
    reached = {name for equation, group in zip(_bound(problem), groups, strict=True) if linked & group
               for name in equation.unknowns}  # fmt: skip
    reason = "it stands only in equations of hidden fields that no measured field is linked to"
    return dict.fromkeys(set(problem.unknowns) - reached, reason)


def _blind(problem: Problem, readings: Readings) -> dict[str, str]:
    """Unknowns that nothing feels once derivatives along coordinates in which the readings stand still are zero."""
    still = [name for axis, name in enumerate(problem.coordinates) if np.ptp(readings.points[:, axis]) == 0.0]
    if not still or not problem.unknowns:
        return {}
    bound = _bound(problem)
    points, values, unknowns = _samples(problem, bound)
    flat = {
        terms: array * float(not any(axis in still for axes in terms for axis in axes))
        for terms, array in values.items()
    }
    changes = _unknown_changes(problem, bound, points, flat, unknowns)
    names = ", ".join(f"'{name}'" for name in still)
    reason = f"the readings do not vary along {names}, and it stands only beside derivatives along it"
    return {
        name: reason
        for column, name in enumerate(problem.unknowns)
        if np.nanmax(np.abs(changes[..., column]), initial=0.0) < NOTHING
    }


def _traded(problem: Problem) -> dict[str, str]:
    bound = _bound(problem)
    points, values, unknowns = _samples(problem, bound)
    columns = [_unknown_changes(problem, bound, points, values, unknowns)]
    partners = [f"unknown '{name}'" for name in problem.unknowns]
    residual = np.asarray(problem.left_over(bound, points, values, unknowns))
    for index, name in enumerate(problem.hidden, start=len(problem.fields)):
        for kind, moved in (("scale", _scaled(values, index)), ("level", _raised(values, index))):
            change = jax.jvp(lambda v: problem.left_over(bound, points, v, unknowns), (values,), (moved,))[1]
            columns.append(np.asarray(change)[..., None])
            partners.append(f"the {kind} of hidden field '{name}'")
    for number in range(len(bound)):
        own = np.zeros_like(residual)
        own[:, number] = residual[:, number]
        columns.append(own[..., None])
        partners.append("the scale of its equation")
    matrix = np.concatenate(columns, axis=2).reshape(-1, len(partners))
    return _trades(matrix[np.isfinite(matrix).all(axis=1)], tuple(problem.unknowns), partners)


def _trades(matrix: np.ndarray, unknowns: tuple[str, ...], partners: list[str]) -> dict[str, str]:
    """Unknowns in the null space of the matrix of changes, each with what it is traded against."""
    if not len(matrix):
        return {}
    # The largest entry, not the sum of squares, which would overflow where an unknown starts absurdly far out.
    sizes = np.abs(matrix).max(axis=0)
    matrix = matrix / np.where(sizes > 0.0, sizes, 1.0)
    _, singular, directions = np.linalg.svd(matrix, full_matrices=True)
    rank = int((singular > NOTHING * max(singular[0], 1.0)).sum())
    null = directions[rank:]
    found = {}
    for index, name in enumerate(unknowns):
        weight = np.abs(null.T @ null[:, index]) if len(null) else np.zeros(len(partners))
        if weight[index] > NOTHING:
            others = [partners[other] for other in np.flatnonzero(weight > 1e-3) if other != index]
            others = list(dict.fromkeys(others))
            found[name] = f"it can be traded against {' and '.join(others)}" if others else "nothing depends on it"
    return found


def _bound(problem: Problem) -> tuple[Equation, ...]:
    return (*problem.written, *(condition.equation for condition in problem.placed))


def _samples(problem: Problem, bound: tuple[Equation, ...]) -> tuple[Array, dict[Terms, Array], dict[str, Array]]:
    """Points in the box, values of all derivatives as if they were free, and unknowns near their start.

    All derivatives are positive, so that a logarithm or a root of a field has a value."""
    rng = np.random.default_rng(0)
    low, high = np.asarray(problem.lows), np.asarray(problem.highs)
    points = low + (high - low) * rng.uniform(size=(SAMPLES, len(low)))
    shape = (SAMPLES, len(problem.outputs))
    values = {terms: jnp.asarray(rng.uniform(0.5, 1.5, shape)) for terms in sorted(wanted(bound))}
    unknowns = {}
    for name, unknown in problem.unknowns.items():
        near = jnp.asarray(unknown.raw_start() + rng.uniform(0.05, 0.15))
        unknowns[name] = unknown.value(near)
    return jnp.asarray(points), values, unknowns


def _unknown_changes(
    problem: Problem,
    bound: tuple[Equation, ...],
    points: Array,
    values: Mapping[Terms, Array],
    unknowns: Mapping[str, Array],
) -> np.ndarray:
    """(samples, equations, unknowns): how each residual changes with each unknown."""
    slopes = jax.jacfwd(lambda found: problem.left_over(bound, points, values, found))(dict(unknowns))
    return np.stack([np.asarray(slopes[name]) for name in problem.unknowns], axis=2)


def _scaled(values: Mapping[Terms, Array], field: int) -> dict[Terms, Array]:
    return {terms: jnp.zeros_like(array).at[:, field].set(array[:, field]) for terms, array in values.items()}


def _raised(values: Mapping[Terms, Array], field: int) -> dict[Terms, Array]:
    """A constant added to a field changes its value and none of its derivatives."""
    return {
        terms: jnp.zeros_like(array).at[:, field].set(1.0 if terms == ((),) else 0.0) for terms, array in values.items()
    }
