"""Tables from NetCDF files and xarray datasets: one row a grid node, a column for every coordinate and variable."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from napinn.data.formats.hdf5 import check_heaps
from napinn.data.formats.sizes import check_count, check_file
from napinn.errors import InputError

if TYPE_CHECKING:
    # Importing xarray takes as long as pandas; only NetCDF and datasets need it.
    import xarray

CLASSIC = b"CDF"


def read_netcdf(path: Path, wanted: Collection[str] | None = None) -> pd.DataFrame:
    """The table of the variables that are wanted, or of all; nothing is loaded before the header is checked."""
    check_file(path, "NetCDF")
    try:
        with path.open("rb") as stream:
            engine = "scipy" if stream.read(3) == CLASSIC else "h5netcdf"
        if engine == "h5netcdf":
            check_heaps(path)
            import h5py

            # h5netcdf prints a traceback when it lets go of a file that it could not take in; h5py does not.
            with h5py.File(path, "r") as file:
                file.visititems(lambda name, item: None)
        import xarray as xr

        with xr.open_dataset(path, engine=engine, decode_timedelta=False) as dataset:
            return rows_of_dataset(dataset, wanted, path)
    except InputError:
        raise
    except Exception as error:
        # The libraries below raise errors of many kinds for a damaged file, none of them of use to a reader.
        raise InputError(f"{path} is not a NetCDF file that can be read ({type(error).__name__}).") from None


def _without_instances(dataset: "xarray.Dataset") -> "xarray.Dataset":
    """An indexed ragged array of CF (one row an observation, with the number of its sensor) as one table of rows."""
    for name, variable in dataset.variables.items():
        instances = variable.attrs.get("instance_dimension")
        if instances in dataset.dims and variable.ndim == 1:
            numbers = np.where(np.isfinite(variable.values), variable.values, 0).astype(int)
            if len(numbers) and not (numbers.min() >= -1 and numbers.max() < dataset.sizes[instances]):
                raise InputError(f"'{name}' numbers a {instances} that the file does not have.")
            import xarray as xr

            return dataset.isel({instances: xr.DataArray(numbers, dims=variable.dims)}).drop_vars(str(name))
    return dataset


def rows_of_dataset(
    dataset: "xarray.Dataset", wanted: Collection[str] | None = None, source: Path = Path("the dataset")
) -> pd.DataFrame:
    """A dataset as rows. Variables that are not wanted are left out, so that they cannot blow up the grid."""
    dataset = _without_instances(dataset)
    names = [str(name) for name in dataset.variables if wanted is None or name in wanted]
    chosen = dataset[[name for name in names if name not in dataset.dims]].reset_coords()
    if not len(chosen.data_vars):
        missing = sorted({*(wanted or ())}.difference(names))
        if missing or not names:
            held = ", ".join(map(str, dataset.variables))
            raise InputError(f"{source} holds none of {', '.join(missing)}; it holds {held}.")
        # Only dimensions are wanted, as of points to predict at: the grid itself.
        chosen = dataset[names]
    check_count(source, math.prod(chosen.sizes.values()) * (len(chosen.data_vars) + len(chosen.dims)))
    rows = chosen.to_dataframe(dim_order=list(chosen.dims)).reset_index()
    rows.columns = [str(column) for column in rows.columns]
    return rows
