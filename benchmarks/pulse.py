"""A pulse of tracer that few readings see: is its motion found, and is the pulse itself taken for an error?

    python benchmarks/pulse.py --method splines                # five seeds of both cases that are not in the file yet
    python benchmarks/pulse.py --method splines --again river  # this one, again

puff: a dissolved puff is carried and spread in the plane past 60 scattered sensors, 50 times each. Most readings are
near zero, one in 25 is a gross error, and one of the sensors that the puff passes is dead and reads zero throughout.
river: a pulse is carried past five stations of a river, 200 readings each, spreads and decays; the noise has heavy
tails (Student, 2.5 degrees of freedom). Both fields are closed forms; places, noise and errors are new with each seed.

Demanded: velocities within 2 %, dispersion within 10 %, at most 3 % of the pulse's good readings flagged. The pulse's
good readings are those where the true field is above five scales of the noise and their own error below three: a
heavy tail is rightly flagged. Writes `benchmarks/results/pulse.json`.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from engines import inside, intervals_of, timed_fit

from napinn.data.readings import read_table
from napinn.problem import Problem, Unknown
from napinn.results.result import FitResult
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "pulse.json"
NOISE = 0.02
"""Deviation of the noise (of Student's law: its scale), where the highest true value near a sensor is about one."""
ABOVE = 5.0
"""A reading is of the pulse if its true value is above this many deviations of the noise."""
TAIL = 3.0
"""Scales of the noise beyond which an error is a tail of the law."""
FLAGGED = 0.03


@dataclass(frozen=True, eq=False)
class Pulse:
    """A problem, its truth, how far each unknown may be off, and what makes a table with the columns of a label."""

    problem: Problem
    truth: dict[str, float]
    allowed: dict[str, float]
    make: Callable[[int], pd.DataFrame]


PUFF = {"vx": 1.2, "vy": -0.7, "D": 0.05}
RIVER = {"v": 1.44, "D": 0.0576, "k": 0.2}
PUFF_AGE = 1.0
"""How long the puff has spread when the record begins: it is then 0.32 wide and one high."""


def puff(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    age, spread = t + PUFF_AGE, PUFF["D"]
    along, across = x - 0.8 - PUFF["vx"] * t, y - 3.2 - PUFF["vy"] * t
    return PUFF_AGE / age * np.exp(-(along**2 + across**2) / (4.0 * spread * age))


def river(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The pulse enters at x = 0 and t = 0; its height is about one at the first station."""
    height = np.exp(-((x - RIVER["v"] * t) ** 2) / (4.0 * RIVER["D"] * t) - RIVER["k"] * t)
    return height / np.sqrt(t * RIVER["v"])


def puff_table(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    places, times = random.uniform((0.0, 0.0), (5.0, 4.0), (60, 2)), np.linspace(0.0, 3.0, 50)
    x, y = np.repeat(places, times.size, axis=0).T
    t, sensor = np.tile(times, 60), np.repeat([f"s{number:02d}" for number in range(60)], times.size)
    true = puff(x, y, t)
    gross = random.random(x.size) < 0.04
    far = random.uniform(0.2, 1.0, x.size) * random.choice([-1.0, 1.0], x.size)
    read = true + np.where(gross, far, NOISE * random.normal(size=x.size))
    highest = true.reshape(60, -1).max(axis=1)
    dead = sensor == f"s{random.choice(np.argsort(highest)[-20:]):02d}"
    read[dead] = 0.0
    pulse = (true > ABOVE * NOISE) & ~gross & ~dead
    return pd.DataFrame(
        {"sensor": sensor, "x": x, "y": y, "t": t, "c": read, "pulse": pulse, "gross": gross & ~dead, "dead": dead}
    )


def river_table(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    stations, times = np.array([1.0, 2.0, 3.0, 4.5, 6.0]), np.linspace(0.2, 6.0, 200)
    x, t = np.repeat(stations, times.size), np.tile(times, stations.size)
    true = river(x, t)
    error = random.standard_t(2.5, x.size)
    pulse = (true > ABOVE * NOISE) & (np.abs(error) < TAIL)
    sensor = np.repeat([f"station {number + 1}" for number in range(stations.size)], times.size)
    return pd.DataFrame(
        {"sensor": sensor, "x": x, "t": t, "c": true + NOISE * error, "pulse": pulse, "gross": False, "dead": False}
    )


CASES = {
    "puff": Pulse(
        Problem(
            {"x": (0.0, 5.0), "y": (0.0, 4.0), "t": (0.0, 3.0)}, ("c",), ("c_t + vx*c_x + vy*c_y = D*(c_xx + c_yy)",),
            {"vx": Unknown(0.5), "vy": Unknown(0.5), "D": Unknown(0.2, low=0.0)}, name="puff",
        ),
        PUFF, {"vx": 0.02, "vy": 0.02, "D": 0.1}, puff_table,
    ),
    "river": Pulse(
        Problem(
            {"x": (1.0, 6.0), "t": (0.2, 6.0)}, ("c",), ("c_t + v*c_x = D*c_xx - k*c",),
            {"v": Unknown(0.5), "D": Unknown(0.2, low=0.0), "k": Unknown(0.5, low=0.0)}, name="river",
        ),
        RIVER, {"v": 0.02, "D": 0.1}, river_table,
    ),
}  # fmt: skip


def run(case: Pulse, method: str, seed: int) -> dict[str, Any]:
    table = case.make(seed)
    labels = table[["pulse", "gross", "dead"]]
    readings = read_table(table.drop(columns=list(labels)), tuple(case.problem.coordinates), case.problem.fields)
    result, seconds = timed_fit(case.problem, readings, method, seed)
    intervals = intervals_of(result)
    return {
        "found": {name: float(f"{value:.5g}") for name, value in result.unknowns.items()},
        "off_percent": {
            name: float(f"{100.0 * (result.unknowns[name] / truth - 1.0):.3g}") for name, truth in case.truth.items()
        },
        "held": {name: inside(intervals[name], truth) for name, truth in case.truth.items()},
        **flags(result, labels),
        "status": result.status.name,
        "trusted": result.status.trusted,
        "seconds": round(seconds, 1),
        "notes": list(result.notes),
        "commit": provenance()["commit"],
    }


def flags(result: FitResult, labels: pd.DataFrame) -> dict[str, Any]:
    """How many readings of the pulse were flagged, how many gross errors, and what was said of the dead sensor."""
    flagged = result.flagged
    pulse, gross, dead = (labels[name].to_numpy(bool)[result.readings.rows] for name in ("pulse", "gross", "dead"))
    told = {
        "pulse_readings": int(pulse.sum()),
        "pulse_flagged_percent": round(100.0 * float(flagged[pulse].mean()), 2),
        "flagged": int(flagged.sum()),
    }
    if not dead.any():
        return told
    sensors = result.sensors_table()
    return {
        **told,
        "gross": int(gross.sum()),
        "gross_flagged": int(flagged[gross].sum()),
        "dead_sensor": str(sensors.loc[str(result.readings.sensors[dead][0]), "verdict"]),
        "faulty_sensors": len(result.faulty_sensors()),
    }


def fails(row: dict[str, Any], case: Pulse) -> list[str]:
    """Which demands a row does not meet."""
    wrong = [name for name, share in case.allowed.items() if abs(row["off_percent"][name]) > 100.0 * share]
    return wrong + (["flagged"] if row["pulse_flagged_percent"] > 100.0 * FLAGGED else [])


def shown(rows: dict[str, Any]) -> str:
    lines = [
        {
            "case": name, "seed": seed, **{f"{key} %": off for key, off in row["off_percent"].items()},
            "pulse flagged %": row["pulse_flagged_percent"], "dead": row.get("dead_sensor", ""),
            "status": row["status"], "seconds": row["seconds"], "fails": " ".join(fails(row, CASES[name])) or "-",
        }
        for name in CASES for seed, row in sorted(rows.get(name, {}).items())
    ]  # fmt: skip
    return pd.DataFrame(lines).to_string(index=False, na_rep="")


def main(method: str, seeds: int, again: list[str], out: Path) -> None:
    content: dict[str, Any] = json.loads(out.read_text())["rows"] if out.exists() else {}
    rows: dict[str, Any] = content.setdefault(method, {})
    demanded = {name: {**case.allowed, "pulse_flagged": FLAGGED} for name, case in CASES.items()}
    for name, case in CASES.items():
        for seed in range(seeds):
            if str(seed) in rows.get(name, {}) and name not in again:
                continue
            rows.setdefault(name, {})[str(seed)] = row = run(case, method, seed)
            row["fails"] = fails(row, case)
            made = {"made_by": "python benchmarks/pulse.py", **provenance(), "demanded": demanded, "rows": content}
            out.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(shown(rows))  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="splines", help="a method by its name, or 'default'")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    parser.add_argument("--again", nargs="*", choices=list(CASES), default=[], help="cases to run again")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main(given.method, given.seeds, given.again, given.out)
