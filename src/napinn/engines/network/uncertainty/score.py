"""The score of each reading, and how the scores change when the field moves.

The score of a reading is the derivative of its part of the data loss by its misfit, exactly as training takes it: law
and gate are held fixed. The mean slope of the scores is a difference quotient: all misfits of a field are moved to
either side. This serves squares, absolute values and a learned law with several modes alike."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from napinn.data.robust import robust_std
from napinn.engines.network.objective import Learned, NoiseState, reliabilities
from napinn.engines.network.training import Method, Phase, PhaseKind
from napinn.noise.data_term import ScoredMisfits
from napinn.noise.likelihood import SIDE_WIDTH

GENTLEST = 0.1
"""The least slope, in units of the typical score over the typical misfit: squares have 1, absolute values about 0.8."""


def last_phase(method: Method) -> Phase:
    """The phase whose loss the field was left with."""
    return [phase for phase in method.phases if phase.kind is not PhaseKind.LAW][-1]


def score_values(
    method: Method, learned: Learned, law: NoiseState | None, misfit: Float[Array, " n"], owner: Int[Array, " n"]
) -> Float[Array, " n"]:
    """The derivative of n times the data loss by each misfit, the location of the law not yet profiled out."""
    loss, gating = last_phase(method).loss, method.gating
    if law is None or gating is None or last_phase(method).kind is PhaseKind.PLAIN:
        return loss.score(misfit, None)
    log_prob, slope = jax.jvp(
        lambda moved: gating.density.log_prob(law.density, law.standard(moved, owner)),
        (misfit,),
        (law.standard.scale[owner],),
    )
    weights = gating.gate.weights(learned.gate, log_prob)
    return loss.score(misfit, ScoredMisfits(owner, law.standard, log_prob, slope, weights, law.noise_share))


def slopes(
    method: Method, learned: Learned, law: NoiseState | None, misfit: np.ndarray, owner: np.ndarray, fields: int
) -> np.ndarray:
    """The mean slope of the scores of each field's readings; above zero."""

    def score(moved: np.ndarray) -> np.ndarray:
        return np.asarray(score_values(method, learned, law, jnp.asarray(moved), jnp.asarray(owner)))

    found, here = np.ones(fields), score(misfit)
    for field in range(fields):
        mine = owner == field
        if not mine.any():
            continue
        spread = robust_std(misfit[mine]) or 1.0
        width = spread * mine.sum() ** -0.2
        mean = np.mean(score(misfit + width)[mine] - score(misfit - width)[mine]) / (2.0 * width)
        found[field] = max(mean, GENTLEST * np.sqrt(np.mean(here[mine] ** 2)) / spread)
    return found


def anchors(
    method: Method, learned: Learned, law: NoiseState | None, misfit: np.ndarray, owner: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """What holds the median misfit of each field at zero: the side that each reading is on, how the mean side of a
    field follows each misfit (fields by readings), and the weight of a squared mean; None where nothing does."""
    anchor = last_phase(method).loss.location.anchor
    if anchor == 0.0 or law is None or method.gating is None:
        return None
    scale = law.standard.scale
    weights = np.asarray(reliabilities(method.gating, learned, law, jnp.asarray(misfit), jnp.asarray(owner)))
    member = (owner[None, :] == np.arange(len(scale))[:, None]) * weights[None, :]
    share = member / np.maximum(member.sum(axis=1, keepdims=True), 1.0)
    width = SIDE_WIDTH * np.asarray(scale)[owner]
    side = np.tanh(misfit / width)
    return (
        len(misfit) * share.sum(axis=0) * side,
        share * ((1.0 - side**2) / width)[None, :],
        anchor * np.asarray(scale) ** 2,
    )
