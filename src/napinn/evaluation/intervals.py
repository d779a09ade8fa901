"""How sure a fit is: reads a result to first order about where it ended, and never trains."""

from napinn.engines.base import backend_of
from napinn.results.intervals import Uncertainty
from napinn.results.result import FitResult


def estimate_uncertainty(result: FitResult, *, seed: int = 0) -> Uncertainty:
    """95 % intervals of the unknowns, and a spread of the field, without another fit.

    :param result: A finished fit of three readings or more.
    :param seed: Of what is random about the estimate, which for a network is where its equations are looked at.
    :return: The intervals; `dataclasses.replace(result, uncertainty=…)` puts them into the result.
    :raises InputError: if there are too few readings, or the fit did not finish.

    >>> interval = napinn.estimate_uncertainty(result).intervals["k"]
    >>> interval.low < result.unknowns["k"] < interval.high
    True
    """
    return backend_of(result.method).estimate_uncertainty(result, seed)


__all__ = ["estimate_uncertainty"]
