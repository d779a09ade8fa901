"""How far a finished fit can be trusted: a status, and a sentence for every doubt.

Everything is read off the result; nothing here trains, and nothing knows a truth. The doubts are ordered from the
gravest to the mildest; the first gives the status, and all of them are reported."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from napinn.data.robust import MAD_TO_STD
from napinn.diagnostics import consistency as scrutiny
from napinn.diagnostics.exchange import exchange_sentences
from napinn.diagnostics.identifiability import free_level_sentences, sparsity_sentences, undeterminable
from napinn.diagnostics.noise_level import uneven_noise
from napinn.noise.law import IMPOSSIBLE
from napinn.problem.equations import UnknownLeaf, wanted
from napinn.results.intervals import Uncertainty
from napinn.results.result import FitResult, FitStatus

Doubt = tuple[FitStatus, str]
GRAVITY = ("green", "yellow", "red")
"""Colours of statuses from good to bad."""
FINISHED = (FitStatus.CONVERGED, FitStatus.BUDGET_SPENT)
"""The statuses of a fit that nothing had cast doubt on."""

MOST_FLAGGED = 0.45
"""Robust estimates break down at one half, and close to it nothing shows whether they have."""
MOSTLY_NOISE = 0.5
"""The share of noise in the misfits below which a law of them says more of the field than of the sensors."""
WHOLE = 0.05
"""How far from 1 the integral of a sound law may be, by the errors of its grid."""
NEAR_BOUND = 1e-4
"""How close to its bound an unknown stands, as a share of its natural size, or of its range where that is less."""
NEGLIGIBLE = 1e-3
"""An unknown whose natural change moves no equation by more than this share of its terms leaves no trace."""
COLLINEAR = 1e-5
"""Smallest eigenvalue of the normalised Gauss–Newton matrix below which unknowns move the equations alike."""
PROBES = 512
"""Random points at which the sensitivities of the equations are averaged."""
NAMED_PART = 0.1
"""Of a direction of unit length in the unknowns: those with a smaller part in it make up less than a hundredth of its
square, and are not named with it."""
MOST_IMPOSSIBLE, MOST_IMPOSSIBLE_SHARE = 3.0, 0.01
"""Readings, and the share of all, that the law may find all but impossible although the gate flags none. So few may be
the far tail of a law that was learned from finitely many readings; more should have been flagged."""
SEEDS_APART, SEEDS_APART_FIELD = 0.05, 0.5
"""Seeds agree when coefficients differ by less than this share, and fields by less than this many noise deviations."""


def judge_fit(result: FitResult, settled: bool) -> tuple[FitStatus, tuple[str, ...]]:
    """The status of a finished fit and a sentence for every doubt; `settled` says whether the fit no longer changed
    when it ended."""
    doubts = [
        *_doubts_of_law(result),
        *_doubts_of_gate(result),
        *_doubts_of_bounds(result),
        *_doubts_of_unknowns(result),
        *doubts_of_numbers(result),
        *doubts_of_uncertainty(result),
    ]
    notes = (*(note for _, note in doubts), *_remarks(result))
    if doubts:
        return doubts[0][0], notes
    return (FitStatus.CONVERGED if settled else FitStatus.BUDGET_SPENT), notes


def doubts_of_numbers(result: FitResult) -> list[Doubt]:
    """What misfits, conditions and verdicts say against a fit."""
    sentences = [
        *scrutiny.correlated_misfits(result),
        *scrutiny.biased_parts(result),
        *scrutiny.excursions(result),
        *(miss.sentence for miss in scrutiny.misses(result) if miss.missed),
        *scrutiny.faulty_and_used(result),
    ]
    return [(FitStatus.DOUBTFUL, text) for text in sentences]


def doubts_of_uncertainty(result: FitResult) -> list[Doubt]:
    """What the intervals say against a fit, where they are known."""
    return [
        *((FitStatus.DOUBTFUL, text) for text in scrutiny.unsettled(result)),
        *((FitStatus.NOT_IDENTIFIABLE, text) for text in scrutiny.undetermined(result)),
    ]


def with_uncertainty(result: FitResult, uncertainty: Uncertainty) -> FitResult:
    """The result with its intervals; they may cast a doubt on a fit that had none, and then change its status."""
    result = replace(result, uncertainty=uncertainty)
    doubts = doubts_of_uncertainty(result)
    status = doubts[0][0] if doubts and result.status in FINISHED else result.status
    return replace(result, status=status, notes=tuple(dict.fromkeys((*result.notes, *(text for _, text in doubts)))))


def judge_seeds(results: Sequence[FitResult]) -> tuple[FitStatus, tuple[str, ...]]:
    """The status of several fits that differ in their seed alone: that of the worst, unless they disagree.

    Coefficients disagree when they lie further apart than an interval of any of the fits is wide, or, where there are
    no intervals, by more than 5 % of themselves.

    :param results: The fits.
    :return: The status of all, and a sentence for every coefficient that they disagree on.

    >>> napinn.judge_seeds([result, result])[0].name
    'CONVERGED'
    """
    notes = []
    for name in results[0].unknowns:
        found = np.array([result.unknowns[name] for result in results])
        apart, usual = float(np.ptp(found)), float(abs(np.median(found)))
        widths = [
            result.uncertainty.intervals[name].high - result.uncertainty.intervals[name].low
            for result in results
            if result.uncertainty is not None
        ]
        if apart > max(widths, default=SEEDS_APART * usual):
            notes.append(f"'{name}' ranges from {found.min():.4g} to {found.max():.4g} over {len(results)} seeds.")
    fields = np.stack([result.predicted for result in results])
    for index, name in enumerate(results[0].problem.fields):
        mine = results[0].readings.field_index == index
        apart = float(np.median(np.ptp(fields[:, mine], axis=0)))
        noise = float(np.median([MAD_TO_STD * np.median(np.abs(result.misfits[mine])) for result in results]))
        if apart > SEEDS_APART_FIELD * noise:
            notes.append(
                f"The fields '{name}' of {len(results)} seeds lie {apart:.3g} apart, with a noise of {noise:.3g}."
            )
    if notes:
        return FitStatus.SEEDS_DISAGREE, tuple(notes)
    worst = max(results, key=lambda result: GRAVITY.index(result.status.colour))
    return worst.status, worst.notes


def _doubts_of_law(result: FitResult) -> list[Doubt]:
    found: list[Doubt] = []
    for name, law in result.noise.items():
        if not law.has_spread:
            note = f"The misfits of '{name}' have no spread, so there is no noise law to learn."
            found.append((FitStatus.LAW_DEGENERATE, note))
    totals = [law.normaliser() for law in result.noise.values()]
    for total in [each for each in totals if not abs(each - 1.0) < WHOLE][:1]:
        found.append((FitStatus.LAW_DEGENERATE, f"The learned law integrates to {total:.3g} instead of 1."))
    return found


def _doubts_of_gate(result: FitResult) -> list[Doubt]:
    share = float(result.flagged.mean())
    if share > MOST_FLAGGED:
        note = f"{100 * share:.0f} % of the readings are flagged; no method can know which of them are bad."
        return [(FitStatus.REJECTS_MOST, note)]
    if share == 0.0 and result.model.gate is not None:
        impossible = int(np.sum(-result.log_densities > IMPOSSIBLE))
        if impossible > max(MOST_IMPOSSIBLE, MOST_IMPOSSIBLE_SHARE * len(result.readings)):
            note = f"The law finds {impossible} readings practically impossible, and the gate flags none."
            return [(FitStatus.REJECTS_NOTHING, note)]
    return []


def _remarks(result: FitResult) -> tuple[str, ...]:
    """What a reader should know besides, whether or not there is a doubt."""
    levels = (
        *free_level_sentences(result.problem, frozenset(result.readings.columns.clocks)),
        *sparsity_sentences(result.problem),
        *uneven_noise(result),
    )
    singled_out = result.flagged & (result.reliability > 0.0)
    if not result.noise or result.model.noise_share >= MOSTLY_NOISE or not singled_out.any():
        return levels
    return (
        *levels,
        "Misfits of neighbouring readings are correlated, so they come from an error of the field or of the "
        "equations rather than from noise: flags on single readings mean little.",
    )


def _doubts_of_bounds(result: FitResult) -> list[Doubt]:
    found: list[Doubt] = []
    unknowns = result.problem.unknowns
    if all(unknown.low is None and unknown.high is None for unknown in unknowns.values()):
        return found
    sizes = result.model.unknown_units
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
            mixed = [f"'{names[i]}'" for i, part in zip(strong, vectors[:, 0], strict=True) if abs(part) > NAMED_PART]
            clause = f"{' and '.join(mixed)} change the equations in the same way"
            note = f"Changes of {clause}, so only a combination of them can be found."
            found.append((FitStatus.NOT_IDENTIFIABLE, note))
    return found or _doubts_of_structure(result)


def _doubts_of_structure(result: FitResult) -> list[Doubt]:
    """Unknowns that the equations alone leave open, whatever the field."""
    reasons = undeterminable(result.problem, result.readings)
    sentences = [f"Unknown '{name}' cannot be determined: {why}." for name, why in reasons.items()]
    return [(FitStatus.NOT_IDENTIFIABLE, text) for text in (*sentences, *exchange_sentences(result.problem, reasons))]


def sensitivities(result: FitResult) -> np.ndarray:
    """How the equations and conditions, in units of their terms, follow each unknown, in its natural unit: a row a
    residual at a random point of the box, a column an unknown."""
    problem, model = result.problem, result.model
    points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (PROBES, len(problem.lows)))
    inside = model.derivatives(points, wanted(problem.system))
    places = [(equation, points, inside) for equation in problem.system]
    for condition in problem.placed:
        face = problem.on_face(condition, points)
        places.append((condition.equation, face, model.derivatives(face, wanted((condition.equation,)))))
    rows = []
    for (equation, where, values), unit in zip(places, model.equation_units, strict=True):
        _, partials = problem.linearised(equation, where, values, result.found)
        columns = [np.broadcast_to(partials.get(UnknownLeaf(name), 0.0), PROBES) for name in problem.unknowns]
        rows.append(np.stack(columns, axis=1) / unit)
    return np.concatenate(rows) * model.unknown_units
