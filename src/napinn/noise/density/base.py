"""What a density estimator is: settings with pure functions over a state.

`update` returns the log-density of the misfits it was given *before* it learned from them, so that scoring and
learning share one pass through the estimator. The other functions make a learned law useful by itself: its
density, samples of it, and the check that it is a density at all.
"""

import abc
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class Density(abc.ABC):
    """Settings of an estimator of the law of standardised misfits."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> Any:
        """A state to start from; its shapes are those of the settings, whatever the number of misfits."""

    @abc.abstractmethod
    def update(self, state: Any, misfits: Float[Array, " n"], key: PRNGKeyArray) -> tuple[Any, Float[Array, " n"]]:
        """The state after learning from the misfits, and their log-density before it."""

    @abc.abstractmethod
    def log_prob(self, state: Any, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        """Finite everywhere, so that a reading far from all others still gets a rank."""

    @abc.abstractmethod
    def sample(self, state: Any, key: PRNGKeyArray, count: int) -> Float[Array, " count"]: ...

    @abc.abstractmethod
    def support(self, state: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The ends of the line on which the law lives; beyond them `log_prob` is a score and not a density."""

    @abc.abstractmethod
    def normaliser(self, state: Any) -> Float[Array, ""]:
        """The integral of the density over its support by the estimator's own quadrature: 1, up to rounding."""


def trapezoid(heights: Float[Array, " m"], spacing: Float[Array, ""]) -> Float[Array, ""]:
    return spacing * (jnp.sum(heights) - 0.5 * (heights[0] + heights[-1]))


def sample_on_grid(
    key: PRNGKeyArray, count: int, nodes: Float[Array, " m"], heights: Float[Array, " m"]
) -> Float[Array, " count"]:
    """Inverse of the cumulative trapezoid sum, straight between the nodes; the heights may have any total."""
    cumulative = jnp.cumsum(0.5 * (heights[1:] + heights[:-1]))
    cumulative = jnp.concatenate([jnp.zeros_like(heights[:1]), cumulative])
    levels = jax.random.uniform(key, (count,), heights.dtype) * cumulative[-1]
    return jnp.interp(levels, cumulative, nodes)
