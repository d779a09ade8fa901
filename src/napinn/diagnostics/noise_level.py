"""Whether the noise of a field grows or falls with its value.

One noise law for all readings of a field then trusts some of them too much and others too little: coefficients and
intervals are less right than they could be, and good readings of the loud part are flagged."""

import numpy as np

from napinn.data.robust import robust_std
from napinn.results.result import FitResult
from napinn.results.verdicts import excluded

FEWEST = 30
"""Readings of a field: a third of them gives a robust deviation to about a third of itself."""
UNEVEN = 3.0
"""Ratio of the noise in the upper third of the values to that in the lower third. At two thirds of it one law for all
costs a tenth of the precision, which is not worth a sentence."""
ERRORS = 3.0
"""Standard errors by which the rank correlation of value and size of misfit is away from zero. With the ratio above it
calls one fit in a thousand uneven whose noise is even (60 readings, a tenth of them outliers, four laws)."""


def uneven_noise(result: FitResult) -> list[str]:
    """A sentence for every field whose noise depends on its value.

    Args:
        result: a finished fit. Fields whose readings have a known `sigma` are not looked at."""
    readings, found = result.readings, []
    good = ~excluded(result.verdicts, len(readings))
    if readings.sigma is not None:
        return found
    for index, name in enumerate(result.problem.fields):
        mine = good & (readings.field_index == index)
        ratio = noise_ratio(result.predicted[mine], result.misfits[mine])
        if ratio is not None:
            where, times = ("large", ratio) if ratio > 1.0 else ("small", 1.0 / ratio)
            found.append(
                f"The noise of '{name}' is {times:.1f} times as large where '{name}' is {where}. Give the deviation "
                f"of each reading in a column 'sigma', or measure log({name}) as an observable."
            )
    return found


def noise_ratio(values: np.ndarray, misfits: np.ndarray) -> float | None:
    """The noise where values are large over that where they are small; None where there is no clear difference.

    Args:
        values: (n,) the fitted field at the readings.
        misfits: (n,) readings minus field, in the same order."""
    if len(values) < FEWEST:
        return None
    order = np.argsort(np.abs(values), kind="stable")
    sizes = np.abs(misfits - np.median(misfits))[order]
    ranks = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")
    correlation = float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1])
    third = len(values) // 3
    low, high = robust_std(misfits[order[:third]]), robust_std(misfits[order[-third:]])
    if abs(correlation) * np.sqrt(len(values) - 1) < ERRORS or not (low > 0.0 and high > 0.0):
        return None
    ratio = high / low
    return ratio if max(ratio, 1.0 / ratio) > UNEVEN else None
