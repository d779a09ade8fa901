"""What fits with one kind of method: the field's representation behind it, from the fit to its model on disk.

`napinn.fit`, run folders, `estimate_uncertainty` and the trust check find the backend of a method by `backend_of`, so
none of them knows what represents a field."""

import abc
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.data.readings import Readings
from napinn.engines.request import Request
from napinn.engines.snapshot import Snapshot
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.results.discrepancy import Discrepancy
from napinn.results.intervals import FieldSpread, Uncertainty
from napinn.results.model import FittedModel
from napinn.results.profiles import Profiles
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult
from napinn.storage.arrays import SavedArrays
from napinn.storage.checkpoints import Checkpoints

Progress = Callable[[Snapshot], None]


@dataclass(frozen=True, eq=False)
class RunOptions:
    """How a fit is run, beside its request."""

    progress: Progress = lambda snapshot: None
    """Called with every row of the history while the fit runs."""
    checkpoints: Checkpoints | None = None
    resume: bool = False
    """Whether to continue from the newest checkpoint."""
    devices: Any = None
    """Devices that share the work, for a backend that can use several."""
    begin_with: FittedModel | None = None
    """A field that another engine found for the same request, for a backend that can begin with it."""


@dataclass(frozen=True)
class Estimate:
    """What a fit will be, before it is run."""

    method: str
    seconds: float
    reason: str = ""
    """Why this method, as a clause, where there was a choice."""


class Backend(abc.ABC):
    """Fits with one kind of method."""

    @abc.abstractmethod
    def fit(self, request: Request, options: RunOptions) -> FitResult:
        """The fit of readings that were checked already. An interrupt gives what was found so far."""

    @abc.abstractmethod
    def restore(self, request: Request, arrays: SavedArrays, has_law: bool) -> FittedModel:
        """The model whose `arrays()` were saved; `has_law` says whether it has a noise law."""

    @abc.abstractmethod
    def restore_spread(self, model: FittedModel, arrays: SavedArrays) -> FieldSpread:
        """The spread of the field whose `arrays()` were saved beside the model."""

    @abc.abstractmethod
    def estimate_uncertainty(self, result: FitResult, seed: int) -> Uncertainty:
        """Intervals of the unknowns and a spread of the field, without fitting again; `seed` for what is random."""

    @abc.abstractmethod
    def estimate(self, problem: Problem, readings: Readings, method: Recipe) -> "Estimate":
        """Which method a fit will use, and about how long it will take here."""

    def profiles(self, result: FitResult) -> Profiles:
        """The profile likelihood of every unknown, by refitting with it held; only some kinds of method can."""
        raise InputError(f"method '{result.method.name}' has no profile likelihood; fit with --method splines for one.")

    def discrepancy(self, result: FitResult) -> Discrepancy:
        """What a source term in each equation makes of a fit; only some kinds of method can add one."""
        raise InputError(
            f"method '{result.method.name}' can add no source term to the equations; fit with --method splines for one."
        )

    def held_out(self, result: FitResult) -> np.ndarray:
        """For each reading, whether the fit held it out."""
        return np.zeros(len(result.readings), bool)

    def device(self) -> str:
        """What kind of processor a fit runs on."""
        return "cpu"


def backend_of(method: Recipe) -> Backend:
    """The backend of a method, whose module is loaded only now."""
    return importlib.import_module(method.backend).BACKEND


def estimate(problem: Problem, readings: Readings, method: Recipe) -> Estimate:
    """The method and the seconds of a fit on this machine; see the backend of the method.

    Args:
        problem: the problem.
        readings: its readings.
        method: the method, which may be the choice between several.
    """
    return backend_of(method).estimate(problem, readings, method)
