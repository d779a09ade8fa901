"""Any estimator with a prior, for readings so few that it would learn each of them by heart.

In every lesson a share of the misfits is replaced by draws from Student's t with three degrees of freedom: bell-shaped
near zero, with tails heavy enough that a gross error pulls at nothing. What is learned is the mixture of that prior
and of the law that the readings speak for."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.density.base import Density

FREEDOM = 3.0
ROBUST_STD = 1.134
"""1.4826 times the upper quartile of Student's t with so many degrees of freedom."""


@dataclass(frozen=True)
class Shrunk(Density):
    inner: Density
    share: float
    """Of the lessons that is the prior's."""

    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> Any:
        return self.inner.init(key, misfits)

    def update(self, state: Any, misfits: Float[Array, " n"], key: PRNGKeyArray) -> tuple[Any, Float[Array, " n"]]:
        for_choice, for_prior, for_inner = jax.random.split(key, 3)
        prior = jax.random.t(for_prior, FREEDOM, misfits.shape, misfits.dtype) / ROBUST_STD
        replaced = jax.random.bernoulli(for_choice, self.share, misfits.shape)
        after, _ = self.inner.update(state, jnp.where(replaced, prior, misfits), for_inner)
        return after, self.inner.log_prob(state, misfits)

    def log_prob(self, state: Any, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.inner.log_prob(state, misfits)

    def sample(self, state: Any, key: PRNGKeyArray, count: int) -> Float[Array, " count"]:
        return self.inner.sample(state, key, count)

    def support(self, state: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.inner.support(state)

    def normaliser(self, state: Any) -> Float[Array, ""]:
        return self.inner.normaliser(state)
