"""Prior: what is known of a coefficient before any reading, as the problem file writes it."""

import math
import re
from dataclasses import dataclass

from napinn.errors import InputError, nearest

KINDS = ("normal", "lognormal")
_WRITTEN = re.compile(r"\s*(\w+)\s*\(([^(),]+),([^(),]+)\)\s*")
_USAGE = "write 'normal(0.3, 0.05)' (mean, deviation) or 'lognormal(0.3, 0.5)' (median, deviation of the logarithm)"


@dataclass(frozen=True)
class Prior:
    """What is known of a coefficient before any reading: a normal law of it, or of its natural logarithm.

    :param kind: `normal` or `lognormal`.
    :param centre: The mean, or the median of a lognormal law, in the unit of the coefficient.
    :param deviation: The standard deviation of the coefficient, or of its natural logarithm; above 0.
    :raises InputError: if the kind is another, or a number is not finite or not positive where it must be.

    >>> str(napinn.Unknown(prior=napinn.Prior("lognormal", 0.3, 0.5)).prior)
    'lognormal(0.3, 0.5)'
    """

    kind: str
    centre: float
    deviation: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"there is no prior '{self.kind}'; {nearest(self.kind, KINDS)}")
        if not (math.isfinite(self.centre) and math.isfinite(self.deviation) and self.deviation > 0.0):
            raise InputError(f"the prior {self} needs finite numbers and a deviation above 0.")
        if self.kind == "lognormal" and self.centre <= 0.0:
            raise InputError(f"the prior {self} needs a median above 0.")

    def __str__(self) -> str:
        return f"{self.kind}({self.centre:.12g}, {self.deviation:.12g})"

    @property
    def of_logarithm(self) -> bool:
        return self.kind == "lognormal"

    def within(self, deviations: float) -> tuple[float, float]:
        """The values that lie so many deviations below and above the centre."""
        if self.of_logarithm:
            factor = math.exp(deviations * self.deviation)
            return self.centre / factor, self.centre * factor
        return self.centre - deviations * self.deviation, self.centre + deviations * self.deviation

    def deviations(self, value: float) -> float:
        """How many standard deviations a value lies from the centre."""
        if self.of_logarithm:
            return (math.log(value) - math.log(self.centre)) / self.deviation
        return (value - self.centre) / self.deviation


def read_prior(text: str) -> Prior:
    """The prior that a text such as `normal(0.3, 0.05)` means.

    Args:
        text: the law as the user wrote it."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(f"the prior '{text[:60]}' cannot be read; {_USAGE}.")
    try:
        return Prior(found[1], float(found[2]), float(found[3]))
    except ValueError:
        raise InputError(f"the prior '{text[:60]}' contains something other than two numbers; {_USAGE}.") from None
