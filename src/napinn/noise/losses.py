"""Elementwise data losses: one value per reading, of which the data term is the mean, weighted by the gate if any."""

import abc
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from napinn.errors import InputError
from napinn.noise.data_term import DataTerm, Location, ScoredMisfits
from napinn.noise.density import Density


class Loss(DataTerm):
    is_law: ClassVar[bool] = False

    @abc.abstractmethod
    def __call__(self, misfit: Float[Array, " n"]) -> Float[Array, " n"]: ...

    @property
    def location(self) -> Location:
        return Location()

    def plain_value(self, misfit: Float[Array, " n"], kept: Float[Array, " n"] | None) -> Float[Array, ""]:
        each = self(misfit)
        return jnp.mean(each) if kept is None else jnp.sum(kept * each) / jnp.maximum(jnp.sum(kept), 1.0)

    def gated_value(self, misfit: Float[Array, " n"], scored: ScoredMisfits) -> Float[Array, ""]:
        return jnp.mean(scored.weights * self(misfit))

    def rejection(self, still: Float[Array, " n"], scored: ScoredMisfits, cost: Float[Array, ""]) -> Float[Array, ""]:
        return cost

    def score(self, misfit: Float[Array, " n"], scored: ScoredMisfits | None) -> Float[Array, " n"]:
        slope = jax.vmap(jax.grad(lambda one: jnp.sum(self(one[None]))))(misfit)
        return slope if scored is None else scored.weights * slope

    def learn(
        self, density: Density, state: PyTree, standard: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[PyTree, Float[Array, " n"], None]:
        return (*density.update(state, standard, key), None)


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


@dataclass(frozen=True)
class QGaussian(Loss):
    """Tsallis noise, up to a constant: log(1 + (q - 1) β r²) / (q - 1) with β = 1 / (2 (3 - q)).

    The nearer q is to 3 the heavier the tails; as q falls to 1 the loss becomes r² / 4. The fixed β makes it depend
    on the unit of r.
    """

    q: float

    def __post_init__(self) -> None:
        if not 1.0 < self.q < 3.0:
            raise InputError(f"the q-Gaussian loss has q = {self.q}; q must lie between 1 and 3, both excluded.")

    def __call__(self, misfit: Float[Array, " n"]) -> Float[Array, " n"]:
        excess = self.q - 1.0
        beta = 1.0 / (2.0 * (3.0 - self.q))
        # log1p, because near q = 1 the logarithm of 1 + tiny would be all rounding error.
        return jnp.log1p(excess * beta * misfit * misfit) / excess


@dataclass(frozen=True)
class Huber(Loss):
    """`Squared` up to |r| = delta and straight beyond, 2 δ |r| - δ²: Gaussian noise with Laplace tails."""

    delta: float

    def __post_init__(self) -> None:
        if not self.delta > 0.0:
            raise InputError(f"the Huber loss has delta = {self.delta}; delta must be above 0.")

    def __call__(self, misfit: Float[Array, " n"]) -> Float[Array, " n"]:
        inner = jnp.clip(misfit, -self.delta, self.delta)
        return inner * (2.0 * misfit - inner)
