"""The size at which an unknown matters that does not stand linearly in its equation.

Terms that are added have about the same size, and the argument of a function is about one. So `K` in `S/(K + S)` has
the size of `S`, `w` in `sin(w*t)` that of one over `t`, and `Y` in `r*X/Y` follows once `r` is known."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from napinn.problem.equations.tree import (
    Call,
    Constant,
    Expression,
    Leaf,
    Number,
    Power,
    Product,
    Sum,
    UnknownLeaf,
    Varying,
)

PURE = 1.0
"""The size of an exponent and of the argument of a function."""
UNKNOWN = float("nan")
"""The size of an expression that holds an unknown without a size."""
SAME_SIZE = ("abs", "min", "max")
"""Functions whose value is as large as their arguments."""


def term_sizes(
    trees: Sequence[Expression], size_of: Callable[[Leaf], float], known: Mapping[str, float]
) -> dict[str, float]:
    """Sizes of unknowns by the terms that they are added to.

    Args:
        trees: the residuals of the equations.
        size_of: the root mean square of a leaf that is not an unknown.
        known: sizes of some unknowns.

    Returns the sizes of all unknowns for which the terms determine one, those of `known` among them."""
    found = _Sizes(size_of, known)
    with np.errstate(all="ignore"):
        while True:
            before = len(found.sizes)
            for tree in trees:
                found.assign(tree, UNKNOWN)
            if len(found.sizes) == before:
                return found.sizes


class _Sizes:
    def __init__(self, size_of: Callable[[Leaf], float], known: Mapping[str, float]) -> None:
        self.size_of, self.sizes = size_of, dict(known)

    def size(self, node: Expression) -> float:
        match node:
            case Number(value) | Constant(_, value):
                return abs(value)
            case UnknownLeaf(name):
                return self.sizes.get(name, UNKNOWN)
            case Varying():
                return UNKNOWN
            case Sum(terms):
                return float(np.linalg.norm([self.size(child) for _, child in terms]))
            case Product(factors):
                return float(np.prod([np.float64(self.size(child)) ** exponent for exponent, child in factors]))
            case Power(base, exponent):
                # NaN for an exponent without a size, although one raised to it is one.
                return float(np.float64(self.size(base)) ** _number(exponent)) + 0.0 * self.size(exponent)
            case Call("sqrt", (argument,)):
                return float(np.sqrt(self.size(argument)))
            case Call(function, arguments):
                inner = float(np.linalg.norm([self.size(argument) for argument in arguments]))
                return inner if function in SAME_SIZE or np.isnan(inner) else PURE
            case _:
                return self.size_of(node)

    def assign(self, node: Expression, target: float) -> None:
        """Give sizes to unknowns in an expression, whose own size should be `target`."""
        if not np.isnan(self.size(node)):
            return
        match node:
            case UnknownLeaf(name):
                if np.isfinite(target) and target > 0.0:
                    self.sizes[name] = float(target)
            case Sum(terms):
                self._assign_terms([child for _, child in terms], target)
            case Product(factors):
                self._assign_factors(factors, target)
            case Power(base, exponent):
                self.assign(exponent, PURE)
                self.assign(base, np.float64(target) ** (1.0 / _number(exponent)))
            case Call(function, arguments):
                inner = {"sqrt": target**2, **dict.fromkeys(SAME_SIZE, target)}.get(function, PURE)
                for argument in arguments:
                    self.assign(argument, inner)
            case _:
                pass

    def _assign_terms(self, terms: Sequence[Expression], target: float) -> None:
        """Every term without a size has that of the other terms together, or that of the sum where none has one."""
        sized = [size for term in terms if np.isfinite(size := self.size(term)) and size > 0.0]
        others = float(np.linalg.norm(sized)) if sized else target
        for term in terms:
            self.assign(term, others)

    def _assign_factors(self, factors: Sequence[tuple[int, Expression]], target: float) -> None:
        """A factor without a size may hold terms that determine it. The last one left follows from the product."""
        for _, child in factors:
            self.assign(child, UNKNOWN)
        unsized = [(exponent, child) for exponent, child in factors if np.isnan(self.size(child))]
        if len(unsized) == 1:
            sized = [pair for pair in factors if pair not in unsized]
            rest = np.prod([np.float64(self.size(child)) ** exponent for exponent, child in sized])
            exponent, child = unsized[0]
            self.assign(child, float((target / rest) ** exponent))


def _number(exponent: Expression) -> float:
    """The value of an exponent; one that is not a plain number counts as one."""
    return exponent.value if isinstance(exponent, Number | Constant) and exponent.value else PURE
