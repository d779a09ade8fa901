"""The paper's Allen–Cahn benchmark with 15 % outliers by the default fit: processor seconds, peak memory, accuracy.

    python benchmarks/allen_cahn.py            # four draws of the noise, each in a process of its own

Seconds are those of `napinn.fit` on one thread, memory is the most that the process ever had, readings and benchmark
included. `mean_error` is the mean of the field's error, and `rmse_about_mean` is the rMSE without it: the mean of the
noise is unknown, so that only the equations tell a constant of the field from one of the noise. Writes
`benchmarks/results/allen_cahn.json`."""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from engines import DEFAULT, timed_fit

from napinn.data.readings import read_table
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.benchmarks.scores import evaluation, relative_error, score
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "allen_cahn.json"
OUTLIERS = 0.15


def measured(seed: int) -> dict[str, Any]:
    benchmark = allen_cahn()
    problem, corrupted = benchmark.problem, corrupt(benchmark, OUTLIERS, seed)
    readings = read_table(corrupted.table, tuple(problem.coordinates), problem.fields)
    result, seconds = timed_fit(problem, readings, DEFAULT)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    scores = score(result, benchmark, corrupted)
    points, truth = evaluation(benchmark)
    wrong = result.field(points) - truth
    return {
        "method": result.method.name,
        "processor_seconds": round(seconds, 1),
        "peak_gb": round(peak, 2),
        "rmse": float(f"{scores.rmse:.3g}"),
        "mean_error": float(f"{wrong.mean():.2g}"),
        "rmse_about_mean": float(f"{relative_error(truth + wrong - wrong.mean(), truth, 2):.3g}"),
        "eps": float(f"{result.unknowns['eps']:.5g}"),
        "outliers_flagged": f"{scores.outliers_flagged} of {scores.outliers}",
        "good_flagged_percent": round(100.0 * scores.good_flagged / scores.good_readings, 2),
        "status": result.status.name,
    }


def main(seeds: int, out: Path) -> None:
    rows, one = {}, {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for seed in range(seeds):
        command = [sys.executable, __file__, "--only", str(seed)]
        done = subprocess.run(command, env=one, stdout=subprocess.PIPE, text=True, check=True)
        rows[str(seed)] = json.loads(done.stdout)
        print(seed, rows[str(seed)], flush=True)  # noqa: T201
    content = {"made_by": "python benchmarks/allen_cahn.py", **provenance(), "outliers": OUTLIERS, "rows": rows}
    out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="how many, from 0")
    parser.add_argument("--only", type=int, help="print the row of this seed alone")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    if given.only is None:
        main(given.seeds, given.out)
    else:
        print(json.dumps(measured(given.only)))  # noqa: T201
