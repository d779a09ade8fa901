"""Sizes at which unknowns matter, and where unknown functions start."""

from typing import Any

import numpy as np

from napinn.engines.splines.equation_units import AT_REST, at_rest, natural_size
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.term_sizes import term_sizes
from napinn.engines.splines.unknown_functions import Curve, tree_of
from napinn.problem.equations import Constant, Derivative, Leaf, UnknownLeaf
from napinn.problem.equations.gradient import value_and_partials

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
    if curve.value is not None:
        return curve.value, max(size, abs(curve.value))
    return (value if value > 0.1 * size else size) if curve.space.positive else value, size


def natural_sizes(system: System, state: State) -> np.ndarray:
    """The size at which each unknown matters at the smoothed field, beside the terms without unknowns; infinite where
    there are none."""
    task = system.task
    absent = system.residuals(state.coefficients, np.zeros(len(task.unknowns)))
    found = {}
    for name, expected in zip(task.unknowns, box_sizes(task), strict=True):
        sizes = []
        for residual in absent:
            slope, rest = residual.unknowns.get(name), residual.value
            # Without a slope the other unknowns, which are zero here, multiply this one. A hidden field is constant
            # here: its derivative is rounding, beside which no unknown has a size.
            if slope is None or not np.any(slope) or at_rest(task, residual):
                continue
            ratio = np.sqrt(np.mean(rest**2) / max(float(np.mean(slope**2)), np.finfo(float).tiny))
            # So is the derivative of a hidden field that the unknown multiplies.
            if AT_REST * ratio**2 > expected**2:
                continue
            sizes.extend([float(ratio)] if np.isfinite(ratio) and ratio > 0.0 else [])
        found |= {name: min(sizes)} if sizes else {}

    def size_of(leaf: Leaf) -> float:
        size = float(np.sqrt(np.mean(np.square(system.leaf(leaf, state)))))
        # The derivative of a constant is rounding; a hidden field is expected to vary over the box.
        natural = natural_size(task, leaf) if isinstance(leaf, Derivative) else 0.0
        return natural if size**2 <= AT_REST * natural**2 else size

    found = term_sizes([tree_of(equation) for equation in task.equations], size_of, found)
    return np.array([found.get(name, np.inf) for name in task.unknowns])


def box_sizes(task: Task) -> np.ndarray:
    """The size at which each unknown matters where every field varies by its scale over the box."""

    def value(leaf: Leaf) -> Any:
        match leaf:
            case Derivative():
                return natural_size(task, leaf)
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
