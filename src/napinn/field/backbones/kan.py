"""KAN (Liu et al. 2024): every connection is its own curve, SiLU plus a cubic spline on a fixed uniform grid.

On a uniform grid every basis function is one bell, shifted: a layer measures its input in knot spacings and
adds up one matrix product per bell. (All bells side by side in a single product is 1.6 times slower on a CPU,
because the features and their derivatives then leave the cache.) Outside the extended grid the bells vanish
and the SiLU part carries on.

Each connection has one SiLU weight, its spline coefficients and one scale for them (the parameterisation of
efficient-kan); no layer has a bias.
"""

import math
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.backbones.base import Backbone, Fixed, Network, xavier
from napinn.field.streams import Flow, add, elementwise, linear, shift, shift_and_scale, silu

NOISE = 0.1
"""The range of the spline coefficients at the start is this over `intervals`: curves begin nearly as SiLU."""


class Bell:
    """The cubic B-spline on integer knots, centred at zero; it vanishes beyond two knots."""

    def __call__(self, x: Array) -> Array:
        return self.with_derivatives(x)[0]

    def with_derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        # Points often sit on knots (a box's edge is one), and nested derivatives must be right there: a
        # branch chosen outright has its own slope, where `maximum` averages two and `sign` has none.
        right = x >= 0.0
        distance = jnp.where(right, x, -x)
        outer = jnp.where(distance < 2.0, 2.0 - distance, 0.0)
        inner = jnp.where(distance < 1.0, 1.0 - distance, 0.0)
        outer_square, inner_square = outer * outer, inner * inner
        value = (outer_square * outer - 4.0 * inner_square * inner) / 6.0
        fall = 0.5 * outer_square - 2.0 * inner_square
        return value, jnp.where(right, -fall, fall), outer - 4.0 * inner


bell = Bell()


class SplineBasis(eqx.Module):
    """The basis functions of a uniform grid in each column: as many arrays of the shape of the input."""

    low: Fixed
    high: Fixed
    intervals: int = eqx.field(static=True)

    def __call__(self, x: Flow) -> list[Flow]:
        low, high = self.low(), self.high()
        knots = shift_and_scale(x, -low, self.intervals / (high - low))
        # The first bell is centred one knot before the low end, the last one knot after the high end.
        centres = range(-1, self.intervals + 2)
        return [elementwise(shift(knots, jnp.full_like(low, -centre)), bell) for centre in centres]


class KANLayer(eqx.Module):
    basis: SplineBasis
    base: Float[Array, "i o"]
    coefficients: Float[Array, "b i o"]
    gain: Float[Array, "i o"]

    def __call__(self, x: Flow) -> Flow:
        total = linear(elementwise(x, silu), self.base)
        for bump, weight in zip(self.basis(x), self.coefficients * self.gain[None], strict=True):
            total = add(total, linear(bump, weight))
        return total


class KANNetwork(Network):
    layers: tuple[KANLayer, ...]

    def __call__(self, x: Flow) -> Flow:
        for layer in self.layers:
            x = layer(x)
        return x


@dataclass(frozen=True)
class KAN(Backbone):
    """The first grid covers the box, the others [-1, 1], each with `intervals` intervals."""

    width: int = 80
    depth: int = 5
    intervals: int = 5

    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> KANNetwork:
        sizes = [inputs, *[self.width] * self.depth, outputs]
        one = jnp.ones((self.width,), low.dtype)
        boxes = [(low, high), *[(-one, one)] * self.depth]
        keys = jax.random.split(key, len(boxes))
        bases = (SplineBasis(Fixed(start), Fixed(end), self.intervals) for start, end in boxes)
        return KANNetwork(tuple(_layer(k, b, o) for k, b, o in zip(keys, bases, sizes[1:], strict=True)))


def _layer(key: PRNGKeyArray, basis: SplineBasis, outputs: int) -> KANLayer:
    low = basis.low.array
    first, second, third = jax.random.split(key, 3)
    noise = NOISE / basis.intervals / 2.0
    shape = basis.intervals + 3, low.size, outputs
    limit = 1.0 / math.sqrt(low.size)
    return KANLayer(
        basis,
        xavier(first, low.size, outputs, low.dtype).weight,
        jax.random.uniform(second, shape, low.dtype, minval=-noise, maxval=noise),
        jax.random.uniform(third, shape[1:], low.dtype, minval=-limit, maxval=limit),
    )
