"""What a backbone is: settings that build a network, and a network written over streams.

A `Backbone` is a frozen set of numbers (width, depth, …) that goes into files; `init` makes the `Network`, a pytree
of arrays with one forward pass. Called on plain points the network gives values; called on a stream, values and
derivatives."""

import abc
import math
from collections.abc import Sequence
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.streams import Flow, linear


class Network(eqx.Module):
    @abc.abstractmethod
    def __call__(self, x: Flow) -> Flow: ...


class Backbone(abc.ABC):
    """Settings of a network family. `low` and `high` are the box in the coordinates that the network will see."""

    @abc.abstractmethod
    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> Network: ...


class Linear(eqx.Module):
    weight: Float[Array, "i o"]
    bias: Float[Array, " o"]

    def __call__(self, x: Flow) -> Flow:
        return linear(x, self.weight, self.bias)


def xavier(key: PRNGKeyArray, inputs: int, outputs: int, dtype: jnp.dtype) -> Linear:
    """Xavier-uniform weight and zero bias."""
    limit = math.sqrt(6.0 / (inputs + outputs))
    weight = jax.random.uniform(key, (inputs, outputs), dtype, minval=-limit, maxval=limit)
    return Linear(weight, jnp.zeros((outputs,), dtype))


def xavier_layers(key: PRNGKeyArray, sizes: Sequence[int], dtype: jnp.dtype) -> tuple[Linear, ...]:
    """One layer from each size to the next."""
    keys = jax.random.split(key, len(sizes) - 1)
    return tuple(xavier(k, i, o, dtype) for k, (i, o) in zip(keys, pairwise(sizes), strict=True))


class Fixed(eqx.Module):
    """An array that belongs to a network but is not trained."""

    array: Array

    def __call__(self) -> Array:
        return jax.lax.stop_gradient(self.array)


def parameter_count(network: Network) -> int:
    """How many numbers are trained."""
    leaves = jax.tree.leaves(network, is_leaf=lambda node: isinstance(node, Fixed))
    kinds = jax.Array | jax.ShapeDtypeStruct
    return sum(leaf.size for leaf in leaves if isinstance(leaf, kinds) and jnp.issubdtype(leaf.dtype, jnp.inexact))
