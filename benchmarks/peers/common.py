"""What the scripts of all peers share: the work, read from a file, and turns, asked for on standard input.

NumPy alone, so that it runs in every peer's environment. A script prints one line of JSON with its initial loss, and
then answers every number of steps that it is given with the seconds that one of them took."""

import json
import math
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

BATCH = 1024
"""Collocation points in a step, and as many readings."""
RATE = 1e-3


@dataclass(frozen=True)
class Work:
    problem: str
    layers: list[tuple[np.ndarray, np.ndarray]]
    """Weight (inputs, outputs) and bias of each."""
    start: float
    """Of the unknown coefficient."""
    collocation: np.ndarray
    """Points x, y, t to draw from; the initial loss is that of the first `BATCH`."""
    places: np.ndarray
    values: np.ndarray
    """Readings and where they were taken; of these too the first `BATCH` make the initial loss."""


def work() -> Work:
    with np.load(sys.argv[1], allow_pickle=False) as file:
        count = sum(name.startswith("weight") for name in file.files)
        layers = [(file[f"weight{number}"], file[f"bias{number}"]) for number in range(count)]
        arrays = (file[name] for name in ("collocation", "places", "values"))
        return Work(str(file["problem"]), layers, float(file["start"]), *arrays)


def allen_cahn(lib: Any, point: tuple[Any, Any, Any], u: Any, u_t: Any, laplacian: Any, epsilon: Any) -> Any:
    """What is left of the equation; `lib` has sin and cos."""
    x, y, t = point
    omega, truth = 8.0, 0.3
    mode = lib.sin(math.pi * x) * lib.sin(math.pi * y)
    wave = mode * lib.cos(omega * t)
    forcing = -omega * mode * lib.sin(omega * t) + (2.0 * math.pi**2 * truth**2 - 1.0) * wave + wave**3
    return u_t - epsilon**2 * laplacian + u**3 - u - forcing


def burgers(u: Any, v: Any, w_x: Any, w_y: Any, w_t: Any, laplacian: Any, nu: Any) -> Any:
    """The same for either component w of the velocity (u, v)."""
    return w_t + u * w_x + v * w_y - nu * laplacian


class Turns:
    """Steps as they are asked for, timed by the clock on the wall."""

    def __init__(self, loss: float, name: str, gflops: float | None = None) -> None:
        """With the rate of matrix products alone where that is of interest."""
        self._say({"loss": float(loss), "name": name, "gflops": gflops})
        self._wait()

    def step_done(self) -> None:
        self.left -= 1
        if self.left == 0:
            self._say({"seconds": (time.perf_counter() - self.began) / self.asked})
            self._wait()

    def _wait(self) -> None:
        line = sys.stdin.readline()
        if not line.strip():
            sys.exit(0)
        self.asked = self.left = int(line)
        self.began = time.perf_counter()

    def _say(self, what: dict[str, Any]) -> None:
        # Frameworks talk on standard output too, so ours are marked.
        print("@" + json.dumps(what), flush=True)  # noqa: T201
