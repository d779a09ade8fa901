"""The learned law as the data loss, with its location profiled out.

    data = s² · mean over readings of min(-log p((misfit - centre)/σ), clip)

σ is the robust deviation of the misfits of the reading's field, and the factor s² the mean of σ² over the readings. It
puts the term into the units of squares: a Gaussian law gives half of least squares, whatever the noise level. It is one
for all fields, since how far to trust each of them the law knows already.

Field and law share one freedom: a constant added to the field and taken from the law changes no density. Left to
stochastic gradients this freedom is a random walk, and where the law is slow to follow, a drag on the field. So it is
taken out: the part of the gradient that would move all readings of a field alike is subtracted, which is the gradient
of the likelihood maximised over the law's location. What remains to fix the constant is the equation, wherever it
feels one, and else the `anchor`: the median misfit of the readings that the gate accepts is held at zero by a
penalty that any equation outweighs."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from napinn.noise.data_term import DataTerm, Location, ScoredMisfits
from napinn.noise.density import Density
from napinn.noise.density.scale import members
from napinn.noise.law import IMPOSSIBLE

CLIP = IMPOSSIBLE
SIDE_WIDTH = 0.5
"""Misfits well within this many deviations of zero count as being on neither side of it."""


@dataclass(frozen=True)
class Likelihood(DataTerm):
    is_law: ClassVar[bool] = True

    clip: float = CLIP
    """No reading is charged more than this many nats."""
    gated: bool = False
    """Whether the gate weighs the readings too; the law by itself already bounds the score of an outlier."""
    anchor: float = 1e-3
    """Weight of the squared median misfit; 0 leaves the law's location to the equation alone."""
    profiled: bool = True
    """Whether the law's location is taken out of the gradient."""

    @property
    def location(self) -> Location:
        return Location(self.profiled, self.anchor)

    def plain_value(self, misfit: Float[Array, " n"], kept: Float[Array, " n"] | None) -> Float[Array, ""]:
        raise TypeError("a phase has the likelihood as its loss but learns no law")

    def gated_value(self, misfit: Float[Array, " n"], scored: ScoredMisfits) -> Float[Array, ""]:
        """Absolute misfits have the weight that the noise does not have."""
        assert scored.slope is not None
        owner, standard, log_prob, share = scored.owner, scored.standard, scored.log_prob, scored.noise_share
        weights = jax.lax.stop_gradient(scored.weights)
        scale = standard.scale[owner]
        score = jnp.where(-log_prob < self.clip, -jnp.mean(scale**2) / scale * scored.slope, 0.0)
        score = weights * score if self.gated else score
        member = members(owner, len(standard.scale)).astype(misfit.dtype)
        if self.profiled:
            score = score - (_mean(member, score) @ member)
        moved = misfit - jax.lax.stop_gradient(misfit)
        side = _mean(member * weights[None, :], jnp.tanh(misfit / (SIDE_WIDTH * scale)))
        hold = self.anchor * jnp.sum((standard.scale * side) ** 2)
        each = jnp.minimum(-log_prob, self.clip)
        value = jnp.mean(scale**2) * jnp.mean(weights * each if self.gated else each)
        likelihood = value + jnp.mean(score * moved)
        return share * likelihood + (1.0 - share) * jnp.mean(jnp.abs(misfit)) + hold

    def rejection(self, still: Float[Array, " n"], scored: ScoredMisfits, cost: Float[Array, ""]) -> Float[Array, ""]:
        """The gate gives verdicts only, so it learns on fixed misfits."""
        return jnp.mean(scored.weights * scored.standard(still, scored.owner) ** 2) + cost

    def score(self, misfit: Float[Array, " n"], scored: ScoredMisfits | None) -> Float[Array, " n"]:
        assert scored is not None
        free = replace(self, profiled=False, anchor=0.0)
        return len(misfit) * jax.grad(lambda moved: free.gated_value(moved, scored))(misfit)

    def learn(
        self, density: Density, state: PyTree, standard: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[PyTree, Float[Array, " n"], Float[Array, " n"]]:
        return learn_and_score(density, state, standard, key)


def _mean(member: Float[Array, "f n"], values: Float[Array, " n"]) -> Float[Array, " f"]:
    """The mean of each field's values; 0 for a field that has none."""
    return (member @ values) / jnp.maximum(jnp.sum(member, axis=1), 1.0)


def learn_and_score(
    density: Density, state: PyTree, standard: Float[Array, " n"], key: PRNGKeyArray
) -> tuple[PyTree, Float[Array, " n"], Float[Array, " n"]]:
    """The density after learning, and the log-densities before it with their slopes.

    The log-density of a misfit depends on no other misfit, so one forward derivative along all of them at once gives
    every slope in the pass that scores."""
    (after, log_prob), (_, slope) = jax.jvp(
        lambda misfit: density.update(state, misfit, key), (standard,), (jnp.ones_like(standard),)
    )
    return jax.lax.stop_gradient((after, log_prob, slope))
