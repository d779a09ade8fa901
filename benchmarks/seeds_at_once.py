"""Several seeds stepped together in one program, or one after another: which is faster here?

    python benchmarks/seeds_at_once.py                   # all sizes that are not in the result file yet
    python benchmarks/seeds_at_once.py small             # these, again

Both do the same steps of the default method's last phase. Each turn times one way and then the other, so that what
else the machine is doing meets both alike; medians of a few turns, and CPU time beside the clock. Writes
`benchmarks/results/seeds_at_once.json`."""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from napinn.data.readings import Readings, read_table
from napinn.engines.network.methods import law_pinn
from napinn.engines.network.model import frame_of, initial
from napinn.engines.network.training import TrainingState, begin, prepare_data
from napinn.engines.network.training.loop import enter
from napinn.engines.network.training.steps import StepSchedule, step_of
from napinn.field.backbones import MLP
from napinn.problem import Problem, Unknown
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "seeds_at_once.json"
SIZES = {"small": (16, 2, 64), "middle": (32, 3, 256), "default": (80, 5, 1024)}
"""Width and depth of the network, and points as well as readings in a batch."""
PROBLEM = Problem({"x": (0.0, 1.0), "t": (0.0, 3.0)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.3)})


def readings() -> Readings:
    random = np.random.default_rng(0)
    x, t = random.uniform(0.0, 1.0, 3000), random.uniform(0.0, 3.0, 3000)
    u = np.sin(3.0 * x) * np.exp(-t) + 0.05 * random.normal(size=3000)
    return read_table(pd.DataFrame({"x": x, "t": t, "u": u}), ("x", "t"), ("u",))


def programs(size: str, seeds: int) -> tuple[Callable[[int], None], Callable[[int], None]]:
    """So many steps of every seed, one after another and together."""
    width, depth, batch = SIZES[size]
    method = law_pinn(backbone=MLP(width, depth), collocation_batch=batch, reading_batch=batch)
    given, dtype = readings(), jnp.dtype(jnp.float32)
    data, _ = prepare_data(PROBLEM, given, dtype, method.held_out)
    frame, phase = frame_of(PROBLEM, given, method, dtype), method.phases[-1]
    states = []
    for seed in range(seeds):
        for_network, for_training = jax.random.split(jax.random.key(seed))
        state = begin(method, initial(PROBLEM, method, frame, for_network), for_training)
        states.append(enter(method, phase, state, data))
    step, still = step_of(PROBLEM, method, phase), eqx.filter(states[0], eqx.is_array, inverse=True)

    def run(moving: TrainingState, count: jax.Array) -> TrainingState:
        share = StepSchedule(jnp.ones((), dtype), jnp.ones((), dtype))

        def body(_: jax.Array, now: TrainingState) -> TrainingState:
            after = step(eqx.combine(now, still), data, jnp.zeros((0,), dtype), share)[0]
            return eqx.filter(after, eqx.is_array)

        return jax.lax.fori_loop(0, count, body, moving)

    alone, together = jax.jit(run), jax.jit(jax.vmap(run, in_axes=(0, None)))
    each = [eqx.filter(state, eqx.is_array) for state in states]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)
    return (
        lambda count: jax.block_until_ready([jax.block_until_ready(alone(one, count)) for one in each]) and None,
        lambda count: jax.block_until_ready(together(stacked, count)) and None,
    )


def measure(size: str, seeds: int, steps: int, turns: int) -> dict[str, Any]:
    ways = dict(zip(("in_turn", "together"), programs(size, seeds), strict=True))
    row: dict[str, Any] = {"seeds": seeds, "steps": steps}
    for name, way in ways.items():
        before = time.process_time()
        way(1)
        row[f"{name}_compile_cpu_s"] = round(time.process_time() - before, 1)
    clock: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            began, used = time.perf_counter(), time.process_time()
            way(steps)
            clock[name].append((time.perf_counter() - began) / steps / seeds)
            cpu[name].append((time.process_time() - used) / steps / seeds)
    for name in ways:
        row[f"{name}_ms"] = round(1e3 * float(np.median(clock[name])), 3)
        row[f"{name}_cpu_ms"] = round(1e3 * float(np.median(cpu[name])), 3)
    return row


def main(names: list[str], seeds: int, steps: int, turns: int) -> None:
    rows: dict[str, Any] = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else {}
    for name in names or [name for name in SIZES if name not in rows]:
        rows[name] = measure(name, seeds, steps, turns)
        print(name, json.dumps(rows[name]), flush=True)  # noqa: T201
        made = {"made_by": "python benchmarks/seeds_at_once.py", **provenance(), "per": "step and seed", "rows": rows}
        RESULT.write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SIZES], help="sizes; default those not measured yet")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    main(list(given.names), given.seeds, given.steps, given.turns)
