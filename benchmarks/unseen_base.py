"""What an unseen problem is: physics, truth, where it is read, and what happens to its readings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from napinn.problem import Problem
from napinn.studies.benchmarks.corruption import FARTHEST, NEAREST
from napinn.studies.benchmarks.noise import NOISES, SimulatedMixture, SimulatedNoise

LAWS: Mapping[str, SimulatedNoise] = {**NOISES, "bimodal": SimulatedMixture(((-1.0, 0.35), (1.0, 0.35)))}
STIFF, ODE, LINE, PLANE, HIDDEN, FAULTY = "stiff ODE", "ODE", "1D", "2D", "hidden field", "faulty sensors"
DRIFT, OFFSET = 1.5, 0.8
"""What a drift reaches at the end of the record, and an offset, in standard deviations of the field."""
Places = Callable[[np.random.Generator], pd.DataFrame]
Solution = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Unseen:
    """A problem with known coefficients."""

    kind: str
    problem: Problem
    truth: Mapping[str, float]
    solution: Solution
    """All fields, hidden ones last, at (n, d) points: (n, f)."""
    places: Places
    """Where readings are taken: coordinates, and a sensor column where sensors have names."""
    law: str
    level: float
    """Deviation of the noise, as a share of each field's own."""
    outliers: float = 0.0
    one_sided: bool = False
    """Whether gross errors are all positive."""
    faults: Mapping[str, int] = field(default_factory=dict)
    """How many sensors are `stuck`, `drift` or are `offset`."""

    def table(self, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        """Readings as a wide table; for each of its values (rows, fields) whether it is gross, and of a faulty sensor.

        A gross error takes the place of the noise: 3 to 10 standard deviations of the field."""
        random = np.random.default_rng(seed)
        table = self.places(random)
        fields = self.problem.fields
        true = self.solution(table[list(self.problem.coordinates)].to_numpy())[:, : len(fields)]
        unit, law = np.std(true, axis=0), LAWS[self.law]
        values = true + self.level * unit * (law.sample(random, true.shape) - law.mean) / law.std
        gross = random.random(true.shape) < self.outliers
        signs = 1.0 if self.one_sided else random.choice([-1.0, 1.0], true.shape)
        values = np.where(gross, true + unit * signs * random.uniform(NEAREST, FARTHEST, true.shape), values)
        faulty = np.zeros(len(table), bool)
        if self.faults:
            faulty = spoil(table, values, unit, self.faults, random)
        bad = np.broadcast_to(faulty[:, None], gross.shape)
        return table.assign(**dict(zip(fields, values.T, strict=True))), gross & ~bad, bad


def spoil(
    table: pd.DataFrame, values: np.ndarray, unit: np.ndarray, faults: Mapping[str, int], random: np.random.Generator
) -> np.ndarray:
    """Let sensors fail, each in one way; `values` is changed in place. Returns the rows of sensors that failed."""
    sensors = random.permutation(table["sensor"].drop_duplicates().to_numpy())
    ways = [way for way, count in faults.items() for _ in range(count)]
    for sensor, way in zip(sensors, ways, strict=False):
        rows = np.flatnonzero((table["sensor"] == sensor).to_numpy())
        rows = rows[np.argsort(table["t"].to_numpy()[rows])]
        sign = random.choice([-1.0, 1.0])
        if way == "stuck":
            start = int(random.integers(1, len(rows) // 2))
            values[rows[start:]] = values[rows[start - 1]]
        elif way == "drift":
            values[rows] += sign * DRIFT * unit * np.linspace(0.0, 1.0, len(rows))[:, None]
        else:
            values[rows] += sign * OFFSET * unit
    return table["sensor"].isin(sensors[: len(ways)]).to_numpy()


def instants(times: np.ndarray) -> Places:
    """One sensor at these instants."""
    return lambda random: pd.DataFrame({"t": times})


def gauges(times: np.ndarray, count: int) -> Places:
    """Several sensors of the same state at the same instants."""
    names = np.repeat([f"gauge {number + 1}" for number in range(count)], times.size)
    return lambda random: pd.DataFrame({"sensor": names, "t": np.tile(times, count)})


def scattered(problem: Problem, count: int) -> Places:
    """Points drawn evenly from the box, anew for every seed."""

    def draw(random: np.random.Generator) -> pd.DataFrame:
        points = random.uniform(problem.lows, problem.highs, (count, len(problem.lows)))
        return pd.DataFrame(points, columns=list(problem.coordinates))

    return draw


def stations(problem: Problem, count: int, times: np.ndarray) -> Places:
    """Named sensors, evenly spaced along a line or drawn in a plane, that read at the same instants."""
    axes = [name for name in problem.coordinates if name != "t"]

    def draw(random: np.random.Generator) -> pd.DataFrame:
        if len(axes) == 1:
            places = np.linspace(problem.lows[0], problem.highs[0], count)[:, None]
        else:
            places = random.uniform(problem.lows[:-1], problem.highs[:-1], (count, len(axes)))
        table = pd.DataFrame(np.repeat(places, times.size, axis=0), columns=axes)
        table.insert(0, "sensor", np.repeat([f"s{number + 1}" for number in range(count)], times.size))
        return table.assign(t=np.tile(times, count))

    return draw
