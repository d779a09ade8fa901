"""A case: one fit of a study, as plain values, and the function that a worker runs for it.

Cases of different studies that ask for the same fit are the same job, so that each is run once.
"""

import base64
import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.data.readings import read_table
from napinn.engines.fitting import fit
from napinn.engines.network.training import Method, PhaseKind
from napinn.errors import InputError
from napinn.report.charts import scores
from napinn.results.recipe import Recipe, decode_method
from napinn.results.result import FitResult, FitStatus
from napinn.storage.settings import encode
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.corruption import OUTLIER_STYLES, Corrupted, corrupt
from napinn.studies.benchmarks.names import BENCHMARKS
from napinn.studies.benchmarks.noise import NOISES, PAPER_MIXTURE
from napinn.studies.benchmarks.scores import score
from napinn.studies.jobs import Job
from napinn.studies.paper.provenance import commit, machine, version

WORK = "napinn.experiments.cases:run_case"
"""A stable id: the keys of finished jobs hash it, so it stays when the function moves (`napinn.studies.jobs.work`)."""
TIMED = "napinn.studies.paper.step_times:run_steps"
"""The work of a case that only times steps."""
CLEAN = "none"
"""In place of a noise law: the readings are the truth."""
AS_PRINTED = "one_sided"
"""The outlier style that the paper prints: a gross error in place of the noise."""
CURVE_POINTS = 160
GATE_POINTS = 500
"""Readings that are kept for the picture of the gate."""
SLICE_SIDE, FRAME_SIDE = 80, 25
"""Points a side of a snapshot of a field, and of a frame of a video."""
SLICE_SHARES = (0.25, 0.75)
"""Where in time the two snapshots of a field lie."""
LEVELS = 65_535
"""A snapshot is kept as 16-bit steps between its extremes."""


@dataclass(frozen=True)
class Case:
    label: str
    """The row of the study's table that this fit belongs to."""
    benchmark: str
    ratio: float
    method: Recipe
    noise: str = "mixture"
    seed: int = 0
    preset: str = "quick"
    frames: int = 0
    """How many snapshots of the whole solution to keep, for a video."""
    outliers: str = AS_PRINTED
    """A name in `OUTLIER_STYLES`."""
    law_scale: float = 1.0
    """Standard deviation of a noise law other than the mixture, in parts of the mixture's."""
    timed: bool = False
    """Time steps of the method beside those of the plain PINN, and fit nothing."""

    @property
    def law_phase(self) -> tuple[int, int]:
        """Steps before and after the phase in which the estimator learns alone, which the paper does not count."""
        before = 0
        for phase in self.method.phases if isinstance(self.method, Method) else ():
            if phase.kind is PhaseKind.LAW:
                return before, before + phase.steps
            before += phase.steps
        return before, before

    def job(self) -> Job:
        payload = {
            "benchmark": self.benchmark,
            "ratio": self.ratio,
            "noise": self.noise,
            "seed": self.seed,
            "preset": self.preset,
            "method": encode(self.method, brief=True),
        }
        # Only what differs from the paper's setting, so that a new option leaves finished fits as they are.
        if self.frames:
            payload["frames"] = self.frames
        if self.outliers != AS_PRINTED and self.ratio:
            payload["outliers"] = self.outliers
        if self.law_scale != 1.0 and self.noise not in ("mixture", CLEAN):
            payload["law_scale"] = self.law_scale
        digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()[:10]
        parts = [self.benchmark, self.noise, f"{100 * self.ratio:g}", self.method.name, f"s{self.seed}", digest]
        return Job("-".join(["steps"] * self.timed + parts), TIMED if self.timed else WORK, payload)


def run_case(payload: dict[str, Any], share: Callable[[float], None]) -> dict[str, Any]:
    """Fit one case and score it; the row of the CSV file, and the curves that figures need under `extras`."""
    method = decode_method(payload["method"])
    benchmark = _benchmark(payload["benchmark"])
    problem = benchmark.problem
    corrupted = _corrupted(payload)
    table = corrupted.table
    if payload["noise"] == CLEAN:
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
        **_parts(method),
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
        "jaxlib": version("jaxlib"),
        "extras": _extras(result, benchmark, corrupted, payload.get("frames", 0)),
    }


def _corrupted(payload: Mapping[str, Any]) -> Corrupted:
    return corrupt(
        _benchmark(payload["benchmark"]),
        payload["ratio"],
        payload["seed"],
        noise=PAPER_MIXTURE if payload["noise"] == CLEAN else NOISES[payload["noise"]],
        outlier_style=OUTLIER_STYLES[payload.get("outliers", AS_PRINTED)],
        noise_scale=payload.get("law_scale", 1.0),
    )


def injected_density(row: Mapping[str, Any]) -> list[float]:
    """The density of the injected noise without the outliers, where the fit of a row drew its learned law.

    Fits of earlier versions kept only the law of all misfits, outliers included; it is then worked out again."""
    law = row["extras"]["law"]
    if "injected" in law:
        return law["injected"]
    setting = {name: row[name] for name in ("benchmark", "ratio", "seed", "noise")}
    return _numbers(_corrupted(setting).law.noise_pdf(np.array(law["misfit"])))


def _parts(method: Recipe) -> dict[str, str]:
    """The names of what a method is made of; splines have no such parts."""
    if not isinstance(method, Method):
        return {"backbone": "", "density": "", "loss": ""}
    return {
        "backbone": type(method.backbone).__name__.lower(),
        "density": type(method.gating.density).__name__.lower() if method.gating else "",
        "loss": type(method.phases[-1].loss).__name__.lower(),
    }


@functools.cache
def _benchmark(name: str) -> Benchmark:
    """One a process, because a reference is solved or read when its truth is first asked for."""
    return BENCHMARKS[name]()


def _extras(result: FitResult, benchmark: Benchmark, corrupted: Corrupted, frames: int) -> dict[str, Any]:
    """Curves and snapshots of a fit; pictures are drawn of the first seed, so others keep no snapshots."""
    history = result.history
    thin = np.unique(np.linspace(0, len(history) - 1, 80).astype(int))
    gate = history.iloc[thin]
    extras: dict[str, Any] = {}
    if frames:
        extras["slices"] = _slices(result, benchmark, tuple(np.linspace(0.0, 1.0, frames)), FRAME_SIDE)
    elif result.seed == 0:
        extras["slices"] = _slices(result, benchmark, SLICE_SHARES, SLICE_SIDE)
    if "cutoff" in history:
        gate = gate[gate["cutoff"].notna()]
        extras["gate"] = {name: _numbers(gate[name]) for name in ("step", "steepness", "cutoff")}
    for name, noise in list(result.noise.items())[:1]:
        grid = np.linspace(-6 * noise.scale, 6 * noise.scale, CURVE_POINTS)
        curves = {"misfit": grid, "density": noise.pdf(grid), "injected": corrupted.law.noise_pdf(grid)}
        extras["law"] = {"field": name, **{key: _numbers(curve) for key, curve in curves.items()}}
        extras["score"] = _scores(result, corrupted)
    return extras


def _scores(result: FitResult, corrupted: Corrupted) -> dict[str, list]:
    """Standardised log-density, reliability and true label of some readings, for the picture of the gate."""
    thin = np.linspace(0, len(result.readings) - 1, GATE_POINTS).astype(int)
    outlier = corrupted.is_outlier(result.problem.fields)[thin]
    return {
        "score": _numbers(scores(result)[thin]),
        "reliability": _numbers(result.reliability[thin]),
        "outlier": [int(is_one) for is_one in outlier],
    }


def _slices(result: FitResult, benchmark: Benchmark, shares: Sequence[float], side: int) -> list[dict[str, Any]]:
    """Fitted and true first field on a grid at some instants."""
    (x_low, x_high), (y_low, y_high), (t_low, t_high) = benchmark.problem.coordinates.values()
    xs, ys = np.linspace(x_low, x_high, side), np.linspace(y_low, y_high, side)
    found = []
    for share in shares:
        t = t_low + share * (t_high - t_low)
        mesh = np.meshgrid(xs, ys, [t], indexing="ij")
        points = np.stack([axis.reshape(-1) for axis in mesh], axis=1)
        found.append(
            {
                "t": _short(t),
                "fitted": packed(result.field(points)[:, 0]),
                "true": packed(benchmark.truth(points)[:, 0]),
            }
        )
    return found


def packed(values: np.ndarray) -> dict[str, Any]:
    """A snapshot in two bytes a value, as text."""
    low, high = float(values.min()), float(values.max())
    steps = np.round((values - low) * (LEVELS / ((high - low) or 1.0))).astype("<u2")
    return {"low": low, "high": high, "steps": base64.b64encode(steps.tobytes()).decode("ascii")}


def unpacked(kept: Mapping[str, Any] | list[float]) -> np.ndarray:
    """A square snapshot; earlier fits keep plain lists."""
    if isinstance(kept, list):
        values = np.array(kept)
    else:
        steps = np.frombuffer(base64.b64decode(kept["steps"]), "<u2")
        values = kept["low"] + (kept["high"] - kept["low"]) / LEVELS * steps
    side = math.isqrt(values.size)
    return values.reshape(side, side)


def _numbers(values: Any) -> list[float]:
    return [_short(value) for value in np.asarray(values, float)]


def _short(value: Any) -> Any:
    """Five digits are enough for any table or picture, and keep committed files small."""
    return float(f"{value:.5g}") if isinstance(value, float | np.floating) else value
