"""PirateNet (Wang et al. 2024): gated residual blocks on a fixed Fourier embedding.

Each block mixes its output in by a trained share that starts at zero. So the deep network begins as a linear
head on the embedding, which is easy to train, and grows deep only as far as the data ask for.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.errors import InputError
from napinn.field.backbones.base import Backbone, Fixed, Linear, Network, xavier
from napinn.field.streams import (
    Flow,
    add,
    concatenate,
    cosine,
    elementwise,
    linear,
    multiply,
    scale,
    sine,
    subtract,
    tanh,
)


class FourierEmbedding(eqx.Module):
    frequencies: Fixed

    def __call__(self, x: Flow) -> Flow:
        phase = linear(x, self.frequencies())
        return concatenate(elementwise(phase, cosine), elementwise(phase, sine))


class PirateBlock(eqx.Module):
    first: Linear
    second: Linear
    third: Linear
    share: Float[Array, ""]

    def __call__(self, x: Flow, base: Flow, span: Flow) -> Flow:
        # f U + (1 - f) V is written V + f (U - V): one product, not two, and U - V is shared by all blocks.
        inner = add(base, multiply(elementwise(self.first(x), tanh), span))
        inner = add(base, multiply(elementwise(self.second(inner), tanh), span))
        return add(x, scale(subtract(elementwise(self.third(inner), tanh), x), self.share))


class PirateNetwork(Network):
    embedding: FourierEmbedding
    upper: Linear
    lower: Linear
    blocks: tuple[PirateBlock, ...]
    head: Linear

    def __call__(self, x: Flow) -> Flow:
        x = self.embedding(x)
        base = elementwise(self.lower(x), tanh)
        span = subtract(elementwise(self.upper(x), tanh), base)
        for block in self.blocks:
            x = block(x, base, span)
        return self.head(x)


@dataclass(frozen=True)
class PirateNet(Backbone):
    """`frequency` is the standard deviation of the embedding's angular frequencies."""

    width: int = 80
    depth: int = 5
    embedding: int = 80
    frequency: float = 1.0

    def __post_init__(self) -> None:
        if self.embedding % 2:
            raise InputError(f"PirateNet's embedding pairs cosines and sines: make {self.embedding} even.")

    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> PirateNetwork:
        waves, upper, lower, head, *blocks = jax.random.split(key, 4 + self.depth)
        frequencies = self.frequency * jax.random.normal(waves, (inputs, self.embedding // 2), low.dtype)
        return PirateNetwork(
            FourierEmbedding(Fixed(frequencies)),
            xavier(upper, self.embedding, self.width, low.dtype),
            xavier(lower, self.embedding, self.width, low.dtype),
            tuple(self._block(block, low.dtype) for block in blocks),
            xavier(head, self.embedding, outputs, low.dtype),
        )

    def _block(self, key: PRNGKeyArray, dtype: jnp.dtype) -> PirateBlock:
        sizes = (self.embedding, self.width), (self.width, self.width), (self.width, self.embedding)
        first, second, third = (
            xavier(k, i, o, dtype) for k, (i, o) in zip(jax.random.split(key, 3), sizes, strict=True)
        )
        return PirateBlock(first, second, third, jnp.zeros((), dtype))
