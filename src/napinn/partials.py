"""A network and the derivatives asked for, to values.

Streams where they reach: every backbone of ours, orders up to two. Beyond that (higher order, or a network of the
user's own) nested forward mode along the coordinate axes, over the whole batch at once; the two agree to rounding,
which the tests hold."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from napinn.equations import Terms
from napinn.networks import Network
from napinn.scaling import Frame
from napinn.streams import Flow, Stream, seed, shift_and_scale

Axes = tuple[int, ...]
BatchFunction = Callable[[Float[Array, "n d"]], Float[Array, "n f"]]


class FieldNetwork(eqx.Module):
    """A network in its frame: physical coordinates in, physical fields out.

    A network that is not one of ours, any module that maps (n, d) to (n, f), works too; its derivatives are nested.
    """

    network: Network | Callable[[Any], Any]
    frame: Frame

    def __call__(self, points: Float[Array, "n d"]) -> Float[Array, "n f"]:
        values = self._flow(points)
        assert not isinstance(values, Stream)
        return values

    def derivatives(
        self, points: Float[Array, "n d"], wanted: Iterable[Terms], coordinates: Sequence[str]
    ) -> dict[Terms, Float[Array, "n f"]]:
        """Each derivative asked for, of all fields, at all points."""
        numbered = {terms: _number(terms, coordinates) for terms in wanted}
        if isinstance(self.network, Network) and _order(numbered.values()) <= 2:
            found = stream_derivatives(self._flow, points, numbered.values())
        else:
            found = nested_derivatives(self, points, numbered.values())
        return {terms: found[axes] for terms, axes in numbered.items()}

    def _flow(self, points: Flow) -> Flow:
        frame = jax.lax.stop_gradient(self.frame)
        inner = self.network(shift_and_scale(points, frame.shift, frame.factor))
        return shift_and_scale(inner, frame.offset, frame.gain)


def stream_derivatives(
    network: Callable[[Flow], Flow], points: Float[Array, "n d"], wanted: Iterable[tuple[Axes, ...]]
) -> dict[tuple[Axes, ...], Float[Array, "n f"]]:
    """Derivatives up to order two in one pass."""
    wanted = list(wanted)
    firsts = {axes[0] for terms in wanted for axes in terms if len(axes) == 1}
    seconds = [tuple((axes[0], axes[1]) for axes in terms) for terms in wanted if len(terms[0]) == 2]
    stream = network(seed(points, firsts, seconds))
    assert isinstance(stream, Stream)

    def pick(terms: tuple[Axes, ...]) -> Array:
        if terms == ((),):
            return stream.value
        if len(terms[0]) == 1:
            (axes,) = terms
            found = stream.firsts[axes[0]]
        else:
            second = stream.seconds[tuple((axes[0], axes[1]) for axes in terms)]
            found = jnp.zeros_like(stream.value) if second is None else second
        return jnp.broadcast_to(found, stream.value.shape)

    return {terms: pick(terms) for terms in wanted}


def nested_derivatives(
    function: BatchFunction, points: Float[Array, "n d"], wanted: Iterable[tuple[Axes, ...]]
) -> dict[tuple[Axes, ...], Float[Array, "n f"]]:
    """Derivatives of any order, mixed or not, by forward mode nested along the axes.

    Chains that begin alike repeat the same operations, which the compiler merges.
    """
    wanted = list(wanted)
    single = {axes: _along(function, axes)(points) for axes in sorted({axes for terms in wanted for axes in terms})}
    return {terms: sum((single[axes] for axes in terms[1:]), start=single[terms[0]]) for terms in wanted}


def _along(function: BatchFunction, axes: Axes) -> BatchFunction:
    if not axes:
        return function
    inner = _along(function, axes[:-1])

    def derivative(points: Float[Array, "n d"]) -> Float[Array, "n f"]:
        direction = jnp.zeros_like(points).at[:, axes[-1]].set(1.0)
        return jax.jvp(inner, (points,), (direction,))[1]

    return derivative


def _number(terms: Terms, coordinates: Sequence[str]) -> tuple[Axes, ...]:
    return tuple(tuple(coordinates.index(axis) for axis in axes) for axes in terms)


def _order(wanted: Iterable[tuple[Axes, ...]]) -> int:
    return max((len(axes) for terms in wanted for axes in terms), default=0)
