"""napinn's own speed: steps of every method side by side, their share of the machine's rate, growth, start-up, memory.

    python benchmarks/speed.py                  # everything; what `make bench` runs
    python benchmarks/speed.py --rounds 3       # a quick look
    python benchmarks/speed.py --backbones      # every backbone beside the MLP, plain steps on Allen–Cahn

Writes `benchmarks/results/speed.json`, or `backbone_cost.json`. Peers: `benchmarks/side_by_side.py`."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from memory import watched
from roofline import operations, products_of, timed_products

from napinn.engines.catalogue import BACKBONES
from napinn.engines.network.methods import b_pinn, law_pinn, na_pinn, pinn
from napinn.engines.network.model import values_of
from napinn.engines.network.training import SOAP, Method
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.names import BENCHMARKS
from napinn.studies.paper.provenance import provenance
from napinn.studies.paper.step_times import Others, in_turn, start_of

RESULTS = Path(__file__).parent / "results"
PROBLEMS = ("allen_cahn", "burgers")
BATCHES = {"1024+1024": (1024, 1024), "4000+1000": (4000, 1000)}
METHODS: Mapping[str, Callable[..., Method]] = {
    "pinn": pinn,
    "na_pinn": na_pinn,
    "pinn_soap": partial(pinn, optimiser=SOAP()),
    "law_pinn": law_pinn,
}
COMMAND = "from napinn.cli.main import run; run()"
STARTED = """
import sys, time
import numpy as np, pandas as pd
from napinn.storage.cache import keep_compiled
keep_compiled()
import napinn
times = np.linspace(0.0, 3.0, 2000)
table = pd.DataFrame({"t": times, "u": np.exp(-0.8 * times) + 0.01 * np.sin(99.0 * times)})
problem = napinn.Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(0.3)})
napinn.fit  # Imported when first asked for.
called, first = time.time(), []
napinn.fit(problem, napinn.read_table(table, ("t",), ("u",)), napinn.law_pinn(200, law_steps=100, log_every=10),
           progress=lambda snapshot: first.append(time.time()))
print(first[0] - called, first[0] - float(sys.argv[1]), time.time() - float(sys.argv[1]))
"""
"""Seconds from the call of `fit` to its first steps, from the start of the process to them, and to the end."""


def steps(benchmark: Benchmark, rounds: int) -> dict[str, Any]:
    """Each method over the plain one, for each size of batch."""
    found = {}
    for title, (points, rows) in BATCHES.items():
        recipes = {name: make(collocation_batch=points, reading_batch=rows) for name, make in METHODS.items()}
        found[title] = in_turn({name: start_of(benchmark, recipe).timed() for name, recipe in recipes.items()}, rounds)
    return found


def limit(benchmark: Benchmark, rounds: int) -> dict[str, Any]:
    """The share of the machine's rate for products of these shapes that a plain step reaches."""
    start = start_of(benchmark, pinn())
    products = products_of(start)
    taken = in_turn({"step": start.timed(), "products": timed_products(products)}, rounds)
    rate = operations(products) / (1e6 * taken["products"]["ms"])
    return {"share": taken["products"]["ratio"], "share_quartiles": taken["products"]["ratio_quartiles"],
            "step_ms": taken["step"]["ms"], "products_ms": taken["products"]["ms"],
            "machine_gflops": round(rate, 1)}  # fmt: skip


def growth(benchmark: Benchmark, rounds: int) -> dict[str, Any]:
    """What twice the readings and twice the collocation points make of a step of the default."""
    start, wider = start_of(benchmark, law_pinn()), start_of(benchmark, law_pinn(collocation_batch=2048))
    return in_turn(
        {"step": start.timed(), "twice_the_readings": start.with_readings(2).timed(),
         "twice_the_points": wider.timed()}, rounds
    )  # fmt: skip


def field_evaluation(benchmark: Benchmark) -> dict[str, Any]:
    network, points = start_of(benchmark, pinn()).state.learned.field, benchmark.evaluation_points()
    values_of(network, points)
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        values_of(network, points)
        taken.append(time.perf_counter() - began)
    return {"points": len(points), "seconds": round(float(np.median(taken)), 3)}


def start_up() -> dict[str, Any]:
    """Seconds of `napinn --help`, and of a first and a second fit of one shape until they train."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", COMMAND, "--help"], check=True, capture_output=True)
    helped = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NAPINN_CACHE": cache}
        first, second = (_started(environment) for _ in range(2))
    return {"help": round(helped, 2), "first_fit": first, "second_fit": second}


def _started(environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-c", STARTED, str(time.time())]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    names = ("call_to_training", "process_to_training", "process_to_end")
    return {name: round(float(seconds), 2) for name, seconds in zip(names, said[-3:], strict=True)}


def demo_memory() -> dict[str, Any]:
    """Peak memory of the full demonstration with nothing compiled before; the number of steps does not matter to it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NAPINN_CACHE": f"{folder}/cache"}
        used = watched("demo", "--full", "--steps", "60", "--out", f"{folder}/demo", environment=environment)
    return {"gigabytes": used["gigabytes"]}


def backbones(rounds: int) -> dict[str, Any]:
    """Plain steps of each backbone over those of the MLP beside it."""
    benchmark = BENCHMARKS["allen_cahn"]()
    base, found = start_of(benchmark, pinn()).timed(), {}
    for name, entry in BACKBONES.items():
        make = b_pinn if name == "bayesian" else pinn
        own = start_of(benchmark, make(backbone=entry.make())).timed()
        found[name] = in_turn({"mlp": base, name: own}, rounds)[name]
    return found


def measured(rounds: int) -> dict[str, Any]:
    others = Others((os.getpid(),))
    found: dict[str, Any] = {"steps": {}, "limit": {}}
    for name in PROBLEMS:
        benchmark = BENCHMARKS[name]()
        found["steps"][name], found["limit"][name] = steps(benchmark, rounds), limit(benchmark, rounds)
    benchmark = BENCHMARKS["allen_cahn"]()
    found |= {"growth": growth(benchmark, rounds), "field": field_evaluation(benchmark)}
    found["other_processes_cores"] = others.cores()
    return found | {"start_up": start_up(), "demo_memory": demo_memory()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbones", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    name, command = ("backbone_cost", " --backbones") if arguments.backbones else ("speed", "")
    found = {"steps": backbones(arguments.rounds)} if arguments.backbones else measured(arguments.rounds)
    content = {"made_by": f"python benchmarks/speed.py{command}", **provenance(), "rounds": arguments.rounds, **found}
    text = json.dumps(content, indent=2) + "\n"
    (arguments.out or RESULTS / f"{name}.json").write_text(text)
    print(text)  # noqa: T201


if __name__ == "__main__":
    main()
