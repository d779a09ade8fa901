"""The value of an expression and its exact partial derivatives with respect to its leaves, in NumPy.

The derivatives are accumulated forward: every node gives its value and, leaf by leaf, its partial derivative. A leaf
that a node does not depend on has no entry, so an equation with twenty leaves costs what its terms cost. Everything is
elementwise: a leaf may be an array over points or one number, and a result keeps the smallest shape that holds it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from napinn.problem.equations.tree import (
    Applied,
    Call,
    Derivative,
    Expression,
    Leaf,
    Number,
    Power,
    Product,
    Sum,
    UnknownLeaf,
    Varying,
    integer_exponent,
    spelled,
)

Values = np.ndarray | float
Partials = dict[Leaf, Values]
Pair = tuple[Any, dict[Leaf, Any]]


def is_free(leaf: Leaf) -> bool:
    """Whether a leaf is a derivative of a field or an unknown: what a fit can change."""
    return isinstance(leaf, Derivative | UnknownLeaf | Varying)


def value_and_partials(
    node: Expression, look_up: Callable[[Leaf], Values], wanted: Callable[[Leaf], bool] = is_free
) -> tuple[Values, Partials]:
    """The value of an expression and its partial derivatives.

    `node` is the expression. `look_up` gives the value of a leaf, an array or one number; it is called once for each
    different leaf. `wanted` says with respect to which leaves to differentiate; by default the derivatives of fields
    and the unknowns. A linear operator (`Applied`) that is not wanted itself is taken apart into its derivatives.

    Returns the value and a partial derivative for every wanted leaf that the expression depends on. All are float64,
    and any of them may be one number where the others are arrays. An undefined operation gives NaN or infinity, as
    NumPy does, without a warning. Two conventions hold where a derivative jumps: `abs` has the slope 0 at 0, and equal
    arguments of `min` and `max` share the slope equally.
    """
    known: dict[Leaf, Any] = {}

    def leaf_value(leaf: Leaf) -> Any:
        if leaf not in known:
            known[leaf] = np.asarray(look_up(leaf), float)[()]
        return known[leaf]

    with np.errstate(all="ignore"):
        return _pair(node, leaf_value, wanted)


def _pair(node: Expression, look_up: Callable[[Leaf], Any], wanted: Callable[[Leaf], bool]) -> Pair:
    match node:
        case Number(value):
            return np.float64(value), {}
        case Sum(terms):
            return _sum([(sign, _pair(child, look_up, wanted)) for sign, child in terms])
        case Product(factors):
            return _product([(exponent, _pair(child, look_up, wanted)) for exponent, child in factors])
        case Power(base, exponent):
            whole = integer_exponent(exponent)
            if whole is not None:
                return _integer_power(_pair(base, look_up, wanted), whole)
            return _power(_pair(base, look_up, wanted), _pair(exponent, look_up, wanted))
        case Call(function, arguments):
            pairs = [_pair(argument, look_up, wanted) for argument in arguments]
            value, slopes = RULES[function](*(value for value, _ in pairs))
            return value, _combined([(slope, partials) for slope, (_, partials) in zip(slopes, pairs, strict=True)])
        case Applied() if not wanted(node):
            return _pair(spelled(node), look_up, wanted)
        case _:
            return look_up(node), {node: np.float64(1.0)} if wanted(node) else {}


def _combined(parts: list[tuple[Any, Partials]]) -> dict[Leaf, Any]:
    """The chain rule: the sum over the arguments of slope times partial."""
    found: dict[Leaf, Any] = {}
    for slope, partials in parts:
        for leaf, partial in partials.items():
            step = slope * partial
            found[leaf] = found[leaf] + step if leaf in found else step
    return found


def _sum(terms: list[tuple[int, Pair]]) -> Pair:
    signed = [value if sign > 0 else -value for sign, (value, _) in terms]
    total = sum(signed[1:], start=signed[0])
    return total, _combined([(float(sign), partials) for sign, (_, partials) in terms])


def _product(factors: list[tuple[int, Pair]]) -> Pair:
    total: Any = None
    found: dict[Leaf, Any] = {}
    for exponent, (value, partials) in factors:
        if total is None:
            total = value if exponent > 0 else 1.0 / value
            found = _combined([(1.0 if exponent > 0 else -total / value, partials)])
        elif exponent > 0:
            found = _combined([(value, found), (total, partials)])
            total = total * value
        else:
            total = total / value
            found = _combined([(1.0 / value, found), (-total / value, partials)])
    return total, found


def _integer_power(base: Pair, exponent: int) -> Pair:
    """An integer exponent keeps the slope finite at zero and the sign of a negative base."""
    value, partials = base
    if exponent == 0:
        return value**0, {}
    return value**exponent, _combined([(exponent * value ** (exponent - 1), partials)])


def _power(base: Pair, exponent: Pair) -> Pair:
    """Any exponent. At the base 0 the limits hold: x**0 has no slope along x, and 0**y none along y."""
    (x, along_x), (y, along_y) = base, exponent
    value = np.power(x, y)
    parts = []
    if along_x:
        parts.append((np.where(y == 0.0, 0.0, y * np.power(x, y - 1.0))[()], along_x))
    if along_y:
        parts.append((np.where(x == 0.0, 0.0, np.log(x) * value)[()], along_y))
    return value, _combined(parts)


def _tan(x: Any) -> tuple[Any, tuple[Any, ...]]:
    value = np.tan(x)
    return value, (1.0 + value * value,)


def _tanh(x: Any) -> tuple[Any, tuple[Any, ...]]:
    value = np.tanh(x)
    return value, (1.0 - value * value,)


def _exp(x: Any) -> tuple[Any, tuple[Any, ...]]:
    value = np.exp(x)
    return value, (value,)


def _sqrt(x: Any) -> tuple[Any, tuple[Any, ...]]:
    value = np.sqrt(x)
    return value, (0.5 / value,)


def _first_share(first: Any, second: Any) -> Any:
    """1 where the first is the smaller, 0 where the second is, and one half where they are equal."""
    return 0.5 * (1.0 + np.sign(second - first))


def _minimum(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    share = _first_share(x, y)
    return np.minimum(x, y), (share, 1.0 - share)


def _maximum(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    share = _first_share(y, x)
    return np.maximum(x, y), (share, 1.0 - share)


RULES: Mapping[str, Callable[..., tuple[Any, tuple[Any, ...]]]] = {
    "sin": lambda x: (np.sin(x), (np.cos(x),)),
    "cos": lambda x: (np.cos(x), (-np.sin(x),)),
    "tan": _tan,
    "sinh": lambda x: (np.sinh(x), (np.cosh(x),)),
    "cosh": lambda x: (np.cosh(x), (np.sinh(x),)),
    "tanh": _tanh,
    "exp": _exp,
    "log": lambda x: (np.log(x), (1.0 / x,)),
    "log10": lambda x: (np.log10(x), (1.0 / (x * np.log(10.0)),)),
    "sqrt": _sqrt,
    "abs": lambda x: (np.abs(x), (np.sign(x),)),
    "min": _minimum,
    "max": _maximum,
}
"""The value of each function and its slope along each argument."""
