"""The energy-based estimator: a small network gives the unnormalised log-density of a misfit.

One dimension makes maximum likelihood exact: the normaliser is a trapezoid sum over a fixed grid, and the grid goes through
the network in the same batch as the misfits. Misfits beyond the grid score as its edge.
"""

from dataclasses import dataclass
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.density.base import Density
from napinn.networks import MLPNetwork, xavier


class EBMState(eqx.Module):
    network: MLPNetwork
    optimiser: optax.OptState


@dataclass(frozen=True)
class EBM(Density):
    width: int = 32
    depth: int = 3
    low: float = -10.0
    high: float = 10.0
    nodes: int = 1024
    rate: float = 1e-3

    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> EBMState:
        sizes = [1, *[self.width] * self.depth, 1]
        keys = jax.random.split(key, len(sizes) - 1)
        network = MLPNetwork(
            tuple(xavier(k, i, o, misfits.dtype) for k, (i, o) in zip(keys, pairwise(sizes), strict=True))
        )
        return EBMState(network, self._adam().init(eqx.filter(network, eqx.is_array)))

    def update(
        self, state: EBMState, misfits: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[EBMState, Float[Array, " n"]]:
        def negative_log_likelihood(network: MLPNetwork) -> tuple[Array, Array]:
            log_prob = self._log_prob(network, misfits)
            return -jnp.mean(log_prob), log_prob

        slopes, log_prob = jax.grad(negative_log_likelihood, has_aux=True)(state.network)
        steps, optimiser = self._adam().update(slopes, state.optimiser)
        return EBMState(eqx.apply_updates(state.network, steps), optimiser), log_prob

    def log_prob(self, state: EBMState, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        return self._log_prob(state.network, misfits)

    def _log_prob(self, network: MLPNetwork, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        grid = jnp.linspace(self.low, self.high, self.nodes, dtype=misfits.dtype)
        inside = jnp.clip(misfits, self.low, self.high)
        out = network(jnp.concatenate([grid, inside])[:, None])
        assert isinstance(out, jax.Array)
        unnormalised = out[:, 0]
        return unnormalised[self.nodes :] - self._log_normaliser(unnormalised[: self.nodes])

    def _log_normaliser(self, on_grid: Float[Array, " m"]) -> Float[Array, ""]:
        spacing = (self.high - self.low) / (self.nodes - 1)
        weights = jnp.full(on_grid.shape, spacing, on_grid.dtype).at[jnp.array([0, -1])].multiply(0.5)
        return logsumexp(on_grid, b=weights)

    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.rate)
