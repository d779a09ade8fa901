"""`napinn simulate`."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from napinn.cli.console import Console
from napinn.errors import InputError, named
from napinn.problem import Problem
from napinn.storage.outputs import Output
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.corruption import OUTLIER_STYLES, Corrupted, Fault, corrupt
from napinn.studies.benchmarks.faults import FAULTS
from napinn.studies.benchmarks.names import BENCHMARKS
from napinn.studies.benchmarks.noise import NOISES


@dataclass(frozen=True)
class WantedCorruption:
    """A corruption by its words on the command line."""

    noise: str
    outliers: float
    outlier_style: str
    faults: tuple[str, ...]
    seed: int

    def make(self, benchmark: Benchmark) -> Corrupted:
        return corrupt(
            benchmark,
            self.outliers,
            self.seed,
            noise=named(self.noise, NOISES, "noise"),
            outlier_style=named(self.outlier_style, OUTLIER_STYLES, "outlier style"),
            faults=[fault(text) for text in self.faults],
        )


def fault(text: str) -> Fault:
    """`drift:3` is a drift of three sensors; without a number a fault hits as many as it does by default."""
    name, colon, count = text.partition(":")
    kind = named(name, FAULTS, "fault")
    if not colon:
        return kind()
    try:
        sensors = int(count)
    except ValueError:
        raise InputError(
            f"'{count}' in the fault '{text}' is not a number of sensors; write for example '{name}:3'."
        ) from None
    return kind(sensors)


def simulate_command(name: str, wanted: WantedCorruption, checked: Mapping[str, Output], as_json: bool) -> None:
    """Write the readings of a benchmark, their labels and the problem to the files that were `checked`."""
    benchmark = named(name, BENCHMARKS, "benchmark")()
    files = {kind: each.path for kind, each in checked.items()}
    corrupted = wanted.make(benchmark)
    checked["readings"].write(lambda beside: corrupted.table.to_csv(beside, index=False))
    checked["labels"].write(lambda beside: corrupted.labels.to_csv(beside, index=False))
    checked["problem"].write(lambda beside: beside.write_text(problem_yaml(benchmark.problem), encoding="utf-8"))
    fields = benchmark.problem.fields
    counts = {
        "count": len(corrupted.table) * len(fields),
        "outliers": int(corrupted.is_outlier(fields).sum()),
        "faulty": int(corrupted.is_faulty(fields).sum()),
        "dropped_rows": corrupted.dropped,
    }
    if as_json:
        chosen = {"noise": wanted.noise, "outlier_style": wanted.outlier_style, "faults": wanted.faults}
        print(json.dumps({key: str(path) for key, path in files.items()} | counts | chosen | {"seed": wanted.seed}))  # noqa: T201
    else:
        show(counts, files, Console())


def show(counts: Mapping[str, int], files: Mapping[str, Path], console: Console) -> None:
    parts = [f"{counts['count']} readings, {counts['outliers']} of them outliers"]
    if counts["faulty"]:
        parts.append(f"{counts['faulty']} changed by faults")
    if counts["dropped_rows"]:
        parts.append(f"{counts['dropped_rows']} rows dropped out")
    lines = [
        f"{', '.join(parts)}: {files['readings']}",
        f"labels, not for fitting: {files['labels']}",
        f"next: napinn fit {shlex.quote(str(files['readings']))} --problem {shlex.quote(str(files['problem']))}",
    ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def problem_yaml(problem: Problem) -> str:
    content = {
        "name": problem.name,
        "coordinates": {name: list(span) for name, span in problem.coordinates.items()},
        "fields": list(problem.fields),
        "unknowns": {name: {"start": unknown.start} for name, unknown in problem.unknowns.items()},
        "constants": dict(problem.constants),
        "equations": list(problem.equations),
        **({"units": dict(problem.units)} if problem.units else {}),
        **({"own_units": list(problem.own_units)} if problem.own_units else {}),
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)
