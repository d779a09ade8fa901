"""The one place where the terms meet.

    total = mean over points of Σ_equations residual²          (physics)
          + mean over faces of Σ_conditions residual²          (conditions, where there are any)
          + mean over readings of [weight ·] loss(misfit)      (data)
          + λ_rej · mean over readings of (1 - weight)         (rejection cost, when gated)

or, where the learned law itself is the loss (`Likelihood`),

    total = physics + likelihood + what trains the gate, which then only gives verdicts

Misfits are standardised once, here, and reach density and gate only so. Neither scale, density nor gate sends a
gradient into the network: the density sees misfits as data, and the gate sees log-densities as data."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from napinn.field.backbones import divergence, sampled
from napinn.field.chunks import in_chunks
from napinn.field.derivatives import FieldNetwork
from napinn.noise.data_term import DataTerm, ScoredMisfits
from napinn.noise.density import Density, RunningStd, Scale, Standard
from napinn.noise.gate import Gate, GateState
from napinn.noise.law import FLAG_BELOW
from napinn.problem import Problem
from napinn.problem.equations import Terms, wanted

FACE_POINTS = 256
"""How many points of a batch stand on the face of each condition."""
VALUE: Terms = ((),)


class Batch(eqx.Module):
    """Collocation points, and readings as points with either all fields of a point or one field a row."""

    collocation: Float[Array, "c d"]
    points: Float[Array, "n d"]
    values: Float[Array, "n f"]
    field: Int[Array, " n"] | None
    """Which field each row of one-column `values` is a reading of; None when `values` holds every field."""
    kept: Float[Array, "n f"] | None = None
    """1 for readings that count and 0 for those screened out; None when all count."""
    spread: Float[Array, "n f"] | None = None
    """Known deviation of each reading over the median one; None when none are known."""


class Learned(eqx.Module):
    """The leaves that the main optimiser moves."""

    field: FieldNetwork
    unknowns: dict[str, Float[Array, ""]]
    """Raw values; `Unknown.value` maps them into their bounds."""
    gate: GateState


class NoiseState(eqx.Module):
    """What is known of the noise: the density's state, the running centre and scale, and the cost of a rejection."""

    density: PyTree
    standard: Standard
    rejection: Float[Array, ""]
    noise_share: Float[Array, ""]
    """How much of the misfits is noise, and so the weight of a likelihood; see `training.coherence`."""


@dataclass(frozen=True)
class Gating:
    """How misfits become weights."""

    density: Density
    gate: Gate = Gate()
    scale: Scale = RunningStd()


def blank_law(gating: Gating, fields: int, dtype: jnp.dtype, key: PRNGKeyArray) -> NoiseState:
    """A law of the right shapes that has learned nothing."""
    ends = jnp.asarray([-1.0, 1.0], dtype)
    standard = gating.scale.measure(ends, jnp.zeros((2,), jnp.int32), fields)
    return NoiseState(gating.density.init(key, ends), standard, jnp.zeros((), dtype), jnp.ones((), dtype))


class Losses(eqx.Module):
    """For the log, never for the next step."""

    total: Float[Array, ""]
    equation: Float[Array, ""]
    data: Float[Array, ""]
    rejected: Float[Array, ""]
    surprise: Float[Array, ""]
    """Mean negative log-density of the standardised misfits."""


def unknown_values(problem: Problem, learned: Learned) -> dict[str, Array]:
    units = jax.lax.stop_gradient(learned.field.frame.unknowns)
    return {
        name: unknown.value(learned.unknowns[name], units[index])
        for index, (name, unknown) in enumerate(problem.unknowns.items())
    }


def misfits(field: FieldNetwork, batch: Batch) -> Float[Array, " m"]:
    """Reading minus field in units of the frame's gain and of what is known of its spread, one number per reading."""
    predicted = field(batch.points)
    unit = jax.lax.stop_gradient(field.frame.gain)
    if batch.field is None:
        # Hidden fields come after the measured ones and have no readings.
        measured = batch.values.shape[1]
        misfit = (batch.values - predicted[:, :measured]) / unit[None, :measured]
    else:
        misfit = (batch.values - jnp.take_along_axis(predicted, batch.field[:, None], axis=1)) / unit[batch.field, None]
    return (misfit if batch.spread is None else misfit / batch.spread).reshape(-1)


def owners(batch: Batch) -> Int[Array, " m"]:
    """The field of each misfit."""
    rows, fields = batch.values.shape
    return jnp.tile(jnp.arange(fields), rows) if batch.field is None else batch.field


def equation_loss(problem: Problem, learned: Learned, points: Float[Array, "c d"]) -> Float[Array, ""]:
    faces = face_residuals(problem, learned, points[:FACE_POINTS])
    return mean_squares([inside_residuals(problem, learned, points), *faces])


def mean_squares(residuals: list[Float[Array, "_ _"]]) -> Float[Array, ""]:
    """Mean over points of the sum of squares, of each table of residuals, added up."""
    return functools.reduce(jnp.add, [jnp.mean(jnp.sum(table * table, axis=1)) for table in residuals])


def inside_residuals(problem: Problem, learned: Learned, points: Float[Array, "c d"]) -> Float[Array, "c e"]:
    """What is left of each equation at points of the box, in its unit."""
    unknowns, system = unknown_values(problem, learned), problem.carried
    names = tuple(problem.coordinates)
    values, applied = learned.field.carry(points, wanted(system), problem.weights(unknowns, jnp), names)
    residuals = problem.residual_values(system, points, values, unknowns, applied)
    units = learned.field.frame.residual[: len(problem.written)]
    return residuals / jax.lax.stop_gradient(units)[None]


def face_residuals(problem: Problem, learned: Learned, points: Float[Array, "c d"]) -> list[Float[Array, "c _"]]:
    """What is left of each condition, in its unit, and the jump of the fields and of their slopes across each period.

    The points are anywhere in the box: moved onto the face of a condition they are spread over it as they were."""
    frame = jax.lax.stop_gradient(learned.field.frame)
    names = tuple(problem.coordinates)
    unknowns = unknown_values(problem, learned)
    found: list[Float[Array, "c _"]] = []
    inside, placed = len(problem.written), len(problem.placed)
    for condition, unit in zip(problem.placed, frame.residual[inside : inside + placed], strict=True):
        face = points
        for name, value in condition.at.items():
            face = face.at[:, names.index(name)].set(value)
        values = learned.field.derivatives(face, wanted((condition.equation,)), names)
        found.append(problem.residual_values((condition.equation,), face, values, unknowns) / unit)
    for name, unit in zip(problem.periodic, frame.residual[inside + placed :], strict=True):
        axis, half = names.index(name), 0.5 * (problem.coordinates[name][1] - problem.coordinates[name][0])
        faces = [points.at[:, axis].set(end) for end in problem.coordinates[name]]
        slope: Terms = ((name,),)
        low, high = (learned.field.derivatives(face, [VALUE, slope], names) for face in faces)
        for jump in (high[VALUE] - low[VALUE], half * (high[slope] - low[slope])):
            found.append(jump / (unit * frame.gain[None]))
    return found


def plain_loss(
    problem: Problem, loss: DataTerm, learned: Learned, batch: Batch, equation_factor: Float[Array, ""] | float = 1.0
) -> tuple[Array, Losses]:
    """Physics, times its weight, and data, every reading that was not screened out counted alike."""
    equation = equation_loss(problem, learned, batch.collocation)
    kept = None if batch.kept is None else batch.kept.reshape(-1)
    data = loss.plain_value(misfits(learned.field, batch), kept)
    nothing = jnp.zeros_like(equation)
    rejected = nothing if kept is None else 1.0 - jnp.mean(kept)
    total = equation_factor * equation + data
    return total, Losses(total, equation, data, rejected, nothing)


def gated_loss(
    problem: Problem,
    loss: DataTerm,
    gating: Gating,
    learned: Learned,
    law: NoiseState,
    batch: Batch,
    key: PRNGKeyArray,
    equation_factor: Float[Array, ""] | float = 1.0,
) -> tuple[Array, tuple[NoiseState, Losses]]:
    """Physics, times its weight, and gated data; the density learns from the same pass that scores the readings."""
    equation = equation_loss(problem, learned, batch.collocation)
    misfit, owner = misfits(learned.field, batch), owners(batch)
    still = jax.lax.stop_gradient(misfit)
    standard = gating.scale.update(law.standard, still, owner)
    density, log_prob, slope = loss.learn(gating.density, law.density, standard(still, owner), key)
    weights = gating.gate.weights(learned.gate, log_prob)
    scored = ScoredMisfits(owner, standard, log_prob, slope, weights, law.noise_share)
    data = loss.gated_value(misfit, scored)
    rejection = loss.rejection(still, scored, law.rejection * jnp.mean(gating.gate.cost(weights)))
    total = equation_factor * equation + data + rejection
    losses = Losses(total, equation, data, jnp.mean(weights < FLAG_BELOW), -jnp.mean(log_prob))
    return total, (NoiseState(density, standard, law.rejection, law.noise_share), losses)


def learn_law(
    gating: Gating, law: NoiseState, misfit: Float[Array, " n"], owner: Int[Array, " n"], key: PRNGKeyArray
) -> tuple[NoiseState, Float[Array, ""]]:
    """One step of the density alone, on misfits of a fixed field."""
    standard = gating.scale.update(law.standard, misfit, owner)
    density, log_prob = gating.density.update(law.density, standard(misfit, owner), key)
    return NoiseState(density, standard, law.rejection, law.noise_share), -jnp.mean(log_prob)


def with_posterior(loss: Callable[..., tuple[Array, Any]], weight: float) -> Callable[..., tuple[Array, Any]]:
    """The loss of one draw from the network's posterior, plus `weight` times its divergence from the prior.

    A network without a posterior is its own draw, and the divergence is zero.
    """

    def sampled_loss(learned: Learned, key: PRNGKeyArray, *rest: Any) -> tuple[Array, Any]:
        total, info = loss(sampled(learned, key), *rest)
        return total + weight * divergence(learned).astype(total.dtype), info

    return sampled_loss if weight > 0.0 else lambda learned, key, *rest: loss(learned, *rest)


def reliabilities(
    gating: Gating, learned: Learned, law: NoiseState, misfit: Float[Array, " n"], owner: Int[Array, " n"]
) -> Float[Array, " n"]:
    """The gate's weight of every reading, all of them standardised as one batch; the law is asked in pieces.

    What is left after a fit to readings without noise is the field's own error, and no reason to doubt any."""
    standard = np.asarray(_standardised(law, misfit, owner))
    log_prob = in_chunks(lambda piece: np.asarray(_log_prob(gating, law, jnp.asarray(piece))), standard)
    weights = _weights(gating, learned.gate, jnp.asarray(log_prob))
    return jnp.where(jnp.abs(misfit) < gating.scale.negligible, jnp.ones_like(weights), weights)


@eqx.filter_jit
def _standardised(law: NoiseState, misfit: Float[Array, " n"], owner: Int[Array, " n"]) -> Float[Array, " n"]:
    return law.standard(misfit, owner)


@eqx.filter_jit
def _log_prob(gating: Gating, law: NoiseState, standard: Float[Array, " n"]) -> Float[Array, " n"]:
    return gating.density.log_prob(law.density, standard)


@eqx.filter_jit
def _weights(gating: Gating, gate: GateState, log_prob: Float[Array, " n"]) -> Float[Array, " n"]:
    return gating.gate.weights(gate, log_prob)
