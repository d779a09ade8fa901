"""Laws of the noise as the engine uses them: the loss of a standardised misfit, its score and its curvature.

Huber, Cauchy and Gaussian are working laws, used before the noise is known or in place of a learned one. `Mixture` is
the learned law."""

import abc
from dataclasses import dataclass

import numpy as np

from napinn.data.robust import MAD_TO_STD

HUBER_WIDTH = 1.0
"""In deviations of the noise: nearer to absolute values than the usual 1.345, for the first, coarse steps."""
CAUCHY_WIDTH = 2.4
"""In deviations of the noise: as precise as least squares to 95 % where the noise is Gaussian (Holland and Welsch
1977)."""


def deviation(misfits: np.ndarray) -> float:
    """The robust standard deviation about zero."""
    return MAD_TO_STD * float(np.median(np.abs(misfits)))


class Law(abc.ABC):
    """The negative log-likelihood of misfits in units of their deviation, up to a constant."""

    @abc.abstractmethod
    def loss(self, misfits: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def score(self, misfits: np.ndarray) -> np.ndarray:
        """The derivative of the loss."""

    @abc.abstractmethod
    def curvature(self, misfits: np.ndarray) -> np.ndarray:
        """What Gauss–Newton takes for the second derivative: never negative."""

    @abc.abstractmethod
    def second_derivative(self, misfits: np.ndarray) -> np.ndarray:
        """The second derivative of the loss, which may be negative. Errors follow from its mean: an estimate moves by
        the mean score over the mean second derivative."""

    @property
    def constant_curvature(self) -> bool:
        """Whether the curvature is the same for all misfits, so that the normal matrix of the readings is too."""
        return False

    @property
    def located(self) -> bool:
        """Whether the law has a location of its own, which is found with the field."""
        return False


@dataclass(frozen=True)
class Huber(Law):
    width: float = HUBER_WIDTH

    def loss(self, misfits: np.ndarray) -> np.ndarray:
        size = np.abs(misfits)
        return np.where(size < self.width, 0.5 * misfits**2, self.width * (size - 0.5 * self.width))

    def score(self, misfits: np.ndarray) -> np.ndarray:
        return misfits * self.curvature(misfits)

    def curvature(self, misfits: np.ndarray) -> np.ndarray:
        return 1.0 / np.maximum(1.0, np.abs(misfits) / self.width)

    def second_derivative(self, misfits: np.ndarray) -> np.ndarray:
        return (np.abs(misfits) < self.width).astype(float)


@dataclass(frozen=True)
class Cauchy(Law):
    width: float = CAUCHY_WIDTH

    def loss(self, misfits: np.ndarray) -> np.ndarray:
        return 0.5 * self.width**2 * np.log1p((misfits / self.width) ** 2)

    def score(self, misfits: np.ndarray) -> np.ndarray:
        return misfits * self.curvature(misfits)

    def curvature(self, misfits: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + (misfits / self.width) ** 2)

    def second_derivative(self, misfits: np.ndarray) -> np.ndarray:
        return (1.0 - (misfits / self.width) ** 2) * self.curvature(misfits) ** 2


@dataclass(frozen=True)
class Gaussian(Law):
    """Least squares: every reading counts, gross errors too."""

    def loss(self, misfits: np.ndarray) -> np.ndarray:
        return 0.5 * misfits**2

    def score(self, misfits: np.ndarray) -> np.ndarray:
        return misfits

    def curvature(self, misfits: np.ndarray) -> np.ndarray:
        return np.ones(misfits.shape)

    def second_derivative(self, misfits: np.ndarray) -> np.ndarray:
        return np.ones(misfits.shape)

    @property
    def constant_curvature(self) -> bool:
        return True
