"""How sure a fit is: an interval for every unknown, and a spread of the field."""

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from napinn.errors import InputError

LEVEL = 0.95
FEWEST_READINGS = 3
"""With fewer readings nothing can be left out."""
MOST_NODES = 20_000
"""On a finer grid the spread, which is smooth, is taken at so many nodes and drawn straight between them."""

FEWEST_DIGITS, DIGITS_OF_WIDTH, MOST_DIGITS = 4, 2, 15
"""Digits of the ends of an interval, and of its width in them; double precision has 15."""


@dataclass(frozen=True)
class Interval:
    """Where an unknown lies with a chance of 95 %, in its own unit.

    :param low: Lower end; minus infinity where it is open.
    :param high: Upper end; infinity where it is open.
    :param error: Standard error, to first order.
    :param drift: How far a Newton step from where the fit ended would move the unknown; the interval holds both ends.
    :raises InputError: if `low` is above `high`.

    >>> str(napinn.Interval(0.7, 0.9, error=0.05))
    '0.7 … 0.9'
    """

    low: float
    high: float
    error: float
    """Its standard error, to first order."""
    drift: float = 0.0
    """How far a Newton step from where the fit ended would move it; the interval holds both ends."""

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InputError(f"an interval runs from {self.low:g} to {self.high:g}; low must come before high.")

    def __str__(self) -> str:
        return " … ".join(formatted_ends(self.low, self.high))

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)


def formatted_ends(low: float, high: float) -> tuple[str, str]:
    """Both ends of an interval in as many digits as show its width: 1.69969 and 1.70029, and not 1.7 twice.

    :param low: The lower end, which may be infinite.
    :param high: The upper end."""
    width, size = high - low, max(abs(low), abs(high))
    digits = FEWEST_DIGITS
    if 0.0 < width < math.inf:
        digits = min(max(digits, math.ceil(math.log10(size / width)) + DIGITS_OF_WIDTH), MOST_DIGITS)
    return _end(low, digits), _end(high, digits)


def _end(value: float, digits: int) -> str:
    return f"{value:.{digits}g}".replace("inf", "∞")


class FieldSpread(abc.ABC):
    """One standard deviation of the field, anywhere in the box."""

    @abc.abstractmethod
    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(n, d) coordinates to (n, f) standard deviations, in the fields' own units."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """All numbers of it by name, for `certainty.npz`."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The uncertainty of the unknowns and the field: `result.uncertainty`, or what `estimate_uncertainty` returns.

    :param intervals: An `Interval` by the name of each unknown.
    :param source: What was taken to vary by chance, such as `27 sensors`.
    :param spread: Called with (n, d) points it gives (n, f) standard deviations of the fields, in their own units.
    :param correlation: (k, k) correlations of the unknowns in the order of the problem; None where they are not known.
    :param undetermined: A sentence for every combination of unknowns that the readings do not determine.

    >>> uncertainty = napinn.estimate_uncertainty(result)
    >>> uncertainty.intervals["k"].low < 0.8 < uncertainty.intervals["k"].high
    True
    >>> uncertainty.spread(np.array([[0.5], [1.0]])).shape
    (2, 1)
    """

    intervals: Mapping[str, Interval]
    source: str
    """What was taken to vary by chance, such as `27 sensors`."""
    spread: FieldSpread
    """Called with (n, d) points it gives one standard deviation of the field there."""
    correlation: np.ndarray | None = None
    """(k, k) correlations of the unknowns in the order of the problem, where they are known."""
    undetermined: tuple[str, ...] = ()
    """A sentence for every combination of unknowns that the readings do not determine, where these are known."""

    def __repr__(self) -> str:
        """The intervals, one a line; the spread of the field is thousands of numbers."""
        lines = [f"  {name}: {interval}" for name, interval in self.intervals.items()]
        return "\n".join([f"<napinn.Uncertainty from {self.source}; 95 % intervals>", *lines, *self.undetermined])


def spread_on(axes: Mapping[str, np.ndarray], uncertainty: Uncertainty) -> np.ndarray:
    """The spread of every field on a grid, (f, …); where the grid is fine, drawn straight between fewer nodes.

    Args:
        axes: the nodes of every coordinate, in the order of the problem.
        uncertainty: of the fit."""
    most = max(2, int(MOST_NODES ** (1.0 / len(axes))))
    coarse = {
        name: nodes if len(nodes) <= most else np.linspace(nodes[0], nodes[-1], most) for name, nodes in axes.items()
    }
    mesh = np.meshgrid(*coarse.values(), indexing="ij")
    values = uncertainty.spread(np.stack([grid.reshape(-1) for grid in mesh], axis=1))
    spread = xr.DataArray(values.T.reshape(-1, *mesh[0].shape), dims=("field", *coarse), coords=coarse)
    return spread.interp(dict(axes)).to_numpy()


def with_spread(dataset: xr.Dataset, uncertainty: Uncertainty, fields: Sequence[str]) -> xr.Dataset:
    """A grid of fields with one more variable for each: `u_spread` beside `u`."""
    axes = {str(name): dataset[name].to_numpy() for name in dataset.sizes}
    for name, values in zip(fields, spread_on(axes, uncertainty), strict=True):
        units = {key: text for key, text in dataset[name].attrs.items() if key == "units"}
        attributes = {"long_name": f"standard deviation of the fitted field {name}", **units}
        dataset[f"{name}_spread"] = (tuple(axes), values.astype(np.float32), attributes)
    return dataset
