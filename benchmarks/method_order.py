"""Does the order of the paper hold: naPINN < OrPINN(2.9) < LAD < PINN, and every density inside naPINN beats
OrPINN(2.9)?

    python benchmarks/method_order.py              # Allen–Cahn, 15 % outliers, 10,000 steps, one seed each

All methods get the same readings, the same network start, the same batches of 1,024 + 1,024 and the same number of
steps. Finished methods are kept in the result file and not run again (delete it to start anew). Writes
`benchmarks/results/method_order.json`."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from napinn.data.readings import read_table
from napinn.engines.fitting import fit
from napinn.engines.network.methods import b_pinn, lad_pinn, mad_pinn, na_pinn, or_pinn, pinn
from napinn.engines.network.training import FixedCost, Method
from napinn.noise.density import EBM, GMM, KDE
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.benchmarks.scores import score
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "method_order.json"
OUTLIERS, SEED = 0.15, 0


def methods(steps: int, rejection: FixedCost) -> dict[str, Method]:
    """The paper's setting except for batch size and budget: nothing is scaled, the rejection cost is its number."""
    parts: dict[str, Any] = {"scaled": False}
    gated: dict[str, Any] = {"rejection": rejection, **parts}
    return {
        "pinn": pinn(steps, **parts),
        "b_pinn": b_pinn(steps, **parts),
        "lad_pinn": lad_pinn(steps, **parts),
        "mad_pinn": mad_pinn(steps, **parts),
        "or_pinn_q1.9": or_pinn(steps, q=1.9, **parts),
        "or_pinn_q2.9": or_pinn(steps, q=2.9, **parts),
        "na_pinn_ebm": na_pinn(steps, estimator=EBM(), **gated),
        "na_pinn_gmm": na_pinn(steps, estimator=GMM(), **gated),
        "na_pinn_kde": na_pinn(steps, estimator=KDE(), **gated),
    }


def main(steps: int) -> None:
    benchmark = allen_cahn()
    corrupted = corrupt(benchmark, OUTLIERS, SEED)
    problem = benchmark.problem
    readings = read_table(corrupted.table, tuple(problem.coordinates), problem.fields)
    rows: dict[str, Any] = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else {}
    for name, method in methods(steps, FixedCost(benchmark.paper_rejection)).items():
        if name in rows:
            continue
        result = fit(problem, readings, method, seed=SEED)
        scores = dataclasses.asdict(score(result, benchmark, corrupted))
        rows[name] = {
            **{key: round(value, 5) for key, value in scores.items() if isinstance(value, int | float)},
            "unknowns": {key: round(value, 5) for key, value in result.unknowns.items()},
            "status": result.status.name,
            "steps": method.steps,
            "seconds": round(result.seconds, 1),
            "commit": provenance()["commit"],
        }
        print(name, rows[name], flush=True)  # noqa: T201
        content = {
            "made_by": "python benchmarks/method_order.py",
            **provenance(),
            "benchmark": "allen_cahn",
            "outliers": OUTLIERS,
            "seed": SEED,
            "batch": "1024+1024",
            "rows": rows,
        }
        RESULT.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    main(parser.parse_args().steps)
