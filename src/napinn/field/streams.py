"""The stream algebra: a value and its partials carried together through a network in one pass.

A stream holds the value of a batch, its first derivatives along some axes, and second derivatives, each a
*sum* of mixed seconds (a single `u_xy`, or a whole Laplacian as one array). It may also hold mixes: a whole
`u_t - D*(u_xx + u_yy)` as one array, which then needs no array for `u_t`. `linear`, `elementwise` and
`multiply` carry the calculus (linearity, chain rule, product rule); the rest (`add`, `subtract`, `scale`,
`shift`, `concatenate`) only arrange. On a plain array each does the ordinary thing, so a network is
written once and gives values or derivatives depending on what it is called with.

Why by hand: the derivative of an elementwise function is known in closed form from its value, the firsts of
the input are constant rows, and each matrix product stays separate, which XLA runs markedly faster on a CPU
than one tall stacked product or than nested automatic differentiation.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Pairs = tuple[tuple[int, int], ...]
"""A sum of mixed second derivatives, by axis numbers: `((0, 0), (1, 1))` is a Laplacian in the plane."""


class Mix(eqx.Module):
    """First and second derivatives, each times a number of its own that may be learned, added up."""

    firsts: dict[int, Float[Array, ""]]
    seconds: dict[Pairs, Float[Array, ""]]


class Stream(eqx.Module):
    value: Float[Array, "n w"]
    firsts: dict[int, Float[Array, "#n w"]]
    seconds: dict[Pairs, Float[Array, "#n w"] | None]
    """None stands for zero, which is what every second is until the first curved function."""
    mixed: tuple[Float[Array, "#n w"], ...] = ()
    mixes: tuple[Mix, ...] = ()
    """What each of `mixed` is."""


Flow = Array | Stream


@runtime_checkable
class SmoothFunction(Protocol):
    """An elementwise function that knows its first two derivatives."""

    def __call__(self, x: Array) -> Array: ...

    def with_derivatives(self, x: Array) -> tuple[Array, Array, Array]: ...


def seed(
    points: Float[Array, "n d"], firsts: Iterable[int], seconds: Iterable[Pairs], mixes: Sequence[Mix] = ()
) -> Stream:
    """The coordinates themselves as a stream: unit firsts along the axes asked for, zero seconds."""
    seconds = tuple(sorted(set(seconds)))
    bent = (*seconds, *(pairs for mix in mixes for pairs in mix.seconds))
    axes = sorted({*firsts, *(axis for pairs in bent for pair in pairs for axis in pair)})
    unit = {axis: row[None] for axis, row in enumerate(jnp.eye(points.shape[1], dtype=points.dtype))}
    nothing = jnp.zeros_like(unit[0])
    mixed = (sum((weight * unit[axis] for axis, weight in mix.firsts.items()), start=nothing) for mix in mixes)
    return Stream(points, {axis: unit[axis] for axis in axes}, dict.fromkeys(seconds), tuple(mixed), tuple(mixes))


def linear(x: Flow, weight: Float[Array, "i o"], bias: Float[Array, " o"] | None = None) -> Flow:
    if not isinstance(x, Stream):
        return _affine(x, weight, bias)
    return _throughout(x, _affine(x.value, weight, bias), lambda derivative: derivative @ weight)


def shift_and_scale(x: Flow, shift: Float[Array, " w"], factor: Float[Array, " w"]) -> Flow:
    """`(x + shift) * factor`, column by column."""
    if not isinstance(x, Stream):
        return (x + shift[None]) * factor[None]
    return _throughout(x, (x.value + shift[None]) * factor[None], lambda derivative: derivative * factor[None])


def elementwise(x: Flow, function: SmoothFunction) -> Flow:
    if not isinstance(x, Stream):
        return function(x)
    value, slope, curve = function.with_derivatives(x.value)

    def square(i: int, j: int) -> Array:
        return x.firsts[i] * x.firsts[j]

    seconds = {}
    for pairs, second in x.seconds.items():
        bend = curve * _summed(pairs, square)
        seconds[pairs] = bend if second is None else bend + slope * second
    mixed = [curve * _weighted(mix, square) + slope * before for mix, before in zip(x.mixes, x.mixed, strict=True)]
    return Stream(value, {axis: slope * first for axis, first in x.firsts.items()}, seconds, tuple(mixed), x.mixes)


def multiply(x: Flow, y: Flow) -> Flow:
    if not (isinstance(x, Stream) and isinstance(y, Stream)):
        assert not isinstance(x, Stream)
        assert not isinstance(y, Stream)
        return x * y
    firsts = {axis: x.firsts[axis] * y.value + x.value * y.firsts[axis] for axis in x.firsts}

    def crossed(i: int, j: int) -> Array:
        return x.firsts[i] * y.firsts[j] + x.firsts[j] * y.firsts[i]

    seconds = {}
    for pairs in x.seconds:
        total = _summed(pairs, crossed)
        left, right = x.seconds[pairs], y.seconds[pairs]
        total = total if left is None else total + left * y.value
        seconds[pairs] = total if right is None else total + x.value * right
    mixed = [
        _weighted(mix, crossed) + left * y.value + x.value * right
        for mix, left, right in zip(x.mixes, x.mixed, y.mixed, strict=True)
    ]
    return Stream(x.value * y.value, firsts, seconds, tuple(mixed), x.mixes)


def add(x: Flow, y: Flow) -> Flow:
    if not (isinstance(x, Stream) and isinstance(y, Stream)):
        assert not isinstance(x, Stream)
        assert not isinstance(y, Stream)
        return x + y
    seconds = {}
    for pairs in x.seconds:
        left, right = x.seconds[pairs], y.seconds[pairs]
        seconds[pairs] = right if left is None else left if right is None else left + right
    firsts = {axis: x.firsts[axis] + y.firsts[axis] for axis in x.firsts}
    mixed = tuple(left + right for left, right in zip(x.mixed, y.mixed, strict=True))
    return Stream(x.value + y.value, firsts, seconds, mixed, x.mixes)


def subtract(x: Flow, y: Flow) -> Flow:
    return add(x, scale(y, -1.0))


def scale(x: Flow, factor: Float[Array, ""] | float) -> Flow:
    """Everything times one number."""
    if not isinstance(x, Stream):
        return x * factor
    return _throughout(x, x.value * factor, lambda derivative: derivative * factor)


def shift(x: Flow, amount: Float[Array, " w"]) -> Flow:
    """A constant added to each column, which no derivative feels."""
    if not isinstance(x, Stream):
        return x + amount[None]
    return _throughout(x, x.value + amount[None], lambda derivative: derivative)


def concatenate(x: Flow, y: Flow) -> Flow:
    """The columns of `x`, then those of `y`."""
    if not (isinstance(x, Stream) and isinstance(y, Stream)):
        assert not isinstance(x, Stream)
        assert not isinstance(y, Stream)
        return jnp.concatenate([x, y], axis=1)
    left, right = x.value, y.value
    seconds = {}
    for pairs in x.seconds:
        known = x.seconds[pairs] is not None or y.seconds[pairs] is not None
        seconds[pairs] = _abreast(x.seconds[pairs], y.seconds[pairs], left, right) if known else None
    firsts = {axis: _abreast(x.firsts[axis], y.firsts[axis], left, right) for axis in x.firsts}
    mixed = tuple(_abreast(*pair, left, right) for pair in zip(x.mixed, y.mixed, strict=True))
    return Stream(jnp.concatenate([left, right], axis=1), firsts, seconds, mixed, x.mixes)


def _abreast(left: Array | None, right: Array | None, left_like: Array, right_like: Array) -> Array:
    """Two derivatives side by side, each (a batch, a row, or None for zero) brought to its value's shape."""
    full = [
        jnp.broadcast_to(jnp.zeros((), like.dtype) if array is None else array, like.shape)
        for array, like in ((left, left_like), (right, right_like))
    ]
    return jnp.concatenate(full, axis=1)


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    return x @ weight if bias is None else x @ weight + bias[None]


def _throughout(x: Stream, value: Array, change: Callable[[Array], Array]) -> Stream:
    """The value given, and every derivative changed in the same linear way."""
    return Stream(
        value,
        {axis: change(first) for axis, first in x.firsts.items()},
        {pairs: None if second is None else change(second) for pairs, second in x.seconds.items()},
        tuple(change(each) for each in x.mixed),
        x.mixes,
    )


def _summed(pairs: Pairs, product: Callable[[int, int], Array]) -> Array:
    return added(product(i, j) for i, j in pairs)


def _weighted(mix: Mix, product: Callable[[int, int], Array]) -> Array:
    return added(weight * _summed(pairs, product) for pairs, weight in mix.seconds.items())


def added(arrays: Iterable[Array]) -> Array:
    """At least one array, from left to right."""
    return functools.reduce(jnp.add, arrays)


class Tanh:
    def __call__(self, x: Array) -> Array:
        return jnp.tanh(x)

    def with_derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        value = jnp.tanh(x)
        slope = 1.0 - value * value
        return value, slope, -2.0 * value * slope


class Sine:
    def __call__(self, x: Array) -> Array:
        return jnp.sin(x)

    def with_derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        value = jnp.sin(x)
        return value, jnp.cos(x), -value


class Cosine:
    def __call__(self, x: Array) -> Array:
        return jnp.cos(x)

    def with_derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        value = jnp.cos(x)
        return value, -jnp.sin(x), -value


class SiLU:
    """`x` times its logistic function."""

    def __call__(self, x: Array) -> Array:
        return x * jax.nn.sigmoid(x)

    def with_derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        gate = jax.nn.sigmoid(x)
        value, rest = x * gate, 1.0 - gate
        return value, gate + value * rest, gate * rest * (2.0 + x * (rest - gate))


tanh = Tanh()
sine = Sine()
cosine = Cosine()
silu = SiLU()
