"""Conditions: an equation that holds on a face of the box, or on any plane inside it, and nowhere else.

    u = sin(pi*x) at t = 0
    u_x = 0 at x = 1
    S = 0.99 at t = 0

They are never needed; one that is known helps where readings are few."""

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from napinn.data.names import normal
from napinn.errors import InputError, nearest
from napinn.problem.equations.equation import Equation, bind
from napinn.problem.equations.parse import Names, parse_expression
from napinn.problem.equations.tree import Constant, Coordinate, Derivative, Given, Leaf, UnknownLeaf, evaluate, walk

_AT = re.compile(r"\s+at\s+")
USAGE = "write it as 'u = 0 at x = 1'"


@dataclass(frozen=True)
class Condition:
    """What holds, and the coordinates that are fixed where it does."""

    equation: Equation
    at: Mapping[str, float]

    @property
    def shown(self) -> str:
        place = ", ".join(f"{name} = {value:g}" for name, value in self.at.items())
        return f"{self.equation.shown} at {place}"


def bind_condition(text: str, names: Names, box: Mapping[str, tuple[float, float]]) -> Condition:
    """A condition from its text; its place must lie in the box."""
    parts = _AT.split(text)
    if len(parts) != 2:
        raise InputError(f"condition '{text[:80]}' does not say where it holds; {USAGE}.")
    what, where = parts
    at: dict[str, float] = {}
    for piece in where.split(","):
        name, equals, value = (part.strip() for part in piece.partition("="))
        name = normal(name)
        if not equals:
            raise InputError(f"condition '{text[:80]}': '{piece.strip()[:40]}' is not a place; {USAGE}.")
        if name not in box:
            raise InputError(f"condition '{text[:80]}': '{name[:40]}' is not a coordinate; {nearest(name, box)}")
        at[name] = _number(value, names, text)
        low, high = box[name]
        if not low <= at[name] <= high:
            raise InputError(
                f"condition '{text[:80]}': {name} = {at[name]:g} is outside the range of '{name}', {low:g} to {high:g}."
            )
    return Condition(bind(what, names), at)


def named_places(text: str) -> dict[str, float]:
    """The coordinates that a condition's text fixes at a plain number, whatever else is right or wrong with it."""
    _, *places = _AT.split(text)
    found = {}
    for piece in places[0].split(",") if places else ():
        name, _, value = (part.strip() for part in piece.partition("="))
        with contextlib.suppress(ValueError):
            found[normal(name)] = float(value)
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _number(text: str, names: Names, whole: str) -> float:
    """The value of an expression of numbers and constants."""
    tree = parse_expression(text, names, whole)
    if any(isinstance(node, Coordinate | UnknownLeaf | Given | Derivative) for node in walk(tree)):
        raise InputError(f"condition '{whole[:80]}': '{text[:40]}' is not a number; {USAGE}.")
    value = float(evaluate(tree, _constant))
    if not math.isfinite(value):
        raise InputError(f"condition '{whole[:80]}': '{text[:40]}' is not finite; {USAGE}.")
    return value


def _constant(leaf: Leaf) -> np.float64:
    assert isinstance(leaf, Constant)
    return np.float64(leaf.value)
