"""A file by its ending: which reader it needs, and which writer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from napinn.data.formats.arrays import ArrayName, read_mat, read_npz
from napinn.data.formats.csv import csv_text, read_text
from napinn.data.formats.netcdf import read_netcdf
from napinn.data.formats.parquet import read_parquet
from napinn.errors import InputError

if TYPE_CHECKING:
    # Importing xarray takes as long as pandas; only NetCDF and datasets need it.
    import xarray

TEXT = frozenset({".csv", ".tsv", ".txt", ".dat", ""})
PARQUET = frozenset({".parquet", ".pq"})
NETCDF = frozenset({".nc", ".nc4", ".cdf"})
ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".parquet", ".pq", ".nc", ".nc4", ".cdf", ".npz", ".mat")
"""Endings of tables that napinn reads."""
WORKBOOKS = frozenset({".xlsx", ".xls", ".xlsm", ".ods", ".numbers"})
KNOWN = ".csv, .tsv, .parquet, .nc, .npz or .mat"


@dataclass(frozen=True)
class Sheet:
    """A table, and what the reader had to guess."""

    table: pd.DataFrame
    notes: tuple[str, ...] = ()


def read_file(
    path: Path, wanted: Collection[str] | None = None, arrays: Mapping[str, ArrayName] | None = None
) -> Sheet:
    """The table in a file. `wanted` are the columns that a gridded file should give, `arrays` what its arrays are."""
    ending = path.suffix.lower()
    if ending in TEXT:
        return Sheet(*read_text(path))
    if ending in PARQUET:
        return Sheet(read_parquet(path))
    if ending in NETCDF:
        return Sheet(read_netcdf(path, wanted))
    if ending == ".npz":
        return Sheet(read_npz(path, arrays or {}))
    if ending == ".mat":
        return Sheet(read_mat(path, arrays or {}))
    remedy = "save the sheet as CSV" if ending in WORKBOOKS else f"use {KNOWN}"
    raise InputError(f"{path}: the ending '{ending}' is not one that napinn reads; {remedy}.")


def write_table(table: "pd.DataFrame | xarray.Dataset", path: Path) -> None:
    """A table as CSV, TSV, Parquet or NetCDF, whichever the ending says."""
    rows = table if isinstance(table, pd.DataFrame) else table.to_dataframe().reset_index()
    ending = path.suffix.lower()
    if ending in TEXT:
        path.write_text(csv_text(rows, separator="\t" if ending == ".tsv" else ","), encoding="utf-8")
    elif ending in PARQUET:
        rows.to_parquet(path, index=False)
    elif ending in NETCDF:
        dataset = table.rename_axis("row").to_xarray() if isinstance(table, pd.DataFrame) else table
        dataset.to_netcdf(path, engine="h5netcdf")
    else:
        raise InputError(f"{path}: napinn does not write '{ending}'; use .csv, .tsv, .parquet or .nc.")
