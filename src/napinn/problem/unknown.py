"""Unknown: a coefficient to be found, with its start, its bounds and what is known of it beforehand."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.errors import InputError
from napinn.problem.equations import namespace
from napinn.problem.prior import Prior


@dataclass(frozen=True)
class Unknown:
    """A coefficient to be found.

    Bounds hold by construction: what is moved is a raw number that a smooth map takes into the open interval. It is in
    units of a natural size of the coefficient, so that a diffusivity of 1e-7 is found as one of 1 is.

    :param start: Where the search starts, in the unit of the coefficient; the default is the size at which it matters.
    :param low: Lower bound; default none.
    :param high: Upper bound; default none.
    :param prior: A law that the coefficient is expected to follow; default none.
    :param log: Take steps and errors in the logarithm, for a coefficient that is known to a decade; it is then
        positive.
    :param per: `experiment` gives it one value in each experiment; default one for all.
    :raises InputError: if the start or the centre of the prior is not between the bounds.

    >>> napinn.Unknown(0.5, low=0.0, high=10.0).low
    0.0
    """

    start: float | None = None
    low: float | None = None
    high: float | None = None
    prior: Prior | None = None
    log: bool = False
    per: str | None = None
    """`"experiment"` where each experiment has a value of its own; None where one value holds for all."""

    def __post_init__(self) -> None:
        if self.per not in (None, "experiment"):
            raise InputError(f"an unknown is given per '{self.per}'; the only choice is 'experiment'.")
        if self.prior is not None and self.prior.of_logarithm:
            object.__setattr__(self, "log", True)
        if self.log and self.low is None:
            object.__setattr__(self, "low", 0.0)
        for name, value in (("start", self.start), ("low", self.low), ("high", self.high)):
            if value is not None and not math.isfinite(value):
                raise InputError(f"the {name} of an unknown is {value}; it must be a finite number.")
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if not low < high:
            raise InputError(f"an unknown has the bounds {low:g} and {high:g}; low must come before high.")
        if self.start is not None and not low < self.start < high:
            raise InputError(
                f"an unknown starts at {self.start:g}, which is not strictly between {low:g} and {high:g}."
            )
        if self.log and low < 0.0:
            raise InputError(f"an unknown on a logarithmic scale has the low end {low:g}; it must be 0 or above.")
        if self.prior is not None and not low < self.prior.centre < high:
            raise InputError(f"the prior {self.prior} has its centre outside the bounds {low:g} and {high:g}.")

    def started(self, unit: float = 1.0) -> float:
        """Where it starts, if one natural size of it is `unit`."""
        if self.start is not None:
            return self.start
        if self.prior is not None:
            return self.prior.centre
        if self.low is not None and self.high is not None:
            return 0.5 * (self.low + self.high)
        if self.low is not None:
            return self.low + unit
        return unit if self.high is None else self.high - unit

    def raw_start(self, unit: float = 1.0) -> float:
        start = self.started(unit)
        if self.low is not None and self.high is not None:
            share = (start - self.low) / (self.high - self.low)
            return math.log(share / (1.0 - share))
        if self.low is not None:
            return _softplus_inverse((start - self.low) / unit)
        if self.high is not None:
            return _softplus_inverse((self.high - start) / unit)
        return start / unit

    def value(self, raw: Any, unit: Any = 1.0) -> Any:
        """The coefficient whose raw number is `raw`, a JAX array or a plain number."""
        sigmoid, softplus = _smooth_maps(raw)
        if self.low is not None and self.high is not None:
            return self.low + (self.high - self.low) * sigmoid(raw)
        if self.low is not None:
            return self.low + unit * softplus(raw)
        if self.high is not None:
            return self.high - unit * softplus(raw)
        return unit * raw


def _smooth_maps(raw: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Sigmoid and softplus for JAX arrays, or for plain numbers and NumPy arrays."""
    if namespace(raw) is np:
        return _sigmoid, lambda value: np.logaddexp(value, 0.0)
    import jax

    return jax.nn.sigmoid, jax.nn.softplus


def _sigmoid(value: Any) -> Any:
    # scipy.special has it too, but takes a quarter of a second to import, and every problem file waits for this module.
    return 0.5 * (1.0 + np.tanh(0.5 * value))


def _softplus_inverse(value: float) -> float:
    # log(exp(v) - 1) overflows for large v and cancels for small v; this form does neither.
    return value + math.log(-math.expm1(-value))
