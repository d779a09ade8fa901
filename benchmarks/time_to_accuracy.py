"""Seconds until the field of Allen–Cahn with 15 % outliers is as accurate as the paper says: napinn's default beside
the paper's recipe written plainly in PyTorch.

    python benchmarks/time_to_accuracy.py                     # both, one after the other; some seven minutes
    python benchmarks/time_to_accuracy.py --minutes 1 --out /tmp/quick.json

Judging the field is not counted, compilation is: napinn is timed with nothing compiled before, and once more in a new
process that finds the programs of the first, as any later fit of that shape does. A side that is not accurate enough
when its steps or minutes are over is noted with what it spent. Writes `benchmarks/results/time_to_accuracy.json`."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from side_by_side import ENVIRONMENTS, HERE, python_of, write_work

from napinn.data.readings import read_table
from napinn.engines.network.adaptation import adapted
from napinn.engines.network.methods import law_pinn, pinn
from napinn.engines.network.model import frame_of, initial
from napinn.engines.network.training import FitState, Method, begin, prepare_data, train
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.paper.provenance import provenance
from napinn.studies.paper.step_times import start_of

ACCURACY, OUTLIERS, JUDGED = 0.127, 0.15, 20_000
STEPS = 30_000
"""Of the paper's recipe."""
RESULT = HERE / "results" / "time_to_accuracy.json"
AGAIN = """
from napinn.storage.cache import keep_compiled
keep_compiled()
import json, sys
from time_to_accuracy import ours
print(json.dumps(ours(float(sys.argv[1]))))
"""


def evaluation() -> tuple[np.ndarray, np.ndarray]:
    """Points at which the field is judged, and the truth there."""
    benchmark = allen_cahn()
    points = benchmark.evaluation_points()
    chosen = np.random.default_rng(0).choice(len(points), JUDGED, replace=False)
    return points[chosen], benchmark.truth(points[chosen])


def ours(minutes: float) -> dict[str, Any]:
    benchmark, (points, truth) = allen_cahn(), evaluation()
    problem = benchmark.problem
    readings = read_table(corrupt(benchmark, OUTLIERS, 0).table, tuple(problem.coordinates), problem.fields)
    began, judged, found = time.perf_counter(), 0.0, {}
    method = adapted(law_pinn(), readings, problem)
    dtype = jnp.dtype(jnp.float32)
    data, _ = prepare_data(problem, readings, dtype, method.held_out)
    start = initial(problem, method, frame_of(problem, readings, method, dtype), jax.random.key(0))
    where, values = jnp.asarray(points, dtype), jax.jit(lambda field, where: field(where))
    for moment, snapshot in train(problem, method, data, FitState(begin(method, start, jax.random.key(1)))):
        now = time.perf_counter()
        error = np.asarray(values(moment.state.learned.field, where)) - truth
        rmse, seconds = float(np.sqrt((error**2).sum() / (truth**2).sum())), now - began - judged
        found = {"step": snapshot.done, "seconds": round(seconds, 2), "rmse": round(rmse, 5)}
        judged += time.perf_counter() - now
        if rmse <= ACCURACY or seconds > 60.0 * minutes:
            break
    return {**found, "reached": found["rmse"] <= ACCURACY, "steps": _steps(method)}


def _steps(method: Method) -> int:
    return sum(phase.steps for phase in method.phases)


def ours_twice(minutes: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """In processes of their own, the second with the first one's compiled programs at hand."""
    command = [sys.executable, "-c", AGAIN, str(minutes)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NAPINN_CACHE": cache, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path[1:]])}
        first, second = (
            json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)
            for _ in range(2)
        )
    return first, second


def recipe(minutes: float) -> dict[str, Any]:
    """In the environment of PyTorch; judged at the same points, which take the place of collocation points."""
    work = ENVIRONMENTS / "recipe.npz"
    write_work(start_of(allen_cahn(), pinn(scaled=False, adapts=False)), work)
    points, truth = evaluation()
    with np.load(work, allow_pickle=False) as file:
        given = {**file, "collocation": np.concatenate([points, truth], axis=1).astype(np.float32)}
    np.savez(work, **given)
    words = [str(work), str(ACCURACY), str(minutes), str(STEPS)]
    command = [str(python_of("torch_eager")), str(HERE / "peers" / "recipe_torch.py"), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    course = [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("@")]
    return {**course[-1], "reached": course[-1]["rmse"] <= ACCURACY, "steps": STEPS, "course": course[::20]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120.0, help="at most, for each side")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    (first, again), theirs = ours_twice(arguments.minutes), recipe(arguments.minutes)
    content = {
        "made_by": "python benchmarks/time_to_accuracy.py",
        **provenance(),
        "accuracy": ACCURACY,
        "seed": 0,
        "ratio": round(theirs["seconds"] / first["seconds"], 1),
        "ratio_again": round(theirs["seconds"] / again["seconds"], 1),
        "napinn": first,
        "napinn_again": again,
        "recipe_torch": theirs,
    }
    arguments.out.write_text(json.dumps(content, indent=2) + "\n")
    print(json.dumps(content, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
