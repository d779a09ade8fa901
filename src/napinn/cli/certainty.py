"""`napinn sure`, and what `napinn fit` does with `--intervals` and `--seeds`."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pandas as pd
from rich.markup import escape

from napinn.certainty import how_sure
from napinn.cli.console import Console
from napinn.cli.main import EXIT_INTERRUPTED
from napinn.cli.progress import progress_display
from napinn.cli.running import (
    Finish,
    Manner,
    as_it_is,
    logged,
    report,
    save_with_report,
    show_status,
    show_unknowns,
    tell_result,
)
from napinn.errors import InputError, storing
from napinn.io import read_csv
from napinn.io.whole import write_whole
from napinn.judgement import with_certainty
from napinn.loggers import opened, together
from napinn.request import Request, Wishes, write_request
from napinn.result import FitResult, FitStatus
from napinn.run_folder import describe, load, save
from napinn.seeds import SeedFits, fit_seeds, widened
from napinn.verification.findings import read_verification

UNFINISHED = (FitStatus.INTERRUPTED, FitStatus.DIVERGED)
SEEDS = "seeds.csv"


def with_intervals(result: FitResult) -> FitResult:
    """The result and how sure it is; an unfinished fit is left as it is.

    A fit is kept where intervals cannot be had, as when it has used too few of its readings, and says so."""
    if result.status in UNFINISHED:
        return result
    try:
        return with_certainty(result, how_sure(result))
    except InputError as error:
        return replace(result, notes=(*result.notes, f"There are no intervals: {error}"))


def finishing(wishes: Wishes) -> Finish:
    """What is made of a fit before it is saved."""
    return with_intervals if wishes.intervals else as_it_is


def run_seeds(request: Request, folder: Path, manner: Manner, wishes: Wishes) -> int:
    """Fit from several seeds, save the best of them with a table of all, and show it; gives the exit code."""
    method, console = request.method, Console(stderr=True, quiet=manner.quiet)
    with (
        logged(folder, manner),
        progress_display(f"{method.name}, {wishes.seeds} seeds", console) as display,
        together(opened(folder, manner.logs), display) as progress,
    ):
        found = fit_seeds(
            request.problem, request.readings, method, seeds=wishes.seeds, seed=request.seed, progress=progress
        )
        result = _best(found, wishes)
        logging.getLogger(__name__).info("%s %s", result.status.name, result.status.value)
        # What is asked for is now the seed that was chosen, so that a rerun comes to the same numbers.
        with storing(f"{folder} could not be written to"):
            write_request(replace(request, seed=result.seed), folder, wishes)
            save_with_report(result, folder)
            write_whole(folder / SEEDS, found.table().to_csv(index=False))
    code = tell_result(result, folder, manner)
    return code if len(found.results) == wishes.seeds else EXIT_INTERRUPTED


def _best(found: SeedFits, wishes: Wishes) -> FitResult:
    missing: tuple[str, ...] = ()
    if wishes.intervals and found.chosen.status not in UNFINISHED:
        try:
            found = found.sure(how_sure(found.chosen))
        except InputError as error:
            missing = (f"There are no intervals: {error}",)
    best = found.best if len(found.results) > 1 else found.chosen
    best = replace(best, notes=(*best.notes, *missing))
    done = sum(each.status is not FitStatus.INTERRUPTED for each in found.results)
    if done == wishes.seeds:
        return best
    note = f"Interrupted after {done} of {wishes.seeds} seeds, of which no checkpoints are kept; fit again for all."
    return replace(best, notes=(*best.notes, note))


def _seeds_table(path: Path, result: FitResult) -> pd.DataFrame:
    """What several seeds found, where the run was the best of them."""
    table = read_csv(path)
    missing = [name for name in result.unknowns if name not in table]
    if missing:
        raise InputError(f"{path} has no column '{missing[0]}'; remove the file if it is not of this run.")
    return table[list(result.unknowns)].apply(pd.to_numeric, errors="coerce")


def sure_command(run: Path, as_json: bool) -> None:
    """Add intervals and spread to a finished run."""
    result = load(run)
    if result.status in UNFINISHED:
        raise InputError(f"{run} is not finished ({result.status.name}), so there is nothing yet to be sure of.")
    result = with_certainty(result, how_sure(result))
    if (run / SEEDS).exists():
        result = widened(result, _seeds_table(run / SEEDS, result))
    verification = read_verification(run)
    # What was found is shown before it is kept: the folder may not be writable.
    console = Console(quiet=as_json)
    if as_json:
        told = describe(result)
        print(json.dumps({key: told[key] for key in ("unknowns", "intervals", "intervals_from")}))  # noqa: T201
    show_unknowns(result, console)
    show_status(result, console)
    save(result, run, same_fit=True)
    report(result, run, verification=verification)
    told = f"added to {run}: result.json, report.html and the spread of the field in field.nc"
    console.print(escape(told), soft_wrap=True, highlight=False)
