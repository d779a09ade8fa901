"""Equations: text or function to residual, and the set of derivatives it needs. Nothing in a text is ever run."""

from napinn.equations.equation import Equation, PointFunction, bind, share_seconds, wanted
from napinn.equations.mathml import mathml
from napinn.equations.parse import RESERVED, Names, parse_expression
from napinn.equations.printing import show, symbol
from napinn.equations.tree import Constant, Coordinate, Derivative, Leaf, Terms, Unknown, evaluate

__all__ = [
    "RESERVED",
    "Constant",
    "Coordinate",
    "Derivative",
    "Equation",
    "Leaf",
    "Names",
    "PointFunction",
    "Terms",
    "Unknown",
    "bind",
    "evaluate",
    "mathml",
    "parse_expression",
    "share_seconds",
    "show",
    "symbol",
    "wanted",
]
