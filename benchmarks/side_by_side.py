"""napinn's plain step beside those of its peers: the same network, initial weights, points and readings.

    python benchmarks/side_by_side.py                                # all peers; what `make bench-peers` runs
    python benchmarks/side_by_side.py --rounds 2 --peers torch_eager jax_plain --problems allen_cahn

Each peer is a script in `benchmarks/peers/`, run in an environment of its own under `.bench/` with the versions of its
`.txt` file, which are installed when the environment is first needed. Before any step is timed, all have computed the
loss of the same batch, and one that differs is refused: the work is the same. Then they take turns, so that whatever
else the machine does falls on all of them. Writes `benchmarks/results/peers.json` and `docs/images/speed.png`."""

import argparse
import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from roofline import operations, products_of, timed_products

from napinn.engines.network.methods import pinn
from napinn.engines.network.objective import Batch, plain_loss
from napinn.field.backbones import MLPNetwork
from napinn.noise.losses import Squared
from napinn.report.figures import new_figure, save
from napinn.studies.benchmarks.names import BENCHMARKS
from napinn.studies.paper.provenance import provenance
from napinn.studies.paper.step_times import Others, Start, in_turn, start_of

HERE = Path(__file__).parent
PEERS = ("torch_eager", "deepxde_pinn", "pina_pinn", "jinns_pinn", "jax_plain")
PROBLEMS = ("allen_cahn", "burgers")
ENVIRONMENTS, RESULT = HERE.parent / ".bench", HERE / "results" / "peers.json"
CHART = HERE.parent / "docs" / "images" / "speed.png"
POOL, BATCH, STEPS = 20_480, 1024, 10
ALIKE = 1e-3
"""Relative difference of two initial losses in float32 that is rounding."""


class Peer:
    """A peer's process, which takes steps when it is asked to."""

    def __init__(self, name: str, work: Path) -> None:
        command = [str(python_of(name)), str(HERE / "peers" / f"{name}.py"), str(work)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = self._heard()
        self.title, self.loss, self.gflops = told["name"], told["loss"], told["gflops"]

    def __call__(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{STEPS}\n")
        self.process.stdin.flush()
        return self._heard()["seconds"]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _heard(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        sys.exit(f"{self.process.args} ended early; its message is above.")


def python_of(name: str) -> Path:
    """The interpreter of a peer's environment, which is made if there is none."""
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        pinned = str(HERE / "peers" / f"{name}.txt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", pinned], check=True)
        (folder / "ready").touch()
    return python


def write_work(start: Start, path: Path) -> float:
    """What all peers are given, and our own loss of the first batch."""
    learned, data = start.state.learned, start.data
    network = learned.field.network
    assert isinstance(network, MLPNetwork)
    random = np.random.default_rng(0)
    pool = random.uniform(start.benchmark.problem.lows, start.benchmark.problem.highs, (POOL, 3)).astype(np.float32)
    order = random.permutation(data.points.shape[0])
    places, values = (np.asarray(array)[order] for array in (data.points, data.values))
    layers = {f"weight{number}": np.asarray(layer.weight) for number, layer in enumerate(network.layers)}
    layers |= {f"bias{number}": np.asarray(layer.bias) for number, layer in enumerate(network.layers)}
    (unknown,) = start.benchmark.problem.unknowns.values()
    given: dict[str, Any] = {**layers, "collocation": pool, "places": places, "values": values}
    path.parent.mkdir(exist_ok=True)
    np.savez(path, problem=np.array(start.benchmark.problem.name), start=np.array(unknown.started()), **given)
    first = [jnp.asarray(array[:BATCH]) for array in (pool, places, values)]
    batch = Batch(first[0], first[1], first[2], None)
    return float(jax.jit(lambda: plain_loss(start.benchmark.problem, Squared(), learned, batch)[0])())


def measured(problem: str, names: list[str], rounds: int) -> dict[str, Any]:
    start = start_of(BENCHMARKS[problem](), pinn(scaled=False, adapts=False))
    work = ENVIRONMENTS / f"{problem}.npz"
    loss = write_work(start, work)
    peers: dict[str, Peer] = {}
    try:
        for name in names:
            peers[name] = Peer(name, work)
            if not abs(peers[name].loss - loss) <= ALIKE * loss:
                sys.exit(f"{name} begins {problem} with a loss of {peers[name].loss:.6g}, and napinn with {loss:.6g}.")
        candidates: dict[str, Callable[[], float]] = {"napinn": start.timed(), **peers}
        for peer in peers.values():
            peer()  # Whatever is compiled or allocated at first.
        others = Others((os.getpid(), *(peer.process.pid for peer in peers.values())))
        taken = in_turn(candidates, rounds)
        busy = others.cores()
    finally:
        for peer in peers.values():
            peer.stop()
    told = {name: {"title": peers[name].title if name in peers else "napinn", "loss": round(peers[name].loss, 6)
                   if name in peers else round(loss, 6), **numbers} for name, numbers in taken.items()}  # fmt: skip
    return {"other_processes_cores": busy, "products_gflops": _rates(start, peers), "steps": told}


def _rates(start: Start, peers: dict[str, Peer]) -> dict[str, float]:
    """Of matrix products alone, ours and of those that tell theirs: what every step rests on."""
    products = products_of(start)
    run = timed_products(products)
    ours = operations(products) / (1e9 * min(run() for _ in range(5)))
    told = {name: peer.gflops for name, peer in peers.items() if peer.gflops is not None}
    return {"napinn": round(ours, 1)} | {name: round(rate, 1) for name, rate in told.items()}


def draw(found: dict[str, Any]) -> None:
    """Milliseconds a step, a bar a peer and problem."""
    _, panels = new_figure(11.0, 2.8, len(found))
    for panel, (problem, entry) in zip(panels, found.items(), strict=True):
        steps = dict(reversed(entry["steps"].items()))
        bars = panel.barh([step["title"] for step in steps.values()], [step["ms"] for step in steps.values()])
        panel.bar_label(bars, [f"{step['ms']:.1f}" for step in steps.values()], padding=3)
        panel.set(title=problem.replace("_", "–").title(), xlabel="milliseconds a step")
        panel.margins(x=0.15)
    save(panels, CHART, 110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--out", type=Path, default=RESULT, help="without the default, no chart is drawn")
    arguments = parser.parse_args()
    found = {problem: measured(problem, arguments.peers, arguments.rounds) for problem in arguments.problems}
    content = {
        "made_by": "python benchmarks/side_by_side.py",
        **provenance(),
        "rounds": arguments.rounds,
        "peers": found,
    }
    arguments.out.write_text(json.dumps(content, indent=2) + "\n")
    print(json.dumps(content, indent=2))  # noqa: T201
    if arguments.out == RESULT:
        draw(found)


if __name__ == "__main__":
    main()
