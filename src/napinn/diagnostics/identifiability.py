"""Unknowns and hidden fields that no amount of readings can determine, found from the equations alone.

Four reasons are looked for. The unknown appears only in equations that no measured field is linked to. Or it appears
only in equations that do no more than define a hidden field. Or it appears only with derivatives along a coordinate
in which the readings do not vary. Or it can be traded: the equations stay true when it changes together with other
unknowns, with an unknown function, with the scale or the level of a hidden field, or with the scale of an equation as a
whole. The last is linear algebra: the change of every residual under each of these is written down at random values of
the derivatives, and a combination of changes that leaves all residuals at zero is a trade."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napinn.data.readings import Readings, order_axis
from napinn.problem import Problem
from napinn.problem.equations import Derivative, Equation, Leaf, Terms, UnknownLeaf, Varying, wanted

SAMPLES = 40
"""Random points of a rank test; more than any problem file has unknowns and fields that could depend on each
other."""
NODES, FEWEST_NODES = {1: 12, 2: 12, 3: 6}, 4
"""Values of each coordinate, by how many coordinates there are (the last of four or more), where the equations hold
unknown functions. A function is a polynomial of as many coefficients as it has places, so that it can have any values
there; the samples at one of its places differ in the other coordinates and in the fields."""
NOTHING = 1e-8
"""Relative size below which a change counts as none: far above rounding, far below any coefficient."""


def undeterminable(problem: Problem, readings: Readings) -> dict[str, str]:
    """The unknowns that cannot be determined, each with the reason, a clause."""
    if not problem.unknowns:
        return {}
    reasons = (_unlinked(problem), _only_defining(problem), _blind(problem, readings), _traded(problem))
    found = {name: next((each[name] for each in reasons if name in each), None) for name in problem.unknowns}
    return {name: reason for name, reason in found.items() if reason is not None}


def free_levels(problem: Problem, dated: frozenset[str] = frozenset()) -> dict[str, str]:
    """Hidden fields that the equations and conditions hold only up to something: `a constant`, or `a function of t`.
    `dated` are coordinates that are read as dates and so are time."""
    names = tuple(problem.coordinates)
    axis = order_axis(names, dated)
    found = {}
    for name in problem.hidden:
        leaves = [leaf for equation in _bound(problem) for leaf in equation.needs if leaf.field == name]
        parts = [axes for leaf in leaves for axes in leaf.terms]
        if axis is not None and len(names) > 1 and all(any(along != names[axis] for along in each) for each in parts):
            found[name] = f"a function of {names[axis]}"
        elif all(parts):
            found[name] = "a constant"
    return found


def free_level_sentences(problem: Problem, dated: frozenset[str] = frozenset()) -> list[str]:
    """A sentence for every hidden field that is free up to a constant or a function of time."""
    return [
        f"Hidden field '{name}' is determined only up to {what}, because the equations contain only derivatives of "
        "it; a condition on its value would fix it."
        for name, what in free_levels(problem, dated).items()
    ]


def _only_defining(problem: Problem) -> dict[str, str]:
    """Unknowns of equations that only define a hidden field: one that is in no other equation takes whatever value the
    equation asks for, so the equation binds nothing that is measured."""
    left = list(problem.written)
    placed = {leaf.field for condition in problem.placed for leaf in condition.equation.needs}
    defined: dict[str, str] = {}
    while True:
        names = (name for name in problem.hidden if name not in placed)
        holders = {name: [each for each in left if any(leaf.field == name for leaf in each.needs)] for name in names}
        single = next(((name, each[0]) for name, each in holders.items() if len(each) == 1), None)
        if single is None:
            break
        left.remove(single[1])
        defined |= dict.fromkeys(single[1].unknowns, single[0])
    kept = {name for each in (*left, *(condition.equation for condition in problem.placed)) for name in each.unknowns}
    return {
        name: f"it appears only in an equation that does nothing but define hidden field '{field}'"
        for name, field in defined.items()
        if name not in kept
    }


def _unlinked(problem: Problem) -> dict[str, str]:
    """Unknowns of equations that share no field, not even by way of other equations, with what is measured."""
    groups = [{need.field for need in equation.needs} for equation in _bound(problem)]
    linked = set(problem.fields)
    while any(linked & group and group - linked for group in groups):
        linked |= {name for group in groups if linked & group for name in group}
    reached = {name for equation, group in zip(_bound(problem), groups, strict=True) if linked & group
               for name in equation.unknowns}  # fmt: skip
    reason = "it appears only in equations of hidden fields that no measured field is linked to"
    return dict.fromkeys(set(problem.unknowns) - reached, reason)


def _blind(problem: Problem, readings: Readings) -> dict[str, str]:
    """Unknowns that have no effect once derivatives along coordinates in which the readings do not vary are zero."""
    # A mean over a coordinate depends on all of it, although its readings are at one place.
    averaged = {name for _, each in problem.observed for name in each.averaged}
    still = [
        name
        for axis, name in enumerate(problem.coordinates)
        if np.ptp(readings.points[:, axis]) == 0.0 and name not in averaged
    ]
    if not still or not problem.unknowns:
        return {}
    bound = _bound(problem)
    drawn = _samples(problem, bound)
    flat = {
        terms: array * float(not any(axis in still for axes in terms for axis in axes))
        for terms, array in drawn.values.items()
    }
    changes = _changes(problem, bound, replace(drawn, values=flat)).along_unknowns()
    names = ", ".join(f"'{name}'" for name in still)
    reason = f"the readings do not vary along {names}, and it appears only with derivatives along it"
    return {
        name: reason
        for column, name in enumerate(problem.unknowns)
        if np.nanmax(np.abs(changes[..., column]), initial=0.0) < NOTHING
    }


def _traded(problem: Problem) -> dict[str, str]:
    bound = _bound(problem)
    drawn = _samples(problem, bound)
    changes = _changes(problem, bound, drawn)
    columns = [changes.along_unknowns()]
    partners = [f"unknown '{name}'" for name in problem.unknowns]
    residual = changes.residual
    for index, name in enumerate(problem.hidden, start=len(problem.fields)):
        # A constant added to a field changes its value and none of its derivatives.
        raised = {terms: np.full(len(array), float(terms == ((),))) for terms, array in drawn.values.items()}
        scaled = {terms: array[:, index] for terms, array in drawn.values.items()}
        for kind, moved in (("scale", scaled), ("level", raised)):
            columns.append(changes.along_field(name, moved)[..., None])
            partners.append(f"the {kind} of hidden field '{name}'")
    for number in range(len(bound)):
        own = np.zeros_like(residual)
        own[:, number] = residual[:, number]
        columns.append(own[..., None])
        partners.append("the scale of its equation")
    for name, varying in problem.varying.items():
        # The readings choose the fewest jumps, which leaves little to trade.
        if not varying.steps:
            moved = changes.along_function(name, problem, drawn.points)
            columns.append(moved)
            partners += [f"unknown function '{name}'"] * moved.shape[2]
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
            # A function takes up anything, so what else is traded with it says nothing more.
            others = [other for other in others if other.startswith("unknown function")] or others
            found[name] = f"it can be traded against {' and '.join(others)}" if others else "nothing depends on it"
    return found


def _bound(problem: Problem) -> tuple[Equation, ...]:
    return (*problem.written, *(condition.equation for condition in problem.placed))


@dataclass(frozen=True, eq=False)
class _Samples:
    points: np.ndarray
    values: Mapping[Terms, np.ndarray]
    unknowns: Mapping[str, Any]


def _samples(problem: Problem, bound: tuple[Equation, ...]) -> _Samples:
    """Points in the box, values of all derivatives as if they were free, and unknowns near their start.

    All derivatives are positive, so that a logarithm or a root of a field has a value."""
    rng = np.random.default_rng(0)
    points = (
        _grid(problem) if problem.varying else rng.uniform(problem.lows, problem.highs, (SAMPLES, len(problem.lows)))
    )
    shape = (len(points), len(problem.outputs))
    values = {terms: rng.uniform(0.5, 1.5, shape) for terms in sorted(wanted(bound))}
    unknowns = {
        name: float(unknown.value(unknown.raw_start() + rng.uniform(0.05, 0.15)))
        for name, unknown in problem.unknowns.items()
    }
    return _Samples(points, values, {**unknowns, **dict.fromkeys(problem.varying, _some_function)})


def _grid(problem: Problem) -> np.ndarray:
    """(samples, coordinates): every combination of the nodes of Chebyshev along each coordinate."""
    nodes = np.polynomial.chebyshev.chebpts1(_node_count(problem))
    axes = [low + (high - low) * 0.5 * (nodes + 1.0) for low, high in problem.coordinates.values()]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def _node_count(problem: Problem) -> int:
    return NODES.get(len(problem.coordinates), FEWEST_NODES)


def _some_function(places: np.ndarray, along: tuple[str, ...]) -> np.ndarray:
    """In place of an unknown function: what it is makes no difference to the unknowns beside it."""
    return np.full(len(places), 0.9 if along else 1.1)


@dataclass(frozen=True, eq=False)
class _Changes:
    """What is left of each equation at the samples, (samples, equations), and its partial derivatives."""

    residual: np.ndarray
    partials: tuple[Mapping[Leaf, np.ndarray | float], ...]
    unknowns: tuple[str, ...]

    def along_unknowns(self) -> np.ndarray:
        """(samples, equations, unknowns)."""
        count = len(self.residual)
        rows = [[_column(each.get(UnknownLeaf(name), 0.0), count) for name in self.unknowns] for each in self.partials]
        return np.moveaxis(np.asarray(rows), 2, 0)

    def along_field(self, field: str, moved: Mapping[Terms, np.ndarray]) -> np.ndarray:
        """(samples, equations): the change when the derivatives of a field move by these amounts."""
        columns = []
        for each in self.partials:
            mine = ((leaf, slope) for leaf, slope in each.items() if isinstance(leaf, Derivative))
            steps = (slope * moved[leaf.terms] for leaf, slope in mine if leaf.field == field)
            columns.append(sum(steps, start=np.zeros(len(self.residual))))
        return np.stack(columns, axis=1)

    def along_function(self, name: str, problem: Problem, points: np.ndarray) -> np.ndarray:
        """(samples, equations, coefficients): the change when an unknown function moves by each polynomial."""
        columns = []
        for each in self.partials:
            mine = [(leaf, slope) for leaf, slope in each.items() if isinstance(leaf, Varying) and leaf.name == name]
            steps = [_column(slope, len(points))[:, None] * _polynomials(problem, leaf, points) for leaf, slope in mine]
            none = np.zeros((len(points), _node_count(problem) ** len(problem.varying[name].of)))
            columns.append(sum(steps, start=none))
        return np.stack(columns, axis=1)


def _polynomials(problem: Problem, leaf: Varying, points: np.ndarray) -> np.ndarray:
    """(samples, coefficients): the polynomials of Chebyshev along the coordinates of a function, differentiated as the
    leaf says."""
    found = np.ones((len(points), 1))
    for axis, (name, (low, high)) in enumerate(problem.coordinates.items()):
        if name in leaf.coordinates:
            place = 2.0 * (points[:, axis] - low) / (high - low) - 1.0
            series = np.polynomial.chebyshev.chebder(
                np.eye(_node_count(problem)), leaf.axes.count(name), 2.0 / (high - low)
            )
            values = np.polynomial.chebyshev.chebval(place, series).T
            found = (found[:, :, None] * values[:, None, :]).reshape(len(points), -1)
    return found


def _changes(problem: Problem, bound: tuple[Equation, ...], drawn: _Samples) -> _Changes:
    found = [problem.linearised(equation, drawn.points, drawn.values, drawn.unknowns) for equation in bound]
    residual = np.stack([_column(value, len(drawn.points)) for value, _ in found], axis=1)
    return _Changes(residual, tuple(partials for _, partials in found), tuple(problem.unknowns))


def _column(values: np.ndarray | float, count: int) -> np.ndarray:
    return np.broadcast_to(values, (count,))
