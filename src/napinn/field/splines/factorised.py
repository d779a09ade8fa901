"""Products with the Jacobian of residuals and of readings without forming it: sum factorisation.

A derivative of a field on a tensor grid of points is a product of one matrix an axis, so that a product with the whole
Jacobian costs a few small dense products, and its transpose the same backwards."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from napinn.field.splines.axis import Axis
from napinn.field.splines.space import Orders, PointGrid, Space

LEAST_FILLED = 0.5
"""Of a table of places × times, the share that must be read for the table to be cheaper than single readings."""

Term = tuple[int, Orders, np.ndarray]
"""Field, derivative, and the slope of a residual along it at the points of a grid, one axis a coordinate."""


def dense_basis(axis: Axis, places: np.ndarray, order: int, cell: np.ndarray | None = None) -> np.ndarray:
    """(n, functions of the axis): a derivative of all B-splines of an axis at n places.

    Args:
        axis: of the functions.
        places: along the axis.
        order: of the derivative.
        cell: that each place belongs to; found where it is not given."""
    cell = axis.cell_of(places) if cell is None else cell
    full = np.zeros((len(places), axis.size))
    np.put_along_axis(full, cell[:, None] + np.arange(axis.degree + 1), axis.basis(places, order, cell), axis=1)
    return full


class FactorisedGrid:
    """Derivatives of fields at the points of a grid; values have an axis of points a coordinate, slow to fast."""

    def __init__(self, grid: PointGrid) -> None:
        self.grid, self.space = grid, grid.space
        self._matrices: dict[tuple[int, int], np.ndarray] = {}

    def by_axis(self, values: np.ndarray) -> np.ndarray:
        """(points…) from (cells, points of a cell)."""
        return self.grid.by_axis(values)

    def values(self, tensor: np.ndarray, orders: Orders) -> np.ndarray:
        """(points…): a derivative of the field that has these coefficients (functions…)."""
        for position in range(tensor.ndim):
            tensor = _along(self._matrix(position, orders), tensor, position)
        return tensor

    def transposed(self, values: np.ndarray, orders: Orders) -> np.ndarray:
        """(functions…): the transpose of `values`, applied to values at the points."""
        for position in reversed(range(values.ndim)):
            values = _along(self._matrix(position, orders).T, values, position)
        return values

    def _matrix(self, position: int, orders: Orders) -> np.ndarray:
        number = self.space.order[position]
        key = (position, orders[number])
        if key not in self._matrices:
            places = self.grid.along[position]
            cell = np.repeat(places.cells, places.places.shape[1])
            self._matrices[key] = dense_basis(self.space.axes[number], places.places.ravel(), orders[number], cell)
        return self._matrices[key]


def _along(matrix: np.ndarray, tensor: np.ndarray, position: int) -> np.ndarray:
    """A dense matrix applied along one axis of a tensor."""
    if position == tensor.ndim - 1:
        return tensor @ matrix.T
    before, size, after = tensor.shape[:position], tensor.shape[position], tensor.shape[position + 1 :]
    product = np.matmul(matrix, tensor.reshape(-1, size, int(np.prod(after))))
    return product.reshape(*before, len(matrix), *after)


class ResidualRows:
    """The weighted Jacobian of residuals on one grid, as slopes along derivatives of fields."""

    def __init__(self, grid: FactorisedGrid, residuals: Sequence[Sequence[Term]]) -> None:
        """`residuals` has the terms of each residual, their slopes times the square root of its weight."""
        self.grid, self.space, self.residuals = grid, grid.space, residuals
        self.needed = sorted({(field, orders) for terms in residuals for field, orders, _ in terms})

    def times(self, coefficients: np.ndarray) -> list[np.ndarray]:
        """The change of every residual along a change of coefficients."""
        tensor = np.ascontiguousarray(self.space.tensor(coefficients))
        known = {(field, orders): self.grid.values(tensor[field], orders) for field, orders in self.needed}
        found = []
        for terms in self.residuals:
            total = np.zeros(self.grid.grid.axis_shape)
            for field, orders, slope in terms:
                total += slope * known[field, orders]
            found.append(total)
        return found

    def transposed(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """(coefficients,): the transpose of `times`."""
        total = np.zeros((self.space.fields, *self.space.shape))
        for needed in self.needed:
            part = np.zeros(self.grid.grid.axis_shape)
            for terms, value in zip(self.residuals, values, strict=True):
                for field, orders, slope in terms:
                    if (field, orders) == needed:
                        part += slope * value
            total[needed[0]] += self.grid.transposed(part, needed[1])
        return np.moveaxis(total, 0, -1).ravel()


class ReadingTable:
    """Fields at readings that fill much of a table of places × instants: fixed sensors with a common clock.

    The matrix of a field is then a Kronecker product of one for the places and one for the instants."""

    def __init__(self, space: Space, points: np.ndarray, field: np.ndarray, clock: int) -> None:
        """`clock` is the axis that is time; see `table_of`."""
        self.space, self.field, self.clock = space, field, clock
        others = [axis for axis in range(len(space.axes)) if axis != clock]
        instants, self.instant = np.unique(points[:, clock], return_inverse=True)
        places, self.place = np.unique(points[:, others], axis=0, return_inverse=True)
        self.shape = (len(places), len(instants))
        self.flat = (field * len(places) + self.place) * len(instants) + self.instant
        self.along_clock = dense_basis(space.axes[clock], instants, 0)
        rows = np.ones((len(places), 1))
        for axis in [axis for axis in space.order if axis != clock]:
            along = dense_basis(space.axes[axis], places[:, others.index(axis)], 0)
            rows = (rows[:, :, None] * along[:, None, :]).reshape(len(places), -1)
        self.along_places = rows

    @cached_property
    def filled(self) -> float:
        """The share of the table that was read."""
        return len(self.flat) / (self.shape[0] * self.shape[1] * (int(self.field.max(initial=0)) + 1))

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """(readings,): the field at each."""
        tensor = np.moveaxis(self.space.tensor(coefficients), 1 + self.space.order.index(self.clock), -1)
        flat = tensor.reshape(self.space.fields, -1, tensor.shape[-1])
        return (np.matmul(self.along_places, flat) @ self.along_clock.T).ravel()[self.flat]

    def transposed(self, values: np.ndarray) -> np.ndarray:
        """(coefficients,): the transpose of `times`."""
        count = self.space.fields * self.shape[0] * self.shape[1]
        table = np.bincount(self.flat, values, minlength=count).reshape(self.space.fields, *self.shape)
        found = np.matmul(self.along_places.T, table @ self.along_clock)
        sizes = [self.space.axes[axis].size for axis in self.space.order if axis != self.clock]
        tensor = found.reshape(self.space.fields, *sizes, found.shape[-1])
        return np.moveaxis(np.moveaxis(tensor, -1, 1 + self.space.order.index(self.clock)), 0, -1).ravel()


def table_of(space: Space, points: np.ndarray, field: np.ndarray) -> ReadingTable | None:
    """The readings as a table of places × instants of the last coordinate; None where too little of it is filled.

    Args:
        space: of the fields.
        points: (n, d) places and times of the readings.
        field: the field of each."""
    if len(points) == 0 or len(space.axes) < 2:
        return None
    clock = len(space.axes) - 1
    instants, places = len(np.unique(points[:, clock])), len(np.unique(points[:, :clock], axis=0))
    fields = int(field.max()) + 1
    if len(points) < LEAST_FILLED * instants * places * fields:
        return None
    return ReadingTable(space, points, field, clock)
