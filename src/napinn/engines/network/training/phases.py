"""Phases and methods as data: what moves, on which data term, for how long.

A method is a recipe, a list of phases with the parts that they share. It holds no code, so it goes into `result.json`
whole and comes back from it."""

import abc
import enum
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from napinn.data.robust import MAD_TO_STD, robust_std
from napinn.engines.network.collocation import Collocation, Uniform
from napinn.engines.network.objective import Gating
from napinn.engines.network.training.optimisers import Adam, ConstantRate, Optimiser, Schedule
from napinn.field.backbones import MLP, Backbone
from napinn.noise.data_term import DataTerm
from napinn.noise.losses import Squared
from napinn.results.recipe import FALSE_ALARMS, Recipe


class PhaseKind(enum.Enum):
    """The three kinds of training step there are."""

    PLAIN = "plain"
    """Network and unknowns move; every reading has the same weight."""
    LAW = "law"
    """Only the density moves, on the misfits of a fixed field."""
    GATED = "gated"
    """Network, unknowns, gate and density move together."""


@dataclass(frozen=True)
class Screen:
    """Leave out all readings whose misfit is beyond this many robust standard deviations when a phase begins."""

    deviations: float = 3.0
    factor: float = MAD_TO_STD
    """Times the median absolute misfit gives the deviation."""

    def kept(self, misfits: np.ndarray) -> np.ndarray:
        return np.abs(misfits) <= self.deviations * self.factor * np.median(np.abs(misfits))


@dataclass(frozen=True)
class SensorScreen:
    """Judge the sensors between one gated phase and the next, and leave the readings that mislead out of the next."""

    false_alarms: float = FALSE_ALARMS
    """The chance that any sensor is named where all are well."""


@dataclass(frozen=True)
class Phase:
    name: str
    kind: PhaseKind
    steps: int
    loss: DataTerm = Squared()
    screen: Screen | None = None
    schedule: Schedule = ConstantRate()
    optimiser: Optimiser | None = None
    """Its own optimiser, newly initialised; None continues with the method's."""
    equation_factors: tuple[float, float] = (1.0, 1.0)
    """What the weight of the equations is multiplied by when the phase begins and when it ends."""
    patience: int | None = None
    """End the phase when the score of held-out readings has not risen for this many steps."""

    @property
    def wants_law(self) -> bool:
        """Whether a noise law takes part."""
        return self.kind is not PhaseKind.PLAIN


class Rejection(abc.ABC):
    """The cost of rejecting one reading, in the units of the data loss (λ_rej)."""

    @abc.abstractmethod
    def rejection_cost(self, misfits: np.ndarray) -> float:
        """λ_rej, given the misfits of all readings when gating begins."""


@dataclass(frozen=True)
class FixedCost(Rejection):
    """A number in the readings' own units squared, as the paper states it."""

    cost: float

    def rejection_cost(self, misfits: np.ndarray) -> float:
        return self.cost


@dataclass(frozen=True)
class RelativeCost(Rejection):
    """(k robust standard deviations of the misfits)², measured when gating begins, so that no unit matters."""

    deviations: float = 2.0

    def rejection_cost(self, misfits: np.ndarray) -> float:
        return (self.deviations * robust_std(misfits)) ** 2


@dataclass(frozen=True)
class Method(Recipe):
    """A network and the phases of its training."""

    backend: ClassVar[str] = "napinn.engines.network.backend"

    name: str
    phases: tuple[Phase, ...]
    gating: Gating | None = None
    rejection: Rejection = RelativeCost()
    backbone: Backbone = MLP()
    optimiser: Optimiser = Adam()
    unknowns_rate: float = 1.0
    """How many times faster than the network's weights the unknowns move; they have further to go."""
    collocation: Collocation = Uniform()
    collocation_batch: int = 1024
    reading_batch: int = 1024
    scaled: bool = True
    """Whether the network sees coordinates in [-1, 1] and gives fields in robust standard deviations."""
    equation_weight: float = 1.0
    """What squared residuals, in units of each equation's terms, are multiplied by beside squared misfits; scaled
    methods only."""
    adapts: bool = True
    """Whether readings that show many waves, or fronts, change its parts as `network/adaptation.py` says; scaled
    methods only."""
    keeps_backbone: bool = False
    """Whether the backbone is none of these parts."""
    wavenumbers: tuple[float, ...] | None = None
    """How many waves, in place of one, fields have along each coordinate. A method that holds it has been adapted to
    some readings, and stays as it is."""
    double: bool = False
    """float64 in place of float32."""
    divergence_weight: float = 0.0
    """Above zero, every step draws the network's weights from their posterior and pays this for straying from the
    prior."""
    held_out: float = 0.0
    """Share of the readings that only judge: they are never trained on."""
    minutes: float | None = None
    """Budget of time; the last phases are shortened to keep it."""
    log_every: int = 100
    sensors: SensorScreen | None = SensorScreen()
    """How sensors are judged as a whole. It matters to the training of methods with two gated phases or more; those
    with fewer only report the verdicts."""

    def judges_before(self, number: int) -> bool:
        """Whether the sensors are judged before the phase of this number: if it is gated and not the first of those."""
        gated = [index for index, phase in enumerate(self.phases) if phase.kind is PhaseKind.GATED]
        return self.sensors is not None and number in gated[1:]

    @property
    def steps(self) -> int:
        """Training steps of the field; those of the density alone are not counted."""
        return sum(phase.steps for phase in self.phases if phase.kind is not PhaseKind.LAW)

    @property
    def false_alarms(self) -> float:
        return (self.sensors or SensorScreen()).false_alarms

    def shortened(self, times: int) -> "Method":
        """The method with every phase, and its budget of time, so many times shorter."""
        phases = tuple(
            replace(
                phase,
                steps=math.ceil(phase.steps / times),
                patience=None if phase.patience is None else math.ceil(phase.patience / times),
            )
            for phase in self.phases
        )
        minutes = None if self.minutes is None else self.minutes / times
        return replace(self, phases=phases, minutes=minutes)
