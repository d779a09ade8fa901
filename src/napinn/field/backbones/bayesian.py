"""The perceptron of B-PINN: every weight has a Gaussian posterior, mean and deviation both trained.

The network as it stands is its posterior mean, which is what predictions use. A training step asks instead
for `sampled(network, key)`, an ordinary network with one draw of the weights through which gradients reach
means and deviations, and adds the `divergence` from the prior to its loss. Both walk any pytree, and one
without Bayesian layers has itself for a sample and no divergence, so a training loop need not know which kind
it holds.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.backbones.base import Backbone, Linear, Network, xavier_layers
from napinn.field.backbones.mlp import tanh_layers
from napinn.field.streams import Flow, linear

RAW_START = -3.0
"""A deviation is the softplus of a raw number; by default raw numbers start here, deviations at 0.049."""


class BayesianLinear(eqx.Module):
    weight: Float[Array, "i o"]
    bias: Float[Array, " o"]
    raw_weight: Float[Array, "i o"]
    raw_bias: Float[Array, " o"]

    def __call__(self, x: Flow) -> Flow:
        return linear(x, self.weight, self.bias)

    def sample(self, key: PRNGKeyArray) -> Linear:
        first, second = jax.random.split(key)
        return Linear(
            _draw(first, self.weight, jax.nn.softplus(self.raw_weight)),
            _draw(second, self.bias, jax.nn.softplus(self.raw_bias)),
        )

    def divergence(self, prior: float) -> Float[Array, ""]:
        weight = _gaussian_divergence(self.weight, jax.nn.softplus(self.raw_weight), prior)
        return weight + _gaussian_divergence(self.bias, jax.nn.softplus(self.raw_bias), prior)


class BayesianNetwork(Network):
    layers: tuple[BayesianLinear | Linear, ...]

    def __call__(self, x: Flow) -> Flow:
        return tanh_layers(self.layers, x)


@dataclass(frozen=True)
class BayesianMLP(Backbone):
    width: int = 80
    depth: int = 5
    raw_start: float = RAW_START
    """Softplus of this is the deviation that every weight begins with."""

    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> BayesianNetwork:
        means = xavier_layers(key, [inputs, *[self.width] * self.depth, outputs], low.dtype)
        return BayesianNetwork(tuple(_around(mean, self.raw_start) for mean in means))


def sampled(tree: Any, key: PRNGKeyArray) -> Any:
    """The tree with one draw from the posterior in place of each Bayesian layer."""
    nodes, structure = jax.tree.flatten(tree, is_leaf=_is_bayesian)
    places = [place for place, node in enumerate(nodes) if _is_bayesian(node)]
    for place, layer_key in zip(places, jax.random.split(key, len(places)), strict=True):
        nodes[place] = nodes[place].sample(layer_key)
    return jax.tree.unflatten(structure, nodes)


def divergence(tree: Any, prior: float = 1.0) -> Float[Array, ""]:
    """How far all posteriors in the tree are from the prior N(0, prior²), summed; zero if there are none."""
    layers = [node for node in jax.tree.leaves(tree, is_leaf=_is_bayesian) if _is_bayesian(node)]
    # A weakly typed zero: it must not turn a float32 loss into float64.
    return sum((layer.divergence(prior) for layer in layers), start=jnp.asarray(0.0))


def _is_bayesian(node: Any) -> bool:
    return isinstance(node, BayesianLinear)


def _around(mean: Linear, raw_start: float) -> BayesianLinear:
    raw = jax.tree.map(lambda array: jnp.full_like(array, raw_start), mean)
    return BayesianLinear(mean.weight, mean.bias, raw.weight, raw.bias)


def _draw(key: PRNGKeyArray, mean: Array, deviation: Array) -> Array:
    return mean + deviation * jax.random.normal(key, mean.shape, mean.dtype)


def _gaussian_divergence(mean: Array, deviation: Array, prior: float) -> Float[Array, ""]:
    """KL( N(mean, deviation²) ‖ N(0, prior²) ), summed over the entries."""
    ratio = deviation / prior
    return 0.5 * jnp.sum(jnp.square(ratio) + jnp.square(mean / prior) - 1.0 - 2.0 * jnp.log(ratio))
