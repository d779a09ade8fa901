"""What a discovery comes to: equations with intervals, rivals, how often each term was found, and plain sentences."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from napinn.problem import Problem
from napinn.results.result import FitResult


@dataclass(frozen=True)
class FoundTerm:
    """A term of an equation that was found."""

    text: str
    shown: str
    coefficient: float
    low: float
    high: float
    inclusion: float
    """The share of draws, each without a quarter of the sensors, in which the best equation held the term. Where the
    joint refit brought the term in, its probability there: odds of the extended BIC with and without it."""
    by_refit: bool = False
    """Whether the joint refit brought the term in, and not the weak form."""

    @property
    def shown_inclusion(self) -> str:
        return f"{self.inclusion:.2f}" + (" (joint refit)" if self.by_refit else "")


@dataclass(frozen=True)
class Rival:
    """The best equation with so many terms."""

    size: int
    terms: tuple[str, ...]
    score: float
    """Mean square of held-out integrals of the residual over what noise alone leaves: 1 is as good as can be."""
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class FoundEquation:
    """One equation: its left side, its terms, its rivals by size; no terms where no equation is claimed."""

    left: str
    shown_left: str
    terms: tuple[FoundTerm, ...]
    rivals: tuple[Rival, ...]
    inclusion: Mapping[str, float]
    """Of every term of the library."""
    known: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    """A sentence for every rival that the readings do not rule out."""
    refusal: str = ""
    """Why no equation is claimed; empty where one is."""

    @property
    def claimed(self) -> bool:
        return not self.refusal

    @property
    def shown(self) -> str:
        """The equation as mathematics."""
        if not self.claimed:
            return f"{self.shown_left} = ?"
        parts = [f"({text})" for text in self.known]
        parts += [_shown(term.coefficient, term.shown) for term in self.terms]
        return f"{self.shown_left} = " + (_signed(parts) if parts else "0")

    def table(self) -> pd.DataFrame:
        """One row a term: coefficient, interval, inclusion."""
        return pd.DataFrame(
            [(t.text, t.coefficient, t.low, t.high, t.inclusion) for t in self.terms],
            columns=["term", "coefficient", "low", "high", "inclusion"],
        )

    def rivals_table(self) -> pd.DataFrame:
        """One row a number of terms: the best equation of that size and its held-out score."""
        return pd.DataFrame(
            [(r.size, ", ".join(r.terms) or "0", r.score, r.chosen) for r in self.rivals],
            columns=["terms", "right-hand side", "held-out score", "chosen"],
        )


@dataclass(frozen=True, eq=False)
class Discovery:
    """Equations found, the problem that they make, and the fit with them in place: what `napinn.discover` gives back.

    :param equations: One for each left side, with terms, intervals, inclusion and rivals.
    :param problem: What they make; None where not every equation is claimed.
    :param result: The joint fit of field, noise law and coefficients; None where there is no problem, or where it would
        take too long.
    :param notes: What the user should know beside the equations, a sentence each.
    :param seconds: Processor time of the search.

    >>> found = napinn.discover(readings, terms=["u", "u**2"])
    >>> found.claimed, found.problem.equations
    (True, ('u_t = c1*u',))
    """

    equations: tuple[FoundEquation, ...]
    problem: Problem | None
    """None where not every equation is claimed."""
    result: FitResult | None
    """The joint fit of field, noise law and coefficients; None where there is no problem, or it would take too long."""
    notes: tuple[str, ...]
    seconds: float

    @property
    def claimed(self) -> bool:
        return all(equation.claimed for equation in self.equations)

    def show(self) -> str:
        """The equations as mathematics, one a line."""
        return "\n".join(equation.shown for equation in self.equations)

    def sentences(self) -> list[str]:
        """What a reader must know beside the equations."""
        found = [sentence for each in self.equations for sentence in (*each.undecided, each.refusal) if sentence]
        return [*found, *self.notes]


def described(found: Discovery) -> dict[str, Any]:
    """As plain values, for `discovery.json`."""
    return {
        "claimed": found.claimed,
        "equations": [
            {
                "left": each.left,
                "shown": each.shown,
                "known": list(each.known),
                "terms": [{**vars(term), "shown_inclusion": term.shown_inclusion} for term in each.terms],
                "rivals": [{**vars(rival), "terms": list(rival.terms)} for rival in each.rivals],
                "inclusion": dict(each.inclusion),
            }
            for each in found.equations
        ],
        "sentences": found.sentences(),
        "seconds": found.seconds,
    }


def _shown(coefficient: float, term: str) -> str:
    number = f"{abs(coefficient):.4g}"
    body = number if term == "1" else f"{number} ({term})" if " + " in term or " − " in term else f"{number} {term}"
    return f"−{body}" if coefficient < 0.0 and not math.isnan(coefficient) else body


def _signed(parts: list[str]) -> str:
    text = parts[0]
    for part in parts[1:]:
        text += f" − {part[1:]}" if part.startswith("−") else f" + {part}"
    return text
