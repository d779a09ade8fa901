"""What `napinn fit`, `resume` and `rerun` share: a request is run in its folder, saved, reported and shown."""

import contextlib
import json
import logging
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from napinn.checkpoints import EVERY, Checkpoints
from napinn.cli.console import Console
from napinn.cli.main import EXIT_INTERRUPTED, EXIT_NOT_TRUSTED
from napinn.cli.progress import progress_display
from napinn.errors import StorageError, printable, storing
from napinn.fitting import fit
from napinn.loggers import LOG, opened, together
from napinn.problem import Unknown
from napinn.report.html import write_report
from napinn.report.truth import Truth
from napinn.request import Request
from napinn.result import FitResult, FitStatus
from napinn.run_folder import describe, save
from napinn.verification.findings import Verification

Finish = Callable[[FitResult], FitResult]
LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@dataclass(frozen=True)
class Manner:
    """How a fit is run, which changes nothing of what it finds."""

    as_json: bool = False
    logs: tuple[str, ...] = ()
    every: float = EVERY
    """Seconds between two checkpoints."""
    verbose: bool = False
    quiet: bool = False


def as_it_is(result: FitResult) -> FitResult:
    return result


def run_request(
    request: Request, folder: Path, manner: Manner, resume: bool = False, finish: Finish = as_it_is
) -> FitResult:
    """Fit, with everything that goes on beside it, and save what `finish` makes of the result."""
    method, console = request.method, Console(stderr=True, quiet=manner.quiet)
    kept = Checkpoints(folder, manner.every)
    with (
        logged(folder, manner),
        progress_display(method.name, console) as display,
        together(opened(folder, manner.logs), display) as progress,
    ):
        result = fit(
            request.problem, request.readings, method, seed=request.seed, progress=progress, checkpoints=kept,
            resume=resume,
        )  # fmt: skip
        logging.getLogger(__name__).info("%s %s", result.status.name, result.status.value)
        result = finish(result)
        try:
            save(result, folder)
        except StorageError as error:
            raise StorageError(f"{error} Make room there and say: napinn resume {folder}") from None
        report(result, folder)
    return result


def save_with_report(result: FitResult, folder: Path, truth: Truth | None = None) -> None:
    save(result, folder)
    report(result, folder, truth)


def report(
    result: FitResult, folder: Path, truth: Truth | None = None, verification: Verification | None = None
) -> None:
    with storing(f"the report could not be written to {folder}"):
        write_report(result, folder / "report.html", truth, verification=verification)


@contextlib.contextmanager
def logged(folder: Path, manner: Manner) -> Iterator[None]:
    """What napinn logs goes to the run folder whole, and to standard error as far as was asked."""
    root = logging.getLogger("napinn")
    shown = logging.StreamHandler()
    shown.setLevel(logging.DEBUG if manner.verbose else logging.ERROR if manner.quiet else logging.WARNING)
    shown.setFormatter(_Printable("napinn: %(message)s"))
    handlers: list[logging.Handler] = [shown]
    # The log is a convenience: a disk that fails must not cost the fit.
    with contextlib.suppress(OSError):
        handlers.append(_LogFile(folder / LOG, encoding="utf-8", errors="backslashreplace"))
        handlers[-1].setFormatter(logging.Formatter(LINE))
    before = root.level
    root.setLevel(logging.DEBUG)
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        root.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class _LogFile(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """A line that cannot be written is lost, and nothing else is."""


def tell_result(result: FitResult, folder: Path, manner: Manner) -> int:
    """Print a run, and the exit code that goes with it."""
    if manner.as_json:
        print(json.dumps({**describe(result), "folder": str(folder)}))  # noqa: T201
    elif not manner.quiet:
        show_result(result, folder, Console())
    return exit_code(result)


def exit_code(result: FitResult) -> int:
    if result.status is FitStatus.INTERRUPTED:
        return EXIT_INTERRUPTED
    return 0 if result.status.trusted else EXIT_NOT_TRUSTED


def show_result(result: FitResult, folder: Path, console: Console) -> None:
    console.print(escape(result.problem.show()), style="bold", soft_wrap=True, highlight=False)
    show_unknowns(result, console)
    flagged, total = int(result.flagged.sum()), len(result.readings)
    console.print(
        f"{flagged} of {total} readings flagged as unreliable ({100 * flagged / total:.1f} %)",
        highlight=False,
    )
    worst = worst_sensors(result)
    if worst:
        console.print(f"sensors with most of them: {escape(worst)}", highlight=False, soft_wrap=True)
    show_faulty(result, console)
    show_status(result, console)
    console.print(
        f"run folder {escape(str(folder))}, report {escape(str(folder / 'report.html'))}",
        soft_wrap=True,
        highlight=False,
    )
    console.print(next_commands(result, folder), soft_wrap=True, highlight=False, markup=False)


def next_commands(result: FitResult, folder: Path) -> str:
    """Three commands that a user may want now, each with what it is for.

    :param result: The finished fit.
    :param folder: Its run folder."""
    run, image = shlex.quote(str(folder)), shlex.quote(str(folder / "field.png"))
    first = (f"napinn verify {run}", "can this fit be trusted?")
    if result.status is FitStatus.INTERRUPTED:
        first = (f"napinn resume {run}", "continue the fit")
    lines = (
        first,
        (f"napinn plot {run} -o {image}", "draw the field"),
        (f"napinn predict {run} --grid 50 -o {shlex.quote(str(folder / 'predicted.csv'))}", "the field on a grid"),
    )
    return "\n".join(["next:", *(f"  {command}  # {purpose}" for command, purpose in lines)])


def show_status(result: FitResult, console: Console) -> None:
    """The status and every note, in the colour of the status."""
    for line in (result.status.value, *result.notes):
        console.print(escape(line), style=result.status.colour, soft_wrap=True, highlight=False)


def show_unknowns(result: FitResult, console: Console) -> None:
    units = {name: result.problem.unit_of(name) or "" for name in result.unknowns}
    with_units = any(units.values())
    table = Table("unknown", "found", *(["unit"] if with_units else []), "start", box=None)
    known = {} if result.certainty is None else result.certainty.intervals
    for name, value in result.unknowns.items():
        interval = f" ({known[name]})" if name in known else ""
        unit = [escape(units[name])] if with_units else []
        table.add_row(name, f"{value:.6g}{interval}", *unit, _start(result.problem.unknowns[name]))
    console.print_whole(table)
    if result.certainty is not None:
        console.print(f"in brackets 95 % intervals, from {result.certainty.source}", highlight=False)


def _start(unknown: Unknown) -> str:
    return "natural size" if unknown.start is None else f"{unknown.start:.6g}"


def show_faulty(result: FitResult, console: Console, most: int = 10) -> None:
    """One line a faulty sensor."""
    faulty = result.faulty_sensors()
    for sensor, row in faulty.head(most).iterrows():
        line = f"sensor {escape(str(sensor))} ([bold]{row.verdict}[/]): {escape(row.evidence)}"
        console.print(line, highlight=False, soft_wrap=True)
    if len(faulty) > most:
        console.print(f"and {len(faulty) - most} more faulty sensors, in sensors.csv", highlight=False)


def worst_sensors(result: FitResult, count: int = 5) -> str:
    """The sensors with the largest share of flagged readings, worst first."""
    share = result.sensors_table()["flagged_share"].sort_values(ascending=False)
    return ", ".join(f"{name} ({100 * value:.0f} %)" for name, value in share[share > 0].head(count).items())
