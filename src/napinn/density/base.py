"""What a density estimator is: three pure functions over a state.

`update` returns the log-density of the misfits it was given *before* it learned from them, so that scoring and learning
share one pass through the estimator.
"""

import abc
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class Density(abc.ABC):
    """Settings of an estimator of the law of standardised misfits."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> Any: ...

    @abc.abstractmethod
    def update(
        self, state: Any, misfits: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[Any, Float[Array, " n"]]: ...

    @abc.abstractmethod
    def log_prob(self, state: Any, misfits: Float[Array, " n"]) -> Float[Array, " n"]: ...
