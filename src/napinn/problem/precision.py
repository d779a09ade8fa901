"""What single precision, in which networks are trained by default, cannot hold of a problem and its readings."""

from collections.abc import Iterator

import numpy as np

from napinn.data.readings import Readings
from napinn.problem.problem import Problem

COARSEST = 1e-4
"""The least change of a coordinate that single precision holds, as a share of its range."""


def beyond_single(problem: Problem, readings: Readings) -> Iterator[str]:
    """A sentence for every coordinate and for the largest reading that single precision cannot hold.

    :param problem: With the ranges of the coordinates.
    :param readings: Of the problem, inside these ranges."""
    single = np.finfo(np.float32)
    for name, (low, high) in problem.coordinates.items():
        farthest = max(abs(low), abs(high))
        if farthest > float(single.max):
            yield f"'{name}' runs from {low:g} to {high:g}, beyond single precision; use --double."
        elif float(single.eps) * farthest > COARSEST * (high - low):
            yield (
                f"'{name}' runs from {low:.10g} to {high:.10g}, too far from zero for single precision to distinguish "
                "its values; count it from the first reading, or use --double."
            )
    largest = float(np.abs(readings.values).max())
    if largest > float(single.max):
        yield (
            f"a reading has the size {largest:g}, beyond single precision; use --double or larger units, or correct it."
        )
