"""The trust check: everything that can be asked of a finished fit without knowing the truth."""

from collections.abc import Callable
from dataclasses import replace

from napinn.diagnostics import consistency as scrutiny
from napinn.diagnostics.exchange import exchange_sentences
from napinn.diagnostics.findings import Check, CheckOutcome, Verification
from napinn.diagnostics.forward.check import check_forward
from napinn.diagnostics.identifiability import undeterminable
from napinn.engines.base import Progress, backend_of
from napinn.errors import InputError
from napinn.evaluation.finishing import UNFINISHED
from napinn.evaluation.held_out import check_held_out
from napinn.evaluation.left_out import check_left_out
from napinn.results.result import FitResult, FitStatus


def verify(
    result: FitResult, *, refit: bool = False, progress: Callable[[str], Progress] | None = None
) -> Verification:
    """Say whether a fit can be trusted: its status, misfits, conditions and coefficients, readings that it never
    trained on, and its equations solved forward.

    :param result: A finished fit; intervals are computed where it has none.
    :param refit: Also fit three times, each without some of the sensors, and see whether these are predicted.
    :param progress: A function of a title that gives the function to call with snapshots of each such fit; default
        none.
    :return: One check for each, and whether all of them leave the fit without doubt.

    >>> napinn.verify(result).sentence()[:24]
    'No check casts doubt on '
    """
    result = _with_intervals(result)
    checks = [
        _check_status(result),
        _check_misfits(result),
        *_check_conditions(result),
        *_check_coefficients(result),
        check_held_out(result),
        *check_forward(result),
    ]
    if refit:
        checks.append(check_left_out(result, progress))
    return Verification(tuple(checks))


def _with_intervals(result: FitResult) -> FitResult:
    if result.uncertainty is not None or not result.unknowns or result.status in UNFINISHED:
        return result
    try:
        return replace(result, uncertainty=backend_of(result.method).estimate_uncertainty(result, 0))
    except InputError:
        return result


def _check_status(result: FitResult) -> Check:
    """A fit that spent its budget passes if its coefficients have settled, which the intervals show."""
    settled = result.uncertainty is not None and not scrutiny.unsettled(result)
    passed = result.status.trusted or (result.status is FitStatus.BUDGET_SPENT and settled)
    outcome = CheckOutcome.PASS if passed else CheckOutcome.DOUBT
    return Check("status of the fit", outcome, " ".join((result.status.value, *result.notes)))


def _check_misfits(result: FitResult) -> Check:
    name, found = "neighbouring misfits", scrutiny.agreements(result)
    doubts = [*scrutiny.correlated_misfits(result), *scrutiny.biased_parts(result)]
    if not found and not doubts:
        return Check(
            name, CheckOutcome.CANNOT, "The readings are too few, or their misfits too small, to compare neighbours."
        )
    numbers = {
        field: {"agreement": each.mean, "pairs": each.pairs, "along": each.along} for field, each in found.items()
    }
    shown = ", ".join(f"{each.correlation:.2f} for '{field}'" for field, each in found.items())
    text = " ".join(doubts) or f"The correlation of neighbouring misfits is about {shown}; noise has none."
    return Check(name, CheckOutcome.DOUBT if doubts else CheckOutcome.PASS, text, numbers)


def _check_conditions(result: FitResult) -> list[Check]:
    found = scrutiny.misses(result)
    if not found:
        return []
    doubted = any(miss.missed for miss in found)
    numbers = {miss.shown: {"missed_by": miss.amount, "allowed": miss.allowed} for miss in found}
    text = " ".join(miss.sentence for miss in found)
    return [Check("conditions", CheckOutcome.DOUBT if doubted else CheckOutcome.PASS, text, numbers)]


def _check_coefficients(result: FitResult) -> list[Check]:
    name = "coefficients"
    if not result.unknowns:
        return []
    reasons = undeterminable(result.problem, result.readings)
    doubts = [f"Unknown '{unknown}' cannot be determined: {why}." for unknown, why in reasons.items()]
    doubts += [
        *exchange_sentences(result.problem, reasons),
        *scrutiny.unsettled(result),
        *scrutiny.undetermined(result),
    ]
    if doubts:
        return [Check(name, CheckOutcome.DOUBT, " ".join(doubts))]
    if result.uncertainty is None:
        return [Check(name, CheckOutcome.CANNOT, "The fit has no intervals.")]
    intervals = result.uncertainty.intervals
    shown = ", ".join(f"{unknown} = {result.unknowns[unknown]:.4g} ({each})" for unknown, each in intervals.items())
    text = f"A Newton step would move none by more than half of its interval, and the readings determine each: {shown}."
    return [Check(name, CheckOutcome.PASS, text)]
