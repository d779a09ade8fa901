"""What one training step costs: naPINN, SOAP and the default beside the plain PINN with Adam, in turn in one process.

    python benchmarks/step_cost.py                 # both batch sizes, all three benchmarks
    python benchmarks/step_cost.py --rounds 15
    python benchmarks/step_cost.py --backbones     # every backbone beside the MLP, plain steps on Allen–Cahn

Ratios are what counts: the machine is shared, so each round times a chunk of every method in turn, and the median of
the rounds' ratios is kept. Writes `benchmarks/results/step_cost.json`."""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from napinn.benchmarks.base import Benchmark
from napinn.benchmarks.corruption import corrupt
from napinn.benchmarks.names import BENCHMARKS, PAPER
from napinn.experiments.provenance import provenance
from napinn.fitting import frame_of, initial
from napinn.methods import BACKBONES, b_pinn, law_pinn, na_pinn, pinn
from napinn.readings import read_table
from napinn.training import SOAP, Kind, Method, begin, load
from napinn.training.loop import chunk_runner, enter

RESULT = Path(__file__).parent / "results" / "step_cost.json"
BATCHES = {"1024+1024": (1024, 1024), "4000+1000": (4000, 1000)}
STEPS = 20


def timed_chunk(benchmark: Benchmark, method: Method) -> Callable[[], float]:
    """A function that runs a chunk of the method's last phase and gives seconds a step."""
    problem = benchmark.problem
    readings = read_table(corrupt(benchmark, 0.15, 0).table, tuple(problem.coordinates), problem.fields)
    dtype = jnp.dtype(jnp.float32)
    data, _ = load(problem, readings, dtype)
    phase = method.phases[-1]
    frame = frame_of(problem, readings, method, dtype)
    state = begin(method, initial(problem, method, frame, jax.random.key(0)), jax.random.key(1))
    state = enter(method, phase, state, data)
    run, unused = chunk_runner(problem, method, phase), jnp.zeros((0,), dtype)
    jax.block_until_ready(run(state, data, unused, STEPS))

    def seconds() -> float:
        began = time.perf_counter()
        jax.block_until_ready(run(state, data, unused, STEPS))
        return (time.perf_counter() - began) / STEPS

    return seconds


METHODS: Mapping[str, Callable[..., Method]] = {
    "pinn": pinn,
    "na_pinn": na_pinn,
    "pinn_soap": partial(pinn, optimiser=SOAP()),
    "law_pinn": law_pinn,
}


def measure(rounds: int) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in PAPER:
        benchmark = BENCHMARKS[name]()
        found[name] = {}
        for title, (points, rows) in BATCHES.items():
            recipes = [make(collocation_batch=points, reading_batch=rows) for make in METHODS.values()]
            chunks = [timed_chunk(benchmark, recipe) for recipe in recipes]
            seconds = np.array([[chunk() for chunk in chunks] for _ in range(rounds)])
            found[name][title] = {
                method: _summary(seconds[:, column], seconds[:, 0]) for column, method in enumerate(METHODS)
            }
            print(name, title, found[name][title], flush=True)  # noqa: T201
    return found


def _summary(seconds: np.ndarray, plain: np.ndarray) -> dict[str, Any]:
    """Milliseconds a step, and the ratio to the plain step timed beside it, with quartiles."""
    low, ratio, high = np.quantile(seconds / plain, [0.25, 0.5, 0.75])
    return {
        "ms": round(1e3 * float(np.median(seconds)), 3),
        "ratio": round(float(ratio), 4),
        "ratio_quartiles": [round(float(low), 4), round(float(high), 4)],
    }


def measure_backbones(rounds: int) -> dict[str, Any]:
    """Plain steps of each backbone over those of the MLP beside it."""
    benchmark = BENCHMARKS["allen_cahn"]()
    base = timed_chunk(benchmark, pinn())
    found: dict[str, Any] = {}
    for name, entry in BACKBONES.items():
        make = b_pinn if name == "bayesian" else pinn
        own = timed_chunk(benchmark, make(backbone=entry.make()))
        pairs = np.array([(base(), own()) for _ in range(rounds)])
        found[name] = {
            "ms": round(1e3 * float(np.median(pairs[:, 1])), 2),
            "ratio": round(float(np.median(pairs[:, 1] / pairs[:, 0])), 2),
        }
        print(name, found[name], flush=True)  # noqa: T201
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbones", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    assert na_pinn().phases[-1].kind is Kind.GATED
    if arguments.backbones:
        command, path, measured = (
            " --backbones",
            RESULT.with_name("backbone_cost.json"),
            measure_backbones(arguments.rounds),
        )
    else:
        command, path, measured = "", RESULT, measure(arguments.rounds)
    content = {"made_by": f"python benchmarks/step_cost.py{command}", **provenance(), "steps": measured}
    path.write_text(json.dumps(content, indent=2) + "\n")
