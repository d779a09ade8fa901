"""Unknown: a coefficient to be found, with its start and its bounds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from napinn.equations import namespace
from napinn.errors import InputError


@dataclass(frozen=True)
class Unknown:
    """A coefficient to be found, from `start`, inside optional bounds; without a start, from its natural size.

    Bounds hold by construction: what is trained is a raw number that a smooth map takes into the open interval. The
    raw number is in units of `unit`, a natural size of the coefficient, so that a diffusivity of 1e-7 trains as one
    of 1 does.
    """

    start: float | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
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

    def started(self, unit: float = 1.0) -> float:
        """Where it starts, if one natural size of it is `unit`."""
        if self.start is not None:
            return self.start
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
        return expit, lambda value: np.logaddexp(value, 0.0)
    import jax

    return jax.nn.sigmoid, jax.nn.softplus


def _softplus_inverse(value: float) -> float:
    # log(exp(v) - 1) overflows for large v and cancels for small v; this form does neither.
    return value + math.log(-math.expm1(-value))
