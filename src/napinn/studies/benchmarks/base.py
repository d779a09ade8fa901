"""What a benchmark is: a problem, the truth behind it, and the sensors that watch it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from napinn.problem import Problem

SENSORS_A_SIDE = 15
EVALUATION_A_SIDE = 120


@dataclass(frozen=True)
class Benchmark:
    problem: Problem
    truth: Callable[[np.ndarray], np.ndarray]
    """(n, d) points to (n, f) true values, anywhere in the box."""
    unknowns: Mapping[str, float]
    times: int
    """How many instants each sensor records."""
    paper_rejection: float
    """λ_rej of the paper's preset."""

    def sensor_points(self) -> tuple[np.ndarray, np.ndarray]:
        """Points of all readings, sensor by sensor, and the sensor of each."""
        places = self._places(SENSORS_A_SIDE)
        instants = self._instants()
        points = np.concatenate(
            [np.repeat(places, self.times, axis=0), np.tile(instants, len(places))[:, None]], axis=1
        )
        sensors = np.repeat([f"s{number + 1}" for number in range(len(places))], self.times)
        return points, sensors

    def evaluation_points(self) -> np.ndarray:
        """A dense grid of places at every recorded instant."""
        places = self._places(EVALUATION_A_SIDE)
        instants = self._instants()
        return np.concatenate([np.tile(places, (self.times, 1)), np.repeat(instants, len(places))[:, None]], axis=1)

    def _places(self, a_side: int) -> np.ndarray:
        *spatial, _ = zip(self.problem.lows, self.problem.highs, strict=True)
        axes = [np.linspace(low, high, a_side) for low, high in spatial]
        return np.stack([axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def _instants(self) -> np.ndarray:
        return np.linspace(self.problem.lows[-1], self.problem.highs[-1], self.times)
