"""The laws that the noise of a simulated sensor may follow.

Each law is written in its own natural unit and says its mean and standard deviation there. What adds noise to a
field chooses the unit so that all laws have one standard deviation: outliers and faults are stated in standard
deviations, so a change of law changes the shape of the noise and nothing else.
"""

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from napinn.errors import InputError


class SimulatedNoise(abc.ABC):
    @abc.abstractmethod
    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray: ...

    @abc.abstractmethod
    def pdf(self, z: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def cdf(self, z: np.ndarray) -> np.ndarray: ...

    @property
    @abc.abstractmethod
    def mean(self) -> float: ...

    @property
    @abc.abstractmethod
    def std(self) -> float: ...


@dataclass(frozen=True)
class SimulatedMixture(SimulatedNoise):
    """Equally likely Gaussians; the default is the paper's: lopsided, four modes, its mean a little above zero."""

    components: tuple[tuple[float, float], ...] = ((-9.0, 2.0), (-0.3, 4.0), (2.7, 0.6), (8.5, 1.0))
    """Means and standard deviations."""

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        means, deviations = np.array(self.components).T
        chosen = rng.integers(len(self.components), size=shape)
        return rng.normal(means[chosen], deviations[chosen])

    def pdf(self, z: np.ndarray) -> np.ndarray:
        return np.mean([stats.norm.pdf(z, mean, deviation) for mean, deviation in self.components], axis=0)

    def cdf(self, z: np.ndarray) -> np.ndarray:
        return np.mean([stats.norm.cdf(z, mean, deviation) for mean, deviation in self.components], axis=0)

    @property
    def mean(self) -> float:
        return float(np.mean(np.array(self.components)[:, 0]))

    @property
    def std(self) -> float:
        means, deviations = np.array(self.components).T
        return float(np.sqrt(np.mean(deviations**2 + means**2) - np.mean(means) ** 2))


@dataclass(frozen=True)
class SimulatedGaussian(SimulatedNoise):
    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.normal(size=shape)

    def pdf(self, z: np.ndarray) -> np.ndarray:
        return stats.norm.pdf(z)

    def cdf(self, z: np.ndarray) -> np.ndarray:
        return stats.norm.cdf(z)

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def std(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Laplace(SimulatedNoise):
    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.laplace(size=shape)

    def pdf(self, z: np.ndarray) -> np.ndarray:
        return stats.laplace.pdf(z)

    def cdf(self, z: np.ndarray) -> np.ndarray:
        return stats.laplace.cdf(z)

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def std(self) -> float:
        return math.sqrt(2.0)


@dataclass(frozen=True)
class StudentT(SimulatedNoise):
    """Heavy tails. Three degrees of freedom are the fewest whole ones with a standard deviation to scale by."""

    freedom: float = 3.0

    def __post_init__(self) -> None:
        if not self.freedom > 2.0:
            raise InputError(
                f"Student's t with {self.freedom:g} degrees of freedom has no standard deviation; use more than 2."
            )

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_t(self.freedom, size=shape)

    def pdf(self, z: np.ndarray) -> np.ndarray:
        return stats.t.pdf(z, self.freedom)

    def cdf(self, z: np.ndarray) -> np.ndarray:
        return stats.t.cdf(z, self.freedom)

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def std(self) -> float:
        return math.sqrt(self.freedom / (self.freedom - 2.0))


@dataclass(frozen=True)
class Skewed(SimulatedNoise):
    """A gamma law moved to mean zero: a hard floor below and a long tail above, skewness 2/√shape.

    It is the mean that is zero and not the median: least squares stays right on average, while absolute deviations,
    which look for the median, end 0.23 standard deviations below with the default shape.
    """

    shape: float = 2.0

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.gamma(self.shape, size=shape) - self.shape

    def pdf(self, z: np.ndarray) -> np.ndarray:
        return stats.gamma.pdf(np.asarray(z) + self.shape, self.shape)

    def cdf(self, z: np.ndarray) -> np.ndarray:
        return stats.gamma.cdf(np.asarray(z) + self.shape, self.shape)

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def std(self) -> float:
        return math.sqrt(self.shape)


@dataclass(frozen=True)
class SimulatedUniform(SimulatedNoise):
    """Between -1 and 1."""

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.uniform(-1.0, 1.0, size=shape)

    def pdf(self, z: np.ndarray) -> np.ndarray:
        return stats.uniform.pdf(z, -1.0, 2.0)

    def cdf(self, z: np.ndarray) -> np.ndarray:
        return stats.uniform.cdf(z, -1.0, 2.0)

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def std(self) -> float:
        return 1.0 / math.sqrt(3.0)


PAPER_MIXTURE = SimulatedMixture()

NOISES: Mapping[str, SimulatedNoise] = {
    "mixture": PAPER_MIXTURE,
    "gaussian": SimulatedGaussian(),
    "laplace": Laplace(),
    "student_t": StudentT(),
    "skewed": Skewed(),
    "uniform": SimulatedUniform(),
}
