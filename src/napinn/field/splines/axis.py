"""B-splines along one coordinate: a graded mesh, the functions that live on it, and exact refinement.

Knots are open (the end knots repeat), so that the field has values and one-sided derivatives up to the ends. Values
come from the recursion of Cox and de Boor, derivatives from its difference form (de Boor, A Practical Guide to
Splines, chapter X)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sparse


@dataclass(frozen=True, eq=False)
class Axis:
    """The B-splines of one degree on the cells between ascending `breaks`."""

    breaks: np.ndarray
    degree: int

    @property
    def cells(self) -> int:
        return len(self.breaks) - 1

    @property
    def size(self) -> int:
        """How many B-splines there are."""
        return self.cells + self.degree

    @property
    def length(self) -> float:
        return float(self.breaks[-1] - self.breaks[0])

    @cached_property
    def knots(self) -> np.ndarray:
        low, high = np.full(self.degree, self.breaks[0]), np.full(self.degree, self.breaks[-1])
        return np.concatenate([low, self.breaks, high])

    def cell_of(self, places: np.ndarray) -> np.ndarray:
        """The cell that holds each place; the last break belongs to the last cell."""
        return np.clip(np.searchsorted(self.breaks, places, side="right") - 1, 0, self.cells - 1)

    def basis(self, places: np.ndarray, order: int = 0, cell: np.ndarray | None = None) -> np.ndarray:
        """(n, degree + 1): the derivative of this order of the B-splines of each place's cell.

        The first of them has the number of the cell. Beyond the ends a place counts as the end itself."""
        places = np.clip(places, self.breaks[0], self.breaks[-1])
        span = (self.cell_of(places) if cell is None else cell) + self.degree
        if order > self.degree:
            return np.zeros((len(places), self.degree + 1))
        values = self._values(places, span, self.degree - order)
        for degree in range(self.degree - order + 1, self.degree + 1):
            values = self._raised(values, span, degree)
        return values

    def _values(self, places: np.ndarray, span: np.ndarray, highest: int) -> np.ndarray:
        return self._recursion([places] * highest, span)

    def _recursion(self, steps: list[np.ndarray], span: np.ndarray) -> np.ndarray:
        """The recursion of Cox and de Boor; `steps` holds the place that each degree is evaluated at."""
        knots, values = self.knots, np.ones((len(span), 1))
        for degree, places in enumerate(steps, start=1):
            # Column j belongs to the spline that begins at knot span - degree + j.
            first = span[:, None] - degree + 1 + np.arange(degree)
            low, high = knots[first], knots[first + degree]
            share = (places[:, None] - low) / (high - low)
            new = np.zeros((len(span), degree + 1))
            new[:, :-1] = (1.0 - share) * values
            new[:, 1:] += share * values
            values = new
        return values

    def _raised(self, values: np.ndarray, span: np.ndarray, degree: int) -> np.ndarray:
        """One differentiation, which raises the degree of the splines that the columns belong to."""
        first = span[:, None] - degree + 1 + np.arange(degree)
        scaled = degree * values / (self.knots[first + degree] - self.knots[first])
        new = np.zeros((len(values), degree + 1))
        new[:, :-1] = -scaled
        new[:, 1:] += scaled
        return new

    def gauss(self, points: int) -> tuple[np.ndarray, np.ndarray]:
        """(cells, points): places and weights of Gauss quadrature in every cell; all weights sum to one."""
        nodes, weights = np.polynomial.legendre.leggauss(points)
        half = np.diff(self.breaks)[:, None] / 2.0
        return self.breaks[:-1, None] + half * (1.0 + nodes), half * weights / self.length

    def bisected(self, marked: np.ndarray) -> "Axis":
        """The axis with every marked cell cut in two."""
        middle = 0.5 * (self.breaks[:-1] + self.breaks[1:])
        return Axis(np.sort(np.concatenate([self.breaks, middle[marked]])), self.degree)

    def prolongation(self, finer: "Axis") -> sparse.csr_array:
        """The matrix from coefficients to those of the same function on a refined axis (the Oslo algorithm).

        A coefficient of the finer axis is the blossom of the coarse polynomial at the spline's inner knots: the
        recursion for values, with another knot in each of its steps."""
        first = np.arange(finer.size)
        cell = self.cell_of(finer.knots[first])
        steps = [finer.knots[first + degree] for degree in range(1, self.degree + 1)]
        values = self._recursion(steps, cell + self.degree)
        columns = cell[:, None] + np.arange(self.degree + 1)
        ends = np.arange(0, values.size + 1, self.degree + 1)
        return sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(finer.size, self.size))


def uniform_axis(low: float, high: float, cells: int, degree: int) -> Axis:
    return Axis(np.linspace(low, high, cells + 1), degree)


ROUNDING = 1e-6
"""By which the ends of a mesh may differ from those of the box, as a share of its length."""


def axis_between(breaks: np.ndarray, low: float, high: float, degree: int) -> Axis:
    """The axis on breaks that were read from a file; raises `ValueError` unless they ascend from `low` to `high`."""
    numbers = breaks.ndim == 1 and len(breaks) > 1 and breaks.dtype.kind in "fi" and np.all(np.isfinite(breaks))
    if not numbers or not np.all(np.diff(breaks) > 0.0):
        raise ValueError("breaks do not ascend")
    if max(abs(breaks[0] - low), abs(breaks[-1] - high)) > ROUNDING * (high - low):
        raise ValueError("breaks are of another box")
    return Axis(breaks.astype(float), degree)
