"""The multilayer perceptron of the paper: tanh layers of equal width and a linear head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.backbones.base import Backbone, Linear, Network, xavier_layers
from napinn.field.streams import Flow, elementwise, tanh


def tanh_layers(layers: Sequence[Callable[[Flow], Flow]], x: Flow) -> Flow:
    """Every layer but the last with tanh after it, and the last, which is linear."""
    *hidden, head = layers
    for layer in hidden:
        x = elementwise(layer(x), tanh)
    return head(x)


class MLPNetwork(Network):
    layers: tuple[Linear, ...]

    def __call__(self, x: Flow) -> Flow:
        return tanh_layers(self.layers, x)


@dataclass(frozen=True)
class MLP(Backbone):
    width: int = 80
    depth: int = 5

    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> MLPNetwork:
        return MLPNetwork(xavier_layers(key, [inputs, *[self.width] * self.depth, outputs], low.dtype))
