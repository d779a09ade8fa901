"""Whatever a caller has, a path, a pandas table or an xarray dataset, to readings."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import pandas as pd

from napinn.data.formats import Sheet, read_file, rows_of_dataset
from napinn.data.readings import Columns, Readings, flag_columns
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.problem.experiment import plain_names
from napinn.problem.file.binding import bind_readings, check_in_box, columns_of, readings_for
from napinn.problem.file.loading import load_problem_file
from napinn.problem.file.problem_file import ProblemFile

if TYPE_CHECKING:
    # Importing xarray takes as long as pandas; only NetCDF and datasets need it.
    import xarray

Source = Union[str, Path, pd.DataFrame, "xarray.Dataset", "xarray.DataArray", Mapping[str, Any]]


def read_problem(path: str | Path, data: Source) -> tuple[Problem, Readings]:
    """The problem of a problem file and its readings, checked against each other.

    :param path: Of the YAML file; `napinn new` writes one to fill in.
    :param data: The path of a table, a DataFrame, a Dataset, a DataArray, or arrays by name.
    :return: Both, for `napinn.fit`.
    :raises InputError: if a file cannot be read or they do not fit together; the message names the entry, or row and
        column, and the remedy.

    >>> text = "{coordinates: {t: [0, 3]}, fields: [u], unknowns: {k: 0.5}, equations: ['u_t = -k*u']}"
    >>> _ = Path("problem.yaml").write_text(text)
    >>> decay, table = napinn.read_problem("problem.yaml", pd.DataFrame({"t": [0.0, 1.0], "u": [1.0, 0.45]}))
    >>> decay.show()
    '∂u/∂t = −k u'
    """
    file = load_problem_file(Path(path))
    return bind_readings(file, sheet_of(file, data, str(path)).table, _name(data), str(path))


def read_readings(data: Source, problem: Problem, columns: Columns | None = None) -> Readings:
    """Readings of a problem.

    :param data: The path of a file (.csv, .tsv, .parquet, .nc, .npz, .mat), a DataFrame, a Dataset, a DataArray, or
        arrays by name: all of one shape, or coordinates of a grid and fields on it, with one axis for each coordinate.
    :param problem: Whose coordinates and fields are looked for.
    :param columns: Which column is which; the default takes every name as it is.
    :return: One reading for every cell that holds a number.
    :raises InputError: if a column is missing, a cell holds no number, or a reading lies outside the problem's box.

    >>> napinn.read_readings(pd.DataFrame({"t": [0.0, 1.0], "u": [1.0, 0.45]}), problem)
    <napinn.Readings of readings: 2 of u by 1 sensor(s)>
    """
    columns = columns or Columns()
    names = {columns.of(name) for name in (*problem.coordinates, *plain_names(problem.fields))}
    names |= flag_columns(columns, plain_names(problem.fields))
    wanted = names | {columns.value, columns.field, columns.sensor, columns.sigma, *columns.places}
    wanted |= {columns.experiment, *((columns.group,) if columns.group else ())}
    table = _sheet(data, wanted).table
    readings = readings_for(problem, table, columns, _name(data))
    check_in_box(readings, problem)
    return readings


def sheet_of(file: ProblemFile, data: Source, source: str) -> Sheet:
    """The table that a problem file's readings are in."""
    columns_of(file, source)  # An error of the file itself names the file.
    if isinstance(data, str | Path):
        return read_file(Path(data), file.wanted_columns(), file.array_names())
    return _sheet(data, file.wanted_columns())


def _sheet(data: Any, wanted: set[str]) -> Sheet:
    if isinstance(data, str | Path):
        return read_file(Path(data), wanted)
    if isinstance(data, Mapping) and not hasattr(data, "dims"):
        data = _table_of(data)
    if isinstance(data, pd.DataFrame):
        named = any(name is not None for name in data.index.names)
        return Sheet(data.reset_index() if named else data)
    import xarray as xr

    if isinstance(data, xr.Dataset):
        return Sheet(rows_of_dataset(data, wanted))
    if not isinstance(data, xr.DataArray):
        raise InputError(
            f"readings cannot be read from {type(data).__name__}; give a path, a DataFrame, an xarray Dataset, or "
            "arrays by name, as {'t': t, 'u': u}."
        )
    if data.name is None:
        raise InputError("the DataArray has no name; give it the name of its field, as array.rename('u').")
    return Sheet(rows_of_dataset(data.to_dataset(), wanted))


def _table_of(arrays: Mapping[str, Any]) -> pd.DataFrame:
    """Rows from arrays of one shape, or from a grid: arrays that are its coordinates, in order, and fields on it."""
    held = {str(name): np.asarray(array) for name, array in arrays.items()}
    shapes = {array.shape for array in held.values()}
    if len(shapes) == 1:
        return pd.DataFrame({name: array.reshape(-1) for name, array in held.items()})
    axes = [name for name, array in held.items() if array.ndim == 1]
    sizes = tuple(len(held[name]) for name in axes)
    odd = next((name for name, array in held.items() if name not in axes and array.shape != sizes), None)
    if odd is not None or len(axes) == len(held):
        named = odd or axes[-1]
        raise InputError(
            f"the array '{named}' has the shape {held[named].shape}; give arrays of one shape, or coordinates "
            f"({', '.join(axes)}: {sizes}) and fields of the shape that these span, in this order."
        )
    mesh = dict(zip(axes, np.meshgrid(*(held[name] for name in axes), indexing="ij"), strict=True))
    return pd.DataFrame({name: mesh.get(name, array).reshape(-1) for name, array in held.items()})


def _name(data: Source) -> str:
    return str(data) if isinstance(data, str | Path) else "readings"
