"""A case: one fit of a study, as plain values, and the function that a worker runs for it.

Cases of different studies that ask for the same fit are the same job, so that each is run once.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.benchmarks.base import Benchmark
from napinn.benchmarks.corruption import Corrupted, corrupt
from napinn.benchmarks.names import BENCHMARKS
from napinn.benchmarks.noise import NOISES, PAPER_MIXTURE
from napinn.benchmarks.scores import score
from napinn.engine import Job
from napinn.errors import InputError
from napinn.experiments.provenance import commit, machine
from napinn.fitting import fit
from napinn.methods import SETTINGS
from napinn.readings import read_table
from napinn.report.charts import scores
from napinn.result import FitResult, FitStatus
from napinn.settings import decode, encode
from napinn.training import Method

WORK = "napinn.experiments.cases:run_case"
CLEAN = "none"
"""In place of a noise law: the readings are the truth."""
CURVE_POINTS = 160
SLICE_SIDE = 25
SLICE_SHARES = (0.25, 0.75)
"""Where in time the two snapshots of a field lie."""


@dataclass(frozen=True)
class Case:
    label: str
    """The row of the study's table that this fit belongs to."""
    benchmark: str
    ratio: float
    method: Method
    noise: str = "mixture"
    seed: int = 0
    preset: str = "quick"
    frames: int = 0
    """How many snapshots of the whole solution to keep, for a video."""

    def job(self) -> Job:
        payload = {
            "benchmark": self.benchmark,
            "ratio": self.ratio,
            "noise": self.noise,
            "seed": self.seed,
            "preset": self.preset,
            "method": encode(self.method, brief=True),
        }
        if self.frames:
            payload["frames"] = self.frames
        digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()[:10]
        parts = [self.benchmark, self.noise, f"{100 * self.ratio:g}", self.method.name, f"s{self.seed}", digest]
        return Job("-".join(parts), WORK, payload)


def run_case(payload: dict[str, Any], share: Callable[[float], None]) -> dict[str, Any]:
    """Fit one case and score it; the row of the CSV file, and the curves that figures need under `extras`."""
    method: Method = decode(payload["method"], SETTINGS)
    benchmark = _benchmark(payload["benchmark"])
    problem = benchmark.problem
    clean = payload["noise"] == CLEAN
    law = PAPER_MIXTURE if clean else NOISES[payload["noise"]]
    corrupted = corrupt(benchmark, payload["ratio"], payload["seed"], noise=law)
    table = corrupted.table
    if clean:
        table = table.assign(**{name: corrupted.labels[f"{name}_true"] for name in problem.fields})
    readings = read_table(table, tuple(problem.coordinates), problem.fields)
    result = fit(problem, readings, method, seed=payload["seed"], progress=lambda now: share(now.done / now.total))
    if result.status is FitStatus.INTERRUPTED:
        raise KeyboardInterrupt
    if result.status is FitStatus.DIVERGED:
        raise InputError(result.status.value)
    found = dataclasses.asdict(score(result, benchmark, corrupted))
    kept = {name: value for name, value in found.items() if not isinstance(value, Mapping)}
    return {
        "benchmark": payload["benchmark"],
        "method": method.name,
        "backbone": type(method.backbone).__name__.lower(),
        "density": type(method.gating.density).__name__.lower() if method.gating else "",
        "loss": type(method.phases[-1].loss).__name__.lower(),
        "noise": payload["noise"],
        "ratio": payload["ratio"],
        "seed": payload["seed"],
        "preset": payload["preset"],
        "steps": method.steps,
        **{key: _short(value) for key, value in kept.items()},
        "unknowns": {key: _short(value) for key, value in result.unknowns.items()},
        "flags": int(result.flagged.sum()),
        "status": result.status.name,
        "seconds": round(result.seconds, 1),
        "commit": commit(),
        "machine": machine(),
        "extras": _extras(result, benchmark, corrupted, payload.get("frames", 0)),
    }


@functools.cache
def _benchmark(name: str) -> Benchmark:
    """One a process, because a reference is solved or read when its truth is first asked for."""
    return BENCHMARKS[name]()


def _extras(result: FitResult, benchmark: Benchmark, corrupted: Corrupted, frames: int) -> dict[str, Any]:
    history = result.history
    thin = np.unique(np.linspace(0, len(history) - 1, 80).astype(int))
    gate = history.iloc[thin]
    shares = tuple(np.linspace(0.0, 1.0, frames)) if frames else SLICE_SHARES
    extras: dict[str, Any] = {"slices": _slices(result, benchmark, shares)}
    if "cutoff" in history:
        gate = gate[gate["cutoff"].notna()]
        extras["gate"] = {name: _numbers(gate[name]) for name in ("step", "steepness", "cutoff")}
    for name, noise in list(result.noise.items())[:1]:
        grid = np.linspace(-6 * noise.scale, 6 * noise.scale, CURVE_POINTS)
        curves = {"misfit": grid, "density": noise.pdf(grid), "true": corrupted.law.pdf(grid)}
        extras["law"] = {"field": name, **{key: _numbers(curve) for key, curve in curves.items()}}
        extras["score"] = _scores(result)
    return extras


def _scores(result: FitResult) -> dict[str, list[float]]:
    """Standardised log-density and reliability of a thinned set of readings, for the picture of the gate."""
    thin = np.linspace(0, len(result.readings) - 1, 500).astype(int)
    return {"score": _numbers(scores(result)[thin]), "reliability": _numbers(result.reliability[thin])}


def _slices(result: FitResult, benchmark: Benchmark, shares: Sequence[float]) -> list[dict[str, Any]]:
    """Fitted and true first field on a coarse grid at some instants."""
    (x_low, x_high), (y_low, y_high), (t_low, t_high) = benchmark.problem.coordinates.values()
    xs, ys = np.linspace(x_low, x_high, SLICE_SIDE), np.linspace(y_low, y_high, SLICE_SIDE)
    found = []
    for share in shares:
        t = t_low + share * (t_high - t_low)
        mesh = np.meshgrid(xs, ys, [t], indexing="ij")
        points = np.stack([axis.reshape(-1) for axis in mesh], axis=1)
        found.append(
            {
                "t": _short(t),
                "fitted": _numbers(result.field(points)[:, 0]),
                "true": _numbers(benchmark.truth(points)[:, 0]),
            }
        )
    return found


def _numbers(values: Any) -> list[float]:
    return [_short(value) for value in np.asarray(values, float)]


def _short(value: Any) -> Any:
    """Five digits are enough for any table or picture, and keep committed files small."""
    return float(f"{value:.5g}") if isinstance(value, float | np.floating) else value
