"""The weak form: left side and terms integrated against test functions, and what noise leaves of an exact equation."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from napinn.discovery.bumps import Bumps
from napinn.discovery.smooth import Smooth
from napinn.discovery.terms import Term
from napinn.problem.equations import Constant, Coordinate, Derivative, Leaf, value_and_partials


class WeakForm:
    """Integrals of the left side and of all terms, of given fields."""

    def __init__(
        self,
        bumps: Bumps,
        coordinates: Sequence[str],
        fields: Mapping[str, Smooth],
        residual_values: Mapping[str, np.ndarray],
    ) -> None:
        """`residual_values` is what the readings say beyond the smoothed field, on the grid (`LocalMeans`)."""
        self.bumps, self.coordinates, self.fields = bumps, tuple(coordinates), fields
        self.residual_values = residual_values
        self._grids: dict[Derivative, np.ndarray] = {}
        self._places = dict(zip(coordinates, np.meshgrid(*bumps.places, indexing="ij", sparse=True), strict=True))

    def orders(self, axes: Sequence[str]) -> tuple[int, ...]:
        return tuple(list(axes).count(name) for name in self.coordinates)

    def look_up(self, leaf: Leaf) -> Any:
        match leaf:
            case Derivative(field, (axes,)):
                if leaf not in self._grids:
                    self._grids[leaf] = self.fields[field].on_grid(self.bumps.places, self.orders(axes))
                return self._grids[leaf]
            case Coordinate(name):
                return self._places[name]
            case Constant(_, value):
                return value
            case _:
                raise TypeError(f"{type(leaf).__name__} is no part of a term")

    def column(self, term: Term, draws: Sequence[Mapping[str, np.ndarray]] = ()) -> list[np.ndarray]:
        """Integrals of a term of the smoothed field, moved to first order by what it left of the readings; and of
        its first-order change by each of the draws of noise."""
        value, slopes = value_and_partials(term.flux, self.look_up)
        orders = self.orders(term.axes)
        found = [np.broadcast_to(value, self.bumps.shape).astype(float), *(np.zeros(self.bumps.shape) for _ in draws)]
        for leaf, slope in slopes.items():
            if isinstance(leaf, Derivative) and not leaf.terms[0]:
                for number, errors in enumerate((self.residual_values, *draws)):
                    found[number] = found[number] + slope * errors[leaf.field]
        return [term.factor * self.bumps.integrals(values, orders) for values in found]

    def left(self, side: Derivative, draws: Sequence[Mapping[str, np.ndarray]] = ()) -> list[np.ndarray]:
        """Integrals of the left side, and of its change by each of the draws of noise."""
        values = self.look_up(Derivative(side.field, ((),))) + self.residual_values[side.field]
        orders = self.orders(side.terms[0])
        return [self.bumps.integrals(each, orders) for each in (values, *(draw[side.field] for draw in draws))]

    def sensitivity(
        self, side: Derivative, terms: Sequence[Term], coefficients: np.ndarray
    ) -> dict[str, dict[tuple[int, ...], np.ndarray]]:
        """How an error of each field moves left − Σ coefficient × term: by orders of the derivative that falls on the
        test function, the factor on the grid."""
        found: dict[str, dict[tuple[int, ...], np.ndarray]] = {
            side.field: {self.orders(side.terms[0]): np.ones(self.bumps.shape)}
        }
        for term, coefficient in zip(terms, coefficients, strict=True):
            if coefficient == 0.0:
                continue
            for leaf, slope in value_and_partials(term.flux, self.look_up)[1].items():
                if isinstance(leaf, Derivative):
                    own, orders = found.setdefault(leaf.field, {}), self.orders((*term.axes, *leaf.terms[0]))
                    own[orders] = own.get(orders, np.zeros(self.bumps.shape)) - coefficient * term.factor * slope
        return found

    def covariance(
        self, side: Derivative, terms: Sequence[Term], coefficients: np.ndarray, noise: Mapping[str, float]
    ) -> np.ndarray:
        """Of left − Σ coefficient × term, from errors of the readings.

        `noise` is the variance of a reading over the number of readings in a unit of volume, by field. An error of
        the field acts through the sensitivity, to first order; readings that are denser than the test functions are
        wide make it white noise of this density."""
        total = np.zeros((self.bumps.rows, self.bumps.rows))
        volume = float(np.prod(self.bumps.spacing))
        for name, parts in self.sensitivity(side, terms, coefficients).items():
            # The weights of the points hold the volume once; white noise has the variance density / volume a point.
            size, listed = noise[name] / volume, list(parts.items())
            for number, (orders, factor) in enumerate(listed):
                total += size * self.bumps.products(factor**2, orders, orders)
                for others, other in listed[:number]:
                    mixed = size * self.bumps.products(factor * other, orders, others)
                    total += mixed + mixed.T
        return total
