"""What can be checked of a finished fit at once, whatever represents its field: nothing is solved, nothing is trained.

Misfits of neighbouring readings, conditions, coefficients with their intervals, and faulty sensors whose readings took
part. Each check gives sentences; an empty list means that there is no doubt."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from napinn.data.robust import NEGLIGIBLE, robust_std
from napinn.diagnostics.correlation import SignAgreement, agreement_of_places, agreement_of_records, local_bias
from napinn.problem.equations import Derivative, UnknownLeaf, walk, wanted
from napinn.problem.equations.tree import Sum
from napinn.problem.experiment import plain
from napinn.results.intervals import Interval
from napinn.results.result import FitResult
from napinn.results.verdicts import excluded

ALIKE, ALIKE_ERRORS = 0.2, 3.0
"""Misfits are correlated if the mean agreement in sign of neighbours is above this (that of Gaussian misfits with a
correlation of 0.31), and so many standard errors above zero: one fit in a thousand with independent noise."""
WIDE = 2.0
"""An interval whose ends differ by more than this factor does not determine a coefficient."""
MOVES = 0.2
"""Share of itself by which a settled coefficient may still move."""
SLOPE_MISSED = 0.1
"""Share of a derivative's size in the box by which a condition on it may be missed, where the noise is smaller than
that: derivatives of a fitted field are less exact than its values."""
HIDDEN_MISSED = 0.05
"""The same for the value of a hidden field, of which there is no noise."""
BIASED, BIASED_CHANCE = 0.5, 1e-3
"""A part of the box is biased if its misfits are shifted by this share of the noise, with at most this chance."""
PROBES, MANY_PROBES = 512, 4096
BEYOND = 2.0
"""A field runs far beyond its readings from so many times their range on. A pulse between two sensors may well be twice
as high as both have seen."""


def agreements(result: FitResult) -> dict[str, SignAgreement]:
    """By measured field, how far neighbouring misfits agree in sign: along records or between nearest places, whichever
    agrees more. Fields whose misfits are negligible beside their variation are left out."""
    readings, problem = result.readings, result.problem
    good = ~excluded(result.verdicts, len(readings))
    places = readings.points / (np.asarray(problem.highs) - np.asarray(problem.lows))
    misfits, found = result.standard_misfits, {}
    for index, name in enumerate(problem.fields):
        chosen = np.flatnonzero(good & (readings.field_index == index))
        if robust_std(misfits[chosen]) <= NEGLIGIBLE * robust_std(readings.values[chosen]):
            continue
        both = (
            agreement_of_records(readings, misfits, chosen),
            agreement_of_places(places[chosen], misfits[chosen]),
        )
        known = [each for each in both if each is not None]
        if known:
            found[name] = max(known, key=lambda each: (correlated(each), each.mean))
    return found


def correlated(agreement: SignAgreement) -> bool:
    return bool(agreement.mean > ALIKE and agreement.errors > ALIKE_ERRORS)


def correlated_misfits(result: FitResult) -> list[str]:
    """A sentence for every field whose misfits are more than noise."""
    where = {"records": "Successive misfits of the same sensor", "places": "Misfits of neighbouring readings"}
    return [
        f"{where[each.along]} of '{name}' agree in sign (correlation about {each.correlation:.2f}, 0 for noise): the "
        "field or the equations do not follow the readings, or the noise is correlated."
        for name, each in agreements(result).items()
        if correlated(each)
    ]


def biased_parts(result: FitResult) -> list[str]:
    """A sentence for every field whose readings in some part of the box lie on one side of it."""
    readings, problem = result.readings, result.problem
    good = ~excluded(result.verdicts, len(readings))
    lengths = np.asarray(problem.highs) - np.asarray(problem.lows)
    found = []
    for index, name in enumerate(problem.fields):
        chosen = np.flatnonzero(good & (readings.field_index == index))
        bias = local_bias(readings.points[chosen] / lengths, result.standard_misfits[chosen])
        if bias is None or bias.chance > BIASED_CHANCE:
            continue
        least = max(BIASED * noise_of(result, name), NEGLIGIBLE * robust_std(readings.values[chosen]))
        if abs(bias.shift) > least:
            inside = readings.points[chosen[bias.members]]
            spans = zip(problem.coordinates, inside.min(axis=0), inside.max(axis=0), strict=True)
            where = ", ".join(f"{each} = {low:.3g} to {high:.3g}" for each, low, high in spans)
            found.append(
                f"The {len(inside)} readings of '{name}' at {where} lie {bias.shift:+.2g} from the field on average, "
                f"with a noise of {noise_of(result, name):.2g}: the equations or conditions do not hold there, or "
                "these readings are wrong."
            )
    return found


def excursions(result: FitResult) -> list[str]:
    """A sentence for every measured field that runs far beyond its readings somewhere between them.

    Few sensors hold a field only where they stand: between them it may take any curvature that a wrong equation asks
    for, and still meet equation and readings. Outside the range of the readings along any coordinate nothing is said,
    because there a field may well grow further."""
    readings, problem, found = result.readings, result.problem, []
    good = ~excluded(result.verdicts, len(readings))
    unit = np.random.default_rng(0).uniform(size=(MANY_PROBES, len(problem.lows)))
    for index, name in enumerate(problem.fields):
        mine = good & (readings.field_index == index)
        if not mine.any():
            continue
        first, last = (each(readings.points[mine], axis=0) for each in (np.min, np.max))
        field = result.model.values(first + unit * (last - first))[:, index]
        believed = readings.values[mine & ~result.flagged] if (mine & ~result.flagged).any() else readings.values[mine]
        low, high = float(believed.min()), float(believed.max())
        allowed = BEYOND * max(high - low, noise_of(result, name))
        if float(field.min()) < low - allowed or float(field.max()) > high + allowed:
            found.append(
                f"Between its readings the field '{name}' runs from {field.min():.3g} to {field.max():.3g}, while "
                f"the readings are between {low:.3g} and {high:.3g}: they do not determine the field there. Check the "
                "equations, or add sensors or conditions."
            )
    return found


@dataclass(frozen=True)
class Miss:
    """How far a field misses one condition."""

    shown: str
    amount: float
    """Root mean square over the condition's place, in the unit of the condition."""
    allowed: float
    """What the noise allows, in the same unit."""

    @property
    def missed(self) -> bool:
        return bool(self.amount > self.allowed)

    @property
    def sentence(self) -> str:
        return f"The condition {self.shown} is missed by {self.amount:.2g}; the noise allows {self.allowed:.2g}."


def misses(result: FitResult) -> list[Miss]:
    """How far the fitted field misses each given condition."""
    problem, found = result.problem, []
    if not problem.placed:
        return found
    points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (PROBES, len(problem.lows)))
    for condition in problem.placed:
        face, terms = problem.on_face(condition, points), wanted((condition.equation,))
        values = result.model.derivatives(face, terms)
        residual, partials = problem.linearised(condition.equation, face, values, result.found)
        inside = result.model.derivatives(points, {*terms, ((),)})
        allowed = np.zeros(PROBES)
        for leaf, slope in partials.items():
            if isinstance(leaf, Derivative):
                allowed = allowed + (slope * _allowed(result, leaf, inside)) ** 2
        amount = float(np.sqrt(np.mean(np.broadcast_to(residual, PROBES) ** 2)))
        found.append(Miss(condition.shown, amount, float(np.sqrt(np.mean(allowed)))))
    return found


def period_misses(result: FitResult) -> list[Miss]:
    """How far each field is from repeating itself along each periodic coordinate."""
    problem, found = result.problem, []
    for name in problem.periodic:
        axis = list(problem.coordinates).index(name)
        points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (PROBES, len(problem.lows)))
        inside = result.model.derivatives(points, {((),)})
        first, last = points.copy(), points.copy()
        first[:, axis], last[:, axis] = problem.coordinates[name]
        apart = np.sqrt(np.mean((result.model.values(last) - result.model.values(first)) ** 2, axis=0))
        for field, amount in zip(problem.outputs, apart, strict=True):
            allowed = _allowed(result, Derivative(field, ((),)), inside)
            found.append(Miss(f"{field} periodic in {name}", float(amount), allowed))
    return found


def _allowed(result: FitResult, leaf: Derivative, inside: Mapping[tuple, np.ndarray]) -> float:
    """By how much a derivative of a field may be wrong: the noise, or the share of its size that is negligible."""
    column = result.problem.outputs.index(leaf.field)
    variation = float(np.std(inside[((),)][:, column]))
    hidden = leaf.field not in result.problem.fields
    share = HIDDEN_MISSED if hidden else max(noise_of(result, leaf.field) / max(variation, 1e-300), NEGLIGIBLE)
    if leaf.terms == ((),):
        return share * variation
    return max(share, SLOPE_MISSED) * float(np.sqrt(np.mean(inside[leaf.terms][:, column] ** 2)))


def noise_of(result: FitResult, field: str) -> float:
    """The robust deviation of the misfits of a measured field."""
    mine = result.readings.field_index == result.problem.fields.index(field)
    good = mine & ~excluded(result.verdicts, len(result.readings))
    return robust_std(result.misfits[good if good.any() else mine])


def unsettled(result: FitResult) -> list[str]:
    """A sentence for every coefficient that a Newton step would still move far."""
    if result.uncertainty is None:
        return []
    offsets = _offset_sizes(result)
    return [
        f"A Newton step from the end of the fit would move '{name}' by {interval.drift:+.2g} from "
        f"{result.unknowns[name]:.4g}; it has not converged."
        for name, interval in result.uncertainty.intervals.items()
        if still_moves(interval, offsets.get(name, result.unknowns[name]))
    ]


def still_moves(interval: Interval, value: float) -> bool:
    """Whether a coefficient would move by more than half of its interval as the readings give it, or by more than a
    fifth of itself; the interval holds both ends of the move, which is no part of what the readings give."""
    drift = abs(interval.drift)
    half = 0.5 * (interval.high - interval.low - drift)
    return bool(not drift <= half or drift > MOVES * abs(value))


def undetermined(result: FitResult) -> list[str]:
    """A sentence for every coefficient, and every combination of them, that the readings do not determine."""
    if result.uncertainty is None:
        return []
    offsets = _offset_sizes(result)
    singly = [
        _hardly_known(name, interval)
        for name, interval in result.uncertainty.intervals.items()
        if (not_determined(interval) if name not in offsets else not_narrow(interval, offsets[name]))
    ]
    return [*singly, *result.uncertainty.undetermined]


def _hardly_known(name: str, interval: Interval) -> str:
    factor = _factor(interval)
    if WIDE < factor < np.inf:
        return f"The readings determine '{name}' only to a factor of {factor:.2g}: its 95 % interval is {interval}."
    return f"The readings do not determine '{name}': its 95 % interval is {interval}."


def not_determined(interval: Interval) -> bool:
    """Whether an interval is open, holds zero, or spans more than a factor of two."""
    return _factor(interval) > WIDE


def _factor(interval: Interval) -> float:
    """The larger end of an interval over the smaller one; infinite where it is open or holds zero."""
    if not interval.bounded or interval.low <= 0.0 <= interval.high:
        return np.inf
    near, far = sorted((abs(interval.low), abs(interval.high)))
    return far / near


def not_narrow(interval: Interval, size: float) -> bool:
    """Whether an interval is open, or wider than a size: what is asked of an offset, which may well be zero."""
    return not interval.bounded or interval.high - interval.low > size


def _offset_sizes(result: FitResult) -> dict[str, float]:
    """By unknown that is a term by itself in an observable, as `b` in `gain*T + b`, and stands in no equation: the
    robust deviation of the observable's readings."""
    problem, readings = result.problem, result.readings
    own = problem.written[len(problem.stated) :]
    physical = {name for each in (*problem.stated, *(place.equation for place in problem.placed))
                for name in each.unknowns}  # fmt: skip
    found = {}
    for equation in own:
        sums = [node for node in walk(equation.tree) if isinstance(node, Sum)] if equation.tree else []
        alone = {term.name for each in sums for _, term in each.terms if isinstance(term, UnknownLeaf)}
        fields = [leaf.field for leaf in equation.needs if plain(leaf.field) in problem.observables]
        for name in alone - physical:
            found[name] = robust_std(readings.of_field(readings.fields.index(fields[0])))
    return found


def faulty_and_used(result: FitResult) -> list[str]:
    """A sentence on sensors that are faulty and whose readings the fit used nevertheless."""
    used = result.reliability > 0.0
    names = sorted({each.sensor for each in result.verdicts if each.verdict.faulty and used[each.excluded].any()})
    if not names:
        return []
    shown = ", ".join(f"'{name}'" for name in names[:5]) + (" and others" if len(names) > 5 else "")
    return [
        f"The fit used readings of faulty sensors ({shown}); remove them, or fit with a method that leaves them out."
    ]
