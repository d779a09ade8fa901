"""`napinn simulate`."""

import json
from pathlib import Path

import yaml
from rich.console import Console

from napinn.benchmarks.corruption import corrupt
from napinn.benchmarks.names import BENCHMARKS
from napinn.errors import InputError, nearest
from napinn.problem import Problem


def simulate_command(name: str, outliers: float, seed: int, out: Path, overwrite: bool, as_json: bool) -> None:
    if name not in BENCHMARKS:
        raise InputError(f"there is no benchmark '{name}'; {nearest(name, BENCHMARKS)}")
    benchmark = BENCHMARKS[name]()
    files = {
        "readings": out,
        "labels": out.with_suffix(".labels.csv"),
        "problem": out.with_suffix(".problem.yaml"),
    }
    for path in files.values():
        if path.exists() and not overwrite:
            raise InputError(f"{path} already exists; choose another name or add --overwrite.")
    corrupted = corrupt(benchmark, outliers, seed)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        corrupted.table.to_csv(files["readings"], index=False)
        corrupted.labels.to_csv(files["labels"], index=False)
        files["problem"].write_text(problem_yaml(benchmark.problem), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}.") from None
    count = len(corrupted.table) * len(benchmark.problem.fields)
    hit = int(corrupted.is_outlier(benchmark.problem.fields).sum())
    told = {key: str(path) for key, path in files.items()} | {"count": count, "outliers": hit, "seed": seed}
    if as_json:
        print(json.dumps(told))  # noqa: T201
        return
    console = Console()
    console.print(f"{count} readings, {hit} of them outliers: {files['readings']}", highlight=False, soft_wrap=True)
    console.print(f"labels, not for fitting: {files['labels']}", highlight=False, soft_wrap=True)
    console.print(
        f"now try: napinn fit {files['readings']} --problem {files['problem']}",
        highlight=False,
        soft_wrap=True,
    )


def problem_yaml(problem: Problem) -> str:
    content = {
        "name": problem.name,
        "coordinates": {name: list(span) for name, span in problem.coordinates.items()},
        "fields": list(problem.fields),
        "unknowns": {name: {"start": unknown.start} for name, unknown in problem.unknowns.items()},
        "constants": dict(problem.constants),
        "equations": list(problem.equations),
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)
