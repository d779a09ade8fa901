"""The energy-based estimator: a small network gives the unnormalised log-density of a misfit.

One dimension makes maximum likelihood exact: the normaliser is a trapezoid sum over a grid. Grid and misfits go
through the network one after the other, which a processor does faster than both in one array. Misfits beyond the grid
score as its edge.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.backbones import MLPNetwork, xavier_layers
from napinn.noise.density.base import Density, sample_on_grid, trapezoid


class EBMState(eqx.Module):
    network: MLPNetwork
    optimiser: optax.OptState
    low: Float[Array, ""]
    high: Float[Array, ""]


@dataclass(frozen=True)
class EBM(Density):
    width: int = 32
    depth: int = 3
    low: float = -10.0
    high: float = 10.0
    nodes: int = 1024
    rate: float = 1e-3

    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> EBMState:
        network = MLPNetwork(xavier_layers(key, [1, *[self.width] * self.depth, 1], misfits.dtype))
        low, high = jnp.asarray(self.low, misfits.dtype), jnp.asarray(self.high, misfits.dtype)
        return EBMState(network, self._adam().init(eqx.filter(network, eqx.is_array)), low, high)

    def update(
        self, state: EBMState, misfits: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[EBMState, Float[Array, " n"]]:
        def negative_log_likelihood(network: MLPNetwork) -> tuple[Array, Array]:
            log_prob = self._log_prob(network, state.low, state.high, misfits)
            return -jnp.mean(log_prob), log_prob

        slopes, log_prob = jax.grad(negative_log_likelihood, has_aux=True)(state.network)
        steps, optimiser = self._adam().update(slopes, state.optimiser)
        network = eqx.apply_updates(state.network, steps)
        return EBMState(network, optimiser, state.low, state.high), log_prob

    def log_prob(self, state: EBMState, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        return self._log_prob(state.network, state.low, state.high, misfits)

    def sample(self, state: EBMState, key: PRNGKeyArray, count: int) -> Float[Array, " count"]:
        grid = self._grid(state.low, state.high)
        return sample_on_grid(key, count, grid, jnp.exp(self.log_prob(state, grid)))

    def support(self, state: EBMState) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return state.low, state.high

    def normaliser(self, state: EBMState) -> Float[Array, ""]:
        heights = jnp.exp(self.log_prob(state, self._grid(state.low, state.high)))
        return trapezoid(heights, (state.high - state.low) / (self.nodes - 1))

    def _log_prob(
        self,
        network: MLPNetwork,
        low: Float[Array, ""],
        high: Float[Array, ""],
        misfits: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        on_grid, unnormalised = (
            _heights(network, places) for places in (self._grid(low, high), jnp.clip(misfits, low, high))
        )
        spacing = (high - low) / (self.nodes - 1)
        return unnormalised - self._log_normaliser(on_grid, spacing)

    def _log_normaliser(self, on_grid: Float[Array, " m"], spacing: Float[Array, ""]) -> Float[Array, ""]:
        weights = np.ones(self.nodes)
        weights[[0, -1]] = 0.5
        return logsumexp(on_grid, b=jnp.asarray(weights, on_grid.dtype)) + jnp.log(spacing)

    def _grid(self, low: Float[Array, ""], high: Float[Array, ""]) -> Float[Array, " m"]:
        return jnp.linspace(low, high, self.nodes, dtype=low.dtype)

    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.rate)


def _heights(network: MLPNetwork, places: Float[Array, " n"]) -> Float[Array, " n"]:
    out = network(places[:, None])
    assert isinstance(out, jax.Array)
    return out[:, 0]
