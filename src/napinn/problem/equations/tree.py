"""The expression tree of an equation, and what can be asked of it.

An expression is made of numbers, named constants, coordinates, unknowns, tables and derivatives of fields, joined by
sums, products, powers and a fixed list of functions. Sums and products are n-ary, so that a long equation is a shallow
tree.

A derivative names *which* derivative by a sum of multi-indices: `u` is `((),)`, `u_x` is `(("x",),)`, and the
Laplacian of u, once `collapse` has found that an equation only ever needs the sum, is `(("x", "x"), ("y", "y"))`. A
network then carries one array for it in place of two."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

Terms = tuple[tuple[str, ...], ...]
"""A sum of mixed partials, each a tuple of coordinate names in the problem's order."""

FUNCTIONS = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "log10", "sqrt", "abs", "min", "max")
"""The functions that an equation may use."""
_NAMED_OTHERWISE = {"min": "minimum", "max": "maximum"}
LARGEST_INTEGER = 64
"""Integer exponents up to this one are taken by repeated multiplication."""


ARITY: Mapping[str, int] = {name: 2 if name in ("min", "max") else 1 for name in FUNCTIONS}


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Constant:
    name: str
    value: float


@dataclass(frozen=True)
class Coordinate:
    name: str


@dataclass(frozen=True)
class UnknownLeaf:
    name: str


@dataclass(frozen=True)
class Given:
    """A known function of some coordinates that is given as a table."""

    name: str
    coordinates: tuple[str, ...]


@dataclass(frozen=True)
class Varying:
    """An unknown function of some coordinates, or a derivative of it along some of them."""

    name: str
    coordinates: tuple[str, ...]
    axes: tuple[str, ...] = ()

    def along(self, axis: str) -> "Varying":
        """Its derivative along one more coordinate."""
        return Varying(self.name, self.coordinates, tuple(sorted((*self.axes, axis), key=self.coordinates.index)))


@dataclass(frozen=True)
class Derivative:
    field: str
    terms: Terms


@dataclass(frozen=True)
class Applied:
    """A linear operator applied to one field."""

    field: str
    operator: "Operator"


@dataclass(frozen=True)
class Sum:
    terms: "tuple[tuple[int, Expression], ...]"
    """Pairs of sign (+1 or -1) and expression."""


@dataclass(frozen=True)
class Product:
    factors: "tuple[tuple[int, Expression], ...]"
    """Pairs of exponent (+1 to multiply, -1 to divide by) and expression."""


@dataclass(frozen=True)
class Power:
    base: "Expression"
    exponent: "Expression"


@dataclass(frozen=True)
class Call:
    function: str
    arguments: "tuple[Expression, ...]"


Expression = (
    Number | Constant | Coordinate | UnknownLeaf | Given | Varying | Derivative | Applied | Sum | Product | Power | Call
)
Leaf = Constant | Coordinate | UnknownLeaf | Given | Varying | Derivative | Applied
Operator = tuple[tuple[Terms, Expression], ...]
"""Derivatives to be added up, each with what multiplies it, which contains neither fields nor coordinates."""


def children(node: Expression) -> tuple[Expression, ...]:
    match node:
        case Sum(terms):
            return tuple(child for _, child in terms)
        case Product(factors):
            return tuple(child for _, child in factors)
        case Power(base, exponent):
            return base, exponent
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def with_children(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same node with every child replaced by what `change` makes of it; a leaf stays as it is."""
    match node:
        case Sum(terms):
            return Sum(tuple((sign, change(child)) for sign, child in terms))
        case Product(factors):
            return Product(tuple((exponent, change(child)) for exponent, child in factors))
        case Power(base, exponent):
            return Power(change(base), change(exponent))
        case Call(function, arguments):
            return Call(function, tuple(change(argument) for argument in arguments))
        case _:
            return node


def walk(node: Expression) -> Iterator[Expression]:
    yield node
    for child in children(node):
        yield from walk(child)


def derivatives(node: Expression) -> frozenset[Derivative]:
    return frozenset(leaf for leaf in walk(node) if isinstance(leaf, Derivative))


def highest_order(wanted: Iterable[tuple[tuple[object, ...], ...]]) -> int:
    """Of derivatives named by their axes, whether as names or as numbers."""
    return max((len(axes) for terms in wanted for axes in terms), default=0)


def namespace(value: Any) -> ModuleType:
    """`jax.numpy` for a JAX array, traced or not, and NumPy for everything else.

    Where there is a JAX array, JAX has been imported, so it is never imported here."""
    jax = sys.modules.get("jax")
    return jax.numpy if jax is not None and isinstance(value, jax.Array) else np


def integer_exponent(node: Expression) -> int | None:
    """The exponent of a power that is an integer written as a number, which keeps the derivative finite at zero and
    the sign of a negative base; None for any other exponent."""
    if isinstance(node, Number) and node.value.is_integer() and abs(node.value) <= LARGEST_INTEGER:
        return int(node.value)
    return None


def evaluate(node: Expression, look_up: Callable[[Leaf], Any], numeric: ModuleType = np) -> Any:
    """The value of the expression, elementwise over whatever arrays `look_up` gives for its leaves.

    `numeric` is the module of the functions, `numpy` or `jax.numpy`; a network needs the latter. In NumPy an undefined
    operation gives NaN or infinity without a warning."""
    with np.errstate(all="ignore"):
        return _evaluate(node, look_up, numeric)


def _evaluate(node: Expression, look_up: Callable[[Leaf], Any], numeric: ModuleType) -> Any:
    match node:
        case Number(value):
            # A division of plain Python numbers by zero would be an error; under JAX they take the arrays' precision.
            return np.float64(value) if numeric is np else value
        case Sum(terms):
            total: Any = None
            for sign, child in terms:
                value = _evaluate(child, look_up, numeric)
                if total is None:
                    total = value if sign > 0 else -value
                else:
                    total = total + value if sign > 0 else total - value
            return total
        case Product(factors):
            result: Any = None
            for exponent, child in factors:
                value = _evaluate(child, look_up, numeric)
                if result is None:
                    result = value if exponent > 0 else 1.0 / value
                else:
                    result = result * value if exponent > 0 else result / value
            return result
        case Power(base, exponent):
            whole = integer_exponent(exponent)
            if whole is not None:
                return _evaluate(base, look_up, numeric) ** whole
            return numeric.power(_evaluate(base, look_up, numeric), _evaluate(exponent, look_up, numeric))
        case Call(function, arguments):
            name = _NAMED_OTHERWISE.get(function, function)
            return getattr(numeric, name)(*(_evaluate(argument, look_up, numeric) for argument in arguments))
        case _:
            return look_up(node)


def spelled(node: Applied) -> Sum:
    """The derivatives of an operator and what multiplies them, as an ordinary sum."""
    return Sum(
        tuple((1, Product(((1, factor), (1, Derivative(node.field, terms))))) for terms, factor in node.operator)
    )


def collapse(node: Expression) -> Expression:
    """Join second derivatives of one field that a sum adds with the same sign, as `u_xx + u_yy`, into one
    derivative."""
    if not isinstance(node, Sum):
        return with_children(node, collapse)
    joined: dict[tuple[int, str], list[tuple[str, ...]]] = {}
    rest: list[tuple[int, Expression]] = []
    order: list[tuple[int, str]] = []
    for sign, child in node.terms:
        if isinstance(child, Derivative) and all(len(axes) == 2 for axes in child.terms):
            if (sign, child.field) not in joined:
                order.append((sign, child.field))
            joined.setdefault((sign, child.field), []).extend(child.terms)
        else:
            rest.append((sign, collapse(child)))
    seconds = [(sign, Derivative(field, tuple(sorted(joined[sign, field])))) for sign, field in order]
    merged = (*rest, *seconds)
    return merged[0][1] if len(merged) == 1 and merged[0][0] > 0 else Sum(merged)
