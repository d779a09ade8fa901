"""What is added to a finished fit before it is saved: intervals, profiles, source terms, and what several seeds say
of each other."""

from dataclasses import replace

from napinn.diagnostics.status import with_uncertainty
from napinn.engines.base import backend_of
from napinn.errors import InputError
from napinn.evaluation.intervals import estimate_uncertainty
from napinn.evaluation.seeds import SeedFits
from napinn.results.result import FitResult, FitStatus

UNFINISHED = (FitStatus.INTERRUPTED, FitStatus.DIVERGED)


def with_intervals(result: FitResult) -> FitResult:
    """The result and its intervals; an unfinished fit is left as it is.

    A fit is kept where intervals cannot be had, as when it has used too few of its readings, and a note says so."""
    if result.status in UNFINISHED:
        return result
    try:
        return with_uncertainty(result, estimate_uncertainty(result))
    except InputError as error:
        return replace(result, notes=(*result.notes, f"There are no intervals: {error}"))


def with_profiles(result: FitResult) -> FitResult:
    """The result and the profiles of its unknowns; an unfinished fit, and one without unknowns, is left as it is, and
    so is one of a method that has none, with a note that says why."""
    if result.status in UNFINISHED or not result.unknowns:
        return result
    try:
        return replace(result, profiles=backend_of(result.method).profiles(result))
    except InputError as error:
        return replace(result, notes=(*result.notes, f"There are no profiles: {error}"))


def with_discrepancy(result: FitResult) -> FitResult:
    """The result and what a source term in each equation makes of it, which may change its status; an unfinished fit
    is left as it is, and so is one to which none can be added, with a note that says why."""
    if result.status in UNFINISHED:
        return result
    try:
        found = backend_of(result.method).discrepancy(result)
    except InputError as error:
        return replace(result, notes=(*result.notes, f"No source term was tried: {error}"))
    status = FitStatus.EQUATION_WRONG if found.wanted else result.status
    return replace(result, status=status, discrepancy=found, notes=(*found.notes(result.unknowns), *result.notes))


def best_of(found: SeedFits, seeds: int, intervals: bool, profile: bool, discrepancy: bool = False) -> FitResult:
    """The best of several seeds, with intervals, profiles and source terms where they are asked for.

    :param found: The seeds that were fitted.
    :param seeds: How many were asked for; a note says so where there are fewer.
    :param intervals: Whether to add intervals, which then hold what every seed found.
    :param profile: Whether to add profiles.
    :param discrepancy: Whether to try source terms."""
    missing: tuple[str, ...] = ()
    if intervals and found.chosen.status not in UNFINISHED:
        try:
            found = found.with_uncertainty(estimate_uncertainty(found.chosen))
        except InputError as error:
            missing = (f"There are no intervals: {error}",)
    best = found.best if len(found.results) > 1 else found.chosen
    best = replace(best, notes=(*best.notes, *missing))
    best = with_profiles(best) if profile else best
    best = with_discrepancy(best) if discrepancy else best
    done = sum(each.status is not FitStatus.INTERRUPTED for each in found.results)
    if done == seeds:
        return best
    note = f"Interrupted after {done} of {seeds} seeds, of which no checkpoints are kept; fit again for all."
    return replace(best, notes=(*best.notes, note))
