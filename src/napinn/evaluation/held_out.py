"""Readings that the fit held out from its training, beside the learned law: quick, for they are there already."""

from napinn.diagnostics.calibration import CENTRAL, UNLIKELY, probabilities, spread_of
from napinn.diagnostics.findings import Check, CheckOutcome
from napinn.engines.base import backend_of
from napinn.results.recipe import ENOUGH_TO_HOLD_OUT
from napinn.results.result import FitResult
from napinn.results.verdicts import excluded

NAME = "held-out readings"
TOO_FAR, TOO_FEW = 0.1, 0.05
"""A law is learned from finite data: beside being unlikely by chance, a distance or a lack of coverage must be as large
as this to count."""
OTHERWISE = "`--refit` fits again without some of them."


def check_held_out(result: FitResult) -> Check:
    # Runs of earlier versions do not say which readings these are.
    held = backend_of(result.method).held_out(result) if result.held_out is None else result.held_out
    if not held.any():
        why = (
            f"The method {result.method.name} holds out no reading; {OTHERWISE}"
            if result.method.held_out == 0.0
            else f"With fewer than {ENOUGH_TO_HOLD_OUT:,} points to read at, all of them are trained on; {OTHERWISE}"
        )
        return Check(NAME, CheckOutcome.CANNOT, why)
    # A sensor that is known to mislead says nothing about the law of the others.
    judged = held & ~excluded(result.verdicts, len(result.readings))
    if not judged.any():
        return Check(NAME, CheckOutcome.CANNOT, "All readings that were held out are of faulty sensors.")
    found = spread_of(probabilities(result, result.readings, judged, ~held))
    far = found.distance > TOO_FAR and found.distance_chance < UNLIKELY
    few = found.coverage < CENTRAL - TOO_FEW and found.coverage_chance < UNLIKELY
    sentence = (
        f"Of {found.count:,} readings that were never trained on, {100 * found.coverage:.0f} % lie in the central "
        f"{100 * CENTRAL:.0f} % of the noise law; their spread is {found.distance:.2g} from it "
        f"(by chance as far with probability {found.distance_chance:.2g})."
    )
    return Check(NAME, CheckOutcome.DOUBT if far or few else CheckOutcome.PASS, sentence, found.describe())
