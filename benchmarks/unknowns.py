"""Unknowns with priors, profiles and functions of coordinates, against known truths.

    python benchmarks/unknowns.py [--part NAME]

Every part is a promise of the user guide: a coefficient that varies along a rod, a source that is switched on, 95 %
profile intervals, and priors where readings say nothing and where they say much. Results go to
`results/unknowns.json`."""

import argparse
import json
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

import napinn
from napinn.engines.base import backend_of
from napinn.problem.prior import read_prior

RESULT = Path(__file__).parent / "results" / "unknowns.json"
BOX = {"x": (0.0, 1.0), "t": (0.0, 1.0)}
NODES = 401


def conductivity(x: np.ndarray) -> np.ndarray:
    """Rises by a factor of four along the rod."""
    return 0.05 * 4.0 ** (0.5 - 0.5 * np.cos(np.pi * x))


def rod(rates: Any, times: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(places, times): temperatures of a rod, from its rate of change on a fine grid."""
    x = np.linspace(0.0, 1.0, NODES)
    found = solve_ivp(lambda t, u: rates(t, u, x), (0.0, 1.0), np.sin(np.pi * x), "BDF", times, rtol=1e-7, atol=1e-9,
                      max_step=0.005)  # fmt: skip
    return np.stack([np.interp(places, x, found.y[:, number]) for number in range(len(times))], axis=1)


def table(values: np.ndarray, places: np.ndarray, times: np.ndarray, seed: int) -> pd.DataFrame:
    """Readings with a noise of 0.01, and 10 % of them with a gross error of 0.5."""
    random = np.random.default_rng(seed)
    noisy = values + 0.01 * random.normal(size=values.shape)
    gross = random.random(values.shape) < 0.1
    noisy[gross] += 0.5 * random.normal(size=int(gross.sum()))
    across, along = np.meshgrid(places, times, indexing="ij")
    sensor = np.repeat(np.arange(len(places)), len(times))
    return pd.DataFrame({"x": across.ravel(), "t": along.ravel(), "T": noisy.ravel(), "sensor": sensor})


def fitted(problem: napinn.Problem, readings: pd.DataFrame) -> tuple[napinn.FitResult, float]:
    began = time.process_time()
    result = napinn.fit(problem, napinn.read_readings(readings, problem), napinn.bsplines())
    return result, round(time.process_time() - began, 1)


def varying_rod(seed: int) -> dict[str, Any]:
    """20 sensors, a conductivity with a factor of four along the rod."""
    times, places = np.linspace(0.0, 1.0, 50), np.linspace(0.0, 1.0, 20)

    def rates(t: float, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        step = x[1] - x[0]
        flux = conductivity(0.5 * (x[1:] + x[:-1])) * np.diff(u) / step
        return np.concatenate([[2.0 * np.pi * np.cos(2.0 * np.pi * t)], np.diff(flux) / step, [0.0]])

    varying = {"k": napinn.VaryingUnknown(("x",), positive=True)}
    problem = napinn.Problem(BOX, ("T",), ("T_t = d(k*T_x, x)",), varying=varying)
    result, seconds = fitted(problem, table(rod(rates, times, places), places, times, seed))
    where = np.linspace(0.0, 1.0, 201)[:, None]
    return of_function(result, "k", where, conductivity(where[:, 0]), seconds)


def of_function(
    result: napinn.FitResult, name: str, where: np.ndarray, truth: np.ndarray, seconds: float
) -> dict[str, Any]:
    """How near an unknown function is to the truth at some places, and how much of the truth its band holds."""
    found = result.functions[name]
    low, high = found.band(where)
    return {
        "error": float(np.linalg.norm(found(where) - truth) / np.linalg.norm(truth)),
        "inside_band": float(np.mean((low <= truth) & (truth <= high))),
        "status": result.status.name,
        "processor_seconds": seconds,
    }


def source(x: np.ndarray, t: np.ndarray | float) -> np.ndarray:
    """A warm spot that travels along the rod and fades."""
    return 8.0 * np.exp(-(((x - 0.3 - 0.4 * t) / 0.15) ** 2) - ((t - 0.5) / 0.3) ** 2)


def varying_source(seed: int) -> dict[str, Any]:
    """15 sensors, a source that is an unknown function of place and time."""
    times, places = np.linspace(0.0, 1.0, 60), np.linspace(0.0, 1.0, 15)

    def rates(t: float, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        inner = 0.1 * np.diff(u, 2) / (x[1] - x[0]) ** 2 + source(x[1:-1], t)
        return np.concatenate([[0.0], inner, [0.0]])

    varying = {"q": napinn.VaryingUnknown(("x", "t"))}
    problem = napinn.Problem(BOX, ("T",), ("T_t = 0.1*T_xx + q",), varying=varying)
    result, seconds = fitted(problem, table(rod(rates, times, places), places, times, seed))
    x, t = (axis.ravel() for axis in np.meshgrid(np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.0, 41)))
    return of_function(result, "q", np.stack([x, t], axis=1), source(x, t), seconds)


def switched_source(seed: int) -> dict[str, Any]:
    """10 sensors, a uniform source that is switched on at a time drawn from the seed."""
    switched = float(np.random.default_rng(100 + seed).uniform(0.2, 0.8))
    times, places = np.linspace(0.0, 1.0, 60), np.linspace(0.05, 0.95, 10)

    def rates(t: float, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        inner = 0.1 * np.diff(u, 2) / (x[1] - x[0]) ** 2 + (2.0 if t > switched else 0.0)
        return np.concatenate([[0.0], inner, [0.0]])

    varying = {"q": napinn.VaryingUnknown(("t",), steps=True)}
    unknowns = {"D": napinn.Unknown(low=0.0)}
    problem = napinn.Problem(BOX, ("T",), ("T_t = D*T_xx + q",), unknowns, varying=varying)
    result, seconds = fitted(problem, table(rod(rates, times, places), places, times, seed))
    jumps = result.functions["q"].jumps()
    return {
        "truth": switched,
        "found": jumps[0][0] if jumps else None,
        "share_of_record": abs(jumps[0][0] - switched) if jumps else None,
        "status": result.status.name,
        "processor_seconds": seconds,
    }


def logistic(seed: int) -> dict[str, Any]:
    """40 readings of a growing population with 10 % gross errors: do profile intervals hold rate and capacity?"""
    random = np.random.default_rng(seed)
    t = np.linspace(0.0, 10.0, 40)
    u = 1.0 / (1.0 + 9.0 * np.exp(-0.8 * t)) + 0.03 * random.normal(size=40)
    gross = random.random(40) < 0.1
    u[gross] += 0.3 * random.normal(size=int(gross.sum()))
    unknowns = {"r": napinn.Unknown(0.5, low=0.0), "K": napinn.Unknown(1.5, low=0.0)}
    problem = napinn.Problem({"t": (0.0, 10.0)}, ("u",), ("u_t = r*u*(1-u/K)",), unknowns)
    result, _ = fitted(problem, pd.DataFrame({"t": t, "u": u}))
    profiles = backend_of(result.method).profiles(result)
    return {name: bool(profiles[name].low <= truth <= profiles[name].high) for name, truth in (("r", 0.8), ("K", 1.0))}


def decay(prior: str | None, times: np.ndarray) -> tuple[float, float, float]:
    """The rate that is found and the ends of its interval."""
    noise = 0.01 * np.random.default_rng(3).normal(size=len(times))
    unknown = napinn.Unknown(prior=None if prior is None else read_prior(prior))
    problem = napinn.Problem({"t": (0.0, 1.0)}, ("u",), ("u_t = -k*u",), {"k": unknown})
    result, _ = fitted(problem, pd.DataFrame({"t": times, "u": np.exp(-0.8 * times) + noise}))
    assert result.uncertainty is not None
    interval = result.uncertainty.intervals["k"]
    return result.unknowns["k"], interval.low, interval.high


def priors() -> dict[str, Any]:
    nothing = decay("normal(0.3, 0.05)", np.linspace(0.0, 1e-3, 12))
    without, low, high = decay(None, np.linspace(0.0, 1.0, 60))
    moved = decay("normal(1.0, 0.3)", np.linspace(0.0, 1.0, 60))[0] - without
    return {
        "no_information": dict(zip(("found", "low", "high"), nothing, strict=True)),
        "much_information": {"found": without, "moved_share_of_interval": abs(moved) / (high - low)},
    }


def provenance() -> dict[str, str]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {"commit": commit.stdout.strip(), "machine": f"{platform.machine()}, two busy cores",
            "python": platform.python_version()}  # fmt: skip


PARTS = {
    "varying_rod": lambda: [varying_rod(seed) for seed in range(5)],
    "varying_source": lambda: [varying_source(seed) for seed in range(2)],
    "switched_source": lambda: [switched_source(seed) for seed in range(3)],
    "profile_intervals": lambda: {
        name: {"held": sum(each[name] for each in cases), "of": len(cases)}
        for cases in [[logistic(seed) for seed in range(50)]]
        for name in ("r", "K")
    },
    "priors": priors,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=[*PARTS], action="append", help="Only this part; the others are kept.")
    chosen = parser.parse_args().part or [*PARTS]
    found = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for part in chosen:
        found[part] = PARTS[part]()
        found["provenance"] = provenance()
        RESULT.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n")
        print(part, json.dumps(found[part]))  # noqa: T201


if __name__ == "__main__":
    main()
