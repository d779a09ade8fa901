"""What a network gains from the field and the unknowns of splines that gave up, and what these cost before.

    python benchmarks/handover.py                             # all three benchmarks of the paper, 15 % outliers
    python benchmarks/handover.py burgers --steps 1200 --seeds 2

Splines run until their budget is spent (Allen–Cahn, which they would finish, gets a budget of three seconds). Then the
default network is trained twice with few steps: from its own start, and from theirs. Seconds are processor time. Writes
`benchmarks/results/handover.json`."""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from napinn.data.readings import Readings, read_table
from napinn.engines import choice
from napinn.engines.base import RunOptions, backend_of
from napinn.engines.catalogue import METHODS, NETWORK
from napinn.engines.request import Request
from napinn.engines.splines import engine
from napinn.engines.splines.backend import fit_splines
from napinn.engines.splines.cost import TooSlowError
from napinn.engines.splines.method import bsplines
from napinn.results.model import FittedModel
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.burgers import burgers
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.benchmarks.reaction_diffusion import reaction_diffusion
from napinn.studies.benchmarks.scores import score
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "handover.json"
BENCHMARKS: dict[str, tuple[Callable[[], Benchmark], float]] = {
    "allen_cahn": (allen_cahn, 3.0),
    "burgers": (burgers, engine.FIRST_BUDGET),
    "reaction_diffusion": (reaction_diffusion, engine.FIRST_BUDGET),
}
"""By name: the benchmark, and the budget of splines in seconds of their model of cost."""
OUTLIERS = 0.15


def given_up(request: Request, budget: float) -> tuple[FittedModel | None, dict[str, float], float]:
    """What splines found until their budget was spent, and the seconds that this took."""
    usual, engine.FIRST_BUDGET, begun = engine.FIRST_BUDGET, budget, time.process_time()
    try:
        result, _ = fit_splines(replace(request, method=bsplines()), RunOptions())
        return result.model, dict(result.unknowns), time.process_time() - begun
    except TooSlowError as error:
        return error.model, dict(error.unknowns), time.process_time() - begun
    finally:
        engine.FIRST_BUDGET = usual


def compared(name: str, steps: int, seed: int) -> dict[str, Any]:
    make, budget = BENCHMARKS[name]
    benchmark = make()
    problem, corrupted = benchmark.problem, corrupt(benchmark, OUTLIERS, seed)
    readings: Readings = read_table(corrupted.table, tuple(problem.coordinates), problem.fields)
    method = METHODS[NETWORK].make(steps, law_steps=max(steps // 6, 1))
    request = Request(problem, readings, method, seed)
    model, unknowns, seconds = given_up(request, budget)
    row: dict[str, Any] = {"splines_seconds": round(seconds, 1), "splines_unknowns": unknowns, "steps": steps}
    starts = {
        "own": (request, RunOptions()),
        "splines": (choice.continued(request, unknowns), RunOptions(begin_with=model)),
    }
    for start, (asked, options) in starts.items():
        begun = time.process_time()
        result = backend_of(method).fit(asked, options)
        row[start] = {
            "rmse": float(f"{score(result, benchmark, corrupted).rmse:.4g}"),
            "unknowns": {key: float(f"{value:.5g}") for key, value in result.unknowns.items()},
            "status": result.status.name,
            "seconds": round(time.process_time() - begun, 1),
        }
        print(name, seed, start, row[start], flush=True)  # noqa: T201
    return {**row, "truth": dict(benchmark.unknowns)}


def main(names: list[str], steps: int, seeds: int, out: Path) -> None:
    rows: dict[str, Any] = json.loads(out.read_text())["rows"] if out.exists() else {}
    for name in names or BENCHMARKS:
        for seed in range(seeds):
            rows.setdefault(name, {})[str(seed)] = compared(name, steps, seed)
            content = {"made_by": "python benchmarks/handover.py", **provenance(), "rows": rows}
            out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="benchmarks; default all")
    parser.add_argument("--steps", type=int, default=300, help="of the network")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from 0")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main(given.names, given.steps, given.seeds, given.out)
