"""Unknowns and hidden fields that no amount of readings can determine, found from the equations alone.

Four reasons are looked for. The unknown appears only in equations that no measured field is linked to. Or it appears
only in equations that do no more than define a hidden field. Or it appears only with derivatives along a coordinate
in which the readings do not vary. Or it can be traded: the equations stay true when it changes together with other
unknowns, with an unknown function, with the scale or the level of a hidden field, or with the scale of an equation as a
whole."""

import numpy as np

from napinn.data.readings import Readings, order_axis
from napinn.diagnostics.linearised import linearised
from napinn.diagnostics.trades import NOTHING, trades
from napinn.problem import Problem
from napinn.problem.equations import Equation


def undeterminable(problem: Problem, readings: Readings) -> dict[str, str]:
    """The unknowns that cannot be determined, each with the reason, a clause."""
    if not problem.unknowns:
        return {}
    reasons = (_unlinked(problem), _only_defining(problem), _blind(problem, readings), trades(problem))
    found = {name: next((each[name] for each in reasons if name in each), None) for name in problem.unknowns}
    return {name: reason for name, reason in found.items() if reason is not None}


def sparsity_sentences(problem: Problem) -> list[str]:
    """A sentence for every unknown that would be open, were an unknown function smooth in place of constant but for
    jumps."""
    steps = [f"'{name}'" for name, varying in problem.varying.items() if varying.steps]
    if not steps or not problem.unknowns:
        return []
    settled = trades(problem)
    return [
        f"Unknown '{name}' is determined only by how few jumps {' and '.join(steps)} may have: with more of them other "
        "values meet the readings as well."
        for name in trades(problem, with_steps=True)
        if name not in settled
    ]


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
    changes = linearised(problem, without=frozenset(still)).along_unknowns()
    names = ", ".join(f"'{name}'" for name in still)
    reason = f"the readings do not vary along {names}, and it appears only with derivatives along it"
    return {
        name: reason
        for column, name in enumerate(problem.unknowns)
        if np.nanmax(np.abs(changes[:, column]), initial=0.0) < NOTHING
    }


def _bound(problem: Problem) -> tuple[Equation, ...]:
    return (*problem.written, *(condition.equation for condition in problem.placed))
