"""Do the intervals hold the truth? Twenty small problems with known coefficients, by the default method.

    python benchmarks/coverage.py                        # all cases that are not in the result file yet
    python benchmarks/coverage.py decay-skewed           # these, again

Four equations under five laws of the noise, each with one reading in twenty a gross error; the truth makes the
readings and is compared with at the end, nothing else knows it. Networks and budgets are small, so that fits end with
a Newton step left: intervals have to allow for it. Writes `benchmarks/results/coverage.json`."""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from napinn.benchmarks.noise import NOISES
from napinn.certainty import how_sure
from napinn.experiments.provenance import provenance
from napinn.fitting import fit
from napinn.methods import law_pinn
from napinn.networks import MLP
from napinn.problem import Problem, Unknown
from napinn.readings import read_table

RESULT = Path(__file__).parent / "results" / "coverage.json"
LEVEL, OUTLIERS = 0.05, 0.05
"""Noise and gross errors are shares: of the field's deviation, and of the readings."""
LAWS = ("gaussian", "skewed", "mixture", "student_t", "laplace")


@dataclass(frozen=True, eq=False)
class Made:
    """An equation, its coefficients, and its solution at (place, time)."""

    problem: Problem
    truth: dict[str, float]
    field: Callable[[np.ndarray, np.ndarray], np.ndarray]
    sensors: int = 8
    times: int = 30
    steps: int = 1500


def _logistic(_: np.ndarray, t: np.ndarray) -> np.ndarray:
    return 2.0 / (1.0 + (2.0 / 0.2 - 1.0) * np.exp(-1.5 * t))


def _oscillator(_: np.ndarray, t: np.ndarray) -> np.ndarray:
    rate = np.sqrt(2.0 - 0.3**2)
    return np.exp(-0.3 * t) * (np.cos(rate * t) + 0.3 / rate * np.sin(rate * t))


def _heat(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.sin(np.pi * x) * np.exp(-0.1 * np.pi**2 * t) + 0.5 * np.cos(np.pi * x) * np.exp(-0.1 * np.pi**2 * t)


PROBLEMS = {
    "decay": Made(
        Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3, low=0.0)}),
        {"k": 0.8},
        lambda x, t: np.exp(-0.8 * t),
    ),
    "logistic": Made(
        Problem({"t": (0.0, 4.0)}, ("u",), ("u_t = r*u - s*u**2",), {"r": Unknown(1.0), "s": Unknown(0.5, low=0.0)}),
        {"r": 1.5, "s": 0.75},
        _logistic,
        steps=3000,
    ),
    "oscillator": Made(
        Problem({"t": (0.0, 3.0)}, ("u",), ("u_tt = -c*u_t - s*u",), {"c": Unknown(0.3), "s": Unknown(1.0, 0.0, 10.0)}),
        {"c": 0.6, "s": 2.0},
        _oscillator,
        steps=3000,
    ),
    "heat": Made(
        Problem({"x": (0.0, 1.0), "t": (0.0, 1.0)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.3, low=0.0)}),
        {"D": 0.1},
        _heat,
        12,
        90,
    ),
}


def table(made: Made, law: str, seed: int) -> pd.DataFrame:
    """Each sensor reads at instants of its own."""
    random = np.random.default_rng(seed)
    low, high = made.problem.coordinates["t"]
    place = np.repeat(np.linspace(0.0, 1.0, made.sensors), made.times)
    time = np.sort(random.uniform(low, high, (made.sensors, made.times)), axis=1).reshape(-1)
    clean, noise = made.field(place, time), NOISES[law]
    level = LEVEL * np.std(clean)
    value = clean + level * (noise.sample(random, clean.shape) - noise.mean) / noise.std
    gross = random.random(len(value)) < OUTLIERS
    value = np.where(gross, clean + level * random.uniform(10.0, 40.0, len(value)), value)
    sensor = np.repeat([f"s{number}" for number in range(made.sensors)], made.times)
    return pd.DataFrame({"sensor": sensor, "x": place, "t": time, "u": value})


def run(name: str, steps: int | None) -> dict[str, Any]:
    which, law = name.split("-")
    made, seed = PROBLEMS[which], sorted(cases()).index(name)
    steps = made.steps if steps is None else steps
    readings = read_table(table(made, law, seed), tuple(made.problem.coordinates), made.problem.fields)
    method = law_pinn(steps, backbone=MLP(16, 2), collocation_batch=128, reading_batch=128, law_steps=300)
    result = fit(made.problem, readings, method, seed=seed)
    certainty = how_sure(result)
    return {
        "seed": seed,
        "steps": steps,
        "readings": len(readings),
        "status": result.status.name,
        "seconds": round(result.seconds, 1),
        "source": certainty.source,
        "unknowns": {
            key: {
                "truth": truth,
                "found": float(f"{result.unknowns[key]:.5g}"),
                "low": float(f"{certainty.intervals[key].low:.5g}"),
                "high": float(f"{certainty.intervals[key].high:.5g}"),
                "error": float(f"{certainty.intervals[key].error:.3g}"),
                "drift": float(f"{certainty.intervals[key].drift:.3g}"),
                "held": bool(certainty.intervals[key].low <= truth <= certainty.intervals[key].high),
            }
            for key, truth in made.truth.items()
        },
    }


def cases() -> list[str]:
    return [f"{which}-{law}" for which in PROBLEMS for law in LAWS]


def summary(rows: dict[str, Any]) -> dict[str, Any]:
    held = [unknown["held"] for row in rows.values() for unknown in row["unknowns"].values()]
    whole = [all(unknown["held"] for unknown in row["unknowns"].values()) for row in rows.values()]
    first = [next(iter(row["unknowns"].values()))["held"] for row in rows.values()]
    widths = [
        (unknown["high"] - unknown["low"]) / unknown["truth"]
        for row in rows.values()
        for unknown in row["unknowns"].values()
    ]
    return {
        "cases": len(rows),
        "first_unknown_held": sum(first),
        "all_unknowns_held": sum(whole),
        "intervals": len(held),
        "intervals_held": sum(held),
        "median_width_over_truth": float(f"{np.median(widths):.3g}"),
    }


def main(names: list[str], steps: int | None, out: Path) -> None:
    rows: dict[str, Any] = json.loads(out.read_text())["rows"] if out.exists() else {}
    for name in names or [name for name in cases() if name not in rows]:
        rows[name] = {**run(name, steps), "commit": provenance()["commit"]}
        print(name, json.dumps(rows[name]["unknowns"]), flush=True)  # noqa: T201
        ordered = {key: rows[key] for key in cases() if key in rows}
        content = {"made_by": "python benchmarks/coverage.py", **provenance(), **summary(ordered), "rows": ordered}
        out.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *cases()], help="cases; default those not run yet")
    parser.add_argument("--steps", type=int, default=None, help="default the case's own")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main(list(given.names), given.steps, given.out)
