"""What `napinn fit`, `resume` and `rerun` share: a request is run in its folder, saved, reported and shown."""

import contextlib
import json
import logging
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from napinn.cli.console import Console
from napinn.cli.exit_codes import EXIT_INTERRUPTED, EXIT_NOT_TRUSTED
from napinn.cli.profiling import show_profiles
from napinn.cli.progress import progress_display
from napinn.engines.base import Progress
from napinn.engines.description import describe
from napinn.errors import printable
from napinn.problem import Unknown
from napinn.results.result import FitResult, FitStatus


@dataclass(frozen=True)
class OutputOptions:
    """What a command says of a fit, and how."""

    as_json: bool = False
    verbose: bool = False
    quiet: bool = False


@contextlib.contextmanager
def shown_log(output: OutputOptions) -> Iterator[None]:
    """What napinn logs goes to standard error, as far as was asked."""
    root = logging.getLogger("napinn")
    shown = logging.StreamHandler()
    shown.setLevel(logging.DEBUG if output.verbose else logging.ERROR if output.quiet else logging.WARNING)
    shown.setFormatter(_Printable("napinn: %(message)s"))
    before = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(shown)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(shown)
        shown.close()


@contextlib.contextmanager
def display(output: OutputOptions, title: str) -> Iterator[Progress]:
    """The log and the progress of a fit on standard error, while it runs."""
    with shown_log(output), progress_display(title, Console(stderr=True, quiet=output.quiet)) as progress:
        yield progress


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def print_result(result: FitResult, folder: Path, output: OutputOptions, complete: bool = True) -> int:
    """Print a run, and the exit code that goes with it; `complete` is false if seeds are missing."""
    if output.as_json:
        print(json.dumps({**describe(result), "folder": str(folder)}))  # noqa: T201
    elif not output.quiet:
        show_result(result, folder, Console())
    return exit_code(result) if complete else EXIT_INTERRUPTED


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
    known = {} if result.uncertainty is None else result.uncertainty.intervals
    for name, value in result.unknowns.items():
        interval = f" ({known[name]})" if name in known else ""
        unit = [escape(units[name])] if with_units else []
        table.add_row(name, f"{value:.6g}{interval}", *unit, _start(result.problem.unknowns[name]))
    if result.unknowns or not result.functions:
        console.print_whole(table)
    for name, function in result.functions.items():
        sentence = function.sentence(name, result.problem.unit_of(name) or "")
        console.print(escape(sentence), highlight=False, soft_wrap=True)
    if result.uncertainty is not None and result.unknowns:
        console.print(f"in brackets 95 % intervals, from {result.uncertainty.source}", highlight=False)
    if result.profiles:
        show_profiles(result, console)


def _start(unknown: Unknown) -> str:
    if unknown.start is None:
        return "natural size" if unknown.prior is None else f"prior {unknown.prior}"
    return f"{unknown.start:.6g}"


def show_faulty(result: FitResult, console: Console, most: int = 10) -> None:
    """One line a faulty sensor."""
    faulty = result.faulty_sensors()
    for sensor, row in faulty.head(most).iterrows():
        line = f"sensor {escape(str(sensor))} ([bold]{row.verdict}[/]): {escape(row.evidence)}"
        console.print(line, highlight=False, soft_wrap=True)
    if len(faulty) > most:
        console.print(f"and {len(faulty) - most} more faulty sensors, in sensors.csv", highlight=False)


def worst_sensors(result: FitResult, count: int = 5) -> str:
    """The sensors with the largest share of flagged readings, worst first; nothing where there is only one."""
    share = result.sensors_table()["flagged_share"].sort_values(ascending=False)
    if len(share) < 2:
        return ""
    return ", ".join(f"{name} ({100 * value:.0f} %)" for name, value in share[share > 0].head(count).items())
