"""The trust check: everything that can be asked of a finished fit without knowing the truth."""

from collections.abc import Callable
from dataclasses import replace

from napinn import scrutiny
from napinn.backend import Progress, backend_of
from napinn.errors import InputError
from napinn.exchange import exchange_sentences
from napinn.identifiability import undeterminable
from napinn.result import FitResult, FitStatus
from napinn.verification.findings import Check, Outcome, Verification
from napinn.verification.forward import check_forward
from napinn.verification.held_out import check_held_out
from napinn.verification.left_out import check_left_out

UNFINISHED = (FitStatus.INTERRUPTED, FitStatus.DIVERGED)


def verify(
    result: FitResult, *, refit: bool = False, progress: Callable[[str], Progress] | None = None
) -> Verification:
    """Whether a fit can be trusted: its status, misfits, conditions and coefficients, readings that it never trained
    on, and its equations solved forward.

    With `refit`, three more fits, each without some of the sensors, say whether these are predicted; `progress(title)`
    follows each of them. Intervals are computed where the fit has none."""
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
    if result.certainty is not None or not result.unknowns or result.status in UNFINISHED:
        return result
    try:
        return replace(result, certainty=backend_of(result.method).how_sure(result, 0))
    except InputError:
        return result


def _check_status(result: FitResult) -> Check:
    """A fit that spent its budget passes if its coefficients have settled, which the intervals show."""
    settled = result.certainty is not None and not scrutiny.unsettled(result)
    passed = result.status.trusted or (result.status is FitStatus.BUDGET_SPENT and settled)
    outcome = Outcome.PASS if passed else Outcome.DOUBT
    return Check("status of the fit", outcome, " ".join((result.status.value, *result.notes)))


def _check_misfits(result: FitResult) -> Check:
    name, found = "neighbouring misfits", scrutiny.agreements(result)
    doubts = [*scrutiny.correlated_misfits(result), *scrutiny.biased_parts(result)]
    if not found and not doubts:
        return Check(
            name, Outcome.CANNOT, "The readings are too few, or their misfits too small, to compare neighbours."
        )
    numbers = {
        field: {"agreement": each.mean, "pairs": each.pairs, "along": each.along} for field, each in found.items()
    }
    shown = ", ".join(f"{each.correlation:.2f} for '{field}'" for field, each in found.items())
    text = " ".join(doubts) or f"The correlation of neighbouring misfits is about {shown}; noise has none."
    return Check(name, Outcome.DOUBT if doubts else Outcome.PASS, text, numbers)


def _check_conditions(result: FitResult) -> list[Check]:
    found = scrutiny.misses(result)
    if not found:
        return []
    doubted = any(miss.missed for miss in found)
    numbers = {miss.shown: {"missed_by": miss.amount, "allowed": miss.allowed} for miss in found}
    text = " ".join(miss.sentence for miss in found)
    return [Check("conditions", Outcome.DOUBT if doubted else Outcome.PASS, text, numbers)]


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
        return [Check(name, Outcome.DOUBT, " ".join(doubts))]
    if result.certainty is None:
        return [Check(name, Outcome.CANNOT, "The fit has no intervals.")]
    intervals = result.certainty.intervals
    shown = ", ".join(f"{unknown} = {result.unknowns[unknown]:.4g} ({each})" for unknown, each in intervals.items())
    text = f"A Newton step would move none by more than half of its interval, and the readings determine each: {shown}."
    return [Check(name, Outcome.PASS, text)]
