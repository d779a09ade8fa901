"""A finished fit in forms that other tools open: NetCDF, Parquet, and the network as a StableHLO program.

Each function writes one file and gives back a sentence on how to open it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp

from napinn.result import FitResult
from napinn.run_folder import field_grid

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


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
    """The fitted network with its frame as a program that JAX runs without napinn.

    It takes a dictionary of coordinates, each an array of shape (n,) for any n, and gives a dictionary of fields.
    """
    path.write_bytes(exported(result).serialize())
    asked = ", ".join(f'"{name}": …' for name in result.problem.coordinates)
    return f"StableHLO; jax.export.deserialize(open(…, 'rb').read()).call({{{asked}}}) gives the fields by name."


def exported(result: FitResult) -> jax.export.Exported:
    network, fields = result.learned.field, result.problem.outputs
    dtype = network.frame.gain.dtype

    def evaluate(coordinates: dict[str, jax.Array]) -> dict[str, jax.Array]:
        points = jnp.stack([coordinates[name] for name in result.problem.coordinates], axis=1)
        values = network(points)
        return {name: values[:, index] for index, name in enumerate(fields)}

    with jax.enable_x64(dtype == jnp.float64):
        (count,) = jax.export.symbolic_shape("n")
        shapes = {name: jax.ShapeDtypeStruct((count,), dtype) for name in result.problem.coordinates}
        return jax.export.export(jax.jit(evaluate), platforms=PLATFORMS)(shapes)


EXPORTS: Mapping[str, Callable[[FitResult, Path], str]] = {
    "field": export_field,
    "model": export_model,
    "readings": export_readings,
}
