"""The trust check: everything that can be asked of a finished fit without knowing the truth."""

from collections.abc import Callable

from napinn.backend import Progress
from napinn.result import FitResult
from napinn.verification.findings import Check, Outcome, Verification
from napinn.verification.forward import check_forward
from napinn.verification.held_out import check_held_out
from napinn.verification.left_out import check_left_out


def verify(
    result: FitResult, *, refit: bool = False, progress: Callable[[str], Progress] | None = None
) -> Verification:
    """Whether a fit can be trusted: its status, readings that it never trained on, and its equation solved forward.

    With `refit`, three more fits, each without some of the sensors, say whether these are predicted; `progress(title)`
    follows each of them."""
    checks = [_check_status(result), check_held_out(result), *check_forward(result)]
    if refit:
        checks.append(check_left_out(result, progress))
    return Verification(tuple(checks))


def _check_status(result: FitResult) -> Check:
    outcome = Outcome.PASS if result.status.trusted else Outcome.DOUBT
    return Check("status of the fit", outcome, " ".join((result.status.value, *result.notes)))
