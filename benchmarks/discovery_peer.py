"""PySINDy's weak form on the records of the discovery study.

    python -m venv peer && peer/bin/pip install -r benchmarks/peers/pysindy_weak.txt
    python benchmarks/discovery_peer.py --python peer/bin/python

One row a case is appended to the study's file (`napinn reproduce discovery`), so that both stand beside each other."""

import argparse
import itertools
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from napinn.studies.discovery.run import KEYS, append, known_rows, record
from napinn.studies.paper.provenance import commit

RESULT = Path(__file__).parent / "results" / "discovery.csv"
SCRIPT = Path(__file__).parent / "peers" / "pysindy_weak.py"
TRUTHS = {
    "kdv": {"uu_1": -1.0, "u_111": -1.0},
    "kuramoto_sivashinsky": {"uu_1": -1.0, "u_11": -1.0, "u_1111": -1.0},
    "porous_medium": {"v_11": 1.0},
}
"""In PySINDy's names; v is u²."""


def peer_row(python: str, name: str, noise: float, outliers: float, trimmed: bool) -> dict[str, Any]:
    """One case; the share of outliers is told where it trims."""
    readings = record(name).readings(noise, outliers, 0)
    t, x = record(name).coordinates.values()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.npz"
        np.savez(path, t=t, x=x, u=readings.values.reshape(len(t), len(x)).T)
        words = [python, str(SCRIPT), str(path), str(outliers if trimmed else 0.0)]
        words += ["square"] if name == "porous_medium" else []
        told = json.loads(subprocess.run(words, capture_output=True, check=True, text=True).stdout.splitlines()[-1])
    found, truth = told["terms"], TRUTHS[name]
    hits = set(found) & set(truth)
    error = max((abs(found[term] / truth[term] - 1.0) for term in hits), default=None)
    return {
        "right": set(found) == set(truth),
        "true_positivity": f"{len(hits) / len(set(found) | set(truth)):.3f}",
        "error": "" if error is None else f"{error:.5f}",
        "seconds": f"{told['seconds']:.1f}",
        "found": " ".join(f"{value:+.4g} {term}" for term, value in found.items()),
        "commit": commit(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="interpreter of the environment with PySINDy")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    for noise, outliers, name in itertools.product((0.1, 0.01, 0.2), (0.0, 0.15), TRUTHS):
        for method in ("pysindy", "pysindy_trimmed"):
            key = (name, "grid", f"{noise:g}", f"{outliers:g}", "0", method)
            if key in known_rows(given.out) or (outliers == 0.0 and method == "pysindy_trimmed"):
                continue
            row = peer_row(given.python, name, noise, outliers, method == "pysindy_trimmed")
            append(given.out, {**dict(zip(KEYS, key, strict=True)), **row})


if __name__ == "__main__":
    main()
