"""QRes (Bu & Karpatne 2021): each layer adds to the linear map its product with a second one.

A quadratic unit bends before the activation does, so fewer layers reach the same frequencies; with the second
weight at zero it is the plain perceptron.
"""

from dataclasses import dataclass
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.backbones.base import Backbone, Linear, Network, xavier
from napinn.field.streams import Flow, add, elementwise, linear, multiply, shift, tanh


class QuadraticLayer(eqx.Module):
    weight: Float[Array, "i o"]
    partner: Float[Array, "i o"]
    bias: Float[Array, " o"]

    def __call__(self, x: Flow) -> Flow:
        first, second = linear(x, self.weight), linear(x, self.partner)
        return shift(add(multiply(first, second), first), self.bias)


class QResNetwork(Network):
    layers: tuple[QuadraticLayer, ...]
    head: Linear

    def __call__(self, x: Flow) -> Flow:
        for layer in self.layers:
            x = elementwise(layer(x), tanh)
        return self.head(x)


@dataclass(frozen=True)
class QRes(Backbone):
    width: int = 80
    depth: int = 5

    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> QResNetwork:
        sizes = [inputs, *[self.width] * self.depth]
        *keys, last = jax.random.split(key, self.depth + 1)
        layers = [_quadratic(k, i, o, low.dtype) for k, (i, o) in zip(keys, pairwise(sizes), strict=True)]
        return QResNetwork(tuple(layers), xavier(last, sizes[-1], outputs, low.dtype))


def _quadratic(key: PRNGKeyArray, inputs: int, outputs: int, dtype: jnp.dtype) -> QuadraticLayer:
    first, second = (xavier(k, inputs, outputs, dtype) for k in jax.random.split(key))
    return QuadraticLayer(first.weight, second.weight, first.bias)
