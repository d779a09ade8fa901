"""The reliability gate: log-density of a misfit to a weight between 0 and 1.

Scores are standardised within the batch, so the cutoff means the same for every estimator and at every stage of
training: weight = sigmoid(a · (z + τ)), where z is the standardised log-density, a > 0 the steepness and τ > 0 how
many standard deviations below the mean a score may fall. Both are trained through softplus."""

import math
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class GateState(eqx.Module):
    raw_steepness: Float[Array, ""]
    raw_cutoff: Float[Array, ""]

    @property
    def steepness(self) -> Float[Array, ""]:
        return jax.nn.softplus(self.raw_steepness)

    @property
    def cutoff(self) -> Float[Array, ""]:
        return jax.nn.softplus(self.raw_cutoff)


@dataclass(frozen=True)
class Gate:
    steepness: float = 5.0
    cutoff: float = 2.0

    def init(self, dtype: jnp.dtype) -> GateState:
        raw = [jnp.asarray(math.log(math.expm1(start)), dtype) for start in (self.steepness, self.cutoff)]
        return GateState(*raw)

    def weights(self, state: GateState, log_prob: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.response(state, standardise(log_prob))

    def response(self, state: GateState, standard: Float[Array, " n"]) -> Float[Array, " n"]:
        """The gate's curve: weights of log-densities that are standardised already."""
        return jax.nn.sigmoid(state.steepness * (standard + state.cutoff))

    def cost(self, weights: Float[Array, " n"]) -> Float[Array, " n"]:
        """What rejecting each reading costs, before the factor λ_rej."""
        return 1.0 - weights


def standardise(scores: Float[Array, " n"]) -> Float[Array, " n"]:
    # Equal scores have no spread: all of them then sit at the mean, and the floor keeps 0/0 away.
    spread = jnp.maximum(jnp.std(scores), 1e-6)
    return (scores - jnp.mean(scores)) / spread
