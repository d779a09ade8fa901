"""Readers, one file a format; each says row and column of what is wrong, and refuses absurd sizes before it takes
memory."""

from napinn.data.formats.arrays import ArrayName, npz_shapes, read_mat, read_npz
from napinn.data.formats.csv import PLAIN, csv_text, read_csv, read_text
from napinn.data.formats.files import ENDINGS, Sheet, read_file, write_table
from napinn.data.formats.netcdf import read_netcdf, rows_of_dataset
from napinn.data.formats.parquet import read_parquet

__all__ = [
    "ENDINGS",
    "PLAIN",
    "ArrayName",
    "Sheet",
    "csv_text",
    "npz_shapes",
    "read_csv",
    "read_file",
    "read_mat",
    "read_netcdf",
    "read_npz",
    "read_parquet",
    "read_text",
    "rows_of_dataset",
    "write_table",
]
