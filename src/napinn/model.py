"""What a fit has found, whatever represents it: a field with its derivatives, a noise law, a gate.

Results, reports, prediction and checks read a `FittedModel` and never what is behind it, a network or anything else.
Everything here is NumPy in float64 and in the problem's own units."""

import abc
from collections.abc import Collection, Mapping

import numpy as np

from napinn.equations import Terms
from napinn.errors import InputError

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


class FittedModel(abc.ABC):
    """The field that a fit has found, and what it has learned of the noise."""

    @abc.abstractmethod
    def values(self, points: np.ndarray) -> np.ndarray:
        """(n, d) coordinates in the problem's order to (n, f) values in the order of `Problem.outputs`."""

    @abc.abstractmethod
    def derivatives(self, points: np.ndarray, wanted: Collection[Terms]) -> dict[Terms, np.ndarray]:
        """Each of the derivatives in `wanted` of all fields at (n, d) points, (n, f) each.

        A derivative is a sum of mixed partials, `((),)` for the value, `(("x",),)` for u_x, and
        `(("x", "x"), ("y", "y"))` for the Laplacian."""

    @property
    @abc.abstractmethod
    def noise(self) -> Mapping[str, NoiseLaw]:
        """The noise law by measured field, in the order of `Problem.fields`; empty for a method that learns none."""

    @property
    @abc.abstractmethod
    def gate(self) -> tuple[float, float] | None:
        """Steepness a and cutoff τ of the gate that weighed the readings, weight = sigmoid(a (z + τ)) of the
        standardised log-density z; None where no such gate did."""

    @property
    @abc.abstractmethod
    def noise_share(self) -> float:
        """How much of the misfits is noise, 0 to 1, rather than an error of the field that neighbours share."""

    @property
    @abc.abstractmethod
    def equation_units(self) -> np.ndarray:
        """How large the terms of each equation, and then of each condition, typically are."""

    @property
    @abc.abstractmethod
    def unknown_units(self) -> np.ndarray:
        """A natural size of each unknown: the change of it that moves some equation by about the equation's unit."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """All numbers of the model by name, for `model.npz`; the backend's `restore` makes the model of them again."""

    def posterior_spread(self, points: np.ndarray, samples: int, seed: int) -> np.ndarray:
        """Standard deviation of the field at (n, d) points over `samples` draws from a posterior, (n, f), drawn from
        `seed`; a model without a posterior refuses."""
        raise InputError("this fit has no posterior over its network; fit with the method 'b_pinn' for a spread.")
