"""The data term: what the readings contribute to the objective, as one contract.

An elementwise loss (`napinn.noise.losses`) and the learned law itself (`napinn.noise.likelihood`) are both data terms.
Objective, training and intervals know this contract and no single loss."""

import abc
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from napinn.noise.density import Density, Standard


class ScoredMisfits(eqx.Module):
    """Misfits as law and gate see them; nothing of it sends a gradient into the network."""

    owner: Int[Array, " n"]
    """The field of each misfit."""
    standard: Standard
    log_prob: Float[Array, " n"]
    slope: Float[Array, " n"] | None
    """Derivative of each log-density by its standardised misfit; None where the term does not use it."""
    weights: Float[Array, " n"]
    """The gate's weight of each reading."""
    noise_share: Float[Array, ""]
    """How much of the misfits is noise."""


@dataclass(frozen=True)
class Location:
    """What a data term does about a constant that all misfits of a field have in common."""

    profiled: bool = False
    """Whether the part of the score that all readings of a field share is subtracted."""
    anchor: float = 0.0
    """Weight of the penalty that holds each field's median misfit at zero."""


class DataTerm(abc.ABC):
    is_law: ClassVar[bool]
    """Whether the learned law itself is the term, so that only phases with a law can have it."""

    @property
    @abc.abstractmethod
    def location(self) -> Location: ...

    @abc.abstractmethod
    def plain_value(self, misfit: Float[Array, " n"], kept: Float[Array, " n"] | None) -> Float[Array, ""]:
        """The value where no law takes part; `kept` is 0 for readings that do not count."""

    @abc.abstractmethod
    def gated_value(self, misfit: Float[Array, " n"], scored: ScoredMisfits) -> Float[Array, ""]:
        """The value where law and gate take part; its gradient is what training follows."""

    @abc.abstractmethod
    def rejection(self, still: Float[Array, " n"], scored: ScoredMisfits, cost: Float[Array, ""]) -> Float[Array, ""]:
        """What the gate learns from beside the value.

        Args:
            still: misfits through which no gradient passes.
            scored: the same misfits as law and gate see them.
            cost: that of a rejection times the share of readings that are rejected.
        """

    @abc.abstractmethod
    def score(self, misfit: Float[Array, " n"], scored: ScoredMisfits | None) -> Float[Array, " n"]:
        """The derivative of n times the value by each misfit, with law and gate fixed and before `location` applies."""

    @abc.abstractmethod
    def learn(
        self, density: Density, state: PyTree, standard: Float[Array, " n"], key: PRNGKeyArray
    ) -> tuple[PyTree, Float[Array, " n"], Float[Array, " n"] | None]:
        """The density after one update, the log-densities before it, and their slopes where the term uses them."""
