"""From spline coefficients to the field at the readings, and back.

Sensors are usually read at common instants. The matrix is then the product of one for the instants and one for the
places, which takes far fewer operations than the B-splines of every reading."""

import abc
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from napinn.field.splines.axis import Axis
from napinn.field.splines.space import Space


class ReadingMatrix(abc.ABC):
    """The linear map from coefficients (in the order of the space) to values at points."""

    @abc.abstractmethod
    def values(self, coefficients: np.ndarray) -> np.ndarray:
        """(points,): the field."""

    @abc.abstractmethod
    def sums(self, values: np.ndarray) -> np.ndarray:
        """(coefficients,): the transposed map."""


class _Rows(ReadingMatrix):
    """One sparse row a point."""

    def __init__(self, space: Space, points: np.ndarray) -> None:
        self.matrix = space.design(points, 0)
        self.transposed = self.matrix.T.tocsr()

    def values(self, coefficients: np.ndarray) -> np.ndarray:
        return self.matrix @ coefficients

    def sums(self, values: np.ndarray) -> np.ndarray:
        return self.transposed @ values


class _Product(ReadingMatrix):
    """Points among all pairs of an instant (along the first axis) and a place (along the others)."""

    def __init__(self, space: Space, instants: "_Distinct", places: "_Distinct") -> None:
        self.space = space
        self.along = _axes_matrix(space.axes[:1], instants.points)
        self.across = _axes_matrix(space.axes[1:], places.points)
        self.along_back, self.across_back = self.along.T.tocsr(), self.across.T.tocsr()
        self.shape = (len(instants.points), len(places.points))
        self.numbers = np.ravel_multi_index((instants.number, places.number), self.shape)
        self.back = [space.order.index(axis) for axis in range(len(space.axes))]

    def values(self, coefficients: np.ndarray) -> np.ndarray:
        tensor = np.transpose(coefficients.reshape(self.space.shape), self.back)
        half = self.along @ tensor.reshape(len(tensor), -1)
        return (self.across @ half.T).T.ravel()[self.numbers]

    def sums(self, values: np.ndarray) -> np.ndarray:
        grid = np.bincount(self.numbers, values, self.shape[0] * self.shape[1]).reshape(self.shape)
        half = self.across_back @ (self.along_back @ grid).T
        tensor = half.T.reshape([axis.size for axis in self.space.axes])
        return np.transpose(tensor, self.space.order).ravel()


class _Distinct:
    """Points without repetition, and which of them each given one is."""

    def __init__(self, points: np.ndarray) -> None:
        key = np.zeros(len(points), int)
        for column in points.T:
            values, number = np.unique(column, return_inverse=True)
            key = np.unique(key * len(values) + number, return_inverse=True)[1]
        self.number = key
        self.points = points[np.unique(key, return_index=True)[1]]


def reading_matrix(space: Space, points: np.ndarray) -> ReadingMatrix:
    """The map with the fewest operations."""
    if len(space.axes) == 1 or not len(points):
        return _Rows(space, points)
    instants, places = _Distinct(points[:, :1]), _Distinct(points[:, 1:])
    pairs, width = len(instants.points) * len(places.points), space.axes[0].degree + 1
    return _Product(space, instants, places) if pairs <= width * len(points) else _Rows(space, points)


def _axes_matrix(axes: Sequence[Axis], places: np.ndarray) -> sparse.csr_array:
    """(places, functions): products of the B-splines of all axes, the last axis innermost."""
    columns, values, size = np.zeros((len(places), 1), int), np.ones((len(places), 1)), 1
    for number, axis in enumerate(axes):
        along = axis.basis(places[:, number], 0)
        own = axis.cell_of(places[:, number])[:, None] + np.arange(axis.degree + 1)
        values = (values[:, :, None] * along[:, None, :]).reshape(len(places), -1)
        columns = (columns[:, :, None] * axis.size + own[:, None, :]).reshape(len(places), -1)
        size *= axis.size
    ends = np.arange(0, values.size + 1, values.shape[1])
    return sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(len(places), size))
