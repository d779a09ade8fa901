"""What a finished fit is worth: a status, and a sentence for everything that speaks against it.

Everything is read off the result; nothing here trains, and nothing knows a truth. The doubts are looked for from the
gravest to the mildest; the first gives the status, and all of them are told."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Float

from napinn.compiled import owned_jit
from napinn.density import Density
from napinn.density.scale import SMALLEST
from napinn.equations import wanted
from napinn.likelihood import CLIP
from napinn.objective import Learned, unknown_values
from napinn.problem import Problem
from napinn.result import FitResult, FitStatus
from napinn.scaling import Frame, fitted_frame
from napinn.training import Kind

Doubt = tuple[FitStatus, str]

MOST_FLAGGED = 0.45
"""Robust estimates break down at one half, and close to it they cannot be told from broken ones."""
MOSTLY_NOISE = 0.5
"""The share of noise in the misfits below which a law of them says more of the field than of the sensors."""
NEAR_BOUND = 1e-4
"""How close to its bound an unknown stands, as a share of its natural size, or of its range where that is less."""
NEGLIGIBLE = 1e-3
"""An unknown whose natural change moves no equation by more than this share of its terms leaves no trace."""
COLLINEAR = 1e-5
"""Smallest eigenvalue of the normalised Gauss–Newton matrix below which unknowns move the equations alike."""
PROBES = 512
TAIL, TAIL_OF_LAST = 0.1, 0.2
"""Shares of all steps, and of the last phase's, at the end, over which a settled fit no longer changes."""
STEADY, STEADY_UNITS = 0.01, 1e-3
"""A coefficient is steady within this share of itself, or of the change that matters to the equations."""
STALLED_LOSS, STALLED_SCORE = 0.02, 0.01
"""A loss has stalled within this share of itself, a held-out score within this many nats."""
SEEDS_APART, SEEDS_APART_FIELD = 0.05, 0.5
"""Seeds agree when coefficients differ by less than this share, and fields by less than this many noise deviations."""


def judge(result: FitResult) -> tuple[FitStatus, tuple[str, ...]]:
    doubts = [
        *_doubts_of_law(result),
        *_doubts_of_gate(result),
        *_doubts_of_bounds(result),
        *_doubts_of_unknowns(result),
    ]
    notes = (*(note for _, note in doubts), *_remarks(result))
    if doubts:
        return doubts[0][0], notes
    return (FitStatus.CONVERGED if _settled(result) else FitStatus.BUDGET_SPENT), notes


def judge_seeds(results: Sequence[FitResult]) -> tuple[FitStatus, tuple[str, ...]]:
    """The status of several fits that differ in their seed alone: that of the worst, unless they disagree.

    Coefficients disagree when they lie further apart than an interval of any of the fits is wide, or, where there are
    no intervals, by more than 5 % of themselves."""
    notes = []
    for name in results[0].unknowns:
        found = np.array([result.unknowns[name] for result in results])
        apart, usual = float(np.ptp(found)), float(abs(np.median(found)))
        widths = [
            result.certainty.intervals[name].high - result.certainty.intervals[name].low
            for result in results
            if result.certainty is not None
        ]
        if apart > max(widths, default=SEEDS_APART * usual):
            notes.append(f"'{name}' ranges from {found.min():.4g} to {found.max():.4g} over {len(results)} seeds.")
    fields = np.stack([result.predicted for result in results])
    for index, name in enumerate(results[0].problem.fields):
        mine = results[0].readings.field_index == index
        apart = float(np.median(np.ptp(fields[:, mine], axis=0)))
        noise = float(np.median([1.4826 * np.median(np.abs(result.misfits[mine])) for result in results]))
        if apart > SEEDS_APART_FIELD * noise:
            notes.append(
                f"The fields '{name}' of {len(results)} seeds lie {apart:.3g} apart, with a noise of {noise:.3g}."
            )
    if notes:
        return FitStatus.SEEDS_DISAGREE, tuple(notes)
    worst = next((result for result in results if not result.status.trusted), results[0])
    return worst.status, worst.notes


def _doubts_of_law(result: FitResult) -> list[Doubt]:
    found: list[Doubt] = []
    if result.law is None or result.method.gating is None:
        return found
    for index, name in enumerate(result.problem.fields):
        if float(result.law.standard.scale[index]) <= 2.0 * SMALLEST:
            note = f"The misfits of '{name}' have no spread, so there is no noise to learn a law of."
            found.append((FitStatus.LAW_DEGENERATE, note))
    total = float(_normaliser(result.method.gating.density, result.law.density))
    if not abs(total - 1.0) < 0.05:
        found.append((FitStatus.LAW_DEGENERATE, f"The learned law integrates to {total:.3g} in place of 1."))
    return found


@eqx.filter_jit
def _normaliser(density: Density, state: Any) -> Array:
    return density.normaliser(state)


def _doubts_of_gate(result: FitResult) -> list[Doubt]:
    share = float(result.flagged.mean())
    if share > MOST_FLAGGED:
        note = f"{100 * share:.0f} % of the readings are flagged; which of them are the bad ones cannot be known."
        return [(FitStatus.REJECTS_MOST, note)]
    gated = any(phase.kind is Kind.GATED for phase in result.method.phases)
    if share == 0.0 and gated and result.law is not None:
        impossible = int(np.sum(-result.log_densities > CLIP))
        if impossible > max(3.0, 0.01 * len(result.readings)):
            note = f"The law finds {impossible} readings all but impossible, and the gate flags none."
            return [(FitStatus.REJECTS_NOTHING, note)]
    return []


def _remarks(result: FitResult) -> tuple[str, ...]:
    """What a reader should know besides, whether or not anything speaks against the fit."""
    singled_out = result.flagged & (result.reliability > 0.0)
    if result.law is None or float(result.law.noise_share) >= MOSTLY_NOISE or not singled_out.any():
        return ()
    return (
        "Neighbouring readings have misfits alike, which are less noise than error of the field or of the equations: "
        "flags on single readings mean little.",
    )


def _doubts_of_bounds(result: FitResult) -> list[Doubt]:
    found: list[Doubt] = []
    unknowns = result.problem.unknowns
    if all(unknown.low is None and unknown.high is None for unknown in unknowns.values()):
        return found
    sizes = np.asarray(_natural_frame(result)[0].unknowns, float)
    for (name, unknown), width in zip(unknowns.items(), sizes, strict=True):
        if unknown.low is not None and unknown.high is not None:
            width = min(width, unknown.high - unknown.low)
        for bound in (unknown.low, unknown.high):
            if bound is not None and abs(result.unknowns[name] - bound) < NEAR_BOUND * width:
                note = f"'{name}' ended at {result.unknowns[name]:.4g}, at its bound {bound:g}."
                found.append((FitStatus.AT_BOUND, note))
    return found


def _doubts_of_unknowns(result: FitResult) -> list[Doubt]:
    names = list(result.unknowns)
    if not names:
        return []
    columns = sensitivities(result)
    sizes = np.sqrt(np.mean(columns**2, axis=0))
    weak = [name for name, size in zip(names, sizes, strict=True) if not size > NEGLIGIBLE]
    found = [
        (FitStatus.NOT_IDENTIFIABLE, f"At the field found, the equations do not depend on '{name}'.") for name in weak
    ]
    strong = [index for index, name in enumerate(names) if name not in weak]
    if len(strong) > 1:
        unit = columns[:, strong] / (sizes[strong] * np.sqrt(len(columns)))
        values, vectors = np.linalg.eigh(unit.T @ unit)
        if values[0] < COLLINEAR:
            mixed = [f"'{names[i]}'" for i, part in zip(strong, vectors[:, 0], strict=True) if abs(part) > 0.1]
            note = f"Changes of {' and '.join(mixed)} move the equations alike, so they can only be found together."
            found.append((FitStatus.NOT_IDENTIFIABLE, note))
    return found


def sensitivities(result: FitResult) -> np.ndarray:
    """How the equations and conditions, in units of their terms, follow each unknown, in its natural unit: a row a
    residual at a random point of the box, a column an unknown."""
    problem, learned = result.problem, result.learned
    dtype = learned.field.frame.gain.dtype
    with jax.enable_x64(dtype == jnp.float64):
        frame, weight = _natural_frame(result)
        points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (PROBES, len(problem.lows)))
        slopes = _slopes(problem, learned, jnp.asarray(points, dtype))
        placed = len(problem.equations) + len(problem.placed)
        units = np.repeat(np.asarray(frame.residual, float)[:placed] * np.sqrt(weight), PROBES)
        scales = np.asarray(frame.unknowns, float)
        return np.stack([np.asarray(slopes[name], float) / units for name in problem.unknowns], axis=1) * scales


def _natural_frame(result: FitResult) -> tuple[Frame, float]:
    """Natural sizes of equations and unknowns, and what the weight of the equations has divided the former by."""
    if result.method.scaled:
        return result.learned.field.frame, result.method.equation_weight
    values = [result.readings.of_field(index) for index in range(len(result.problem.fields))]
    return fitted_frame(result.problem, values, result.learned.field.frame.gain.dtype), 1.0


def _slopes(problem: Problem, learned: Learned, points: Float[Array, "n d"]) -> dict[str, Float[Array, " m"]]:
    names = tuple(problem.coordinates)

    @owned_jit
    def slopes(learned: Learned, points: Array) -> dict[str, Array]:
        places = [(problem.system, points)]
        for condition in problem.placed:
            face = points
            for name, value in condition.at.items():
                face = face.at[:, names.index(name)].set(value)
            places.append(((condition.equation,), face))
        known = [learned.field.derivatives(where, wanted(system), names) for system, where in places]

        def left(unknowns: dict[str, Array]) -> Array:
            parts = [
                problem.left_over(system, where, values, unknowns).T.reshape(-1)
                for (system, where), values in zip(places, known, strict=True)
            ]
            return jnp.concatenate(parts)

        return jax.jacfwd(left)(unknown_values(problem, learned))

    return slopes(learned, points)


def _settled(result: FitResult) -> bool:
    """Whether losses and coefficients no longer changed over the last steps."""
    history = result.history
    if len(history) < 4:
        return False
    end, phases = history["step"].iloc[-1], result.method.phases
    last = history[history["phase"] == history["phase"].iloc[-1]]
    window = min(TAIL * sum(phase.steps for phase in phases), TAIL_OF_LAST * phases[-1].steps)
    tail = last[last["step"] > end - window]
    before = last[(last["step"] > end - 2.0 * window) & (last["step"] <= end - window)]
    if len(tail) < 2 or len(before) < 2:
        return False
    units = np.asarray(result.learned.field.frame.unknowns, float)
    for (name, value), unit in zip(result.unknowns.items(), units, strict=True):
        if np.ptp(tail[name].to_numpy(float)) > max(STEADY * abs(value), STEADY_UNITS * unit):
            return False
    if "held_out" in tail:
        return bool(_change(before["held_out"], tail["held_out"]) <= STALLED_SCORE)
    return bool(_change(before["total"], tail["total"]) <= STALLED_LOSS * abs(before["total"].mean()))


def _change(before: pd.Series, after: pd.Series) -> float:
    """The change of a mean beyond what its scatter explains."""
    scatter = np.hypot(*(float(part.std()) / np.sqrt(len(part)) for part in (before, after)))
    return max(0.0, float(abs(after.mean() - before.mean())) - 2.0 * scatter)
