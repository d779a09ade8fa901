"""A fitted field inside a compiled program: a network as it is, any other model by a call out of the program."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from napinn.equations import Terms
from napinn.model import FittedModel
from napinn.network_model import NetworkModel
from napinn.partials import FieldNetwork
from napinn.result import FitResult

VALUE: Terms = ((),)


@dataclass(frozen=True, eq=False)
class CalledField:
    """A model that NumPy evaluates, with the calls of a `FieldNetwork`. It cannot be differentiated by JAX along the
    points, and no solver here needs that: the points are nodes and instants, never part of the state."""

    model: FittedModel
    outputs: int

    def __call__(self, points: jax.Array) -> jax.Array:
        return self.derivatives(points, [VALUE], ())[VALUE]

    def derivatives(
        self, points: jax.Array, wanted: Iterable[Terms], coordinates: Sequence[str]
    ) -> dict[Terms, jax.Array]:
        """Each derivative asked for, of all fields, at all points; the model knows the coordinates by itself."""
        terms = tuple(sorted(set(wanted)))
        shape = jax.ShapeDtypeStruct((*points.shape[:-1], len(terms), self.outputs), points.dtype)

        def evaluate(batch: jax.Array | np.ndarray) -> np.ndarray:
            found = self.model.derivatives(np.asarray(batch, float).reshape(-1, batch.shape[-1]), terms)
            columns = np.stack([found[each] for each in terms], axis=1)
            return columns.reshape(*batch.shape[:-1], len(terms), self.outputs).astype(batch.dtype)

        found = jax.pure_callback(evaluate, shape, jax.lax.stop_gradient(points), vmap_method="broadcast_all")
        return {each: found[..., number, :] for number, each in enumerate(terms)}


def field_of(result: FitResult) -> FieldNetwork | CalledField:
    """The field of a fit in float64, to be called within `jax.enable_x64(True)`."""
    if isinstance(result.model, NetworkModel):
        return jax.tree.map(_doubled, result.model.network)
    return CalledField(result.model, len(result.problem.outputs))


def _doubled(leaf: object) -> object:
    return jnp.asarray(leaf, jnp.float64) if eqx.is_inexact_array(leaf) else leaf
