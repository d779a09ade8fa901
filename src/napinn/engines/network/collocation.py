"""Where the equation is enforced: fresh points for every step, drawn on the device."""

import abc
from dataclasses import dataclass

import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Collocation(abc.ABC):
    @abc.abstractmethod
    def draw(
        self, key: PRNGKeyArray, count: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> Float[Array, "n d"]: ...


@dataclass(frozen=True)
class Uniform(Collocation):
    """Anywhere in the box with equal chance."""

    def draw(
        self, key: PRNGKeyArray, count: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> Float[Array, "n d"]:
        share = jax.random.uniform(key, (count, low.shape[0]), low.dtype)
        return low[None] + share * (high - low)[None]


@dataclass(frozen=True)
class Grid(Collocation):
    """Nodes of a regular grid with this many along every axis, edges included, drawn with replacement."""

    nodes: int = 100

    def draw(
        self, key: PRNGKeyArray, count: int, low: Float[Array, " d"], high: Float[Array, " d"]
    ) -> Float[Array, "n d"]:
        steps = jax.random.randint(key, (count, low.shape[0]), 0, self.nodes).astype(low.dtype)
        return low[None] + steps / (self.nodes - 1) * (high - low)[None]
