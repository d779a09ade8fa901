"""The size of a hidden field, where its equations say that it is far from that of the measured fields.

In `G_t = -p*(G - 90) - X*G` the hidden `X` is a rate, however large `G` is: terms that are added have about the same
size, so `X` has that of `G_t/G`. What multiplies it must be known for that; beside an unknown coefficient a hidden
field may have any size, and keeps that of the measured fields."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from napinn.engines.splines.term_sizes import UNKNOWN, term_sizes
from napinn.problem import Problem
from napinn.problem.equations import Coordinate, Derivative, Leaf, UnknownLeaf
from napinn.problem.equations.tree import Expression, Number, Product, with_children

FAR = 10.0
"""Times the size of the measured fields, or parts of it, from which on the terms decide. Nearer to it a descent finds
the size by itself, and terms that are added are alike only to such a factor."""


@dataclass(frozen=True)
class Extent:
    """How large a measured field is."""

    centre: float
    scale: float
    """How much it varies over the box."""

    @property
    def size(self) -> float:
        return float(np.hypot(self.centre, self.scale))


def hidden_sizes(problem: Problem, measured: Mapping[str, Extent], usual: Extent) -> dict[str, float]:
    """The hidden fields whose size is far from the usual one, with their size.

    Args:
        problem: whose fields they are.
        measured: by name, how large the measured fields are.
        usual: how large a hidden field is expected to be."""
    lengths = {name: high - low for name, (low, high) in problem.coordinates.items()}
    hidden = frozenset(problem.hidden)

    def over_lengths(leaf: Derivative) -> float:
        return float(np.prod([lengths[axis] for axis in leaf.terms[0]]))

    def as_unknown(node: Expression) -> Expression:
        """A hidden field as an unknown, and its derivatives as that unknown over lengths of the box."""
        if isinstance(node, Derivative) and node.field in hidden:
            return Product(((1, UnknownLeaf(node.field)), (-1, Number(over_lengths(node)))))
        return with_children(node, as_unknown)

    def size_of(leaf: Leaf) -> float:
        match leaf:
            case Derivative(field, terms):
                return measured[field].scale / over_lengths(leaf) if any(terms) else measured[field].size
            case Coordinate(name):
                low, high = problem.coordinates[name]
                return float(np.sqrt((low**2 + low * high + high**2) / 3.0))
            case _:
                return UNKNOWN

    bound = [*problem.written, *(condition.equation for condition in problem.placed)]
    found = term_sizes([as_unknown(each.tree) for each in bound if each.tree is not None], size_of, {})
    near = usual.scale / FAR, usual.size * FAR
    return {name: found[name] for name in problem.hidden if name in found and not near[0] <= found[name] <= near[1]}
