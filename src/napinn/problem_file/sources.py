"""Whatever a caller has, a path, a pandas table or an xarray dataset, to readings."""

from pathlib import Path

import pandas as pd
import xarray as xr

from napinn.errors import InputError
from napinn.io import Sheet, read_file, rows_of_dataset
from napinn.problem import Problem
from napinn.problem_file.entries import ProblemFile
from napinn.problem_file.loading import bind_readings, columns_of, load_problem_file
from napinn.readings import Columns, Readings, check_inside, read_table

Source = str | Path | pd.DataFrame | xr.Dataset | xr.DataArray


def read_problem(path: str | Path, data: Source) -> tuple[Problem, Readings]:
    """The problem of a problem file and the readings of a file, DataFrame or Dataset, checked against each other."""
    file = load_problem_file(Path(path))
    return bind_readings(file, sheet_of(file, data, str(path)).table, _name(data), str(path))


def read_readings(data: Source, problem: Problem, columns: Columns | None = None) -> Readings:
    """Readings of a problem from a file, a DataFrame or a Dataset; `columns` says which column is which."""
    columns = columns or Columns()
    names = {columns.of(name) for name in (*problem.coordinates, *problem.fields)}
    wanted = names | {columns.value, columns.field, columns.sensor, columns.sigma, *columns.places}
    table = _sheet(data, wanted).table
    readings = read_table(table, tuple(problem.coordinates), problem.fields, columns, _name(data))
    check_inside(readings, problem.lows, problem.highs)
    return readings


def sheet_of(file: ProblemFile, data: Source, source: str) -> Sheet:
    """The table that a problem file's readings are in."""
    columns_of(file, source)  # What is wrong with the file itself is told with its name.
    if isinstance(data, str | Path):
        return read_file(Path(data), file.wanted_columns(), file.array_names())
    return _sheet(data, file.wanted_columns())


def _sheet(data: Source, wanted: set[str]) -> Sheet:
    match data:
        case pd.DataFrame():
            named = any(name is not None for name in data.index.names)
            return Sheet(data.reset_index() if named else data)
        case xr.DataArray():
            if data.name is None:
                raise InputError("the DataArray has no name; give it the name of its field, as array.rename('u').")
            return Sheet(rows_of_dataset(data.to_dataset(), wanted))
        case xr.Dataset():
            return Sheet(rows_of_dataset(data, wanted))
        case _:
            return read_file(Path(data), wanted)


def _name(data: Source) -> str:
    return str(data) if isinstance(data, str | Path) else "readings"
