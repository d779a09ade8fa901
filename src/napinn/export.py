"""A finished fit in forms that other tools open: NetCDF, Parquet, and the network as a StableHLO program.

Each function writes one file and gives back a sentence on how to open it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from napinn.result import FitResult
from napinn.run_folder import field_grid


def export_field(result: FitResult, path: Path) -> str:
    """The field on a regular grid over the box, with CF coordinates."""
    field_grid(result).to_netcdf(path, engine="h5netcdf")
    return "NetCDF with CF-1.11 coordinates; open it with xarray.open_dataset."


def export_readings(result: FitResult, path: Path) -> str:
    """The table of readings with predicted value, misfit, reliability and verdict."""
    table = result.readings_table()
    table.to_parquet(path, index=False)
    return f"{len(table)} rows in Parquet; open it with pandas.read_parquet."


def export_model(result: FitResult, path: Path) -> str:
    """The fitted network as a program; see `napinn.export_program`."""
    # Only this export takes JAX.
    from napinn.export_program import export_program

    return export_program(result, path)


EXPORTS: Mapping[str, Callable[[FitResult, Path], str]] = {
    "field": export_field,
    "model": export_model,
    "readings": export_readings,
}
