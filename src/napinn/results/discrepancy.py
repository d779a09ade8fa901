"""Discrepancy: what a source term in each equation makes of a fit, and whether held-out readings want it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.errors import InputError

STANDARD_ERRORS = 2.0
"""Of the gain, that it must exceed. The source term is chosen to suit the readings, so this is no rate of false alarms;
`benchmarks/discrepancy.py` measures that. The least of the wrong equations that set it was 2.6."""
LEAST_GAIN = 10.0
"""Nats below which no equation is called wrong. By chance the smoothness of a source term may suit the readings of a
right equation: while this was set, such gains were up to 9.6, and those of wrong equations 24 and more."""
CONFIRMED = 1.0
"""Standard errors of the gain that suffice where terms added to the first fit already made its readings likelier than
chance does (`Discrepancy.doubted`): two checks then agree, one of them by readings that it has not seen. Set on the
kinds `rod` and `gompertz` of the benchmark; no right equation of any kind was doubted there."""
VANISHES = 1e-3
"""Share of the largest term of its equation below which a source term is called none."""
LEAST_SHOWN = 0.1
"""Of the largest share that a source term has in its equation: those with less are left out of the notes, which are to
say where to look first."""
LEAST_LIKENESS = 0.5
"""Share of a source term that a single term must explain to be named."""


@dataclass(frozen=True)
class Likeness:
    """The simple term that a source term looks most like."""

    term: str
    coefficient: float
    share: float
    """Of the source term's square that it explains, together with changes of the unknowns."""

    def __str__(self) -> str:
        return f"{self.coefficient:.3g}" + ("" if self.term == "1" else f"·{self.term}")


@dataclass(frozen=True, eq=False)
class SourceTerm:
    """The source term on the right-hand side of one equation, in the equation's own unit.

    Values stand on a regular grid over the box."""

    equation: str
    """As it is shown."""
    axes: Mapping[str, np.ndarray]
    """Nodes along each coordinate."""
    values: np.ndarray
    halves: np.ndarray
    """Half the width of the 95 % band, each place by itself."""
    size: float
    """Root mean square over the box."""
    terms: Mapping[str, float]
    """The same of each term of the equation."""
    likeness: Likeness | None = None

    def __post_init__(self) -> None:
        shape = tuple(len(nodes) for nodes in self.axes.values())
        numbers = (*self.axes.values(), self.values, self.halves)
        if not (self.values.shape == self.halves.shape == shape and all(np.isfinite(each).all() for each in numbers)):
            raise InputError("a source term needs finite values on a grid of its coordinates.")

    @property
    def share(self) -> float:
        """Its size beside the largest term of its equation."""
        return self.size / max(max(self.terms.values(), default=0.0), np.finfo(float).tiny)

    @property
    def largest(self) -> tuple[dict[str, float], float]:
        """Where it is largest beyond its band, and its value there."""
        sure = np.maximum(np.abs(self.values) - self.halves, 0.0)
        number = int(np.argmax(sure if sure.any() else np.abs(self.values)))
        place = np.unravel_index(number, self.values.shape)
        at = {name: float(nodes[index]) for (name, nodes), index in zip(self.axes.items(), place, strict=True)}
        return at, float(self.values.ravel()[number])

    @property
    def sentence(self) -> str:
        """Its size, its place and what it looks like."""
        if self.share < VANISHES:
            return f"The source term of '{self.equation}' vanishes: less than a thousandth of the largest term."
        at, value = self.largest
        place = ", ".join(f"{name} = {each:.3g}" for name, each in at.items())
        said = (
            f"The source term of '{self.equation}' is {100.0 * self.share:.0f} % of the largest term (root mean square "
            f"{self.size:.3g}), and {value:.3g} at {place}"
        )
        if self.likeness is None:
            return said + "; it does not resemble a simple term."
        return said + f"; it resembles {self.likeness}, which explains {100.0 * self.likeness.share:.0f} % of it."


@dataclass(frozen=True, eq=False)
class Discrepancy:
    """A second fit with a source term in each equation, beside the first by readings that neither has seen."""

    sources: tuple[SourceTerm, ...]
    gain: float
    """Nats by which the likelihood of held-out readings rises with the source terms."""
    error: float
    """Its standard error, from how far groups of readings differ."""
    groups: str
    """What was held out, one at a time."""
    unknowns: Mapping[str, float]
    """With the source terms."""
    doubted: bool = False
    """Whether the first fit already says that its equations lack a term."""

    @property
    def wanted(self) -> bool:
        """Whether held-out readings want a source term: the equations do not describe the readings."""
        if self.doubted and self.gain > CONFIRMED * self.error:
            return True
        return self.gain > LEAST_GAIN and self.gain > STANDARD_ERRORS * self.error

    def notes(self, before: Mapping[str, float]) -> tuple[str, ...]:
        """What the user should know, a sentence each.

        Args:
            before: the unknowns without source terms."""
        measured = f"{self.gain:.1f} nats, standard error {self.error:.1f}, {self.groups} held out in turn"
        if not self.wanted:
            return (f"Held-out readings do not need a source term in the equations ({measured}).",)
        moved = ", ".join(f"'{name}' from {before[name]:.4g} to {value:.4g}" for name, value in self.unknowns.items())
        first = f"With a source term in the equations, the likelihood of held-out readings rises ({measured})" + (
            f", and {moved}." if moved else "."
        )
        largest = max(source.share for source in self.sources)
        shown = [source.sentence for source in self.sources if source.share > LEAST_SHOWN * largest]
        return (first, *shown)


def described(found: Discrepancy) -> dict[str, Any]:
    """A discrepancy in plain values, for a file.

    Args:
        found: what `restored` gives back."""
    return {
        "gain": found.gain,
        "error": found.error,
        "groups": found.groups,
        "wanted": found.wanted,
        "doubted": found.doubted,
        "unknowns": dict(found.unknowns),
        "sources": [
            {
                "equation": source.equation,
                "axes": {name: _short(nodes) for name, nodes in source.axes.items()},
                "values": _short(source.values.ravel()),
                "halves": _short(source.halves.ravel()),
                "size": source.size,
                "terms": dict(source.terms),
                "likeness": None if source.likeness is None else vars(source.likeness),
            }
            for source in found.sources
        ],
    }


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def restored(entry: Mapping[str, Any] | None) -> Discrepancy | None:
    """The discrepancy of a file; None where there is none.

    Args:
        entry: what `described` made of it; anything else is an `InputError`, a `TypeError` or a `ValueError`."""
    if entry is None:
        return None
    gain, error = float(entry["gain"]), float(entry["error"])
    if not (math.isfinite(gain) and math.isfinite(error)):
        raise InputError("a discrepancy needs a finite gain.")
    return Discrepancy(
        tuple(_source(each) for each in _listed(entry["sources"])), gain, error, str(entry["groups"]),
        {str(name): float(value) for name, value in entry["unknowns"].items()}, entry.get("doubted") is True,
    )  # fmt: skip


def _listed(entries: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(entries, list) or not entries:
        raise InputError("a discrepancy needs a list of source terms.")
    return entries


def _source(entry: Mapping[str, Any]) -> SourceTerm:
    axes = {str(name): np.array(nodes, float) for name, nodes in entry["axes"].items()}
    shape = tuple(len(nodes) for nodes in axes.values())
    like = entry["likeness"]
    return SourceTerm(
        str(entry["equation"]), axes, np.array(entry["values"], float).reshape(shape),
        np.array(entry["halves"], float).reshape(shape), float(entry["size"]),
        {str(name): float(value) for name, value in entry["terms"].items()},
        None if like is None else Likeness(str(like["term"]), float(like["coefficient"]), float(like["share"])),
    )  # fmt: skip
