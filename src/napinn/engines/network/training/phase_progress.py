"""How far a phase has come, and what its loop remembers from chunk to chunk.

Plain numbers only, so that a checkpoint can hold them beside the state."""

import copy
from dataclasses import dataclass

from napinn.engines.network.training.phases import Phase

BLOWN_UP = 10.0
"""A loss that has risen by this many times what the phase began with is not one to come back to."""


@dataclass
class StepBudget:
    """How much of a phase is done: by steps, or by the clock where that is further."""

    steps: int
    seconds: float | None
    step: int = 0
    elapsed: float = 0.0
    second_a_step: float = 0.0

    def shares(self) -> tuple[float, float]:
        """The share done, and what a step adds to it."""
        if self.seconds is None:
            return self.step / self.steps, 1.0 / self.steps
        by_clock = self.elapsed / self.seconds, self.second_a_step / self.seconds
        return max(self.step / self.steps, by_clock[0]), max(1.0 / self.steps, by_clock[1])

    def over(self, count: int, elapsed: float) -> bool:
        """Note a chunk; whether the time is up."""
        self.step += count
        self.elapsed += elapsed
        self.second_a_step = elapsed / count
        return self.seconds is not None and self.elapsed >= self.seconds


@dataclass
class EarlyStopping:
    """Sees whether a score still rises."""

    patience: int | None
    best: float = -float("inf")
    best_at: int = 0

    def stalled(self, step: int, score: float | None) -> bool:
        if self.patience is None or score is None:
            return False
        if score > self.best:
            self.best, self.best_at = score, step
        return step - self.best_at >= self.patience


@dataclass
class DivergenceGuard:
    """Sees whether a loss has blown up: such a state is finite still, and worth nothing."""

    first: float | None = None
    lowest: float = float("inf")

    def sound(self, loss: float) -> bool:
        self.first = loss if self.first is None else self.first
        self.lowest = min(self.lowest, loss)
        return loss - self.lowest <= BLOWN_UP * max(abs(self.first), abs(self.lowest))


@dataclass
class PhaseProgress:
    pace: StepBudget
    watch: EarlyStopping
    level: DivergenceGuard

    @property
    def step(self) -> int:
        return self.pace.step

    def copied(self) -> "PhaseProgress":
        return copy.deepcopy(self)


def begin_phase(phase: Phase, seconds: float | None) -> PhaseProgress:
    """The course of a phase before its first step; `seconds` may end it before its steps do."""
    return PhaseProgress(StepBudget(phase.steps, seconds), EarlyStopping(phase.patience), DivergenceGuard())
