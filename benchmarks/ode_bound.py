"""How small errors of coefficients can be in the ODE suite, and whether the forward solver from the truth is at its
minimum.

    python benchmarks/ode_bound.py          # four minutes of processor time

The bound is that of Cramér and Rao: from the sensitivities of the true path to coefficients and initial state, the
least standard error of an unbiased estimate, and from it the median error of a coefficient that Gaussian noise allows.
Then, for a few readings without gross errors, the half sum of squares (in deviations of the noise) at which steps of
Levenberg and Marquardt on the forward solver end from the truth and from the answer of splines. Where the second is
lower, the first has stopped on the way, near the truth that no user has. Writes
`benchmarks/results/ode_bound.json`."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from engines import timed_fit
from ode_rival import Forward, noise_of
from ode_suite import NOISE
from ode_systems import SYSTEMS, System
from scipy.integrate import solve_ivp

from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "ode_bound.json"
CHECKED, CHECKED_NOISE = ("lorenz_terms", "hindmarsh_rose", "hindmarsh_rose_1025"), 0.05
"""Systems whose forward solver from the truth has smaller errors than the bound allows, and the noise."""
STEP, LEAST = 1e-6, 1e-2
"""Relative step of the sensitivities, and the least size it is relative to."""
LEAST_GAIN = 1e-4
"""Nats below which a further step is not taken."""


def path(system: System, free: np.ndarray) -> np.ndarray:
    count = len(system.truth)
    found = solve_ivp(
        lambda t, u: system.slope(t, u, free[:count].tolist()), (0.0, system.end), free[count:], "DOP853", system.times,
        rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    return found.y.T


def bound(system: System, noise: float) -> float:
    """The median error of a coefficient, as a share of it, that the Cramér–Rao bound allows."""
    truth = np.concatenate([system.truth, system.initial])
    columns = []
    for index, step in enumerate(STEP * np.maximum(np.abs(truth), LEAST)):
        move = step * (np.arange(len(truth)) == index)
        columns.append((path(system, truth + move) - path(system, truth - move)) / (2.0 * step))
    deviation = noise * np.sqrt(np.mean(system.path**2, axis=0))
    rows = (np.stack(columns, axis=-1) / deviation[:, None]).reshape(-1, len(truth))
    size = np.linalg.norm(rows, axis=0)
    covariance = np.linalg.inv((rows / size).T @ (rows / size)) / np.outer(size, size)
    count = len(system.truth)
    errors = np.sqrt(np.diag(covariance))[:count] / np.abs(system.truth)
    return float(np.median(np.abs(np.random.default_rng(0).normal(size=(20_000, count)) * errors)))


def descended(forward: Forward, free: np.ndarray) -> float:
    """The half sum of squares where Levenberg–Marquardt steps end."""
    damping, cost = 1e-3, 0.5 * float(np.sum(forward.residuals(free) ** 2))
    for _ in range(100):
        rows, misfit = forward.jacobian(free), forward.residuals(free)
        size = np.linalg.norm(rows, axis=0)
        for _ in range(14):
            whole = np.vstack([rows / size, np.sqrt(damping) * np.eye(len(free))])
            step = np.linalg.lstsq(whole, -np.concatenate([misfit, np.zeros(len(free))]), rcond=None)[0] / size
            after = 0.5 * float(np.sum(forward.residuals(free + step) ** 2))
            if after < cost:
                break
            damping *= 5.0
        else:
            return cost
        gain, cost, free, damping = cost - after, after, free + step, damping / 10.0
        if gain < LEAST_GAIN:
            break
    return cost


def minima(system: System, seed: int) -> dict[str, float]:
    values, _ = system.read(CHECKED_NOISE, 0.0, seed)
    forward = Forward(system, values, noise_of(values))
    truth = np.concatenate([system.truth, system.initial])
    result, _ = timed_fit(system.problem(seed), system.readings(values), "splines", seed)
    first = result.model.values(np.zeros((1, 1)))[0]
    found = np.concatenate([[result.unknowns[name] for name in system.names], first])
    at_truth = 0.5 * float(np.sum(forward.residuals(truth) ** 2))
    ends = {"from_truth": descended(forward, truth), "from_splines": descended(forward, found)}
    return {key: round(cost, 2) for key, cost in {"truth": at_truth, **ends}.items()}


def main(seeds: int, out: Path) -> None:
    bounds = {
        name: {str(noise): float(f"{bound(system, noise):.3g}") for noise in NOISE} for name, system in SYSTEMS.items()
    }
    ends: dict[str, Any] = {}
    for name in CHECKED:
        for seed in range(seeds):
            ends.setdefault(name, {})[str(seed)] = minima(SYSTEMS[name], seed)
            print(name, seed, ends[name][str(seed)], flush=True)  # noqa: T201
    content = {"made_by": "python benchmarks/ode_bound.py", **provenance(), "bounds": bounds, "half_squares": ends}
    out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 0")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main(given.seeds, given.out)
