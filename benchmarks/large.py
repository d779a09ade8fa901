"""Ten million readings: read from Parquet, checked, fitted and saved, and how much memory that took at most.

    python benchmarks/large.py                      # ten million rows, 200 steps
    python benchmarks/large.py --rows 1000000       # a quick look

Each part runs in a process of its own, so that each has its own peak. Writes `benchmarks/results/large.json`."""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from memory import watched

from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "large.json"
SENSORS = 500
PROBLEM = """\
coordinates: {x: [0, 1], t: [0, 1]}
fields: [T]
unknowns: {D: {start: 0.05, low: 0.0}}
equations: ["T_t = D*T_xx"]
"""


def write_readings(rows: int, path: Path) -> None:
    """A bar that cools, watched by 500 sensors; one reading in ten is grossly wrong."""
    random = np.random.default_rng(0)
    sensor = np.repeat(np.arange(SENSORS), rows // SENSORS)
    x = (sensor + 0.5) / SENSORS
    t = np.tile(np.linspace(0.0, 1.0, rows // SENSORS), SENSORS)
    value = np.exp(-0.1 * np.pi**2 * t) * np.sin(np.pi * x) + 0.05 * random.standard_normal(len(t))
    value[random.random(len(t)) < 0.1] += 1.0
    names = np.array([f"bar {number}" for number in range(SENSORS)], dtype=object)
    pd.DataFrame({"sensor": names[sensor], "x": x, "t": t, "T": value}).to_parquet(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, problem, fitted = (Path(folder) / name for name in ("readings.parquet", "problem.yaml", "run"))
        problem.write_text(PROBLEM)
        write_readings(arguments.rows, table)
        found = {
            "check": watched("check", str(problem), str(table), "--no-time"),
            "fit": watched("fit", str(table), "-p", str(problem), "--steps", str(arguments.steps), "-o", str(fitted)),
            "report": watched("report", str(fitted)),
        }
    content = {"made_by": "python benchmarks/large.py", **provenance(), "rows": arguments.rows, **found}
    arguments.out.write_text(json.dumps(content, indent=2) + "\n")
    print(json.dumps(content, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
