"""What benchmarks that judge both engines share: a method by its name, a timed fit, its intervals."""

import time
from collections.abc import Mapping

import napinn
from napinn.data.readings import Readings
from napinn.engines.catalogue import METHODS
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.results.intervals import Interval
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult

DEFAULT = "default"


def method_of(name: str) -> Recipe | None:
    """A method by its name on the command line, such as `splines`; 'default' leaves the choice to `napinn.fit`."""
    if name == DEFAULT:
        return None
    if name not in METHODS:
        raise InputError(f"napinn has no method '{name}'; name one of `napinn methods`, or '{DEFAULT}'.")
    return METHODS[name].make()


def timed_fit(problem: Problem, readings: Readings, name: str, seed: int = 0) -> tuple[FitResult, float]:
    """The result of a fit, and the seconds of processor time that it took."""
    method, begun = method_of(name), time.process_time()
    result = napinn.fit(problem, readings, method, seed=seed)
    return result, time.process_time() - begun


def intervals_of(result: FitResult) -> Mapping[str, Interval]:
    """The 95 % intervals of the unknowns; computed where the fit has not brought them."""
    return (result.uncertainty or napinn.estimate_uncertainty(result)).intervals


def inside(interval: Interval, truth: float) -> bool:
    return bool(interval.low <= truth <= interval.high)
