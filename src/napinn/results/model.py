"""What a fit has found, whatever represents it: a field with its derivatives, a noise law, a gate.

Results, reports, prediction and checks read a `FittedModel` and never what is behind it, a network or anything else.
Everything here is NumPy in float64 and in the problem's own units."""

import abc
from collections.abc import Collection, Mapping

import numpy as np

from napinn.errors import InputError
from napinn.noise.law import NoiseLaw
from napinn.problem.equations import Terms
from napinn.results.functions import FoundFunction


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

    @property
    def functions(self) -> Mapping[str, FoundFunction]:
        """The unknown functions that were found, by name; none where the problem has none."""
        return {}

    def posterior_spread(self, points: np.ndarray, samples: int, seed: int) -> np.ndarray:
        """Standard deviation of the field at (n, d) points over `samples` draws from a posterior, (n, f), drawn from
        `seed`; a model without a posterior refuses."""
        raise InputError("this fit has no posterior over its network; fit with the method 'b_pinn' for a spread.")
