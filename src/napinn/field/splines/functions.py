"""Functions of one or two coordinates on B-splines of their own, apart from the mesh of the fields.

A positive function is the exponential of a spline, so it cannot change sign."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napinn.field.splines.axis import Axis, uniform_axis

SMOOTH_CELLS = {1: 20, 2: 10}
"""Along each coordinate, by how many there are. A penalty keeps the function smooth, so cells need only be enough for
the detail that readings through an equation can show. With too few the band is too narrow as well: it does not know
what the cells cannot follow. Of a source of two spots, each an eighth of the box wide, 6 cells miss 22 % at best and 10
cells 3 %."""
STEP_CELLS = 100
"""Along the coordinate of a function with jumps, whose places are then known to a hundredth of its range."""
SMOOTH_DEGREE = 3


@dataclass(frozen=True, eq=False)
class FunctionSpace:
    """Tensor products of the B-splines of `axes`, or their exponential; `names` are the coordinates."""

    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    positive: bool
    shrunk: bool = False
    """Whether its size is penalised too, so that it vanishes where the readings do not need it."""

    @cached_property
    def size(self) -> int:
        return int(np.prod([axis.size for axis in self.axes]))

    @property
    def jumps(self) -> bool:
        """Whether the function is constant inside cells."""
        return self.axes[0].degree == 0

    def basis(self, places: np.ndarray, along: tuple[str, ...] = ()) -> np.ndarray:
        """(n, size): a derivative of all B-splines at (n, d) places."""
        full = np.ones((len(places), 1))
        for number, (name, axis) in enumerate(zip(self.names, self.axes, strict=True)):
            order = along.count(name)
            values = np.zeros((len(places), axis.size))
            cell = axis.cell_of(np.clip(places[:, number], axis.breaks[0], axis.breaks[-1]))
            columns = cell[:, None] + np.arange(axis.degree + 1)
            np.put_along_axis(values, columns, axis.basis(places[:, number], order), axis=1)
            full = (full[:, :, None] * values[:, None, :]).reshape(len(places), -1)
        return full

    def evaluated(
        self, coefficients: np.ndarray, bases: "Bases", along: tuple[str, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n,) a derivative of the function, and (n, size) how it changes with the coefficients."""
        basis = bases[along]
        inner = basis @ coefficients
        if not self.positive:
            return inner, basis
        own = bases[()]
        value = np.exp(np.clip(own @ coefficients, -700.0, 700.0))
        if not along:
            return value, value[:, None] * own
        firsts = [(bases[(axis,)] @ coefficients, bases[(axis,)]) for axis in along]
        if len(along) == 1:
            ((slope, rows),) = firsts
            return value * slope, value[:, None] * (rows + slope[:, None] * own)
        (one, one_rows), (two, two_rows) = firsts
        found = inner + one * two
        rows = basis + one[:, None] * two_rows + two[:, None] * one_rows + found[:, None] * own
        return value * found, value[:, None] * rows

    def constant(self, value: float) -> np.ndarray:
        """The coefficients of a constant function, which is positive where it must be."""
        return np.full(self.size, np.log(value) if self.positive else value)

    @cached_property
    def penalties(self) -> list[np.ndarray]:
        """Rows whose squares are penalised, one set for each stiffness: differences of second order along each
        coordinate, or each jump by itself; then the coefficients themselves where the function is shrunk."""
        if self.jumps:
            return [row[None, :] for row in np.diff(np.eye(self.size), axis=0)]
        identities = [np.eye(axis.size) for axis in self.axes]
        found = []
        for number in range(len(self.axes)):
            parts = [np.diff(each, 2, axis=0) if other == number else each for other, each in enumerate(identities)]
            rows = np.ones((1, 1))
            for part in parts:
                rows = np.kron(rows, part)
            found.append(rows)
        return [*found, np.eye(self.size)] if self.shrunk else found


class Bases:
    """The B-splines of a space at some places, each derivative computed once."""

    def __init__(self, space: FunctionSpace, places: np.ndarray) -> None:
        self.space, self.places = space, places
        self._known: dict[tuple[str, ...], np.ndarray] = {}

    def __getitem__(self, along: tuple[str, ...]) -> np.ndarray:
        if along not in self._known:
            self._known[along] = self.space.basis(self.places, along)
        return self._known[along]


def function_space(
    names: tuple[str, ...],
    ranges: Sequence[tuple[float, float]],
    positive: bool,
    steps: bool,
    smooth_cells: int | None = None,
) -> FunctionSpace:
    """The space in which an unknown function is sought.

    Args:
        names: its coordinates.
        ranges: low and high end of each.
        positive: whether it is the exponential of a spline.
        steps: whether it is constant but for jumps.
        smooth_cells: along each coordinate, where it has no jumps; by default as many as are usual."""
    cells, degree = (STEP_CELLS, 0) if steps else (smooth_cells or SMOOTH_CELLS[len(names)], SMOOTH_DEGREE)
    axes = tuple(uniform_axis(low, high, cells, degree) for low, high in ranges)
    return FunctionSpace(names, axes, positive)


def nodes_of(space: FunctionSpace, count: int) -> np.ndarray:
    """(n, d) places on a regular grid over the space, `count` along each coordinate."""
    along = [np.linspace(axis.breaks[0], axis.breaks[-1], count) for axis in space.axes]
    return np.array(list(itertools.product(*along)))
