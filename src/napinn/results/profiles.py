"""Profile likelihood: how much worse the readings are explained where one unknown is held and all else is fitted.

An unknown is identifiable if its profile rises above the threshold on both sides, practically not identifiable if it
does not on at least one, and structurally not identifiable if it is flat."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.errors import InputError
from napinn.results.intervals import formatted_ends

THRESHOLD = 1.9207
"""Nats: half of the 95 % quantile of chi-square with one degree of freedom."""
FLAT = 0.02
"""Nats below which a profile that reached far has not risen at all: a hundredth of the threshold, well above what
rounding and unfinished steps leave."""


class Identifiability(enum.Enum):
    IDENTIFIABLE = "identifiable"
    PRACTICALLY_NOT = "practically not identifiable"
    STRUCTURALLY_NOT = "structurally not identifiable"


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of one unknown: ascending values, and the rise of the negative log-likelihood above its least."""

    values: np.ndarray
    rises: np.ndarray
    """Nats, in units in which the noise law is right about its own spread."""

    def __post_init__(self) -> None:
        shapes = self.values.shape == self.rises.shape and self.values.ndim == 1 and len(self.values) > 0
        if not (shapes and np.all(np.diff(self.values) > 0.0) and np.all(np.isfinite(self.rises))):
            raise InputError("a profile needs ascending values with a finite rise each.")

    @property
    def best(self) -> float:
        return float(self.values[np.argmin(self.rises)])

    @property
    def low(self) -> float:
        """The low end of the 95 % interval; minus infinity where the profile stays below the threshold."""
        return -self._end(-self.values[::-1], self.rises[::-1])

    @property
    def high(self) -> float:
        return self._end(self.values, self.rises)

    @staticmethod
    def _end(values: np.ndarray, rises: np.ndarray) -> float:
        """Where the profile first crosses the threshold above its least. Its root is nearly straight."""
        least = int(np.argmin(rises))
        for number in range(least, len(values) - 1):
            if rises[number + 1] >= THRESHOLD:
                before, after = (math.sqrt(max(float(rises[each]), 0.0)) for each in (number, number + 1))
                share = (math.sqrt(THRESHOLD) - before) / (after - before)
                return float(values[number] + share * (values[number + 1] - values[number]))
        return math.inf

    @property
    def kind(self) -> Identifiability:
        if math.isfinite(self.low) and math.isfinite(self.high):
            return Identifiability.IDENTIFIABLE
        flat = float(self.rises.max()) < FLAT
        return Identifiability.STRUCTURALLY_NOT if flat else Identifiability.PRACTICALLY_NOT

    @property
    def interval(self) -> str:
        """The 95 % interval in words; a side that stays below the threshold is open."""
        low, high = math.isfinite(self.low), math.isfinite(self.high)
        if low and high:
            return " … ".join(formatted_ends(self.low, self.high))
        if low or high:
            return f"above {self.low:.4g}" if low else f"below {self.high:.4g}"
        return "any value"


Profiles = Mapping[str, Profile]


def described(profiles: Profiles) -> dict[str, Any]:
    """Profiles in plain values, for a file; an open end is null."""
    return {
        name: {
            "kind": each.kind.value,
            "low": each.low if math.isfinite(each.low) else None,
            "high": each.high if math.isfinite(each.high) else None,
            "values": each.values.tolist(),
            "rises": each.rises.tolist(),
        }
        for name, each in profiles.items()
    }


def restored(entries: Mapping[str, Any]) -> dict[str, Profile]:
    """The profiles of a file.

    Args:
        entries: what `described` made of them; anything else is an `InputError` or a `ValueError`."""
    return {
        str(name): Profile(np.array(each["values"], float), np.array(each["rises"], float))
        for name, each in entries.items()
    }
