"""Are sensor faults named as they happen, and are good readings kept?

    python benchmarks/sensor_faults.py                        # the judgement beside a nearly true field, ten seeds
    python benchmarks/sensor_faults.py --method law_pinn      # the same readings, fitted by a method of napinn
    python benchmarks/sensor_faults.py --rates                # false alarms and detections on other problems

Ten thermometers in the ground, in which two waves of heat travel downwards. One is too high from some day on, one
drifts, one is stuck for a while, one shows changes too large, one is three times as noisy, five are well; which one is
which is drawn with the seed. One reading in twenty is a gross error. Without `--method` the field is the true one plus
a smooth error of a fifth of the noise, which costs no training: the judgement alone is measured.

`--rates` takes other numbers of sensors and readings, other noise laws, larger errors of the field, and draws that had
no part in finding the thresholds; one sensor is faulty, or none. Each part is
written to `benchmarks/results/sensor_faults.json`.
"""

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import napinn
from napinn.data.readings import Readings, read_table
from napinn.diagnostics.sensors import judge_sensors, sensor_scales
from napinn.engines.catalogue import METHODS
from napinn.problem import Problem, Unknown
from napinn.results.verdicts import SensorVerdict, Verdict, excluded
from napinn.studies.benchmarks.noise import NOISES
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "sensor_faults.json"
DIFFUSIVITY = 0.05
"""In m² a day."""
DAYS = 10.0
WAVES = ((5.0, 2.0 * np.pi / 8.0, 0.3), (3.0, 2.0 * np.pi / 2.5, 1.1))
"""Amplitude at the surface in K, angular frequency a day, phase."""
NOISE = 0.3
FIELD_ERROR = 0.2
"""Of the stand-in for a fitted field, in deviations of the noise."""
STEP, DRIFT, GAIN, LOUDER = 1.5, 1.5, 1.3, 3.0
FAULTS = (Verdict.STEP, Verdict.DRIFTING, Verdict.STUCK, Verdict.GAIN, Verdict.NOISY)
HEALTHY = 5
"""Times as many draws without a fault, because false alarms are rare."""
CASES = (
    # law, share of gross errors, sensors, readings each, error of the field in deviations of the noise
    ("gaussian", 0.05, 10, 250, 0.2), ("gaussian", 0.0, 12, 120, 0.2), ("gaussian", 0.05, 3, 400, 0.2),
    ("gaussian", 0.05, 5, 150, 0.2), ("gaussian", 0.05, 40, 30, 0.2), ("gaussian", 0.05, 40, 1000, 0.2),
    ("laplace", 0.05, 8, 180, 0.2), ("student_t", 0.05, 25, 80, 0.2), ("skewed", 0.05, 12, 500, 0.2),
    ("mixture", 0.1, 15, 250, 0.2), ("uniform", 0.0, 7, 300, 0.2), ("correlated", 0.0, 12, 250, 0.2),
    ("proportional", 0.05, 12, 250, 0.2), ("gaussian", 0.05, 10, 250, 1.0), ("gaussian", 0.05, 4, 400, 1.0),
)  # fmt: skip


def ground() -> Problem:
    return Problem(
        coordinates={"x": (0.0, 0.4), "t": (0.0, DAYS)},
        fields=("T",),
        equations=("T_t = a*T_xx",),
        unknowns={"a": Unknown(start=0.2, low=0.0)},
        units={"T": "K", "x": "m", "t": "d"},
        name="ground",
    )


def temperature(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Waves of heat that travel down from the surface, damped and late."""
    total = np.zeros(np.broadcast(x, t).shape)
    for amplitude, frequency, phase in WAVES:
        number = np.sqrt(frequency / (2.0 * DIFFUSIVITY))
        total = total + amplitude * np.exp(-number * x) * np.cos(frequency * t - number * x + phase)
    return total


@dataclass(frozen=True, eq=False)
class Table:
    """Readings of all sensors, one record after the other, with what is wrong with them."""

    frame: pd.DataFrame
    true: np.ndarray
    gross: np.ndarray
    """Whether a reading is a gross error."""
    spoilt: np.ndarray
    """Whether a reading is inside a fault; those of a noisy sensor are not."""
    faults: dict[str, Verdict]

    @property
    def readings(self) -> Readings:
        return read_table(self.frame, ("x", "t"), ("T",))


def noise(rng: np.random.Generator, law: str, true: np.ndarray) -> np.ndarray:
    """Of one record, in deviations."""
    if law == "correlated":
        draws, memory = rng.normal(size=len(true)), 0.7
        for number in range(1, len(true)):
            draws[number] = memory * draws[number - 1] + np.sqrt(1.0 - memory**2) * draws[number]
        return draws
    if law == "proportional":
        return rng.normal(size=len(true)) * (0.5 + np.abs(true) / 3.0)
    drawn = NOISES[law].sample(rng, true.shape)
    return (drawn - NOISES[law].mean) / NOISES[law].std


def spoil(fault: Verdict, read: np.ndarray, true: np.ndarray, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Puts a fault into one record; which readings are inside it."""
    first, inside = rng.uniform(0.25, 0.6) * DAYS, np.ones(len(t), bool)
    match fault:
        case Verdict.STEP:
            inside = (t >= first) & (t < first + (DAYS if rng.random() < 0.5 else 0.35 * DAYS))
            read[inside] += rng.choice([-STEP, STEP])
        case Verdict.OFFSET:
            read += rng.choice([-STEP, STEP])
        case Verdict.DRIFTING:
            read += rng.choice([-DRIFT, DRIFT]) * t / DAYS
        case Verdict.STUCK:
            inside = (t >= first) & (t < first + 0.3 * DAYS)
            read[inside] = read[inside][0]
            inside[np.argmax(inside)] = False
        case Verdict.GAIN:
            read += (GAIN - 1.0) * true
        case Verdict.BURST:
            inside = (t >= first) & (t < first + 0.25 * DAYS)
            read[inside] += 5.0 * NOISE * rng.normal(size=int(inside.sum()))
        case _:
            read += (LOUDER - 1.0) * (read - true)
            inside[:] = False
    return inside


def measured(
    seed: int,
    faults: tuple[Verdict, ...] = FAULTS,
    law: str = "gaussian",
    gross: float = 0.05,
    sensors: int = 10,
    count: int = 200,
) -> Table:
    rng = np.random.default_rng(seed)
    names = [f"T{number}" for number in range(sensors)]
    hit = dict(zip(rng.permutation(names)[: len(faults)], faults, strict=True))
    t = np.linspace(0.0, DAYS, count)
    parts, true, wrong, spoilt = [], [], [], []
    for name, x in zip(names, np.linspace(0.02, 0.38, sensors), strict=True):
        truth = temperature(np.full(count, x), t)
        read = truth + NOISE * noise(rng, law, truth)
        inside = spoil(hit[name], read, truth, t, rng) if name in hit else np.zeros(count, bool)
        outlier = (rng.random(count) < gross) & (hit.get(name) is not Verdict.STUCK)
        size = rng.uniform(4.0, 12.0, count) * rng.choice([-1.0, 1.0], count) * NOISE
        read = np.where(outlier, read + size, read)
        parts.append(pd.DataFrame({"sensor": name, "x": x, "t": t, "T": read}))
        for kept, part in ((true, truth), (wrong, outlier), (spoilt, inside)):
            kept.append(part)
    return Table(pd.concat(parts), np.concatenate(true), np.concatenate(wrong), np.concatenate(spoilt), hit)


def nearly_true(table: Table, seed: int, wrong: float = FIELD_ERROR) -> np.ndarray:
    """The true field and a smooth error, as a stand-in for a fitted one."""
    rng = np.random.default_rng([seed, 1])
    x, t = table.frame["x"].to_numpy() / 0.4, table.frame["t"].to_numpy() / DAYS
    error = sum(np.cos(rng.uniform(0, 6) * x + rng.uniform(0, 15) * t + rng.uniform(0, 6.28)) for _ in range(6))
    return table.true + wrong * NOISE * error / np.sqrt(3.0)


def outcome(table: Table, verdicts: tuple[SensorVerdict, ...], kept: np.ndarray) -> dict[str, Any]:
    """What was named beside what is wrong; `kept` says which readings are believed."""
    found = {one.sensor: one.verdict for one in verdicts}
    noisy = np.isin(table.frame["sensor"], [name for name, fault in table.faults.items() if fault is Verdict.NOISY])
    good = ~table.spoilt & ~table.gross
    return {
        "named": {fault.value: found[name].value for name, fault in table.faults.items()},
        "accused": [name for name, verdict in found.items() if verdict.faulty and name not in table.faults],
        "good_kept": round(float(kept[good & ~noisy].mean()), 4),
        "noisy_kept": round(float(kept[good & noisy].mean()), 4) if noisy.any() else None,
        "faulty_left_out": round(float((~kept)[table.spoilt].mean()), 4),
        "evidence": {one.sensor: one.evidence for one in verdicts if one.verdict.faulty},
    }


def run(seed: int, method: str | None, steps: int | None) -> dict[str, Any]:
    table = measured(seed)
    if method is not None:
        made = METHODS[method].make(*([] if steps is None else [steps]))
        result = napinn.fit(ground(), table.readings, made, seed=seed)
        told = outcome(table, result.verdicts, ~result.flagged)
        return told | {"a": round(result.unknowns["a"], 6), "seconds": round(result.seconds, 1)}
    field = nearly_true(table, seed)
    verdicts = judge_sensors(ground(), table.readings, field)
    misfits = table.frame["T"].to_numpy() - field
    # What a gate that knows each sensor's scale would do: three deviations, and no reading that a verdict condemns.
    within = np.abs(misfits) < 3.0 * NOISE * sensor_scales(table.readings, misfits)
    return outcome(table, verdicts, within & ~excluded(verdicts, len(within)))


def study(method: str | None, steps: int | None, seeds: int) -> dict[str, Any]:
    rows = {str(seed): run(seed, method, steps) for seed in range(seeds)}
    right = Counter(fault for row in rows.values() for fault, word in row["named"].items() if fault == word)
    return {
        "made": provenance(),
        "seeds_named_rightly": {fault.value: right[fault.value] for fault in FAULTS},
        "seeds_without_accusation": sum(not row["accused"] for row in rows.values()),
        "seeds": len(rows),
        "true_diffusivity": DIFFUSIVITY,
        "good_kept": round(float(np.mean([row["good_kept"] for row in rows.values()])), 4),
        "noisy_kept": round(float(np.mean([row["noisy_kept"] for row in rows.values()])), 4),
        "rows": rows,
    }


def rates(draws: int) -> dict[str, Any]:
    """Over problems: how often a fit of healthy sensors names any, and how often each fault is named, and rightly."""
    told: dict[str, Any] = {"made": provenance(), "draws": draws, "draws_of_healthy": HEALTHY * draws, "cases": []}
    kinds = (*FAULTS, Verdict.OFFSET, Verdict.BURST)
    for law, gross, sensors, count, wrong in CASES:
        row: dict[str, Any] = {"law": law, "gross_errors": gross, "sensors": sensors, "readings": count}
        row["field_error"] = wrong
        for faults in ((), *((kind,) for kind in kinds)):
            alarms, seen, right = 0, 0, 0
            for seed in range(draws if faults else HEALTHY * draws):
                table = measured(50_000 + seed, faults, law, gross, sensors, count)
                found = judge_sensors(ground(), table.readings, nearly_true(table, seed, wrong))
                faulty = {one.sensor: one.verdict for one in found if one.verdict.faulty}
                alarms += any(name not in table.faults for name in faulty)
                seen += any(name in table.faults for name in faulty)
                right += all(faulty.get(name) is fault for name, fault in table.faults.items())
            word = faults[0].value if faults else "healthy"
            row[word] = {"fits_with_a_false_alarm": alarms} | ({"found": seen, "named": right} if faults else {})
        told["cases"].append(row)
    return told


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", help="a method of napinn such as law_pinn; without it nothing is trained")
    parser.add_argument("--steps", type=int, help="training steps of the method")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rates", action="store_true", help="false alarms and detections on other problems")
    parser.add_argument("--draws", type=int, default=50, help="draws of each case of --rates")
    asked = parser.parse_args()
    part = "rates" if asked.rates else asked.method or "nearly true field"
    report = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    report[part] = rates(asked.draws) if asked.rates else study(asked.method, asked.steps, asked.seeds)
    RESULT.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    told = {key: value for key, value in report[part].items() if key not in ("rows", "cases", "made")}
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
