"""`napinn fit`."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from napinn.cli.main import EXIT_INTERRUPTED, EXIT_NOT_TRUSTED
from napinn.cli.progress import progress_display
from napinn.errors import InputError, nearest
from napinn.fitting import fit
from napinn.io import PLAIN, read_file
from napinn.loggers import LOGGERS, HistoryFile, check_loggers, together
from napinn.methods import BACKBONES, DENSITIES, LOSSES, METHODS, Entry
from napinn.problem import Problem
from napinn.problem_file import Words, bind_readings, deduce, load_problem_file, sheet_of
from napinn.readings import Readings
from napinn.report.html import write_report
from napinn.result import FitResult, FitStatus
from napinn.run_folder import describe, prepare, save
from napinn.training import Method


@dataclass(frozen=True)
class Choice:
    """A method and its parts by their words on the command line; None leaves a part as the method has it."""

    method: str
    backbone: str | None = None
    density: str | None = None
    loss: str | None = None
    steps: int | None = None
    double: bool = False

    def make(self) -> Method:
        parts: dict[str, Any] = {"double": self.double}
        if self.steps is not None:
            parts["steps"] = self.steps
        if self.backbone is not None:
            parts["backbone"] = _named(self.backbone, BACKBONES, "backbone")()
        if self.density is not None:
            parts["estimator"] = _named(self.density, DENSITIES, "density")()
        if self.loss is not None:
            parts["loss"] = _named(self.loss, LOSSES, "loss")()
        make = _named(self.method, METHODS, "method")
        taken = inspect.signature(make).parameters
        for name, word in (("estimator", "density"), ("loss", "loss")):
            if name in parts and name not in taken:
                raise InputError(f"method '{self.method}' has no choice of {word}; leave out --{word}.")
        if self.method == "b_pinn" and self.backbone not in (None, "bayesian"):
            raise InputError("method 'b_pinn' needs the backbone 'bayesian'; leave out --backbone.")
        return make(**parts)


def _named(word: str, table: Mapping[str, Entry], kind: str) -> Callable[..., Any]:
    if word not in table:
        raise InputError(f"there is no {kind} '{word}'; {nearest(word, table)}")
    return table[word].make


def fit_command(
    readings: Path,
    problem: Path | Words,
    choice: Choice,
    seed: int,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    logs: Sequence[str] = (),
) -> int:
    recipe = choice.make()
    bound, table = problem_and_readings(problem, readings, Console(stderr=True))
    folder = out or Path("runs") / readings.stem
    check_loggers(logs)
    prepare(folder, overwrite)
    loggers = [HistoryFile(folder), *(LOGGERS[name](folder) for name in logs)]
    with (
        progress_display(recipe.name, Console(stderr=True)) as display,
        together(loggers, display) as progress,
    ):
        result = fit(bound, table, recipe, seed=seed, progress=progress)
    save(result, folder)
    write_report(result, folder / "report.html")
    if as_json:
        print(json.dumps({**describe(result), "folder": str(folder)}, ensure_ascii=False))  # noqa: T201
    else:
        show_result(result, folder, Console())
    return exit_code(result)


def problem_and_readings(problem: Path | Words, readings: Path, console: Console) -> tuple[Problem, Readings]:
    """From a problem file, or from the words of one line; what was guessed or deduced is said."""
    if isinstance(problem, Words):
        sheet = read_file(readings)
        file, source = deduce(problem, sheet.table, readings.name), "the command line"
    else:
        file, source = load_problem_file(problem), str(problem)
        sheet = sheet_of(file, readings, source)
    bound, table = bind_readings(file, sheet.table, str(readings), source)
    told = [f"{readings}: {note}" for note in sheet.notes if note != PLAIN]
    if isinstance(problem, Words):
        told.append(f"understood: {deduced(bound)}")
    for line in told:
        console.print(escape(line), soft_wrap=True, highlight=False)
    return bound, table


def deduced(problem: Problem) -> str:
    """What a problem is about, in one line."""
    axes = ", ".join(f"{name} ({low:g} to {high:g})" for name, (low, high) in problem.coordinates.items())
    parts = [f"coordinates {axes}", f"measured {', '.join(problem.fields)}"]
    if problem.hidden:
        parts.append(f"hidden {', '.join(problem.hidden)}")
    if problem.unknowns:
        parts.append("unknown " + ", ".join(f"{name} from {u.start:g}" for name, u in problem.unknowns.items()))
    return "; ".join(parts)


def exit_code(result: FitResult) -> int:
    if result.status is FitStatus.INTERRUPTED:
        return EXIT_INTERRUPTED
    return 0 if result.status.trusted else EXIT_NOT_TRUSTED


def show_result(result: FitResult, folder: Path, console: Console) -> None:
    console.print(escape(result.problem.show()), style="bold", soft_wrap=True, highlight=False)
    table = Table("unknown", "found", "start", box=None)
    for name, value in result.unknowns.items():
        table.add_row(name, f"{value:.6g}", f"{result.problem.unknowns[name].start:.6g}")
    console.print(table)
    flagged, total = int(result.flagged.sum()), len(result.readings)
    console.print(
        f"{flagged} of {total} readings flagged as unreliable ({100 * flagged / total:.1f} %)",
        highlight=False,
    )
    worst = worst_sensors(result)
    if worst:
        console.print(f"sensors with most of them: {escape(worst)}", highlight=False, soft_wrap=True)
    show_faulty(result, console)
    console.print(result.status.value, style="green" if result.status.trusted else "yellow", soft_wrap=True)
    console.print(
        f"run folder {escape(str(folder))}, report {escape(str(folder / 'report.html'))}",
        soft_wrap=True,
        highlight=False,
    )


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
