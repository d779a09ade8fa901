"""Data losses: one value per reading, never a mean; the objective reduces."""

import abc
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float


class Loss(abc.ABC):
    @abc.abstractmethod
    def __call__(self, misfit: Float[Array, " n"]) -> Float[Array, " n"]: ...


@dataclass(frozen=True)
class Squared(Loss):
    """Gaussian noise, up to a factor."""

    def __call__(self, misfit: Float[Array, " n"]) -> Float[Array, " n"]:
        return misfit * misfit


@dataclass(frozen=True)
class Absolute(Loss):
    """Laplace noise, up to a factor."""

    def __call__(self, misfit: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.abs(misfit)
