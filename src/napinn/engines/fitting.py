"""The verb: a problem and readings in, a `FitResult` out."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from napinn.data.readings import Readings
from napinn.engines.base import Progress, RunOptions, backend_of
from napinn.engines.catalogue import DEFAULT, METHODS
from napinn.engines.notebook_progress import notebook_bar
from napinn.engines.request import Request, check_readings
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.problem.file import Source, read_problem, read_readings
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult
from napinn.storage.checkpoints import Checkpoints


def fit(
    problem: Problem | Path | str,
    readings: Readings | Source,
    method: Recipe | None = None,
    *,
    seed: int = 0,
    progress: Progress | bool | None = None,
    checkpoints: Checkpoints | Path | str | None = None,
    resume: bool = False,
    devices: Sequence[Any] | None = None,
) -> FitResult:
    """Fit field, unknowns and noise law to readings.

    An interrupt (Ctrl-C) ends the fit early and gives what has been found so far, with status `INTERRUPTED`.

    :param problem: A `Problem`, or the path of a problem file.
    :param readings: `Readings`, or the path of a table, a DataFrame, a Dataset, a DataArray or arrays by name to read
        them from.
    :param method: A recipe such as `napinn.bsplines()` or `napinn.na_pinn()`; the default chooses between splines and a
        network.
    :param seed: Of every random number; the same seed gives the same numbers on the same machine.
    :param progress: A function that is called regularly with a snapshot of the fit. By default a notebook shows a
        bar and anything else nothing; False shows nothing.
    :param checkpoints: A folder, or `Checkpoints`, from which a fit that was killed can be continued; default none.
    :param resume: Continue from the newest of the `checkpoints`, bit for bit as if the fit had never stopped.
    :param devices: Such as `jax.devices()`: each takes its part of every batch of a network; the default is one.
    :return: The field, the unknowns, the noise law, and a reliability for every reading.
    :raises InputError: if the readings do not belong to the problem, lie outside its box, or a file cannot be read.

    >>> import numpy as np, pandas as pd, napinn
    >>> t = np.linspace(0, 3, 40)
    >>> problem = napinn.Problem({"t": (0, 3)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(1.0)})
    >>> result = napinn.fit(problem, pd.DataFrame({"t": t, "u": np.exp(-0.8 * t)}), napinn.bsplines())
    >>> round(result.unknowns["k"], 3)
    0.8
    """
    problem, readings = inputs_of(problem, readings)
    request = Request(problem, readings, METHODS[DEFAULT].make() if method is None else method, seed)
    check_readings(problem, readings, request.method.double)
    kept = Checkpoints(checkpoints) if isinstance(checkpoints, Path | str) else checkpoints
    if resume and kept is None:
        raise InputError("a fit can be resumed only from its checkpoints; pass their folder as checkpoints=….")
    with shown_progress(progress, request.method.name) as show:
        return fit_request(request, RunOptions(show, kept, resume, devices))


def fit_request(request: Request, options: RunOptions) -> FitResult:
    """Fit a request whose readings `check_readings` has accepted."""
    return backend_of(request.method).fit(request, options)


def inputs_of(problem: Problem | Path | str, readings: Readings | Source) -> tuple[Problem, Readings]:
    """A problem and its readings, read from files or tables where they are given as such."""
    if isinstance(problem, Problem):
        return problem, readings if isinstance(readings, Readings) else read_readings(readings, problem)
    if isinstance(readings, Readings):
        raise InputError("a problem file is read together with its table; give the path of the table.")
    if isinstance(problem, str) and "=" in problem:
        raise InputError(
            f"'{problem[:80]}' is an equation; put it into a napinn.Problem, or give the path of a problem file."
        )
    return read_problem(problem, readings)


@contextlib.contextmanager
def shown_progress(progress: Progress | bool | None, title: str) -> Iterator[Progress]:
    """Where snapshots go."""
    if progress is None or progress is True:
        with notebook_bar(title) as bar:
            yield bar
    else:
        yield progress or (lambda snapshot: None)
