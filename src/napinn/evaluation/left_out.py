"""Sensors left out of a fit, and predicted by it.

Three times some of the sensors are left out, and field, coefficients and noise law are fitted to the rest in a third of
the steps, so that all three cost about one more fit. Each starts from scratch: a fit that continued from the finished
one would remember the sensors that were left out. Their readings are then judged by the law that each fit has learned
itself, so a shorter fit with a wider law is not blamed for being short."""

from collections.abc import Callable

import numpy as np

from napinn.diagnostics.calibration import CENTRAL, UNLIKELY, Spread, probabilities, spread_of
from napinn.diagnostics.findings import Check, CheckOutcome
from napinn.engines.base import Progress
from napinn.engines.fitting import fit
from napinn.evaluation.comparison import FEWEST_SENSORS
from napinn.results.result import FitResult, FitStatus
from napinn.results.verdicts import excluded

NAME = "sensors left out"
FOLDS = 3
"""Each fold is a fit; three show whether one sensor alone decides."""
SHARE = 0.1
"""Of the sensors that are left out at a time; at least one is."""
TOO_FEW = 0.1
"""Beside the noise there is the error of the field where nothing was read: if it is four fifths of the noise, so many
fewer readings lie within the law."""


def check_left_out(result: FitResult, progress: Callable[[str], Progress] | None = None) -> Check:
    """Fit again without some sensors; `progress(title)` follows each of the fits."""
    readings = result.readings
    good = ~excluded(result.verdicts, len(readings))
    sensors, owner = np.unique(readings.sensors.astype(str), return_inverse=True)
    several = len(np.unique(owner[good])) >= FEWEST_SENSORS
    group = owner if several else np.arange(len(readings))
    folds = _folds(np.unique(group[good]), result.seed)
    found, unknowns = [], []
    for number, fold in enumerate(folds):
        left = np.isin(group, fold)
        if len(np.unique(readings.field_index[~left])) < len(readings.fields):
            return Check(NAME, CheckOutcome.CANNOT, "Without the sensors left out, a field would have no readings.")
        shown = None if progress is None else progress(f"without some sensors, {number + 1} of {len(folds)}")
        part = readings.only(~left)
        again = fit(result.problem, part, result.method.shortened(FOLDS), seed=result.seed, progress=shown)
        if again.status is FitStatus.INTERRUPTED:
            raise KeyboardInterrupt
        found.append(probabilities(again, readings, left & good, np.ones(len(part), bool)))
        unknowns.append(again.unknowns)
    whole = spread_of(np.concatenate(found))
    ranges = {name: [f(each[name] for each in unknowns) for f in (min, max)] for name in result.unknowns}
    what = f"{len(np.concatenate(folds))} of {len(sensors)} sensors" if several else f"{whole.count} single readings"
    return _check_of(whole, what, ranges)


def _check_of(whole: Spread, what: str, ranges: dict[str, list[float]]) -> Check:
    doubted = whole.coverage < CENTRAL - TOO_FEW and whole.coverage_chance < UNLIKELY
    coefficients = "".join(f"; {name} is {low:.4g} to {high:.4g} without them" for name, (low, high) in ranges.items())
    sentence = (
        f"Of {whole.count:,} readings ({what}, in {FOLDS} fits that did not see them), {100 * whole.coverage:.0f} % "
        f"lie in the central {100 * CENTRAL:.0f} % of the noise law{coefficients}."
    )
    numbers = {**whole.describe(), "unknowns": ranges}
    return Check(NAME, CheckOutcome.DOUBT if doubted else CheckOutcome.PASS, sentence, numbers)


def _folds(groups: np.ndarray, seed: int) -> list[np.ndarray]:
    """Disjoint groups to leave out, one set for each fit."""
    order = np.random.default_rng(seed).permutation(groups)
    size = max(1, round(SHARE * len(order)))
    return [fold for fold in (order[k * size : (k + 1) * size] for k in range(FOLDS)) if len(fold)]
