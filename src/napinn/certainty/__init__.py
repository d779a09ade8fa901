"""How sure a fit is: reads a result to first order about where it ended, and never trains."""

from napinn.backend import backend_of
from napinn.intervals import Certainty
from napinn.result import FitResult


def how_sure(result: FitResult, *, seed: int = 0) -> Certainty:
    """Intervals for the unknowns, and a spread of the field, without training.

    `result` is a finished fit. `seed` draws what is random about the estimate, which for a network is where its
    equations are looked at. How it is done depends on what represents the field; `napinn.certainty.sure` says it for
    networks.
    """
    return backend_of(result.method).how_sure(result, seed)


__all__ = ["how_sure"]
