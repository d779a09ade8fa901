"""Values of an equation's leaves: coordinates, derivatives of fields, unknowns, constants and tables."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from napinn.problem.equations import (
    Applied,
    Constant,
    Coordinate,
    Derivative,
    Given,
    Leaf,
    UnknownLeaf,
    Varying,
    namespace,
)
from napinn.problem.tables import Table


def leaf_values(
    places: Mapping[str, Any],
    derivative: Callable[[Derivative | Applied], Any],
    unknowns: Mapping[str, Any],
    tables: Mapping[str, Table],
) -> Callable[[Leaf], Any]:
    """A function that gives the value of any leaf of an equation.

    :param places: The coordinates of the points, by name.
    :param derivative: What gives derivatives of fields at these points.
    :param unknowns: One number each; of a varying unknown, a function of (points, orders of derivatives).
    :param tables: Known functions of the coordinates, by name."""
    like = next(iter(places.values()))
    numeric = namespace(like)

    def look_up(leaf: Leaf) -> Any:
        match leaf:
            case Coordinate(name):
                return places[name]
            case Derivative() | Applied():
                return derivative(leaf)
            case UnknownLeaf(name):
                return unknowns[name]
            case Varying(name, axes, along):
                grids = np.broadcast_arrays(*(np.asarray(places[axis], float) for axis in axes))
                where = np.stack([grid.reshape(-1) for grid in grids], axis=1)
                return unknowns[name](where, along).reshape(grids[0].shape)
            case Constant(_, value):
                return numeric.asarray(value, like.dtype)
            case Given(name, axes):
                return tables[name].at([places[axis] for axis in axes])

    return look_up
