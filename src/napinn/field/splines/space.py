"""Tensor-product B-splines of several fields on one graded mesh, and points of the box grouped by cell.

Coefficients are ordered along the axis with the most B-splines first (the slow axis), fields innermost, so that the
normal matrix of any local functional is banded with a small bandwidth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sparse

from napinn.field.splines.axis import Axis
from napinn.field.splines.banded import Pattern

Orders = tuple[int, ...]
"""A partial derivative by its order along each coordinate."""


@dataclass(frozen=True, eq=False)
class Space:
    """`fields` fields on the mesh of `axes`, which are in the problem's order.

    `fast` are axes that must not be the slow one: functions at their two ends are coupled by periodicity."""

    axes: tuple[Axis, ...]
    fields: int
    fast: frozenset[int] = frozenset()

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The axes from the slowest to the fastest."""
        return tuple(sorted(range(len(self.axes)), key=lambda axis: (axis in self.fast, -self.axes[axis].size)))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """B-splines along each axis, slow to fast."""
        return tuple(self.axes[axis].size for axis in self.order)

    @property
    def functions(self) -> int:
        """Tensor-product B-splines, and so coefficients of one field."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        return self.functions * self.fields

    @cached_property
    def strides(self) -> tuple[int, ...]:
        return tuple(math.prod(self.shape[position + 1 :]) for position in range(len(self.shape)))

    @cached_property
    def offsets(self) -> np.ndarray:
        """Numbers of the functions that live on a cell, counted from its first."""
        found = np.zeros(1, int)
        for axis, stride in zip(self.order, self.strides, strict=True):
            found = (found[:, None] + np.arange(self.axes[axis].degree + 1) * stride).ravel()
        return found

    @cached_property
    def all_offsets(self) -> np.ndarray:
        """Numbers of the coefficients of all fields that live on a cell, counted from its first."""
        return (self.offsets[:, None] * self.fields + np.arange(self.fields)).ravel()

    @cached_property
    def bandwidth(self) -> int:
        """How far apart two coefficients that share a cell, or a periodic row, can be."""
        wrapped = [
            (self.axes[axis].size - 1 - self.axes[axis].degree) * stride
            for axis, stride in zip(self.order, self.strides, strict=True)
            if axis in self.fast
        ]
        return (int(self.offsets[-1]) + max(wrapped, default=0)) * self.fields + self.fields - 1

    def with_fields(self, fields: int) -> "Space":
        return Space(self.axes, fields, self.fast)

    def bisected(self, marks: Sequence[np.ndarray]) -> "Space":
        """The space with the marked cells of each axis cut in two."""
        axes = tuple(axis.bisected(marked) for axis, marked in zip(self.axes, marks, strict=True))
        return Space(axes, self.fields, self.fast)

    def tensor(self, coefficients: np.ndarray) -> np.ndarray:
        """(fields, shape…): coefficients with an axis for each coordinate, slow to fast."""
        return np.moveaxis(coefficients.reshape(*self.shape, self.fields), -1, 0)

    def prolonged(self, coefficients: np.ndarray, finer: "Space") -> np.ndarray:
        """The coefficients of the same fields on a refinement of this space."""
        tensor = coefficients.reshape(*self.shape, self.fields)
        for position, axis in enumerate(self.order):
            matrix = self.axes[axis].prolongation(finer.axes[axis])
            tensor = _along(matrix, tensor, position)
        moved = [self.order.index(axis) for axis in finer.order]
        return np.ascontiguousarray(np.transpose(tensor, [*moved, len(moved)])).ravel()

    def rows(self, points: np.ndarray, orders: Orders | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(n,) the first function of each point's cell and (n, L) a derivative of all functions of that cell."""
        first, values = np.zeros(len(points), int), np.ones((len(points), 1))
        for axis, stride in zip(self.order, self.strides, strict=True):
            cell = self.axes[axis].cell_of(points[:, axis])
            along = self.axes[axis].basis(points[:, axis], orders[axis] if orders else 0, cell)
            first = first + cell * stride
            values = (values[:, :, None] * along[:, None, :]).reshape(len(points), -1)
        return first, values

    def design(self, points: np.ndarray, field: np.ndarray | int, orders: Orders | None = None) -> sparse.csr_array:
        """(n, size): the matrix from coefficients to a derivative of one field at each point."""
        first, values = self.rows(points, orders)
        columns = (first[:, None] + self.offsets) * self.fields + np.reshape(field, (-1, 1))
        ends = np.arange(0, values.size + 1, len(self.offsets))
        return sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(len(points), self.size))


@dataclass(frozen=True, eq=False)
class Places:
    """Points along one axis, the same number in each of some cells, with their weights."""

    cells: np.ndarray
    places: np.ndarray
    weights: np.ndarray


def quadrature(axis: Axis, points: int) -> Places:
    """Gauss points of all cells; the weights sum to one."""
    return Places(np.arange(axis.cells), *axis.gauss(points))


def single_place(axis: Axis, place: float) -> Places:
    where = np.array([place])
    return Places(axis.cell_of(where), where[:, None], np.ones((1, 1)))


class PointGrid:
    """A tensor grid of points, grouped by cell: the quadrature of the box, or of a face of it.

    Arrays of point values have the shape (cells, points a cell)."""

    def __init__(self, space: Space, along: Sequence[Places]) -> None:
        """`along` gives the points along each axis, in the problem's order."""
        self.space = space
        self.along = [along[axis] for axis in space.order]
        self.cell_shape = tuple(len(places.cells) for places in self.along)
        self.point_shape = tuple(places.places.shape[1] for places in self.along)
        self.cells, self.points = math.prod(self.cell_shape), math.prod(self.point_shape)
        spread = [self._spread(places.places, position) for position, places in enumerate(self.along)]
        self.coordinates = [spread[space.order.index(axis)] for axis in range(len(space.axes))]
        weights = [self._spread(places.weights, position) for position, places in enumerate(self.along)]
        self.weights = math.prod(weights[1:], start=weights[0])
        numbers = np.meshgrid(*(places.cells for places in self.along), indexing="ij")
        self.first: np.ndarray = sum(
            (number.ravel() * stride for number, stride in zip(numbers, space.strides, strict=True)),
            start=np.zeros(self.cells, int),
        )
        self.pattern = Pattern(self.first * space.fields, space.all_offsets, space.size, space.bandwidth)
        """Of matrices over all fields of a cell."""
        self._tables: dict[tuple[int, int], np.ndarray] = {}
        self._matrices: dict[tuple[int, int], sparse.csr_array] = {}

    def _spread(self, values: np.ndarray, position: int) -> np.ndarray:
        """(cells, points) from the values along one axis."""
        shape = [1] * (2 * len(self.cell_shape))
        shape[position], shape[len(self.cell_shape) + position] = values.shape
        full = np.broadcast_to(values.reshape(shape), (*self.cell_shape, *self.point_shape))
        return full.reshape(self.cells, self.points)

    def folded(self, values: np.ndarray) -> np.ndarray:
        """(cells…, points…) from (cells, points)."""
        return values.reshape(*self.cell_shape, *self.point_shape)

    def jacobian(self, terms: Sequence[tuple[Orders, np.ndarray]], part: slice) -> np.ndarray:
        """(cells, points, L): along the functions of each cell in `part`, the derivative of a sum of slope × derivative
        of a field; a term is the orders of the derivative and the slope at the points of these cells.

        Terms are multiplied axis by axis, the fast axis first, and added as soon as they differ in no slower axis: the
        product over all axes is formed once for each order along the slow axis."""
        sums = [(orders, slope[..., None]) for orders, slope in terms]
        for position in reversed(range(len(self.along))):
            axis, grown = self.space.order[position], dict[Orders, tuple[Orders, np.ndarray]]()
            for orders, values in sums:
                along = self._spread_basis(position, orders[axis])[part]
                product = (along[..., None] * values[..., None, :]).reshape(*values.shape[:2], -1)
                slower = tuple(orders[other] for other in self.space.order[:position])
                if slower in grown:
                    np.add(grown[slower][1], product, out=grown[slower][1])
                else:
                    grown[slower] = (orders, product)
            sums = list(grown.values())
        return sums[0][1]

    def _spread_basis(self, position: int, order: int) -> np.ndarray:
        """(cells, points, degree + 1): a derivative of the B-splines of one axis at every point."""
        if (position, order) not in self._tables:
            places = self.along[position]
            count, points = places.places.shape
            along = self.space.axes[self.space.order[position]].basis(
                places.places.ravel(), order, np.repeat(places.cells, points)
            )
            cell = np.unravel_index(np.arange(self.cells), self.cell_shape)[position]
            point = np.unravel_index(np.arange(self.points), self.point_shape)[position]
            self._tables[position, order] = along.reshape(count, points, -1)[cell[:, None], point]
        return self._tables[position, order]

    def values(self, coefficients: np.ndarray, field: int, orders: Orders) -> np.ndarray:
        """(cells, points): a derivative of one field, axis by axis (sum factorisation)."""
        tensor = np.ascontiguousarray(self.space.tensor(coefficients)[field])
        for position in range(len(self.along)):
            matrix = self._matrix(position, orders[self.space.order[position]])
            tensor = _along(matrix, tensor, position)
        return self._by_cell(tensor)

    def transposed(self, values: np.ndarray, orders: Orders) -> np.ndarray:
        """(functions,): the transpose of `values`, applied to point values."""
        tensor = self.by_axis(values)
        for position in range(len(self.along)):
            matrix = self._matrix(position, orders[self.space.order[position]])
            tensor = _along(matrix.T.tocsr(), tensor, position)
        return tensor.ravel()

    def _matrix(self, position: int, order: int) -> sparse.csr_array:
        """(points along the axis, functions along it), cell by cell."""
        if (position, order) not in self._matrices:
            axis, places = self.space.axes[self.space.order[position]], self.along[position]
            cell = np.repeat(places.cells, places.places.shape[1])
            values = axis.basis(places.places.ravel(), order, cell)
            columns = cell[:, None] + np.arange(axis.degree + 1)
            ends = np.arange(0, values.size + 1, axis.degree + 1)
            shape = (len(cell), axis.size)
            self._matrices[position, order] = sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=shape)
        return self._matrices[position, order]

    def _by_cell(self, tensor: np.ndarray) -> np.ndarray:
        dimensions = len(self.cell_shape)
        pairs = [size for pair in zip(self.cell_shape, self.point_shape, strict=True) for size in pair]
        folded = tensor.reshape(pairs).transpose(*range(0, 2 * dimensions, 2), *range(1, 2 * dimensions, 2))
        return folded.reshape(self.cells, self.points)

    @property
    def axis_shape(self) -> tuple[int, ...]:
        """Points along each axis, slow to fast."""
        return tuple(cells * points for cells, points in zip(self.cell_shape, self.point_shape, strict=True))

    def by_axis(self, values: np.ndarray) -> np.ndarray:
        """(points…) with an axis for each coordinate, slow to fast, from (cells, points of a cell)."""
        dimensions = len(self.cell_shape)
        mixed = [index for position in range(dimensions) for index in (position, dimensions + position)]
        return self.folded(values).transpose(mixed).reshape(self.axis_shape)


def _along(matrix: sparse.csr_array, tensor: np.ndarray, position: int) -> np.ndarray:
    """A matrix applied along one axis of a tensor."""
    moved = np.moveaxis(tensor, position, 0)
    product = matrix @ moved.reshape(moved.shape[0], -1)
    return np.moveaxis(product.reshape(len(product), *moved.shape[1:]), 0, position)


def box_grid(space: Space, points: int) -> PointGrid:
    """Gauss points of all cells of the box, `points` a cell along each axis."""
    return PointGrid(space, [quadrature(axis, points) for axis in space.axes])


def face_grid(space: Space, at: dict[int, float], points: int = 2) -> PointGrid:
    """Gauss points of the face on which the axes in `at` have a fixed place."""
    along = [
        single_place(axis, at[number]) if number in at else quadrature(axis, points)
        for number, axis in enumerate(space.axes)
    ]
    return PointGrid(space, along)
