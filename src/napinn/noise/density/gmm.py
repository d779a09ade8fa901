"""The mixture estimator: a few Gaussians whose weights, means and widths follow the likelihood by gradient steps."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.noise.density.base import Density


class MixtureState(eqx.Module):
    logits: Float[Array, " k"]
    means: Float[Array, " k"]
    log_stds: Float[Array, " k"]


class GMMState(eqx.Module):
    mixture: MixtureState
    optimiser: optax.OptState


@dataclass(frozen=True)
class GMM(Density):
    components: int = 3
    rate: float = 1e-2
    smallest: float = 1e-3
    """Added to every width: a component that falls onto one misfit would make the likelihood unbounded."""

    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> GMMState:
        # Near zero, yet apart: components that start alike get the same gradient and stay alike.
        apart = jnp.linspace(-1.0, 1.0, self.components, dtype=misfits.dtype)
        shaken = 0.1 * jax.random.normal(key, (self.components,), misfits.dtype)
        mixture = MixtureState(jnp.zeros_like(apart), apart + shaken, jnp.zeros_like(apart))
        return GMMState(mixture, self._adam().init(eqx.filter(mixture, eqx.is_array)))

    def update(
        self, state: GMMState, misfits: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[GMMState, Float[Array, " n"]]:
        def negative_log_likelihood(mixture: MixtureState) -> tuple[Array, Array]:
            log_prob = self._log_prob(mixture, misfits)
            return -jnp.mean(log_prob), log_prob

        slopes, log_prob = jax.grad(negative_log_likelihood, has_aux=True)(state.mixture)
        steps, optimiser = self._adam().update(slopes, state.optimiser)
        return GMMState(eqx.apply_updates(state.mixture, steps), optimiser), log_prob

    def log_prob(self, state: GMMState, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        return self._log_prob(state.mixture, misfits)

    def sample(self, state: GMMState, key: PRNGKeyArray, count: int) -> Float[Array, " count"]:
        for_component, for_place = jax.random.split(key)
        component = jax.random.categorical(for_component, state.mixture.logits, shape=(count,))
        place = jax.random.normal(for_place, (count,), state.mixture.means.dtype)
        return state.mixture.means[component] + self._stds(state.mixture)[component] * place

    def support(self, state: GMMState) -> tuple[Float[Array, ""], Float[Array, ""]]:
        end = jnp.asarray(jnp.inf, state.mixture.means.dtype)
        return -end, end

    def normaliser(self, state: GMMState) -> Float[Array, ""]:
        return jnp.sum(jax.nn.softmax(state.mixture.logits))

    def _log_prob(self, mixture: MixtureState, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        # Components first: the long axis stays innermost, which vectorises better than an axis of three.
        each = norm.logpdf(misfits[None, :], mixture.means[:, None], self._stds(mixture)[:, None])
        return logsumexp(jax.nn.log_softmax(mixture.logits)[:, None] + each, axis=0)

    def _stds(self, mixture: MixtureState) -> Float[Array, " k"]:
        return jnp.exp(mixture.log_stds) + self.smallest

    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.rate)
