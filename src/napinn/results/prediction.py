"""The fitted field at any points: pandas in, pandas out; xarray in, xarray out."""

from typing import overload

import numpy as np
import pandas as pd
import xarray as xr

from napinn.data.readings import outside
from napinn.data.readings.cells import column_of, numbers_in, times_in
from napinn.errors import InputError
from napinn.results.result import FitResult


@overload
def predict(result: FitResult, points: pd.DataFrame, source: str = "points") -> pd.DataFrame: ...


@overload
def predict(result: FitResult, points: xr.Dataset, source: str = "points") -> xr.Dataset: ...


def predict(result: FitResult, points: pd.DataFrame | xr.Dataset, source: str = "points") -> pd.DataFrame | xr.Dataset:
    """The fitted field at any points.

    Points outside the problem's box are not refused, though nothing was learned there.

    :param result: A finished fit.
    :param points: A table with a column for each coordinate, under the names and, for dates, the clock of the readings;
        or a dataset with each coordinate of the problem, as dates or counted.
    :param source: What messages call the points.
    :return: The points with a column (or variable) for every field, hidden ones too, and for its spread where that is
        known. A name that is taken already gets `_predicted` behind it.
    :raises InputError: if there are no points, or a coordinate is missing or cannot be read.

    >>> napinn.predict(result, pd.DataFrame({"t": [0.0, 1.0]}))["u"].round(2).tolist()
    [1.0, 0.45]
    """
    if isinstance(points, xr.Dataset):
        return _on_grid(result, points)
    table = points.reset_index(drop=True)
    where = coordinates_of(result, table, source)
    values = _values(result, where)
    return table.assign(**{_free(name, table.columns): column for name, column in values.items()})


def _values(result: FitResult, points: np.ndarray) -> dict[str, np.ndarray]:
    """The fields at (n, d) points by name, and then their spreads where these are known."""
    names = result.problem.outputs
    found = dict(zip(names, result.field(points).T, strict=True))
    if result.uncertainty is not None:
        spreads = (f"{name}_spread" for name in names)
        found |= dict(zip(spreads, result.uncertainty.spread(points).T, strict=True))
    return found


def coordinates_of(result: FitResult, table: pd.DataFrame, source: str) -> np.ndarray:
    """(n, d) coordinates of the rows of a table, read as the readings of the fit were."""
    if table.empty:
        raise InputError(f"{source} has no rows; it needs a header and at least one point.")
    columns = result.readings.columns
    found = {name: column_of(table, columns.of(name), source, "coordinate") for name in result.problem.coordinates}
    return np.stack([_coordinate(result, name, column, source) for name, column in found.items()], axis=1)


def _coordinate(result: FitResult, name: str, column: pd.Series, source: str) -> np.ndarray:
    clock, needed = result.readings.columns.clocks.get(name), np.ones(len(column), bool)
    if clock is not None:
        return times_in(column, clock, source, needed)[0]
    return result.readings.columns.inward(name, numbers_in(column, source, needed))


def outside_box(result: FitResult, points: np.ndarray) -> int:
    """How many points lie where no equation was enforced."""
    problem = result.problem
    return int(outside(points, problem.lows, problem.highs).any(axis=1).sum())


def _on_grid(result: FitResult, points: xr.Dataset) -> xr.Dataset:
    names = tuple(result.problem.coordinates)
    missing = [name for name in names if name not in points.variables]
    if missing:
        raise InputError(f"the dataset has no coordinate '{missing[0]}'; it needs {', '.join(names)}.")
    grids = xr.broadcast(*(points[name] for name in names))
    values = _values(result, np.stack([_flat(result, grid) for grid in grids], axis=1))
    taken = [str(name) for name in points.variables]
    shape = grids[0].shape
    units = {name: {"units": unit} for name in result.problem.outputs if (unit := result.problem.unit_of(name))}
    units |= {f"{name}_spread": unit for name, unit in units.items()}
    return points.assign(
        {_free(name, taken): (grids[0].dims, each.reshape(shape), units.get(name, {})) for name, each in values.items()}
    )


def _flat(result: FitResult, grid: xr.DataArray) -> np.ndarray:
    """A coordinate of every node; dates are counted as those of the readings were, or refused where these had none."""
    values = grid.to_numpy().reshape(-1)
    if values.dtype.kind in "iuf":
        return values.astype(float)
    return _coordinate(result, str(grid.name), pd.Series(values, name=grid.name), "the dataset")


def _free(name: str, taken: pd.Index | list[str]) -> str:
    return f"{name}_predicted" if name in taken else name
