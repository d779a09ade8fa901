"""Equations: text or function to residual, and the set of derivatives it needs. Nothing in a text is ever run."""

from napinn.problem.equations.condition import Condition, bind_condition, named_places
from napinn.problem.equations.equation import Equation, PointFunction, bind, from_tree, share_seconds, wanted
from napinn.problem.equations.gradient import value_and_partials
from napinn.problem.equations.mathml import mathml
from napinn.problem.equations.operators import join_operators, operators
from napinn.problem.equations.parse import RESERVED, Names, parse_expression, parse_observable, split_names
from napinn.problem.equations.printing import show, symbol
from napinn.problem.equations.tree import (
    Applied,
    Call,
    Constant,
    Coordinate,
    Derivative,
    Expression,
    Given,
    Leaf,
    Operator,
    Terms,
    UnknownLeaf,
    Varying,
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
    "Expression",
    "Given",
    "Leaf",
    "Names",
    "Operator",
    "PointFunction",
    "Terms",
    "UnknownLeaf",
    "Varying",
    "bind",
    "bind_condition",
    "evaluate",
    "from_tree",
    "highest_order",
    "join_operators",
    "mathml",
    "named_places",
    "namespace",
    "operators",
    "parse_expression",
    "parse_observable",
    "share_seconds",
    "show",
    "split_names",
    "symbol",
    "value_and_partials",
    "walk",
    "wanted",
]
