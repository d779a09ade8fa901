"""Sizes at which unknowns matter, and where unknown functions start."""

from functools import partial
from typing import Any

import numpy as np

from napinn.engines.splines.system import State, System
from napinn.engines.splines.task import Curve, Task, tree_of
from napinn.problem.equations import Constant, Coordinate, Derivative, Leaf, Varying, walk
from napinn.problem.equations import Unknown as UnknownLeaf
from napinn.problem.equations.gradient import value_and_partials
from napinn.problem.equations.tree import Expression, Product, evaluate

NOTHING = 1e-30
"""A positive function that is as good as absent."""


def first_of_curve(
    system: System, coefficients: np.ndarray, parameters: np.ndarray, curve: Curve
) -> tuple[float, float]:
    """The constant from which an unknown function starts, and the size at which it matters.

    Args:
        system: on the first mesh.
        coefficients: of the smoothed readings.
        parameters: where unknowns and functions start so far.
        curve: the function."""
    inside = slice(curve.start, curve.start + curve.size)
    none, one = parameters.copy(), parameters.copy()
    none[inside] = curve.space.constant(NOTHING if curve.space.positive else 0.0)
    one[inside] = curve.space.constant(1.0)
    values, sizes = [], []
    for rest, whole in zip(system.residuals(coefficients, none), system.residuals(coefficients, one), strict=True):
        slope = whole.value - rest.value
        square = float(np.mean(slope**2))
        if square > 0.0 and np.isfinite(square):
            values.append(-float(np.mean(slope * rest.value)) / square)
            sizes.append(float(np.sqrt(np.mean(rest.value**2) / square)))
    size = min((each for each in sizes if np.isfinite(each) and each > 0.0), default=1.0)
    value = values[int(np.argmin(sizes))] if sizes else size
    if curve.varying.start is not None:
        return curve.varying.start, max(size, abs(curve.varying.start))
    return (value if value > 0.1 * size else size) if curve.space.positive else value, size


def natural_sizes(system: System, state: State) -> np.ndarray:
    """The size at which each unknown matters at the smoothed field, beside the terms without unknowns; infinite where
    there are none. An unknown that only multiplies others matters where these have the sizes found for them, and one
    that divides has the size of what it divides."""
    dividing = divisor_sizes(system.task)
    absent = np.where(np.isfinite(dividing), dividing, 0.0)
    rests = [residual.value for residual in system.residuals(state.coefficients, absent)]
    found = np.minimum(_sizes_beside(system, state, absent, rests), dividing)
    others = np.where(np.isfinite(found), found, 0.0)
    return np.where(np.isfinite(found), found, _sizes_beside(system, state, others, rests))


def divisor_sizes(task: Task) -> np.ndarray:
    """For each unknown that something is divided by, the typical size of that; infinite for others. At zero, where
    other unknowns are looked at, an equation has no value for it."""
    found, value = np.full(len(task.unknowns), np.inf), partial(_typical, task)
    for node in (node for equation in task.equations for node in walk(tree_of(equation)) if isinstance(node, Product)):
        above = tuple((power, factor) for power, factor in node.factors if not _unknowns_in(factor))
        for power, factor in node.factors:
            if power < 0 and isinstance(factor, UnknownLeaf) and above:
                size = abs(float(evaluate(Product(above), value)))
                number = task.unknowns.index(factor.name)
                found[number] = min(found[number], size if size > 0.0 else np.inf)
    return found


def _unknowns_in(node: Expression) -> bool:
    return any(isinstance(each, UnknownLeaf | Varying) for each in walk(node))


def _typical(task: Task, leaf: Leaf) -> float:
    """The size of a leaf where every field varies by its scale over the box."""
    match leaf:
        case Derivative(name, _):
            field, orders = task.field_of[name], np.array(task.orders_of(leaf))
            size = task.scale[field] if orders.any() else max(abs(task.centre[field]), task.scale[field])
            return float(size / np.prod(task.lengths**orders))
        case Coordinate(name):
            return float(task.lengths[task.axis_of[name]])
        case Constant(_, number):
            return number
        case _:
            return 1.0


def _sizes_beside(system: System, state: State, unknowns: np.ndarray, rests: list[np.ndarray]) -> np.ndarray:
    """For each unknown, the least size at which its term is as large as the rest of an equation; infinite for one that
    does not change any equation at these unknowns."""
    residuals = system.residuals(state.coefficients, unknowns)
    found = []
    for name in system.task.unknowns:
        sizes = [np.inf]
        for residual, rest in zip(residuals, rests, strict=True):
            slope = float(np.mean(residual.unknowns.get(name, np.zeros(1)) ** 2))
            size = float(np.sqrt(np.mean(rest**2) / slope)) if slope > 0.0 else np.inf
            sizes.extend([size] if np.isfinite(size) and size > 0.0 else [])
        found.append(min(sizes))
    return np.array(found)


def box_sizes(task: Task) -> np.ndarray:
    """The size at which each unknown matters where every field varies by its scale over the box."""

    def value(leaf: Leaf) -> Any:
        match leaf:
            case Derivative(name, _):
                return task.scale[task.field_of[name]] / float(np.prod(task.lengths ** np.array(task.orders_of(leaf))))
            case UnknownLeaf():
                return 0.0
            case Constant(_, number):
                return number
            case _:
                return 1.0

    found = np.full(len(task.unknowns), np.inf)
    for equation in task.equations:
        rest, slopes = value_and_partials(tree_of(equation), value)
        for number, name in enumerate(task.unknowns):
            slope = abs(float(slopes.get(UnknownLeaf(name), 0.0)))
            ratio = abs(float(rest)) / slope if slope > 0.0 else np.inf
            found[number] = min(found[number], ratio if ratio > 0.0 else np.inf)
    return found
