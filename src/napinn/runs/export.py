"""A finished fit in forms that other tools open: NetCDF, Parquet, and the network as a StableHLO program.

Each function writes one file and gives back a sentence on how to open it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from napinn.data.flags import scheme_named
from napinn.data.formats import csv_text
from napinn.results.result import FitResult
from napinn.runs.folder import field_grid
from napinn.runs.readings_file import readings_dataset


def export_field(result: FitResult, path: Path) -> str:
    """The field on a regular grid over the box, with CF coordinates."""
    field_grid(result).to_netcdf(path, engine="h5netcdf")
    return "NetCDF with CF-1.11 coordinates; open it with xarray.open_dataset."


def export_readings(result: FitResult, path: Path, flags: str | None = None) -> str:
    """The table of readings with predicted value, misfit, reliability and verdict, in the format that the ending says.

    :param path: A file that ends in `.parquet`, `.pq`, `.csv` or `.nc`.
    :param flags: The scheme of quality flags; the default is none, and `qartod` for NetCDF."""
    ending = path.suffix.lower()
    if ending in NETCDF:
        scheme = scheme_named(flags or "qartod")
        dataset = readings_dataset(result, scheme)
        dataset.to_netcdf(path, engine="h5netcdf")
        return f"{dataset.sizes['obs']} readings with {scheme.title} flags in CF NetCDF; open it with xarray."
    table = result.readings_table(flags)
    if ending == ".csv":
        path.write_text(csv_text(table), encoding="utf-8")
        return f"{len(table)} rows of text; open it with pandas.read_csv."
    table.to_parquet(path, index=False)
    return f"{len(table)} rows in Parquet; open it with pandas.read_parquet."


def export_model(result: FitResult, path: Path) -> str:
    """The fitted network as a program; see `napinn.engines.network.export`."""
    # Only this export takes JAX.
    from napinn.engines.network.export import export_program

    return export_program(result, path)


NETCDF = (".nc", ".nc4", ".cdf")
EXPORTS: Mapping[str, Callable[[FitResult, Path], str]] = {
    "field": export_field,
    "model": export_model,
    "readings": export_readings,
}
