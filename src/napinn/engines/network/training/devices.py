"""Several devices at one fit: each has all that is learned and all readings, and its own part of every batch.

The compiler does the rest: a loss is a mean over the batch, so the parts of its gradient are summed across devices once
a step. What comes out is what one device gives, but for the order in which numbers are added."""

from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from napinn.engines.network.training.phases import Method
from napinn.errors import InputError

Tree = TypeVar("Tree")
Device = Any
"""One of `jax.devices()`, whose class type checkers do not know."""
AXIS = "batch"


def mesh_of(devices: Sequence[Device] | None, method: Method) -> Mesh | None:
    """The devices in a row; None where there is one, or none was named."""
    if devices is None or len(devices) < 2:
        return None
    for size, what in ((method.collocation_batch, "collocation points"), (method.reading_batch, "readings")):
        if size % len(devices):
            raise InputError(
                f"a batch of {size} {what} cannot be split evenly over {len(devices)} devices; "
                "use another number of devices, or a batch that they divide."
            )
    return Mesh(np.asarray(devices), (AXIS,))


def everywhere(tree: Tree, mesh: Mesh | None) -> Tree:
    """The same arrays, whole on every device."""
    if mesh is None:
        return tree
    whole = NamedSharding(mesh, PartitionSpec())
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, whole), rest)


def kept_everywhere(tree: Tree, mesh: Mesh | None) -> Tree:
    """Within a compiled function: arrays that must end whole on every device, so that the next call finds them so."""
    if mesh is None:
        return tree
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.lax.with_sharding_constraint(arrays, NamedSharding(mesh, PartitionSpec())), rest)


def split(array: Array, mesh: Mesh | None) -> Array:
    """Within a compiled function: the rows divided among the devices, where they divide evenly."""
    if mesh is None or array.shape[0] % mesh.size:
        return array
    return jax.lax.with_sharding_constraint(array, NamedSharding(mesh, PartitionSpec(AXIS)))
