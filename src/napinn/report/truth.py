"""What only a simulation knows: the field, the coefficients and which readings were spoilt."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Truth:
    """Given to a report beside a result, it adds maps of the error and the table of right and wrong verdicts."""

    field: Callable[[np.ndarray], np.ndarray]
    """(n, d) points to (n, f) true values, anywhere in the box."""
    bad: np.ndarray
    """One entry a reading, in the order of the result's readings: True where it was spoilt on purpose."""
    unknowns: Mapping[str, float] = dataclasses.field(default_factory=dict)
