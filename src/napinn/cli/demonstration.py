"""`napinn demo`: the whole path on one benchmark: the default, the paper's naPINN and a plain PINN, same readings."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from rich.table import Table

from napinn.benchmarks.allen_cahn import allen_cahn
from napinn.benchmarks.base import Benchmark
from napinn.benchmarks.corruption import corrupt
from napinn.benchmarks.scores import score
from napinn.catalogue import METHODS as CATALOGUE
from napinn.cli.console import Console
from napinn.cli.fitting import Choice
from napinn.cli.progress import progress_display
from napinn.cli.running import exit_code, save_with_report
from napinn.equations import symbol
from napinn.fitting import fit
from napinn.io.lock import held
from napinn.readings import read_table
from napinn.report.truth import Truth
from napinn.result import FitResult, FitStatus
from napinn.run_folder import prepare

OUTLIERS = 0.1
METHODS = {"default": "auto", "na_pinn": "na_pinn", "pinn": "pinn"}
"""By the name in the table, in the order in which they are fitted; the report is of the first."""


def demo_command(steps: int | None, seed: int, out: Path, overwrite: bool, as_json: bool) -> int:
    benchmark = allen_cahn()
    problem = benchmark.problem
    prepare(out, overwrite)
    corrupted = corrupt(benchmark, OUTLIERS, seed)
    readings = read_table(corrupted.table, tuple(problem.coordinates), problem.fields, source="demo")
    console = Console(stderr=True)
    told = "Fits three methods to the same readings: the default in seconds, then two networks in minutes."
    console.print(told, highlight=False, soft_wrap=True)
    rows: dict[str, dict[str, Any]] = {}
    first: FitResult | None = None
    for name, word in METHODS.items():
        method = Choice(word, steps=steps if CATALOGUE[word].steps else None).make()
        with held(out), progress_display(method.name, console) as progress:
            result = fit(problem, readings, method, seed=seed, progress=progress)
        first = first or result
        scores = dataclasses.asdict(score(result, benchmark, corrupted))
        rows[name] = {
            **scores,
            "unknowns": dict(result.unknowns),
            "seconds": round(result.seconds, 1),
            "steps": method.steps,
        }
        if result.status is FitStatus.INTERRUPTED:
            break
    assert first is not None
    truth = Truth(benchmark.truth, corrupted.is_outlier(problem.fields), benchmark.unknowns)
    save_with_report(first, out, truth)
    if as_json:
        print(json.dumps(rows))  # noqa: T201
    else:
        show(rows, benchmark, first, out, Console())
    return exit_code(first)


def show(rows: dict[str, dict[str, Any]], benchmark: Benchmark, result: FitResult, out: Path, console: Console) -> None:
    problem = benchmark.problem
    outliers = next(iter(rows.values()))["outliers"]
    console.print(f"{problem.show()}", style="bold", highlight=False, soft_wrap=True)
    console.print(
        f"{len(result.readings)} readings of {len(set(result.readings.sensors))} sensors, {outliers} gross outliers",
        highlight=False,
    )
    names = list(benchmark.unknowns)
    table = Table(
        "method", "rMSE", *(f"{symbol(name)} (truth {benchmark.unknowns[name]:g})" for name in names),
        "outliers found", "false alarms", "seconds",
    )  # fmt: skip
    for method, row in rows.items():
        table.add_row(
            method,
            f"{row['rmse']:.4f}",
            *(f"{row['unknowns'][name]:.4f}" for name in names),
            f"{row['outliers_flagged']} of {row['outliers']}",
            f"{row['good_flagged']} of {row['good_readings']}",
            f"{row['seconds']:.0f}",
        )
    console.print_whole(table)
    console.print(result.status.value, soft_wrap=True)
    console.print(f"run folder {out}, report {out / 'report.html'}", highlight=False, soft_wrap=True, markup=False)
