"""How small the error of the diffusivity of two rods can be, with the noise of `experiments.py`.

    python benchmarks/rods_bound.py          # a few seconds

The bound is that of Cramér and Rao for Gaussian noise. Start and end temperatures of each rod are functions that the
fit has to find, piecewise linear here; `known` is the bound for whoever knows that the ends are insulated and which
modes there are. Beside it stands the standard error that the fits give themselves, and the share of draws of the noise
in which an unbiased estimate with the least error is within the demand. Writes `benchmarks/results/rods_bound.json`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from experiments import DIFFUSIVITY, ROD_DEMANDS, ROD_DRAWS, ROD_NOISE, RODS
from scipy.linalg import solve_banded
from scipy.special import ndtr

from napinn.studies.paper.provenance import provenance

RESULTS = Path(__file__).parent / "results"
SENSORS, INSTANTS = 9, 25
NODES, STEPS = 161, 480
"""Of the finite differences; the bound changes in its third digit with half as many."""
KNOTS = 9
"""Of each free function; with six or thirteen the bound is the same to a fiftieth."""


def hats(places: np.ndarray, end: float) -> np.ndarray:
    """(places, knots): piecewise linear functions between 0 and `end`."""
    knots = np.linspace(0.0, end, KNOTS)
    return np.stack([np.interp(places, knots, row) for row in np.eye(KNOTS)], axis=1)


def design(diffusivity: float, end: float) -> np.ndarray:
    """(readings, 3 knots - 2): how the readings follow the start and the two ends (Crank and Nicolson)."""
    x, step = np.linspace(0.0, 1.0, NODES, retstep=True)
    start, ends = hats(x, 1.0), hats(np.linspace(0.0, end, STEPS + 1), end)
    field = np.concatenate([start, np.zeros((NODES, 2 * KNOTS - 2))], axis=1)
    rate = 0.5 * diffusivity * end / STEPS / step**2
    band = np.zeros((3, NODES))
    band[1], band[0, 2:], band[2, :-2] = 1.0 + 2.0 * rate, -rate, -rate
    band[1, [0, -1]] = 1.0
    seen, found = np.rint(np.linspace(0, NODES - 1, SENSORS)).astype(int), [field]
    for number in range(1, STEPS + 1):
        right = field.copy()
        right[1:-1] += rate * (field[2:] - 2.0 * field[1:-1] + field[:-2])
        right[[0, -1]] = 0.0
        right[0, :KNOTS], right[-1, :KNOTS] = start[0] * ends[number, 0], start[-1] * ends[number, 0]
        right[0, KNOTS : 2 * KNOTS - 1], right[-1, 2 * KNOTS - 1 :] = ends[number, 1:], ends[number, 1:]
        field = solve_banded((1, 1), band, right)
        found.append(field)
    every = STEPS // (INSTANTS - 1)
    return np.stack([each[seen] for each in found[::every]], axis=1).reshape(SENSORS * INSTANTS, -1)


def temperatures(modes: Mapping[int, float], diffusivity: float, end: float) -> np.ndarray:
    x, t = np.meshgrid(np.linspace(0.0, 1.0, SENSORS), np.linspace(0.0, end, INSTANTS), indexing="ij")
    parts = [size * np.cos(m * np.pi * x) * np.exp(-diffusivity * (m * np.pi) ** 2 * t) for m, size in modes.items()]
    return np.sum(parts, axis=0).ravel()


def information(slope: np.ndarray, nuisance: np.ndarray) -> float:
    """What readings say of the diffusivity, once everything else follows it."""
    basis, _ = np.linalg.qr(nuisance)
    rest = slope - basis @ (basis.T @ slope)
    return float(rest @ rest) / ROD_NOISE**2


def informations(modes: Mapping[int, float], end: float) -> tuple[float, float]:
    """With free start and ends, and with known modes."""
    small = 1e-3 * DIFFUSIVITY
    free = design(DIFFUSIVITY, end)
    weights = np.linalg.lstsq(free, temperatures(modes, DIFFUSIVITY, end), rcond=None)[0]
    slope = (design(DIFFUSIVITY + small, end) - design(DIFFUSIVITY - small, end)) @ weights / (2.0 * small)
    known = temperatures(modes, DIFFUSIVITY + small, end) - temperatures(modes, DIFFUSIVITY - small, end)
    shapes = np.stack([temperatures({m: 1.0}, DIFFUSIVITY, end) for m in modes], axis=1)
    return information(slope, free), information(known / (2.0 * small), shapes)


def row(name: str, free: float, known: float, fits: Mapping[str, Any]) -> dict[str, float]:
    least, closer = (100.0 / DIFFUSIVITY / np.sqrt(each) for each in (free, known))
    ends = [fits[f"rods, {name}, draw {draw}"]["unknowns"]["D"]["interval"] for draw in range(ROD_DRAWS)]
    return {
        "least_error_percent": round(float(least), 2),
        "least_error_percent_modes_known": round(float(closer), 2),
        "error_of_the_fit_percent": round(100.0 * float(np.ptp(ends, axis=1).mean()) / (2.0 * 1.96 * DIFFUSIVITY), 2),
        "demanded_percent": ROD_DEMANDS[name],
        "share_within_demand": round(float(2.0 * ndtr(ROD_DEMANDS[name] / least) - 1.0), 2),
    }


def main() -> None:
    fits = json.loads((RESULTS / "experiments.json").read_text(encoding="utf-8"))["cases"]
    each = {name: informations(*rod) for name, rod in RODS.items()}
    each["both"] = (sum(free for free, _ in each.values()), sum(known for _, known in each.values()))
    rows = {name: row(name, *values, fits) for name, values in each.items()}
    content = {"provenance": provenance(), "noise": ROD_NOISE, "rods": rows}
    (RESULTS / "rods_bound.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(rows, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
