"""The scale by which misfits are standardised before any estimator sees them."""

import abc
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

SMALLEST = 1e-6


class Scale(abc.ABC):
    @abc.abstractmethod
    def update(self, scale: Float[Array, ""], misfits: Float[Array, " n"]) -> Float[Array, ""]: ...


@dataclass(frozen=True)
class RunningStd(Scale):
    """Exponential moving average of the batch deviation: σ ← ρ σ + (1 - ρ) s."""

    decay: float = 0.99

    def update(self, scale: Float[Array, ""], misfits: Float[Array, " n"]) -> Float[Array, ""]:
        return self.decay * scale + (1.0 - self.decay) * batch_std(misfits)


@dataclass(frozen=True)
class BatchStd(Scale):
    """The deviation of the batch at hand, with no memory."""

    def update(self, scale: Float[Array, ""], misfits: Float[Array, " n"]) -> Float[Array, ""]:
        return batch_std(misfits)


def batch_std(misfits: Float[Array, " n"]) -> Float[Array, ""]:
    return jnp.maximum(jnp.std(misfits), SMALLEST)
