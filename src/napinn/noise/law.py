"""The contract of a learned noise law, and what its densities mean for a reading."""

import abc

import numpy as np

FLAG_BELOW = 0.5
"""A reading is flagged when its reliability is below this."""
IMPOSSIBLE = 12.0
"""Negative log-density, in nats, beyond which a reading is all but impossible under the law."""


class NoiseLaw(abc.ABC):
    """The learned law of the misfits of one field. Misfits are in the field's own units, over their known relative
    deviations where the readings have these (`Readings.standard`)."""

    @property
    @abc.abstractmethod
    def centre(self) -> float:
        """The location of the law, in the field's unit."""

    @property
    @abc.abstractmethod
    def scale(self) -> float:
        """The deviation that misfits are standardised by, in the field's unit."""

    @property
    @abc.abstractmethod
    def has_spread(self) -> bool:
        """Whether the misfits vary at all; without that there is no noise to learn a law of."""

    @abc.abstractmethod
    def log_prob(self, misfits: np.ndarray) -> np.ndarray:
        """The log-density of misfits, per unit of the field; an array of any shape to one of the same shape."""

    @abc.abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the greatest standardised misfit, (misfit - centre)/scale, that the law gives a density to;
        either may be infinite."""

    @abc.abstractmethod
    def normaliser(self) -> float:
        """The integral of the density; 1 for a sound law."""

    def pdf(self, misfits: np.ndarray) -> np.ndarray:
        """The density of misfits, per unit of the field."""
        return np.exp(self.log_prob(misfits))
