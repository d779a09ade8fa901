"""The kernel estimator: a sum of Gaussian bumps over the most recent misfits.

Nothing is trained: an update takes in the newest misfits, drops the oldest, and works out bandwidth and density
anew. The density is kept on a grid: misfits are shared out to its nodes and smoothed by a Fourier product, and
between nodes the density is straight. A step then costs a pass over the buffer, where the kernel sum itself would
cost the buffer for every misfit.

The buffer says nothing about places where no misfit has been. There the law is a wide Laplace tail with the weight
of one misfit, and of those too far out for the grid: `log_prob` stays finite and falls steadily outwards.
"""

import abc
import math
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from napinn.noise.density.base import Density, sample_on_grid, trapezoid

MARGIN = 5.0
"""Silverman bandwidths from the outermost misfit to the end of the grid, where a bump has died away."""
COARSEST = 1 / 3
"""Silverman bandwidths between nodes at most; misfits that would ask for a coarser grid go to the tail."""
HALVINGS = 24
"""Of the range of the buffer, in search of its quartiles: as fine as float32."""


class Tail(eqx.Module):
    """A Laplace law and its share of the whole."""

    centre: Float[Array, ""]
    scale: Float[Array, ""]
    share: Float[Array, ""]

    def log_height(self, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.log(self.share / (2.0 * self.scale)) - jnp.abs(misfits - self.centre) / self.scale


class Binned(eqx.Module):
    """Misfits shared out to the nodes of a grid, and what a bandwidth rule may want to know besides."""

    counts: Float[Array, " m"]
    low: Float[Array, ""]
    spacing: Float[Array, ""]
    silverman: Float[Array, ""]
    """Silverman's bandwidth of all misfits in the buffer."""
    tail: Tail

    @property
    def nodes(self) -> Float[Array, " m"]:
        return self.low + self.spacing * jnp.arange(self.counts.size, dtype=self.counts.dtype)


class KDEState(eqx.Module):
    recent: Float[Array, " k"]
    """Oldest first. While fewer than the buffer holds have come, its front is empty."""
    count: Int[Array, ""]
    bandwidth: Float[Array, ""]
    low: Float[Array, ""]
    spacing: Float[Array, ""]
    heights: Float[Array, " m"]
    """The density on the grid without the tail; zero at both ends."""
    tail: Tail


class Bandwidth(abc.ABC):
    """A rule for the width of the bumps."""

    @abc.abstractmethod
    def __call__(self, binned: Binned) -> Float[Array, ""]: ...


@dataclass(frozen=True)
class Silverman(Bandwidth):
    """The paper's rule of thumb, made for one mode: it smooths several into each other."""

    def __call__(self, binned: Binned) -> Float[Array, ""]:
        return binned.silverman


@dataclass(frozen=True)
class CrossValidated(Bandwidth):
    """The width, on a ladder down from Silverman's, under which the misfits best foretell one another.

    Each node is predicted from all others but its neighbours. Leaving out only the misfit itself would not do:
    readings are drawn with replacement, copies of one reading foretell each other perfectly, and the width would
    shrink to nothing.
    """

    rungs: int = 16
    widest: float = 1.25
    narrowest: float = 0.05

    def __call__(self, binned: Binned) -> Float[Array, ""]:
        counts, dtype = binned.counts, binned.counts.dtype
        rungs = jnp.asarray(np.geomspace(self.widest, self.narrowest, self.rungs), dtype)
        # Below two spacings nearly all of a bump would lie on the nodes that are left out.
        ladder = jnp.maximum(rungs * binned.silverman, 2.0 * binned.spacing)
        widths = ladder / binned.spacing
        own = 1.0 / (math.sqrt(2.0 * math.pi) * widths)
        beside = own * jnp.exp(-0.5 / widths**2)
        left_out = own[:, None] + 2.0 * beside[:, None] * jnp.cos(_frequencies(counts.size, dtype))[None]
        others = _smooth(counts, _gaussian(widths, counts.size) - left_out)
        total = binned.spacing * jnp.sum(counts) * (1.0 - own - 2.0 * beside)
        heights = (1.0 - binned.tail.share) * jnp.maximum(others, 0.0) / total[:, None]
        # With the tail, as in the density itself: one lonely misfit then cannot ask for wide bumps everywhere.
        predicted = jnp.log(heights + jnp.exp(binned.tail.log_height(binned.nodes))[None])
        return ladder[jnp.argmax(predicted @ counts)]


@dataclass(frozen=True)
class KDE(Density):
    size: int = 2048
    bandwidth: Bandwidth = Silverman()
    nodes: int = 1024
    smallest: float = 1e-3
    """The least bandwidth, for misfits that are all alike."""

    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> KDEState:
        # Readings come in the order of their file; a random sample represents all of them.
        chosen = jax.random.permutation(key, misfits)[: self.size]
        recent = jnp.concatenate([jnp.zeros((self.size - chosen.size,), misfits.dtype), chosen])
        return self._refresh(recent, jnp.asarray(chosen.size, jnp.int32))

    def update(
        self, state: KDEState, misfits: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[KDEState, Float[Array, " n"]]:
        recent = jnp.concatenate([state.recent, misfits])[-self.size :]
        count = jnp.minimum(state.count + misfits.size, self.size)
        return self._refresh(recent, count), self.log_prob(state, misfits)

    def log_prob(self, state: KDEState, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        place = jnp.clip((misfits - state.low) / state.spacing, 0.0, self.nodes - 1.0)
        left = jnp.minimum(place.astype(jnp.int32), self.nodes - 2)
        part = place - left
        height = (1.0 - part) * state.heights[left] + part * state.heights[left + 1]
        # As a ratio to the tail, because off the grid the height is zero and its logarithm has no slope. The bound
        # acts only there: on the grid the tail is never below e^-80.
        log_tail = state.tail.log_height(misfits)
        return log_tail + jnp.log1p(height * jnp.exp(jnp.minimum(-log_tail, 80.0)))

    def sample(self, state: KDEState, key: PRNGKeyArray, count: int) -> Float[Array, " count"]:
        for_choice, for_tail, for_grid = jax.random.split(key, 3)
        dtype = state.heights.dtype
        far = state.tail.centre + state.tail.scale * jax.random.laplace(for_tail, (count,), dtype)
        nodes = state.low + state.spacing * jnp.arange(self.nodes, dtype=dtype)
        near = sample_on_grid(for_grid, count, nodes, state.heights)
        return jnp.where(jax.random.uniform(for_choice, (count,), dtype) < state.tail.share, far, near)

    def support(self, state: KDEState) -> tuple[Float[Array, ""], Float[Array, ""]]:
        end = jnp.asarray(jnp.inf, state.heights.dtype)
        return -end, end

    def normaliser(self, state: KDEState) -> Float[Array, ""]:
        return trapezoid(state.heights, state.spacing) + state.tail.share

    def _refresh(self, recent: Float[Array, " k"], count: Int[Array, ""]) -> KDEState:
        binned = self._bin(recent, count)
        bandwidth = jnp.maximum(self.bandwidth(binned), self.smallest)
        smooth = _smooth(binned.counts, _gaussian(bandwidth[None] / binned.spacing, self.nodes))[0]
        # Rounding goes, below zero and at the ends: a density is not negative, and meets its tail without a step.
        heights = jnp.maximum(smooth, 0.0).at[jnp.array([0, -1])].set(0.0)
        heights *= (1.0 - binned.tail.share) / trapezoid(heights, binned.spacing)
        return KDEState(recent, count, bandwidth, binned.low, binned.spacing, heights, binned.tail)

    def _bin(self, recent: Float[Array, " k"], count: Int[Array, ""]) -> Binned:
        held = jnp.arange(self.size) >= self.size - count
        number = count.astype(recent.dtype)
        first = jnp.min(jnp.where(held, recent, jnp.inf))
        last = jnp.max(jnp.where(held, recent, -jnp.inf))
        lower, centre, upper = _quartiles(jnp.where(held, recent, jnp.inf), number, first, last)
        std = _std(recent, held, number)
        spread = jnp.minimum(std, (upper - lower) / 1.34)
        silverman = jnp.maximum(0.9 * spread * number**-0.2, self.smallest)

        reach = COARSEST * silverman * self.nodes / 2 - MARGIN * silverman
        low = jnp.maximum(first, centre - reach) - MARGIN * silverman
        high = jnp.minimum(last, centre + reach) + MARGIN * silverman
        spacing = (high - low) / (self.nodes - 1)
        inside = held & (jnp.abs(recent - centre) <= reach)
        counts = _share_out(recent, inside, low, spacing, self.nodes)
        share = (1.0 + number - jnp.sum(counts)) / (1.0 + number)
        # Misfits come standardised, so a tail of width one suits them even while those held are all alike.
        tail = Tail(centre, jnp.maximum(std, 1.0), share)
        return Binned(counts, low, spacing, silverman, tail)


def _quartiles(
    misfits: Float[Array, " k"], number: Float[Array, ""], first: Float[Array, ""], last: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """By bisection of the range; entries that hold nothing are +∞. A sort takes six times as long on a CPU."""
    wanted = jnp.asarray([0.25, 0.5, 0.75], misfits.dtype) * number

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = 0.5 * (ends[0] + ends[1])
        enough = jnp.sum(misfits[None, :] <= middle[:, None], axis=1) >= wanted
        return jnp.where(enough, ends[0], middle), jnp.where(enough, middle, ends[1])

    _, (lower, centre, upper) = jax.lax.fori_loop(
        0, HALVINGS, halve, (jnp.broadcast_to(first, (3,)), jnp.broadcast_to(last, (3,)))
    )
    return lower, centre, upper


def _std(recent: Float[Array, " k"], held: Bool[Array, " k"], number: Float[Array, ""]) -> Float[Array, ""]:
    mean = jnp.sum(jnp.where(held, recent, 0.0)) / number
    return jnp.sqrt(jnp.sum(jnp.where(held, (recent - mean) ** 2, 0.0)) / number)


def _share_out(
    misfits: Float[Array, " k"],
    inside: Bool[Array, " k"],
    low: Float[Array, ""],
    spacing: Float[Array, ""],
    nodes: int,
) -> Float[Array, " m"]:
    """Each misfit to the two nodes around it in proportion to nearness, which keeps its place on average."""
    place = jnp.clip((misfits - low) / spacing, 0.0, nodes - 1.0)
    left = jnp.minimum(place.astype(jnp.int32), nodes - 2)
    right = jnp.where(inside, place - left, 0.0)
    counts = jnp.zeros((nodes,), misfits.dtype)
    return counts.at[left].add(jnp.where(inside, 1.0, 0.0) - right).at[left + 1].add(right)


def _frequencies(nodes: int, dtype: jnp.dtype) -> Float[Array, " w"]:
    return jnp.asarray(2.0 * np.pi * np.fft.rfftfreq(nodes), dtype)


def _gaussian(widths: Float[Array, " r"], nodes: int) -> Float[Array, "r w"]:
    """What bumps of these widths, in spacings, leave of each frequency of the grid."""
    return jnp.exp(-0.5 * (widths[:, None] * _frequencies(nodes, widths.dtype)[None]) ** 2)


def _smooth(counts: Float[Array, " m"], kept: Float[Array, "r w"]) -> Float[Array, "r m"]:
    return jnp.fft.irfft(jnp.fft.rfft(counts)[None] * kept, n=counts.size)
