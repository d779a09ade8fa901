"""A fitted network as a StableHLO program, which JAX runs without napinn."""

from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp

from napinn.engines.network.model import network_of
from napinn.results.result import FitResult

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def export_program(result: FitResult, path: Path) -> str:
    """The fitted network with its frame as a program that JAX runs without napinn.

    It takes a dictionary of coordinates, each an array of shape (n,) for any n, and gives a dictionary of fields.
    """
    path.write_bytes(exported(result).serialize())
    arguments = ", ".join(f'"{name}": …' for name in result.problem.coordinates)
    return f"StableHLO; jax.export.deserialize(open(…, 'rb').read()).call({{{arguments}}}) gives the fields by name."


def exported(result: FitResult) -> jax.export.Exported:
    network, fields = network_of(result).network, result.problem.outputs
    dtype = network.frame.gain.dtype

    def evaluate(coordinates: dict[str, jax.Array]) -> dict[str, jax.Array]:
        points = jnp.stack([coordinates[name] for name in result.problem.coordinates], axis=1)
        values = network(points)
        return {name: values[:, index] for index, name in enumerate(fields)}

    with jax.enable_x64(dtype == jnp.float64):
        (count,) = jax.export.symbolic_shape("n")
        shapes = {name: jax.ShapeDtypeStruct((count,), dtype) for name in result.problem.coordinates}
        return jax.export.export(jax.jit(evaluate), platforms=PLATFORMS)(shapes)
