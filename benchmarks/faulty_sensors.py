"""Do failing sensors spoil the answer? A rod of known diffusivity and ten thermometers of which one drifts, one is
stuck and one is never shown to the fit.

    python benchmarks/faulty_sensors.py                # napinn's default, 10,000 steps, seed 0
    python benchmarks/faulty_sensors.py --seeds 3      # three draws of the noise; those in the file are not run again

The noise is lopsided and one reading in twenty is a gross error. Writes `benchmarks/results/faulty_sensors.json`: the
verdicts, the diffusivity beside the true one, and how well the unseen thermometer's true temperatures are predicted,
once as `napinn fit` does it and once with sensors never left out of the training.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from napinn.data.readings import read_table
from napinn.engines.fitting import fit
from napinn.engines.network.methods import law_pinn
from napinn.problem import Problem, Unknown
from napinn.results.result import FitResult
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "faulty_sensors.json"
DIFFUSIVITY = 0.1
PLACES = np.linspace(0.05, 0.95, 10)
INSTANTS = np.linspace(0.0, 2.0, 101)
NOISE = 0.05
"""Standard deviation, in K; the rod starts within ± 1.3 K."""
UNSEEN, DRIFTING, STUCK = "T5", "T3", "T8"
DRIFT = 0.5
"""In K, over the whole record."""
STUCK_FROM = 0.4


def rod() -> Problem:
    return Problem(
        coordinates={"x": (0.0, 1.0), "t": (0.0, 2.0)},
        fields=("T",),
        equations=("T_t = a*T_xx",),
        unknowns={"a": Unknown(start=0.5, low=0.0)},
        units={"T": "K", "x": "m", "t": "h", "a": "m²/h"},
        name="rod",
    )


def temperature(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Three modes of an insulated rod."""
    modes = ((1, 0.8), (2, -0.5), (3, 0.3))
    return sum(
        (size * np.cos(k * np.pi * x) * np.exp(-DIFFUSIVITY * (k * np.pi) ** 2 * t) for k, size in modes),
        np.zeros(np.broadcast(x, t).shape),
    )


def measured(seed: int) -> pd.DataFrame:
    """All ten thermometers, the true temperature beside each reading."""
    rng = np.random.default_rng(seed)
    x, t = (part.reshape(-1) for part in np.meshgrid(PLACES, INSTANTS, indexing="ij"))
    sensor = np.repeat([f"T{number}" for number in range(len(PLACES))], len(INSTANTS))
    true = temperature(x, t)
    read = true + NOISE * (rng.gamma(2.0, size=x.size) - 2.0) / np.sqrt(2.0)
    read = np.where(rng.random(x.size) < 0.05, true + rng.uniform(3.0, 10.0, x.size) * NOISE, read)
    read = np.where(sensor == DRIFTING, read + DRIFT * t / t.max(), read)
    late = (sensor == STUCK) & (t >= STUCK_FROM)
    read[late] = read[late][0]
    return pd.DataFrame({"sensor": sensor, "x": x, "t": t, "T": read, "true": true})


def outcome(result: FitResult, unseen: pd.DataFrame) -> dict[str, Any]:
    predicted = result.field.at(x=unseen["x"], t=unseen["t"])["T"]
    table = result.sensors_table()
    return {
        "diffusivity": round(result.unknowns["a"], 6),
        "error_percent": round(100.0 * (result.unknowns["a"] / DIFFUSIVITY - 1.0), 3),
        "unseen_rmse": round(float(np.sqrt(np.mean((predicted - unseen["true"]) ** 2))), 5),
        "verdicts": {str(sensor): verdict for sensor, verdict in table["verdict"].items()},
        "evidence": {str(sensor): row["evidence"] for sensor, row in result.faulty_sensors().iterrows()},
        "status": result.status.name,
        "seconds": round(result.seconds, 1),
    }


def run(steps: int, seed: int) -> dict[str, Any]:
    table = measured(seed)
    unseen, shown = table[table["sensor"] == UNSEEN], table[table["sensor"] != UNSEEN]
    readings = read_table(shown.drop(columns="true"), ("x", "t"), ("T",))
    whole = law_pinn(steps)
    methods = {"default": whole, "no sensor left out": dataclasses.replace(whole, sensors=None)}
    made = provenance()
    return {"made": made} | {
        name: outcome(fit(rod(), readings, method, seed=seed), unseen) for name, method in methods.items()
    }


def main(steps: int, seeds: int) -> None:
    rows: dict[str, Any] = json.loads(RESULT.read_text())["seeds"] if RESULT.exists() else {}
    for seed in range(seeds):
        if str(seed) in rows:
            continue
        rows[str(seed)] = run(steps, seed)
        report = {
            "steps": steps,
            "true_diffusivity": DIFFUSIVITY,
            "noise": NOISE,
            "faults": {DRIFTING: f"drifts by {DRIFT} K", STUCK: f"stuck from t = {STUCK_FROM}"},
            "unseen": UNSEEN,
            "seeds": rows,
        }
        RESULT.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    main(arguments.steps, arguments.seeds)
