"""`napinn demo`: the whole path on one benchmark: the default, the paper's naPINN and a plain PINN, same readings."""

import dataclasses
import json
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from napinn.cli.console import Console
from napinn.cli.progress import progress_display
from napinn.cli.running import exit_code
from napinn.data.readings import read_table
from napinn.engines.catalogue import METHODS, STEPS
from napinn.engines.fitting import fit
from napinn.problem.equations import symbol
from napinn.report.truth import Truth
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult, FitStatus
from napinn.runs.folder import prepare
from napinn.runs.pipeline import save_with_report
from napinn.storage.lock import held
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.benchmarks.scores import score

OUTLIERS = 0.1
SHORT_STEPS = 6000
"""Steps after which naPINN on the small network has found the coefficient to 3 % and every gross outlier."""
HOW_TO_READ = (
    "rMSE is the error of the field relative to the truth, which only a simulation knows: smaller is better.",
    "'outliers found' counts gross outliers that the method flagged, 'false alarms' good readings that it flagged.",
    "pinn gives every reading the same weight, na_pinn learns the law of the noise and leaves out readings that are "
    "unlikely under it, and the default also fits field and coefficients by that law.",
)


@dataclass(frozen=True)
class DemonstrationRow:
    """One row of the demonstration."""

    method: str
    what: str
    short: str
    """How long the short form takes on two quiet cores."""
    full: str
    """The same of the full form."""


ROWS = {
    "default": DemonstrationRow("auto", "B-splines, fitted with the learned noise law", "30 s", "30 s"),
    "na_pinn": DemonstrationRow(
        "na_pinn", "the paper's method: a network, a learned noise law, a gate", "15 s", "100 s"
    ),
    "pinn": DemonstrationRow("pinn", "a plain physics-informed network, for comparison", "10 s", "90 s"),
}
"""By the name in the table, in the order in which they are fitted; the report is of the first."""


def demo_command(steps: int | None, full: bool, seed: int, out: Path, overwrite: bool, as_json: bool) -> int:
    benchmark = allen_cahn()
    problem = benchmark.problem
    prepare(out, overwrite)
    corrupted = corrupt(benchmark, OUTLIERS, seed)
    readings = read_table(corrupted.table, tuple(problem.coordinates), problem.fields, source="demo")
    progress_console = Console(stderr=True)
    announce(len(readings), full, steps, progress_console)
    rows: dict[str, dict[str, Any]] = {}
    first: FitResult | None = None
    for name, entry in ROWS.items():
        method, began = method_of(entry.method, steps, full), time.process_time()
        with held(out), progress_display(name, progress_console) as progress:
            result = fit(problem, readings, method, seed=seed, progress=progress)
            rows[name] = {
                **dataclasses.asdict(score(result, benchmark, corrupted)),
                "unknowns": dict(result.unknowns),
                "seconds": round(result.seconds, 1),
                "processor_seconds": round(time.process_time() - began, 1),
                "steps": method.steps,
            }
            if first is None:
                first = result
                truth = Truth(benchmark.truth, corrupted.is_outlier(problem.fields), benchmark.unknowns)
                save_with_report(first, out, truth)
        progress_console.print(one_line(name, rows[name], benchmark), highlight=False, soft_wrap=True, markup=False)
        if result.status is FitStatus.INTERRUPTED:
            break
    assert first is not None
    if as_json:
        print(json.dumps(rows))  # noqa: T201
    else:
        show(rows, benchmark, first, out, Console())
    return exit_code(first)


def method_of(name: str, steps: int | None, full: bool) -> Recipe:
    """A method of the demonstration.

    The short form trains networks that are half as wide and one layer less deep, on smaller batches, and moves the
    coefficient five times as fast as the weights; otherwise it would be far from its value when the steps are spent.

    :param name: The method by its name in the catalogue.
    :param steps: Training steps, or None for those of the form.
    :param full: Whether networks, batches and steps are the method's own."""
    entry = METHODS[name]
    if entry.steps == 0:
        return entry.make()
    if full:
        return entry.make(steps or STEPS)
    from napinn.field.backbones import MLP

    return entry.make(
        steps or SHORT_STEPS, backbone=MLP(40, 4), collocation_batch=256, reading_batch=512, unknowns_rate=5.0
    )


def announce(readings: int, full: bool, steps: int | None, console: Console) -> None:
    """Say what will be done and, unless the steps are the user's own, about how long each part takes."""
    lines = [f"Three methods are fitted to the same {readings} readings."]
    if steps is None:
        lines[0] += " On two quiet cores they take about:"
    for name, entry in ROWS.items():
        seconds = entry.full if full else entry.short
        line = f"  {name:<8} {seconds:>6}" if steps is None else f"  {name:<8}"
        lines.append(f"{line}  {entry.what}")
    if not full:
        lines.append(f"The networks are small and take {steps or SHORT_STEPS} steps; --full trains those of the paper.")
    console.print("\n".join(lines), highlight=False, soft_wrap=True, markup=False)


def one_line(name: str, row: Mapping[str, Any], benchmark: Benchmark) -> str:
    """A row of the table as a line, to be shown while the others are still being fitted."""
    cells = ", ".join(f"{head} {cell}" for head, cell in zip(heads(benchmark), cells_of(row, benchmark), strict=True))
    return f"{name}: {cells}"


def heads(benchmark: Benchmark) -> list[str]:
    truths = [f"{symbol(name)} (truth {value:g})" for name, value in benchmark.unknowns.items()]
    return ["rMSE", *truths, "outliers found", "false alarms", "seconds"]


def cells_of(row: Mapping[str, Any], benchmark: Benchmark) -> list[str]:
    return [
        f"{row['rmse']:.4f}",
        *(f"{row['unknowns'][name]:.4f}" for name in benchmark.unknowns),
        f"{row['outliers_flagged']} of {row['outliers']}",
        f"{row['good_flagged']} of {row['good_readings']}",
        f"{row['seconds']:.0f}",
    ]


def show(rows: dict[str, dict[str, Any]], benchmark: Benchmark, result: FitResult, out: Path, console: Console) -> None:
    outliers = next(iter(rows.values()))["outliers"]
    console.print(f"{benchmark.problem.show()}", style="bold", highlight=False, soft_wrap=True)
    console.print(
        f"{len(result.readings)} readings of {len(set(result.readings.sensors))} sensors, {outliers} gross outliers",
        highlight=False,
    )
    table = Table("method", *heads(benchmark))
    for method, row in rows.items():
        table.add_row(method, *cells_of(row, benchmark))
    console.print_whole(table)
    for sentence in HOW_TO_READ:
        console.print(sentence, highlight=False, soft_wrap=True, markup=False)
    console.print(f"The default: {result.status.value}", highlight=False, soft_wrap=True, markup=False)
    ending = f"The report of the default is {out / 'report.html'}: open it in a browser. Next: "
    ending += f"napinn verify {shlex.quote(str(out))}"
    console.print(ending, highlight=False, soft_wrap=True, markup=False)
