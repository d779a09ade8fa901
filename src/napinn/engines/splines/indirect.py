"""Fields that only observables measure: where a fit starts with them.

At the place of each reading the equation of the observable is solved for the fields in it, with the unknowns at their
start. Where it contains several, each gets the same share. What follows is smoothed as readings are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.problem import Problem
from napinn.problem.equations import Derivative, Leaf
from napinn.problem.equations.gradient import value_and_partials
from napinn.problem.equations.tree import Expression
from napinn.problem.experiment import of_experiment

ROUNDS, SOLVED = 30, 1e-9
"""Newton steps for the fields at a reading, and the relative size of a step at which they end."""
VALUE = ((),)
"""A field itself, and none of its derivatives."""


@dataclass(frozen=True)
class Indirect:
    """An observable whose equation can be solved for hidden fields at a point."""

    observable: str
    tree: Expression
    """Of its equation."""
    hidden: tuple[str, ...]


def indirect_of(problem: Problem) -> tuple[Indirect, ...]:
    """The observables of a problem that contain hidden fields, none of their derivatives, and no mean."""
    found = []
    for scope, each in problem.observed:
        name = of_experiment(each.name, scope) if scope else each.name
        if each.averaged:
            continue
        equation = next(own for own in problem.written if Derivative(name, VALUE) in own.needs)
        inside = sorted(leaf.field for leaf in equation.needs if leaf.field in problem.hidden)
        if inside and equation.tree is not None and all(leaf.terms == VALUE for leaf in equation.needs):
            found.append(Indirect(name, equation.tree, tuple(inside)))
    return tuple(found)


def solved(each: Indirect, known: dict[Leaf, Any], count: int) -> np.ndarray | None:
    """(n, hidden): the hidden fields at which the equation of an observable holds; None where none are found.

    Args:
        each: the observable.
        known: values of all other leaves, one number or (n,) each.
        count: n."""
    leaves = [Derivative(name, VALUE) for name in each.hidden]
    for start in (0.0, 1.0):
        values = np.full((count, len(leaves)), start)
        for _ in range(ROUNDS):
            here: dict[Leaf, Any] = {**known, **{leaf: values[:, column] for column, leaf in enumerate(leaves)}}
            residual, slopes = value_and_partials(each.tree, lambda leaf, here=here: here[leaf])
            slope = np.stack([np.broadcast_to(slopes.get(leaf, 0.0), count) for leaf in leaves], axis=1)
            with np.errstate(all="ignore"):
                step = -(residual / np.sum(slope**2, axis=1))[:, None] * slope
            if not np.all(np.isfinite(step)):
                break
            values = values + step
            if np.all(np.abs(step) <= SOLVED * (1.0 + np.abs(values))):
                return values
    return None
