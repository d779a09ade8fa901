"""Unknowns that can be traded: the equations stay true when one changes together with something else.

The changes of all residuals are the columns of a matrix. A combination of columns that leaves every residual at zero is
a trade, so the trades are the null space of the matrix. Without unknown functions, hidden fields change by a factor or
by a constant; beside an unknown function, which can follow them, they may take any course."""

from collections.abc import Iterator, Sequence

import numpy as np

from napinn.diagnostics.linearised import Linearised, linearised
from napinn.problem import Problem

NOTHING = 1e-8
"""Relative size below which a change counts as none: far above rounding, far below any coefficient."""
TAKES_PART = 1e-3
"""Share of a direction of unit length above which what it moves is named."""
FUNCTION = "unknown function"

Part = tuple[str, np.ndarray]
"""What may change, and the changes of the residuals with it, (residuals, coefficients)."""


def trades(problem: Problem, with_steps: bool = False) -> dict[str, str]:
    """The unknowns that can be traded, each with a clause that says against what.

    Args:
        problem: equations and conditions.
        with_steps: whether functions that are constant but for jumps may take any values. Few jumps determine more
            than a smooth function does."""
    found = _trades_of(linearised(problem), with_steps)
    if not found:
        return {}
    # Beside a term that is a billion times as large, as in s*(T^4 - 293^4), another one is lost in rounding.
    balanced = linearised(problem, balanced=True)
    if not np.isfinite(balanced.along_unknowns()).all(axis=1).any():
        return found
    again = _trades_of(balanced, with_steps)
    return {name: clause for name, clause in found.items() if name in again}


def _trades_of(changes: Linearised, with_steps: bool) -> dict[str, str]:
    problem = changes.problem
    functions = [name for name, varying in problem.varying.items() if with_steps or not varying.steps]
    found = _traded(changes, [*_of_any_field(changes), *_of_functions(changes, functions)])
    # A polynomial does not repeat itself, so along a periodic coordinate it would have too much freedom.
    if functions and problem.hidden and not problem.periodic:
        found = {**_traded(changes, [*_of_courses(changes), *_of_functions(changes, functions)]), **found}
    return found


def _of_any_field(changes: Linearised) -> Iterator[Part]:
    """Changes that any field allows: of what hidden fields are measured in, and of the equations as a whole."""
    for name in changes.problem.hidden:
        yield f"the scale of hidden field '{name}'", changes.along_scale(name)
        yield f"the level of hidden field '{name}'", changes.along_level(name)
    yield "the scale of its equation", changes.along_equations()


def _of_courses(changes: Linearised) -> Iterator[Part]:
    for name in changes.problem.hidden:
        yield f"hidden field '{name}'", changes.along_course(name)


def _of_functions(changes: Linearised, functions: Sequence[str]) -> Iterator[Part]:
    for name in functions:
        yield f"{FUNCTION} '{name}'", changes.along_function(name)


def _traded(changes: Linearised, parts: Sequence[Part]) -> dict[str, str]:
    """Unknowns in the null space of the matrix of changes, each with what it is traded against."""
    unknowns = tuple(changes.problem.unknowns)
    partners = [f"unknown '{name}'" for name in unknowns]
    partners += [partner for partner, columns in parts for _ in range(columns.shape[1])]
    matrix = np.concatenate([changes.along_unknowns(), *(columns for _, columns in parts)], axis=1)
    matrix = matrix[np.isfinite(matrix).all(axis=1)]
    if not len(matrix):
        return {}
    null = _null_space(_balanced(matrix))
    found = {}
    for index, name in enumerate(unknowns):
        weight = np.abs(null.T @ null[:, index])
        if weight[index] > NOTHING:
            others = [partners[other] for other in np.flatnonzero(weight > TAKES_PART) if other != index]
            others = list(dict.fromkeys(others))
            # A function takes up anything, so what else is traded with it says nothing more.
            others = [other for other in others if other.startswith(FUNCTION)] or others
            found[name] = f"it can be traded against {' and '.join(others)}" if others else "nothing depends on it"
    return found


def _balanced(matrix: np.ndarray) -> np.ndarray:
    """Rows and columns divided by their largest entry: not by a sum of squares, which would overflow where an unknown
    starts absurdly far out."""
    for axis in (1, 0):
        sizes = np.abs(matrix).max(axis=axis, keepdims=True)
        matrix = matrix / np.where(sizes > 0.0, sizes, 1.0)
    return matrix


def _null_space(matrix: np.ndarray) -> np.ndarray:
    """(directions, columns), orthonormal."""
    _, singular, directions = np.linalg.svd(matrix, full_matrices=True)
    return directions[int((singular > NOTHING * max(singular[0], 1.0)).sum()) :]
