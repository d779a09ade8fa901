"""Equations: text or function to residual, and the set of derivatives it needs. Nothing in a text is ever run."""

from napinn.equations.condition import Condition, bind_condition, named_places
from napinn.equations.equation import Equation, PointFunction, bind, share_seconds, wanted
from napinn.equations.gradient import value_and_partials
from napinn.equations.mathml import mathml
from napinn.equations.operators import join_operators, operators
from napinn.equations.parse import RESERVED, Names, parse_expression, split_names
from napinn.equations.printing import show, symbol
from napinn.equations.tree import (
    Applied,
    Call,
    Constant,
    Coordinate,
    Derivative,
    Given,
    Leaf,
    Operator,
    Terms,
    Unknown,
    evaluate,
    highest_order,
    namespace,
    walk,
)

__all__ = [
    "RESERVED",
    "Applied",
    "Call",
    "Condition",
    "Constant",
    "Coordinate",
    "Derivative",
    "Equation",
    "Given",
    "Leaf",
    "Names",
    "Operator",
    "PointFunction",
    "Terms",
    "Unknown",
    "bind",
    "bind_condition",
    "evaluate",
    "highest_order",
    "join_operators",
    "mathml",
    "named_places",
    "namespace",
    "operators",
    "parse_expression",
    "share_seconds",
    "show",
    "split_names",
    "symbol",
    "value_and_partials",
    "walk",
    "wanted",
]
