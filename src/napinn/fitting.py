"""The verb: a problem and readings in, a `FitResult` out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from napinn.backend import Progress, RunOptions, backend_of
from napinn.catalogue import DEFAULT, METHODS
from napinn.checkpoints import Checkpoints
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.readings import Readings, check_inside
from napinn.recipe import Recipe
from napinn.request import Request
from napinn.result import FitResult

COARSEST = 1e-4
"""The least change of a coordinate that single precision holds, as a share of its range."""


def fit(
    problem: Problem,
    readings: Readings,
    method: Recipe | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoints: Checkpoints | Path | str | None = None,
    resume: bool = False,
    devices: Sequence[Any] | None = None,
) -> FitResult:
    """Fit field, unknowns and noise law to readings.

    An interrupt (Ctrl-C) ends the training early and gives what has been found so far, with status `INTERRUPTED`.
    With a folder for `checkpoints`, the fit can be taken up there by the same call with `resume=True`; it then goes on
    bit for bit as if it had never stopped.
    With several `devices`, such as `jax.devices()`, each takes its part of every batch; the default is one.
    """
    request = Request(problem, readings, METHODS[DEFAULT].make() if method is None else method, seed)
    check_readings(problem, readings, request.method.double)
    kept = Checkpoints(checkpoints) if isinstance(checkpoints, Path | str) else checkpoints
    if resume and kept is None:
        raise InputError("a fit can be resumed only from its folder of checkpoints; pass checkpoints=….")
    options = RunOptions(progress or (lambda snapshot: None), kept, resume, devices)
    return backend_of(request.method).fit(request, options)


def check_readings(problem: Problem, readings: Readings, double: bool = False) -> None:
    """Whether these readings can be fitted, in this precision."""
    if readings.coordinates != tuple(problem.coordinates) or readings.fields != problem.fields:
        raise InputError("the readings are of other coordinates or fields than the problem's.")
    check_inside(readings, problem.lows, problem.highs)
    if double:
        return
    single = np.finfo(np.float32)
    for name, (low, high) in problem.coordinates.items():
        if max(abs(low), abs(high)) > float(single.max):
            raise InputError(f"'{name}' runs from {low:g} to {high:g}, beyond single precision; use --double.")
    if max(np.abs(readings.values).max(), np.abs(readings.points).max()) > single.max:
        raise InputError(f"{readings.source} holds numbers beyond single precision; use --double or larger units.")
    for name, (low, high) in problem.coordinates.items():
        if single.eps * max(abs(low), abs(high)) > COARSEST * (high - low):
            raise InputError(
                f"{readings.source}: '{name}' runs from {low:.10g} to {high:.10g}, too far from zero for single "
                "precision to tell its values apart; count it from the first reading, or use --double."
            )
