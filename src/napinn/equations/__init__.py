"""Equations: text or function to residual, and the set of derivatives it needs. Nothing in a text is ever run."""

from napinn.equations.condition import Condition, bind_condition, named_places
from napinn.equations.equation import Equation, PointFunction, bind, share_seconds, wanted
from napinn.equations.mathml import mathml
from napinn.equations.parse import RESERVED, Names, parse_expression
from napinn.equations.printing import show, symbol
from napinn.equations.tree import Constant, Coordinate, Derivative, Given, Leaf, Terms, Unknown, evaluate

__all__ = [
    "RESERVED",
    "Condition",
    "Constant",
    "Coordinate",
    "Derivative",
    "Equation",
    "Given",
    "Leaf",
    "Names",
    "PointFunction",
    "Terms",
    "Unknown",
    "bind",
    "bind_condition",
    "evaluate",
    "mathml",
    "named_places",
    "parse_expression",
    "share_seconds",
    "show",
    "symbol",
    "wanted",
]
