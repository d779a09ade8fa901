"""A network and the derivatives asked for, to values.

Streams where they reach: every backbone of ours, orders up to two. Beyond that (higher order, or a network of the
user's own) nested forward mode along the coordinate axes, over the whole batch at once; the two agree to rounding,
which the tests hold."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from napinn.field.backbones import Network
from napinn.field.scaling import Frame
from napinn.field.streams import Flow, Mix, Pairs, Stream, added, seed, shift_and_scale
from napinn.problem.equations import Operator, Terms, highest_order

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
        return self.carry(points, wanted, {}, coordinates)[0]

    def carry(
        self,
        points: Float[Array, "n d"],
        wanted: Iterable[Terms],
        operators: Mapping[Operator, Sequence[Float[Array, ""] | float]],
        coordinates: Sequence[str],
    ) -> tuple[dict[Terms, Float[Array, "n f"]], dict[Operator, Float[Array, "n f"]]]:
        """Derivatives, and operators with the numbers that multiply their derivatives, in one pass."""
        numbered = {terms: _number(terms, coordinates) for terms in wanted}
        weighted = {
            operator: [
                (_number(terms, coordinates), jnp.asarray(weight, points.dtype))
                for (terms, _), weight in zip(operator, weights, strict=True)
            ]
            for operator, weights in operators.items()
        }
        everything = [*numbered.values(), *(axes for parts in weighted.values() for axes, _ in parts)]
        if isinstance(self.network, Network) and highest_order(everything) <= 2:
            found, mixed = stream_sums(self._flow, points, numbered.values(), list(weighted.values()))
        else:
            found = nested_derivatives(self, points, everything)
            mixed = [added(weight * found[axes] for axes, weight in parts) for parts in weighted.values()]
        return {terms: found[axes] for terms, axes in numbered.items()}, dict(zip(weighted, mixed, strict=True))

    def _flow(self, points: Flow) -> Flow:
        frame = jax.lax.stop_gradient(self.frame)
        inner = self.network(shift_and_scale(points, frame.shift, frame.factor))
        return shift_and_scale(inner, frame.offset, frame.gain)


Weighted = Sequence[tuple[tuple[Axes, ...], Float[Array, ""]]]
"""Derivatives to be added up, each with the number that multiplies it."""


def stream_sums(
    network: Callable[[Flow], Flow],
    points: Float[Array, "n d"],
    wanted: Iterable[tuple[Axes, ...]],
    weighted: Sequence[Weighted],
) -> tuple[dict[tuple[Axes, ...], Float[Array, "n f"]], list[Float[Array, "n f"]]]:
    """Derivatives up to order two, and weighted sums of them, in one pass."""
    wanted = list(wanted)
    firsts = {axes[0] for terms in wanted for axes in terms if len(axes) == 1}
    seconds = [_pairs(terms) for terms in wanted if len(terms[0]) == 2]
    stream = network(seed(points, firsts, seconds, [_mix(parts) for parts in weighted]))
    assert isinstance(stream, Stream)

    def pick(terms: tuple[Axes, ...]) -> Array:
        if terms == ((),):
            return stream.value
        if len(terms[0]) == 1:
            (axes,) = terms
            found = stream.firsts[axes[0]]
        else:
            second = stream.seconds[_pairs(terms)]
            found = jnp.zeros_like(stream.value) if second is None else second
        return jnp.broadcast_to(found, stream.value.shape)

    mixed = [jnp.broadcast_to(array, stream.value.shape) for array in stream.mixed]
    return {terms: pick(terms) for terms in wanted}, mixed


def _pairs(terms: tuple[Axes, ...]) -> Pairs:
    return tuple((axes[0], axes[1]) for axes in terms)


def _mix(parts: Weighted) -> Mix:
    firsts = {terms[0][0]: weight for terms, weight in parts if len(terms[0]) == 1}
    return Mix(firsts, {_pairs(terms): weight for terms, weight in parts if len(terms[0]) == 2})


def nested_derivatives(
    function: BatchFunction, points: Float[Array, "n d"], wanted: Iterable[tuple[Axes, ...]]
) -> dict[tuple[Axes, ...], Float[Array, "n f"]]:
    """Derivatives of any order, mixed or not, by forward mode nested along the axes.

    Chains that begin alike repeat the same operations, which the compiler merges.
    """
    wanted = list(wanted)
    single = {axes: _along(function, axes)(points) for axes in sorted({axes for terms in wanted for axes in terms})}
    return {terms: added(single[axes] for axes in terms) for terms in wanted}


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
