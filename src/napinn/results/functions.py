"""FoundFunction: a coefficient that varies, as a fit has found it, with its 95 % band."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import ndtri

from napinn.field.splines.functions import Bases, FunctionSpace, nodes_of
from napinn.results.intervals import LEVEL

SMALLEST_JUMP = 0.1
"""Of the range of a function with jumps, below which two neighbouring values count as the same."""
SMALLEST_RISE = 0.02
"""Of that range: a rise between two cells that is smaller is no part of a jump, and divides the jumps beside it."""


@dataclass(frozen=True, eq=False)
class FoundFunction:
    """An unknown function of one or two coordinates. Call it with (n, d) places."""

    space: FunctionSpace
    coefficients: np.ndarray
    covariance: np.ndarray
    """Of the coefficients, from the noise law and the smoothness that was chosen."""
    scatter: np.ndarray
    """The same from how much single sensors, or stretches of time, move the function."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.space.names

    def __call__(self, places: np.ndarray, along: tuple[str, ...] = ()) -> np.ndarray:
        """(n,) values, or derivatives along some coordinates.

        Args:
            places: (n, d), in the order of `coordinates`.
            along: coordinates to differentiate along."""
        bases = Bases(self.space, np.atleast_2d(np.asarray(places, float)))
        return self.space.evaluated(self.coefficients, bases, along)[0]

    def band(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The low and the high end of the 95 % band at (n, d) places, each place by itself."""
        basis = self.space.basis(np.atleast_2d(np.asarray(places, float)))
        variances = [np.einsum("ni,ij,nj->n", basis, each, basis) for each in (self.covariance, self.scatter)]
        half = float(ndtri(0.5 + LEVEL / 2.0)) * np.sqrt(np.maximum(np.maximum(*variances), 0.0))
        middle = basis @ self.coefficients
        ends = middle - half, middle + half
        return (np.exp(ends[0]), np.exp(ends[1])) if self.space.positive else ends

    def sentence(self, name: str, unit: str = "") -> str:
        """The function in one line: its range, and its jumps where it has them.

        Args:
            name: of the unknown.
            unit: of it, or empty."""
        along = ", ".join(self.coordinates)
        values = self(nodes_of(self.space, 101 if len(self.coordinates) == 1 else 41))
        text = f"{name}({along}) runs from {values.min():.4g} to {values.max():.4g} {unit}".rstrip()
        for place, before, after in self.jumps():
            text += f"; it jumps at {along} = {place:.4g} from {before:.4g} to {after:.4g}"
        return text

    def jumps(self) -> list[tuple[float, float, float]]:
        """The jumps of a function that has them: place, value before and value after, the largest first.

        A jump that is spread over neighbouring cells is one jump, at the mean of their places."""
        if not self.space.jumps:
            return []
        breaks = self.space.axes[0].breaks
        values = self.coefficients if not self.space.positive else np.exp(self.coefficients)
        rises = np.diff(values)
        large = np.abs(rises) > SMALLEST_RISE * float(np.ptp(values))
        found = []
        for group in np.split(np.arange(len(rises)), np.flatnonzero(np.diff(large.astype(int))) + 1):
            rise = float(rises[group].sum())
            if large[group[0]] and abs(rise) > SMALLEST_JUMP * float(np.ptp(values)):
                weights = np.abs(rises[group])
                place = float(np.sum(weights * breaks[1:-1][group]) / np.sum(weights))
                found.append((place, float(values[group[0]]), float(values[group[-1] + 1])))
        return sorted(found, key=lambda each: -abs(each[2] - each[1]))


def with_functions(
    dataset: xr.Dataset, functions: Mapping[str, FoundFunction], units: Mapping[str, str | None]
) -> xr.Dataset:
    """A grid of fields with the unknown functions on its nodes, each with the ends of its 95 % band.

    Args:
        dataset: on a regular grid, whose coordinates hold those of the functions.
        functions: by name.
        units: of each, where it is known."""
    for name, function in functions.items():
        axes = [dataset[axis].to_numpy() for axis in function.coordinates]
        mesh = np.meshgrid(*axes, indexing="ij")
        places = np.stack([grid.reshape(-1) for grid in mesh], axis=1)
        attributes = {"units": unit} if (unit := units.get(name)) else {}
        low, high = function.band(places)
        for ending, values, text in (
            ("", function(places), f"coefficient {name} as it was found"),
            ("_low", low, f"low end of the 95 % band of {name}"),
            ("_high", high, f"high end of the 95 % band of {name}"),
        ):
            array = values.reshape(mesh[0].shape).astype(np.float32)
            dataset[f"{name}{ending}"] = (function.coordinates, array, {"long_name": text, **attributes})
    return dataset
