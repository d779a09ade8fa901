"""Known functions given as tables: a forcing that was measured, a depth map, a conductivity by temperature zone.

A table holds values on a regular grid of one or more coordinates (the steps may differ) and is read between its nodes
by linear interpolation where an equation needs it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from napinn.data.readings import SLACK, distinct_digits
from napinn.errors import InputError
from napinn.problem.equations import namespace


@dataclass(frozen=True, eq=False)
class Table:
    """A known function of some coordinates on a regular grid, read between its nodes by straight lines.

    :param coordinates: Names of the coordinates that it depends on.
    :param axes: Ascending nodes of each coordinate; the steps may differ.
    :param values: One value a node, an axis a coordinate.

    >>> heating = napinn.Table(("t",), (np.array([0.0, 5.0, 10.0]),), np.array([0.0, 2.0, 0.0]))
    >>> heating.at([np.array([2.5])])
    array([1.])
    """

    coordinates: tuple[str, ...]
    axes: tuple[np.ndarray, ...]
    """Ascending nodes of each coordinate."""
    values: np.ndarray
    """One value a node, an axis a coordinate."""

    def at(self, points: Sequence[Any]) -> Any:
        """The value at points given coordinate by coordinate; beyond the last node it stays what it is there.

        With JAX arrays the result is one, and otherwise a NumPy array."""
        if namespace(points[0]) is not np:
            return self._traced(points)
        if len(self.axes) == 1:
            return np.interp(points[0], self.axes[0], self.values)
        from scipy.interpolate import interpn  # A fifth of a second that only a fit needs to wait for.

        inside = [np.clip(along, axis[0], axis[-1]) for along, axis in zip(points, self.axes, strict=True)]
        return interpn(self.axes, self.values, np.stack(inside, axis=-1))

    def _traced(self, points: Sequence[Any]) -> Any:
        # If there are JAX arrays, JAX has been imported.
        import jax.numpy as jnp
        from jax.scipy.ndimage import map_coordinates

        places = []
        for axis, points_along in zip(self.axes, points, strict=True):
            dtype = points_along.dtype
            places.append(jnp.interp(points_along, jnp.asarray(axis, dtype), jnp.arange(len(axis), dtype=dtype)))
        return map_coordinates(jnp.asarray(self.values, places[0].dtype), places, order=1, mode="nearest")

    def check_covers(self, name: str, box: Mapping[str, tuple[float, float]]) -> None:
        for coordinate, nodes in zip(self.coordinates, self.axes, strict=True):
            if coordinate not in box:
                raise InputError(f"table '{name}' depends on '{coordinate}', which is not a coordinate of the problem.")
            low, high = box[coordinate]
            slack = SLACK * (high - low)
            if nodes[0] > low + slack or nodes[-1] < high - slack:
                first, last, start, end = distinct_digits(nodes[0], nodes[-1], low, high)
                raise InputError(
                    f"table '{name}' covers '{coordinate}' from {first} to {last}, but the problem runs "
                    f"from {start} to {end}; extend the table or narrow the range."
                )


def table_from_rows(rows: pd.DataFrame, coordinates: Sequence[str], value: str, source: str) -> Table:
    """A table from one row a node, in any order; every node of the grid must be there once."""
    numbers = {}
    for name in (*coordinates, value):
        if name not in rows.columns:
            raise InputError(f"{source} has no column '{name}'; it has {', '.join(map(str, rows.columns))}.")
        numbers[name] = pd.to_numeric(rows[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        bad = ~np.isfinite(numbers[name])
        if bad.any():
            raise InputError(f"{source}, row {int(np.argmax(bad)) + 2}, column '{name}': expected a finite number.")
    axes, places = [], []
    for name in coordinates:
        nodes, place = np.unique(numbers[name], return_inverse=True)
        if len(nodes) < 2:
            raise InputError(f"{source}, column '{name}': a table needs at least two different values of it.")
        axes.append(nodes)
        places.append(place)
    shape = tuple(map(len, axes))
    flat = np.ravel_multi_index(places, shape) if math.prod(shape) <= len(rows) else np.zeros(0, int)
    if len(rows) != math.prod(shape) or len(np.unique(flat)) != len(rows):
        raise InputError(
            f"{source} has {len(rows)} rows, which are not one for each of the {' × '.join(map(str, shape))} nodes "
            f"of ({', '.join(coordinates)}); give a full grid without repeats."
        )
    values = np.empty(len(rows))
    values[flat] = numbers[value]
    return Table(tuple(coordinates), tuple(axes), values.reshape(shape))
