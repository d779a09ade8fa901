"""Optimisers as settings, and how their rate changes over a phase."""

import abc
from dataclasses import dataclass

import numpy as np
import optax

from napinn.engines.network.training.soap import scale_by_soap
from napinn.errors import InputError


class Optimiser(abc.ABC):
    @abc.abstractmethod
    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """Gradients to steps at the full rate."""


@dataclass(frozen=True)
class Adam(Optimiser):
    rate: float = 1e-3

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        return optax.with_extra_args_support(optax.adam(self.rate))


@dataclass(frozen=True)
class SOAP(Optimiser):
    """Adam in the eigenbasis of each weight matrix's gradients; far fewer steps for a few per cent more time each."""

    rate: float = 2e-3
    b1: float = 0.95
    b2: float = 0.99
    epsilon: float = 1e-10
    every: int = 10
    """Steps between two updates of the bases."""

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        direction = scale_by_soap(self.b1, self.b2, self.epsilon, self.every)
        return optax.with_extra_args_support(optax.chain(direction, optax.scale_by_learning_rate(self.rate)))


@dataclass(frozen=True)
class Retired(Optimiser):
    """That of a saved method which has settings that napinn no longer has: the run can be read, and not trained."""

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        raise InputError("the method has settings of an earlier napinn and can no longer be trained; choose another.")


class Schedule(abc.ABC):
    """Evaluated on the host, for all steps of a chunk at once."""

    @abc.abstractmethod
    def factor(self, done: np.ndarray) -> np.ndarray:
        """What the rate is multiplied by when these shares of a phase, 0 to 1, are done."""


@dataclass(frozen=True)
class ConstantRate(Schedule):
    def factor(self, done: np.ndarray) -> np.ndarray:
        return np.ones_like(done)


@dataclass(frozen=True)
class CosineRate(Schedule):
    """Straight up from zero over the first `rise` of the phase, then along half a cosine down to `end`."""

    rise: float = 0.0
    end: float = 0.0

    def factor(self, done: np.ndarray) -> np.ndarray:
        rising = done / max(self.rise, 1e-9)
        falling = (done - self.rise) / (1.0 - self.rise)
        lowered = self.end + (1.0 - self.end) * 0.5 * (1.0 + np.cos(np.pi * falling))
        return np.where(done < self.rise, rising, lowered)


@dataclass(frozen=True)
class Slowed(Schedule):
    """Another schedule at a fraction of its rate: how a fit continues after it met a number that is not finite."""

    schedule: Schedule
    share: float

    def factor(self, done: np.ndarray) -> np.ndarray:
        return self.share * self.schedule.factor(done)
