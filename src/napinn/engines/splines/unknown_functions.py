"""Unknown functions and added source terms among the parameters of a task."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napinn.field.splines.functions import FunctionSpace
from napinn.problem.equations import Equation, Varying
from napinn.problem.equations.equation import from_tree
from napinn.problem.equations.tree import Expression, Number, Product, Sum


@dataclass(frozen=True, eq=False)
class Curve:
    """An unknown function among the parameters of a task."""

    name: str
    space: FunctionSpace
    value: float | None
    """The constant that it starts from, where one is given."""
    start: int
    """The number of its first coefficient among all parameters."""
    first: int
    """The number of its first roughness weight among all."""

    @property
    def size(self) -> int:
        return self.space.size

    @property
    def rows(self) -> list[np.ndarray]:
        return self.space.penalties

    @cached_property
    def sets(self) -> np.ndarray:
        """The numbers of its roughness weights."""
        return self.first + np.arange(len(self.rows))

    def of(self, parameters: np.ndarray) -> np.ndarray:
        """Its coefficients among all parameters."""
        return parameters[self.start : self.start + self.size]


@dataclass(frozen=True, eq=False)
class AddedSource:
    """A source term that is added to an equation to see whether the readings ask for it."""

    name: str
    equation: int
    """The number of its equation among those of the task."""
    space: FunctionSpace
    unit: float
    """The size of the equation's terms: the function is in units of it."""

    def on_the_right_of(self, equation: Equation) -> Equation:
        """The equation with this term on its right-hand side."""
        leaf = Varying(self.name, self.space.names)
        added = Product(((1, Number(self.unit)), (1, leaf)))
        return from_tree(str(equation.source), equation.shown, Sum(((1, tree_of(equation)), (-1, added))))


def tree_of(equation: Equation) -> Expression:
    """The tree of an equation that was given as text; the engine takes no others."""
    assert equation.tree is not None
    return equation.tree
