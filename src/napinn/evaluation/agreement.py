"""Whether two fits of one request agree to the last bit, and if not, by how much they differ."""

from dataclasses import dataclass

import numpy as np

from napinn.results.result import FitResult


@dataclass(frozen=True)
class RerunAgreement:
    identical: bool
    """Whether field, noise law and unknowns are the same to the last bit."""
    verdicts_that_differ: int
    field: float
    """The largest difference of the field at the readings, as a share of its range."""
    unknowns: dict[str, float]
    """The difference of each unknown, as a share of itself."""


def agreement(first: FitResult, second: FitResult) -> RerunAgreement:
    """How two runs of one request compare.

    :param first: The earlier fit.
    :param second: The later one, of the same problem and readings."""
    arrays = [result.model.arrays() for result in (first, second)]
    alike = arrays[0].keys() == arrays[1].keys() and all(
        np.array_equal(array, arrays[1][name]) for name, array in arrays[0].items()
    )
    tiny = np.finfo(float).tiny
    scale = max(float(np.ptp(first.predicted)), tiny)
    return RerunAgreement(
        bool(alike and first.unknowns == second.unknowns),
        int((first.flagged != second.flagged).sum()),
        float(np.abs(first.predicted - second.predicted).max()) / scale,
        {name: abs(second.unknowns[name] - value) / max(abs(value), tiny) for name, value in first.unknowns.items()},
    )
