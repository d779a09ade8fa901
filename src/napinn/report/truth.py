"""What only a simulation knows: the field, the coefficients and which readings were corrupted."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Truth:
    """What only a simulation knows. Given to a report beside a result, it adds maps of the error and a table of right
    and wrong verdicts.

    :param field: (n, d) points to (n, f) true values, anywhere in the box.
    :param bad: (n,) True where a reading was corrupted by the simulation, in the order of the result's readings.
    :param unknowns: True coefficients by name.

    >>> truth = napinn.Truth(lambda points: np.exp(-0.8 * points), np.zeros(160, bool), {"k": 0.8})
    >>> napinn.write_report(result, Path("report.html"), truth)
    """

    field: Callable[[np.ndarray], np.ndarray]
    """(n, d) points to (n, f) true values, anywhere in the box."""
    bad: np.ndarray
    """One entry a reading, in the order of the result's readings: True where it was corrupted by the simulation."""
    unknowns: Mapping[str, float] = dataclasses.field(default_factory=dict)
