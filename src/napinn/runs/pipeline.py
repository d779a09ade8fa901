"""One way from a request to a run folder: prepare and lock the folder, fit, add intervals, save, report.

`napinn fit`, `resume`, `rerun` and `intervals` are thin calls of what is here."""

import contextlib
import logging
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from napinn.data.flags import scheme_named
from napinn.data.formats import read_csv
from napinn.data.readings import Readings
from napinn.diagnostics.findings import Verification
from napinn.diagnostics.status import with_uncertainty
from napinn.engines.base import Progress, RunOptions
from napinn.engines.catalogue import DEFAULT, METHODS
from napinn.engines.fitting import fit_request, inputs_of, shown_progress
from napinn.engines.request import Request, check_enough_for_intervals, check_readings
from napinn.errors import InputError, StorageError, storing
from napinn.evaluation.finishing import UNFINISHED, best_of, with_discrepancy, with_intervals, with_profiles
from napinn.evaluation.intervals import estimate_uncertainty
from napinn.evaluation.seeds import fit_seeds_of, widened
from napinn.problem import Problem
from napinn.problem.file import Source
from napinn.report.html import write_report
from napinn.report.truth import Truth
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult
from napinn.runs.folder import RESULT, begin, load, prepare, save
from napinn.runs.loggers import check_loggers, log_file, opened, together
from napinn.runs.request import RunExtras, read_extras, read_request, write_request
from napinn.runs.verification import read_verification
from napinn.storage.atomic import write_atomic
from napinn.storage.checkpoints import EVERY, Checkpoints
from napinn.storage.checkpoints import found as checkpoints_of
from napinn.storage.json_files import check_resumable
from napinn.storage.lock import held

REPORT, SEEDS = "report.html", "seeds.csv"
log = logging.getLogger(__name__)

Display = Callable[[str], contextlib.AbstractContextManager[Progress]]
"""Called with the title of a fit when it begins: where its progress is shown until it ends."""


@dataclass(frozen=True)
class PipelineOptions:
    """What is asked for beside the fit itself, and how it is run; none of it changes a number of the fit."""

    seeds: int = 1
    """From how many seeds to fit; of several the best is kept."""
    intervals: bool = False
    profile: bool = False
    discrepancy: bool = False
    flags: str | None = None
    """The scheme of quality flags in the tables of the run."""
    logs: tuple[str, ...] = ()
    """Names of loggers beside the history file."""
    inputs: tuple[Path, ...] = ()
    """The files that were read; none of them may lie in a folder that is replaced."""
    overwrite: bool = False
    every: float = EVERY
    """Seconds between two checkpoints."""

    def extras(self, folder: Path) -> RunExtras:
        """What the request of a run says of it."""
        seen = tuple(os.path.relpath(path, folder) for path in self.inputs)
        return RunExtras(self.seeds, self.intervals, self.logs, seen, self.flags, self.profile, self.discrepancy)


@dataclass(frozen=True, eq=False)
class Finished:
    """A run that is in its folder."""

    result: FitResult
    complete: bool = True
    """Whether every seed that was asked for was fitted."""


def run(
    problem: Problem | Path | str,
    readings: Readings | Source,
    folder: Path | str,
    method: Recipe | None = None,
    *,
    seed: int = 0,
    seeds: int = 1,
    intervals: bool = False,
    profile: bool = False,
    discrepancy: bool = False,
    flags: str | None = None,
    logs: tuple[str, ...] = (),
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    every: float = EVERY,
) -> FitResult:
    """Fit, and leave a run folder with tables, field, model, log, checkpoints and report: what `napinn fit` does.

    :param problem: A `Problem`, or the path of a problem file.
    :param readings: `Readings`, or the path of a table, a DataFrame, a Dataset or a DataArray to read them from.
    :param folder: The run folder; it is made, and `napinn.load` reads it.
    :param method: A recipe such as `napinn.bsplines()`; the default chooses between splines and a network.
    :param seed: Of every random number.
    :param seeds: From how many seeds to fit; of several the best is kept, and `seeds.csv` lists all. Default 1.
    :param intervals: Whether a network gets 95 % intervals too; splines always have them.
    :param profile: Whether to add the profile likelihood of every unknown.
    :param discrepancy: Whether to try a source term in each equation; the status says where readings want one.
    :param flags: `qartod`, `argo` or `saqc` adds quality flags to the tables.
    :param logs: `tensorboard` or `mlflow`: where progress is logged beside the folder.
    :param overwrite: Whether an earlier run in the folder is replaced.
    :param progress: As in `napinn.fit`.
    :param every: Seconds between two checkpoints. Default 60.
    :return: The fit, as it was saved.
    :raises InputError: if the input is refused, or the folder is in use or holds something else.
    :raises StorageError: if the disk is full or the folder cannot be written to.

    >>> done = napinn.run(problem, readings, "runs/decay", napinn.bsplines())
    >>> sorted(path.name for path in Path("runs/decay").glob("*.html"))
    ['report.html']
    >>> napinn.load("runs/decay").unknowns == done.unknowns
    True
    """
    given = [path for path in (problem, readings) if isinstance(path, str | Path)]
    bound, table = inputs_of(problem, readings)
    request = Request(bound, table, METHODS[DEFAULT].make() if method is None else method, seed)
    options = PipelineOptions(
        seeds, intervals, profile, discrepancy, flags, tuple(logs), tuple(map(Path, given)), overwrite, every
    )
    check_options(bound, table, request.method.double, options)
    return run_request(lambda: request, Path(folder), options, lambda title: shown_progress(progress, title)).result


def check_options(problem: Problem, readings: Readings, double: bool, options: PipelineOptions) -> None:
    """Refuse what cannot be fitted or logged before anything is made.

    :param problem: What is to be fitted.
    :param readings: To what; whether they lie in the box is checked here, once for the whole run.
    :param double: Whether the method computes in float64.
    :param options: What is asked for beside the fit."""
    check_extras(options)
    check_readings(problem, readings, double)
    if options.intervals:
        check_enough_for_intervals(readings)


def check_extras(options: PipelineOptions) -> None:
    """Refuse loggers and quality flags that do not exist.

    :param options: What is asked for beside the fit."""
    check_loggers(options.logs)
    if options.flags is not None:
        scheme_named(options.flags)


def run_request(make: Callable[[], Request], folder: Path, options: PipelineOptions, display: Display) -> Finished:
    """Prepare the folder, fit, save and report.

    :param make: Gives the request, which `check_options` has accepted; it is called when the folder is ready, because
        making the method of a network loads JAX.
    :param folder: The run folder.
    :param options: What is asked for beside the fit.
    :param display: Where progress is shown."""
    prepare(folder, options.overwrite, inputs=options.inputs)
    with held(folder):
        request, extras = make(), options.extras(folder)
        begin(request, folder, extras)
        if options.seeds > 1:
            return _fit_seeds(request, folder, extras, display)
        return Finished(_fit_one(request, folder, extras, options.every, display))


def resume_run(folder: Path, display: Display, every: float = EVERY) -> FitResult:
    """Continue a fit that was killed or interrupted, with the intervals and logs that were asked for.

    :param folder: The run folder.
    :param display: Where progress is shown.
    :param every: Seconds between two checkpoints.
    :raises InputError: if the run is finished, was of several seeds, or has no checkpoint."""
    check_resumable(folder)
    request, extras = read_request(folder), read_extras(folder)
    if extras.seeds > 1:
        raise InputError(
            f"{folder} was to fit {extras.seeds} seeds, of which no checkpoints are kept; fit again with --overwrite."
        )
    if (folder / RESULT).exists() and not checkpoints_of(folder):
        raise InputError(f"{folder} has no checkpoint to continue from; napinn rerun repeats it from the beginning.")
    check_readings(request.problem, request.readings, request.method.double)
    with held(folder):
        return _fit_one(request, folder, extras, every, display, resume=True)


def rerun(
    run: Path, folder: Path, display: Display, overwrite: bool = False, every: float = EVERY
) -> tuple[FitResult, FitResult]:
    """The fit of a run, and the same request fitted again in another folder.

    :param run: The earlier run.
    :param folder: Where the new one goes.
    :param display: Where progress is shown.
    :param overwrite: Whether a run in `folder` is replaced.
    :param every: Seconds between two checkpoints."""
    earlier, request = load(run), read_request(run)
    check_readings(request.problem, request.readings, request.method.double)
    prepare(folder, overwrite, inputs=[run])
    with held(folder):
        begin(request, folder)
        return earlier, _fit_one(request, folder, RunExtras(), every, display)


def _fit_one(
    request: Request, folder: Path, extras: RunExtras, every: float, display: Display, resume: bool = False
) -> FitResult:
    with _watched(folder, extras.logs, display, request.method.name) as progress:
        how = RunOptions(progress, Checkpoints(folder, every), resume)
        result = fit_request(request, how)
        log.info("%s %s", result.status.name, result.status.value)
        result = with_intervals(result) if extras.intervals else result
        result = with_profiles(result) if extras.profile else result
        result = with_discrepancy(result) if extras.discrepancy else result
        try:
            save(result, folder)
        except StorageError as error:
            command = f"napinn resume {shlex.quote(str(folder))}"
            raise StorageError(f"{error} Free some space there and run: {command}") from None
        report(result, folder)
    return result


def _fit_seeds(request: Request, folder: Path, extras: RunExtras, display: Display) -> Finished:
    title = f"{request.method.name}, {extras.seeds} seeds"
    with _watched(folder, extras.logs, display, title) as progress:
        found = fit_seeds_of(request, extras.seeds, progress)
        result = best_of(found, extras.seeds, extras.intervals, extras.profile, extras.discrepancy)
        log.info("%s %s", result.status.name, result.status.value)
        # What is asked for is now the seed that was chosen, so that a rerun comes to the same numbers.
        with storing(f"{folder} could not be written to"):
            write_request(replace(request, seed=result.seed), folder, extras)
            save_with_report(result, folder)
            write_atomic(folder / SEEDS, found.table().to_csv(index=False))
    return Finished(result, len(found.results) == extras.seeds)


@contextlib.contextmanager
def _watched(folder: Path, logs: tuple[str, ...], display: Display, title: str) -> Iterator[Progress]:
    """Where the progress of a fit goes: the folder's log and history, loggers, and the display."""
    with log_file(folder), display(title) as shown, together(opened(folder, logs), shown) as progress:
        yield progress


def save_with_report(result: FitResult, folder: Path, truth: Truth | None = None) -> None:
    """Save a fit and write its report, beside the truth where that is known."""
    save(result, folder)
    report(result, folder, truth)


def report(
    result: FitResult, folder: Path, truth: Truth | None = None, verification: Verification | None = None
) -> None:
    """Write the report of a fit into its folder."""
    with storing(f"the report could not be written to {folder}"):
        write_report(result, folder / REPORT, truth, verification=verification)


def finished_run(run: Path, missing: str) -> FitResult:
    """A run that is finished; any other is refused, because it has no `missing` yet."""
    result = load(run)
    if result.status in UNFINISHED:
        raise InputError(
            f"{run} is not finished ({result.status.name}), so it has no {missing} yet; finish it with napinn resume."
        )
    return result


def intervals_of(run: Path) -> FitResult:
    """A finished run with intervals, which hold what every seed found where there were several."""
    result = finished_run(run, "intervals")
    result = with_uncertainty(result, estimate_uncertainty(result))
    return widened(result, _seeds_table(run / SEEDS, result)) if (run / SEEDS).exists() else result


def _seeds_table(path: Path, result: FitResult) -> pd.DataFrame:
    """What several seeds found, where the run was the best of them."""
    table = read_csv(path)
    missing = [name for name in result.unknowns if name not in table]
    if missing:
        raise InputError(f"{path} has no column '{missing[0]}'; remove the file if it is not of this run.")
    return table[list(result.unknowns)].apply(pd.to_numeric, errors="coerce")


def keep_more(result: FitResult, run: Path) -> None:
    """Save what has become known of a finished run; its trust check still holds."""
    verification = read_verification(run)
    save(result, run, same_fit=True)
    report(result, run, verification=verification)
