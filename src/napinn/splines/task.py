"""A problem and its readings as the spline engine sees them: arrays, expression trees, natural sizes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from napinn.catalogue import DENSITY
from napinn.equations import Condition, Constant, Coordinate, Derivative, Equation, Given, Leaf, Unknown
from napinn.equations.tree import Expression
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.splines.laws import Cauchy, Gaussian, Law
from napinn.splines.space import Orders, PointGrid
from napinn.variation import variation

LEAST_DEGREE = 4
"""Of the splines along each coordinate; two more than the highest derivative where that is larger, so that the highest
derivative is continuous and the error of a second-order equation falls with the third power of a cell."""
FEW = 100
"""Readings a field below which all fields share one estimate of the noise relative to the size of the field."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be fitted. Fields are in the order of `Problem.outputs`: measured ones first, then hidden ones."""

    problem: Problem
    readings: Readings
    density: str = DENSITY
    """How the noise law is found: a name of `napinn.catalogue.SPLINE_DENSITIES`."""

    @property
    def working_law(self) -> Law:
        """The law before the noise is known, and where it is not to be learned."""
        return Gaussian() if self.density == "gaussian" else Cauchy()

    @property
    def measured(self) -> int:
        return len(self.problem.fields)

    @property
    def fields(self) -> int:
        return len(self.problem.outputs)

    @property
    def dimensions(self) -> int:
        return len(self.problem.coordinates)

    @cached_property
    def axis_of(self) -> dict[str, int]:
        return {name: axis for axis, name in enumerate(self.problem.coordinates)}

    @cached_property
    def field_of(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.problem.outputs)}

    @cached_property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.problem.highs, float) - np.asarray(self.problem.lows, float)

    @cached_property
    def points(self) -> np.ndarray:
        """(n, d) places of the readings, moved onto the box where rounding put them beside it."""
        return np.clip(self.readings.points, self.problem.lows, self.problem.highs)

    @cached_property
    def spread(self) -> np.ndarray:
        """The known deviation of each reading over the median one; 1 where none are known."""
        known = self.readings.spread
        return np.ones(len(self.readings)) if known is None else known

    @cached_property
    def few(self) -> bool:
        return len(self.readings) < FEW * self.measured

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        return self.problem.written

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return self.problem.placed

    @cached_property
    def orders(self) -> Orders:
        """The highest derivative along each coordinate that an equation or condition contains."""
        bound = (*self.equations, *(condition.equation for condition in self.conditions))
        needed = [self.orders_of(leaf) for equation in bound for leaf in equation.needs]
        return tuple(max(along) for along in zip(*needed, strict=True))

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        return tuple(max(LEAST_DEGREE, order + 2) for order in self.orders)

    def orders_of(self, leaf: Derivative) -> Orders:
        (axes,) = leaf.terms
        return tuple(axes.count(name) for name in self.problem.coordinates)

    @cached_property
    def unknowns(self) -> tuple[str, ...]:
        return tuple(self.problem.unknowns)

    @cached_property
    def low(self) -> np.ndarray:
        return np.array([-math.inf if u.low is None else u.low for u in self.problem.unknowns.values()])

    @cached_property
    def high(self) -> np.ndarray:
        return np.array([math.inf if u.high is None else u.high for u in self.problem.unknowns.values()])

    @cached_property
    def centre(self) -> np.ndarray:
        """A typical value of each field; of a hidden one, its given size or that of the measured fields."""
        measured = [_median(self.readings.of_field(number)) for number in range(self.measured)]
        usual = float(np.median(measured))
        return np.array([*measured, *(self.problem.scales.get(name, usual) for name in self.problem.hidden)])

    @cached_property
    def scale(self) -> np.ndarray:
        """How much each field varies; of a hidden one, its given size or what is usual for the measured ones."""
        places, field = self.points / self.lengths, self.readings.field_index
        measured = [
            variation(places[field == number], self.readings.of_field(number)) for number in range(self.measured)
        ]
        usual = float(np.median(measured))
        return np.array([*measured, *(self.problem.scales.get(name, usual) for name in self.problem.hidden)])

    def look_up(
        self, grid: PointGrid, derivative: Callable[[Derivative], np.ndarray], unknowns: Mapping[str, float]
    ) -> Callable[[Leaf], Any]:
        """The value of any leaf of an equation at the points of a grid."""

        def value(leaf: Leaf) -> Any:
            match leaf:
                case Derivative():
                    return derivative(leaf)
                case Unknown(name):
                    return unknowns[name]
                case Constant(_, number):
                    return number
                case Coordinate(name):
                    return grid.coordinates[self.axis_of[name]]
                case Given(name, axes):
                    places = [grid.coordinates[self.axis_of[axis]].ravel() for axis in axes]
                    return np.asarray(self.problem.tables[name].at(places)).reshape(grid.cells, grid.points)
                case _:
                    raise TypeError(f"{type(leaf).__name__} is no leaf of a written equation")

        return value


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if values.size else 0.0


def tree_of(equation: Equation) -> Expression:
    """The tree of an equation that was given as text; the engine takes no others."""
    assert equation.tree is not None
    return equation.tree
