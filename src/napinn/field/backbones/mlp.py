"""The multilayer perceptron of the paper: tanh layers of equal width and a linear head."""

from dataclasses import dataclass

from jaxtyping import Array, Float, PRNGKeyArray

from napinn.field.backbones.base import Backbone, Linear, Network, xavier_layers
from napinn.field.streams import Flow, elementwise, tanh


class MLPNetwork(Network):
    layers: tuple[Linear, ...]

    def __call__(self, x: Flow) -> Flow:
        *hidden, head = self.layers
        for layer in hidden:
            x = elementwise(layer(x), tanh)
        return head(x)


@dataclass(frozen=True)
class MLP(Backbone):
    width: int = 80
    depth: int = 5

    def init(
        self, key: PRNGKeyArray, inputs: int, outputs: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> MLPNetwork:
        return MLPNetwork(xavier_layers(key, [inputs, *[self.width] * self.depth, outputs], low.dtype))
