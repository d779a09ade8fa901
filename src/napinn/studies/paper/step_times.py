"""Training steps to be timed in chunks, and how times taken in turn are summarised.

Ratios are what counts: the machine is shared, so each round times a chunk of every candidate in turn, and the median
of the rounds' ratios is kept."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from napinn.data.readings import read_table
from napinn.engines.network.methods import as_printed, pinn
from napinn.engines.network.model import frame_of, initial
from napinn.engines.network.training import Data, Method, PhaseKind, TrainingState, begin, prepare_data
from napinn.engines.network.training.loop import chunk_runner, enter
from napinn.results.recipe import decode_method
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.benchmarks.names import BENCHMARKS
from napinn.studies.paper.provenance import commit, machine, version

STEPS = 20
"""In a chunk."""
ROUNDS = 15
"""Of a chunk of each method, in the study of the training cost."""


def run_steps(payload: dict[str, Any], share: Callable[[float], None]) -> dict[str, Any]:
    """Time steps of naPINN beside those of the plain PINN of the same size; the row of the study of the cost."""
    method = decode_method(payload["method"])
    assert isinstance(method, Method)
    benchmark, others = BENCHMARKS[payload["benchmark"]](), Others((os.getpid(),))
    plain = replace(
        as_printed(pinn(method.steps, backbone=method.backbone)),
        collocation_batch=method.collocation_batch,
        reading_batch=method.reading_batch,
    )
    candidates = {}
    for done, recipe in enumerate((plain, method)):
        candidates[recipe.name] = start_of(benchmark, recipe).timed()
        share(0.3 * (done + 1))
    found = in_turn(candidates, ROUNDS)
    times, (low, high) = found[method.name]["ratio"], found[method.name]["ratio_quartiles"]
    return {
        "benchmark": payload["benchmark"],
        "ratio": payload["ratio"],
        "seed": payload["seed"],
        "preset": payload["preset"],
        "pinn_ms": found[plain.name]["ms"],
        "na_pinn_ms": found[method.name]["ms"],
        "times": times,
        "times_low": low,
        "times_high": high,
        "rounds": ROUNDS,
        "chunk": STEPS,
        "other_cores": others.cores(),
        "unknowns": {},
        "commit": commit(),
        "machine": machine(),
        "jaxlib": version("jaxlib"),
        "extras": {},
    }


@dataclass(frozen=True, eq=False)
class Start:
    """The last phase of a method, about to begin."""

    benchmark: Benchmark
    method: Method
    state: TrainingState
    data: Data

    def timed(self) -> Callable[[], float]:
        """A function that runs a chunk and gives seconds a step; compiled when this returns."""
        run = chunk_runner(self.benchmark.problem, self.method, self.method.phases[-1])
        unused = jnp.zeros((0,), self.data.points.dtype)

        def seconds() -> float:
            began = time.perf_counter()
            jax.block_until_ready(run(self.state, self.data, unused, STEPS))
            return (time.perf_counter() - began) / STEPS

        seconds()
        return seconds

    def with_readings(self, times: int) -> "Start":
        """With so many times the readings; only their number matters here."""
        data = self.data
        points, values = (jnp.tile(array, (times, 1)) for array in (data.points, data.values))
        return replace(self, data=Data(points, values, data.field, data.low, data.high, data.fields, data.held))


def start_of(benchmark: Benchmark, method: Method) -> Start:
    assert method.phases[-1].kind in (PhaseKind.PLAIN, PhaseKind.GATED)
    problem = benchmark.problem
    readings = read_table(corrupt(benchmark, 0.15, 0).table, tuple(problem.coordinates), problem.fields)
    dtype = jnp.dtype(jnp.float32)
    data, _ = prepare_data(problem, readings, dtype)
    frame = frame_of(problem, readings, method, dtype)
    state = begin(method, initial(problem, method, frame, jax.random.key(0)), jax.random.key(1))
    return Start(benchmark, method, enter(method, method.phases[-1], state, data), data)


def in_turn(candidates: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, dict[str, Any]]:
    """Milliseconds of each, and the ratio to the first that was timed beside it, with quartiles."""
    seconds = np.array([[candidate() for candidate in candidates.values()] for _ in range(rounds)])
    return {name: summary(seconds[:, column], seconds[:, 0]) for column, name in enumerate(candidates)}


def summary(seconds: np.ndarray, base: np.ndarray) -> dict[str, Any]:
    low, ratio, high = np.quantile(seconds / base, [0.25, 0.5, 0.75])
    return {
        "ms": round(1e3 * float(np.median(seconds)), 3),
        "ratio": round(float(ratio), 4),
        "ratio_quartiles": [round(float(low), 4), round(float(high), 4)],
    }


class Others:
    """How many cores other processes kept busy meanwhile; None where the system does not say."""

    def __init__(self, ours: tuple[int, ...]) -> None:
        self.ours = ours
        self.began, self.before = time.perf_counter(), self._spent()

    def cores(self) -> float | None:
        after = self._spent()
        if after is None or self.before is None:
            return None
        return round(max(0.0, (after - self.before) / (time.perf_counter() - self.began)), 2)

    def _spent(self) -> float | None:
        """Seconds of all processors' work that was not ours."""
        try:
            with open("/proc/stat") as stream:
                user, nice, system = map(int, stream.readline().split()[1:4])
            own = 0
            for process in self.ours:
                with open(f"/proc/{process}/stat") as stream:
                    own += sum(map(int, stream.read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            return None
        return (user + nice + system - own) / os.sysconf("SC_CLK_TCK")
