"""What can be said of how sure a fit is: an interval for every unknown, and a spread of the field.

The spread is kept as a few directions in the space of the network's weights, one standard deviation each; along each
of them the field is followed to first order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from napinn.errors import InputError
from napinn.partials import FieldNetwork

LEVEL = 0.95
DIRECTIONS = 16
"""In which the spread of a field is kept."""
CHUNK = 16_384
MOST_NODES = 20_000
"""On a finer grid the spread, which is smooth, is taken at so many nodes and drawn straight between them."""


@dataclass(frozen=True)
class Interval:
    """Where an unknown lies with a chance of 95 %, in its own unit; an end that is infinite is open."""

    low: float
    high: float
    error: float
    """Its standard error, to first order."""
    drift: float = 0.0
    """How far training had still to go, by a Newton step from where it stopped; the interval holds both ends."""

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InputError(f"an interval runs from {self.low:g} to {self.high:g}; low must come before high.")

    def __str__(self) -> str:
        return f"{spoken_end(self.low)} … {spoken_end(self.high)}"

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)


def spoken_end(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else ("∞" if value > 0 else "-∞")


@dataclass(frozen=True, eq=False)
class Certainty:
    """How sure a fit is of its unknowns and of its field."""

    intervals: Mapping[str, Interval]
    source: str
    """What was taken to vary by chance, such as `27 sensors`."""
    field: FieldNetwork
    directions: Any
    """The network's arrays, each with a leading axis of `DIRECTIONS`: one standard deviation along each."""

    def doubts(self) -> tuple[str, ...]:
        """A sentence for every unknown that nothing determines, or that training had left far from its end."""
        found = []
        for name, interval in self.intervals.items():
            if not math.isfinite(interval.error):
                found.append(f"The readings do not determine '{name}', so its interval is open.")
            elif abs(interval.drift) > interval.error:
                found.append(f"'{name}' had about {interval.drift:.2g} still to go, so take more steps.")
        return tuple(found)

    def spread(self, points: np.ndarray) -> np.ndarray:
        """One standard deviation of the field, (n, f), at (n, d) points."""
        dtype = self.field.frame.gain.dtype
        with jax.enable_x64(dtype == jnp.float64):
            pieces = [
                np.asarray(_spread(self.field, self.directions, jnp.asarray(points[start : start + CHUNK], dtype)))
                for start in range(0, len(points), CHUNK)
            ]
        return np.concatenate(pieces) if pieces else np.zeros((0, len(self.field.frame.gain)))


@eqx.filter_jit
def _spread(field: FieldNetwork, directions: Any, points: jax.Array) -> jax.Array:
    moving, still = eqx.partition(field.network, eqx.is_inexact_array)

    def values(network: Any) -> jax.Array:
        return FieldNetwork(eqx.combine(network, still), field.frame)(points)

    def add(total: jax.Array, direction: Any) -> tuple[jax.Array, None]:
        moved = jax.jvp(values, (moving,), (direction,))[1]
        return total + moved * moved, None

    nothing = jnp.zeros((len(points), len(field.frame.gain)), points.dtype)
    return jnp.sqrt(jax.lax.scan(add, nothing, directions)[0])


def with_spread(dataset: xr.Dataset, certainty: Certainty, fields: Sequence[str]) -> xr.Dataset:
    """A grid of fields with one more variable for each: `u_spread` beside `u`."""
    axes = {str(name): dataset[name].to_numpy() for name in dataset.sizes}
    most = max(2, int(MOST_NODES ** (1.0 / len(axes))))
    coarse = {
        name: nodes if len(nodes) <= most else np.linspace(nodes[0], nodes[-1], most) for name, nodes in axes.items()
    }
    mesh = np.meshgrid(*coarse.values(), indexing="ij")
    values = certainty.spread(np.stack([grid.reshape(-1) for grid in mesh], axis=1))
    shape = mesh[0].shape
    spread = xr.Dataset(
        {f"{name}_spread": (tuple(coarse), values[:, i].reshape(shape)) for i, name in enumerate(fields)}, coords=coarse
    ).interp(axes)
    for name in fields:
        units = {key: text for key, text in dataset[name].attrs.items() if key == "units"}
        told = {"long_name": f"standard deviation of the fitted field {name}", **units}
        dataset[f"{name}_spread"] = spread[f"{name}_spread"].astype(np.float32).assign_attrs(told)
    return dataset
