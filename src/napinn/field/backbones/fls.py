"""FLS (Wong et al. 2022): a perceptron whose first layer is a trained sinusoidal mapping of the coordinates.

The sines widen the distribution of input gradients at the start, where a plain tanh network is nearly flat.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.backbones.base import Backbone, Linear, Network
from napinn.field.backbones.mlp import MLP, MLPNetwork
from napinn.field.streams import Flow, elementwise, scale, sine


class FLSNetwork(Network):
    waves: Linear
    rest: MLPNetwork

    def __call__(self, x: Flow) -> Flow:
        return self.rest(elementwise(scale(self.waves(x), 2.0 * math.pi), sine))


@dataclass(frozen=True)
class FLS(Backbone):
    """`sigma` is the standard deviation of the frequencies at the start, in cycles per unit of coordinate: one number,
    or one for each coordinate."""

    width: int = 80
    depth: int = 5
    sigma: float | tuple[float, ...] = 1.0

    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> FLSNetwork:
        first, rest = jax.random.split(key)
        spread = jnp.broadcast_to(jnp.asarray(self.sigma, low.dtype), (inputs,))
        frequencies = spread[:, None] * jax.random.normal(first, (inputs, self.width), low.dtype)
        waves = Linear(frequencies, jnp.zeros((self.width,), low.dtype))
        # The sinusoidal layer counts as one of `depth`. The box matters to the rest only for its dtype.
        return FLSNetwork(waves, MLP(self.width, self.depth - 1).init(rest, self.width, outputs, low, high))
