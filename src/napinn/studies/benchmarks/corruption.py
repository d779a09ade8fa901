"""What happens to readings on the way from the field to the file, seeded and labelled.

A corruption is a row of steps: noise, outliers, then faults of sensors (`faults.py`) in the order given.
Each takes a labelled table and gives one back. Noise and outliers draw from the seed's own stream; every fault
draws from a stream of its own. So noise and outliers stay the same whatever faults there are, and a fault hits the same
sensors whatever other faults there are.
"""

import abc
import dataclasses
import enum
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from napinn.errors import InputError
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.noise import PAPER_MIXTURE, SimulatedNoise

MIXTURE_SHARE = 0.1
"""The paper's mixture is multiplied by this share of the field's mean magnitude."""
NEAREST, FARTHEST = 3.0, 10.0
"""A gross error is uniform between these, in standard deviations of the noise."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Readings under way: one row a point, one column a field, beside what only a simulation knows."""

    points: np.ndarray
    sensors: np.ndarray
    truth: np.ndarray
    values: np.ndarray
    outlier: np.ndarray
    fault: np.ndarray
    """Names of the faults that changed a reading, joined by '+'; empty text where there is none."""
    missing: np.ndarray
    """One entry a row. Such rows go last of all, so that no step depends on how many there are."""
    magnitude: float
    """Mean magnitude of the true values."""
    share: float = MIXTURE_SHARE
    """Of the magnitude, per unit of the paper's mixture."""

    @property
    def unit(self) -> float:
        """Field units per unit of the paper's mixture."""
        return self.share * self.magnitude

    @property
    def noise_std(self) -> float:
        return self.unit * PAPER_MIXTURE.std

    def with_fault(self, name: str, values: np.ndarray) -> "Labelled":
        """The new values; the readings that are not what they were get the fault's name."""
        changed = values != self.values
        named = np.where(self.fault == "", name, self.fault + "+" + name)
        return dataclasses.replace(self, values=values, fault=np.where(changed, named, self.fault))


class Fault(abc.ABC):
    """What a failing sensor does to all of its fields."""

    name: ClassVar[str]
    sensors: int
    """How many sensors it hits."""

    @abc.abstractmethod
    def apply(self, table: Labelled, rng: np.random.Generator) -> Labelled: ...


@dataclass(frozen=True)
class Noise:
    law: SimulatedNoise = PAPER_MIXTURE

    def apply(self, table: Labelled, rng: np.random.Generator) -> Labelled:
        drawn = self.unit(table) * self.law.sample(rng, table.values.shape)
        return dataclasses.replace(table, values=table.values + drawn)

    def unit(self, table: Labelled) -> float:
        """Field units per unit of the law; with it every law has the standard deviation of the paper's mixture."""
        return table.unit * (PAPER_MIXTURE.std / self.law.std)


class Displaced(enum.Enum):
    """What gives way to a gross error."""

    NOISE = enum.auto()
    NOTHING = enum.auto()
    READING = enum.auto()


@dataclass(frozen=True)
class OutlierStyle:
    signed: bool = False
    """Whether a gross error is as likely to be negative as positive; otherwise it is positive."""
    displaced: Displaced = Displaced.NOISE


ONE_SIDED = OutlierStyle()
"""The paper's."""
OUTLIER_STYLES: Mapping[str, OutlierStyle] = {
    "one_sided": ONE_SIDED,
    "signed": OutlierStyle(signed=True),
    "additive": OutlierStyle(displaced=Displaced.NOTHING),
    "additive_signed": OutlierStyle(signed=True, displaced=Displaced.NOTHING),
    "replacing": OutlierStyle(displaced=Displaced.READING),
    "replacing_signed": OutlierStyle(signed=True, displaced=Displaced.READING),
}


@dataclass(frozen=True)
class Outliers:
    """An exact share of all readings, each field on its own, gets a gross error."""

    share: float
    style: OutlierStyle = ONE_SIDED

    def __post_init__(self) -> None:
        if not 0.0 <= self.share < 1.0:
            raise InputError(f"the share of outliers is {self.share}; it must be at least 0 and below 1.")

    def apply(self, table: Labelled, rng: np.random.Generator) -> Labelled:
        shape = table.values.shape
        hit = np.zeros(table.values.size, bool)
        hit[rng.choice(hit.size, round(self.share * hit.size), replace=False)] = True
        hit = hit.reshape(shape)
        gross = rng.uniform(NEAREST, FARTHEST, shape) * table.unit * PAPER_MIXTURE.std
        if self.style.signed:
            # Drawn last, so that all styles hit the same readings with the same sizes.
            gross = gross * rng.choice([-1.0, 1.0], shape)
        match self.style.displaced:
            case Displaced.NOISE:
                struck = table.truth + gross
            case Displaced.NOTHING:
                struck = table.values + gross
            case Displaced.READING:
                struck = gross
        return dataclasses.replace(table, values=np.where(hit, struck, table.values), outlier=table.outlier | hit)


@dataclass(frozen=True, eq=False)
class MisfitLaw:
    """The law of reading minus truth over all readings, good ones and outliers, in the field's units.

    Faults are no part of it: what they do depends on place and time and has no law.
    """

    noise: SimulatedNoise
    unit: float
    outliers: Outliers
    noise_std: float
    truth: np.ndarray
    """Sorted true values of all readings."""

    def noise_pdf(self, misfits: np.ndarray) -> np.ndarray:
        """Of good readings alone."""
        return self.noise.pdf(misfits / self.unit) / self.unit

    def pdf(self, misfits: np.ndarray) -> np.ndarray:
        good = self.noise_pdf(misfits)
        signs = (1.0, -1.0) if self.outliers.style.signed else (1.0,)
        gross = np.mean([self._gross_pdf(misfits, sign) for sign in signs], axis=0)
        return (1.0 - self.outliers.share) * good + self.outliers.share * gross

    def _gross_pdf(self, misfits: np.ndarray, sign: float) -> np.ndarray:
        """Of a uniform error plus an independent rest, whose cumulative law is all that this takes."""
        low, high = sorted((sign * NEAREST * self.noise_std, sign * FARTHEST * self.noise_std))
        rest = self._rest()
        return (rest(misfits - low) - rest(misfits - high)) / (high - low)

    def _rest(self) -> Callable[[np.ndarray], np.ndarray]:
        """P(rest ≤ ·), where the rest is what an outlier's misfit holds beside the gross error."""
        match self.outliers.style.displaced:
            case Displaced.NOISE:
                return lambda m: (m >= 0.0).astype(float)
            case Displaced.NOTHING:
                return lambda m: self.noise.cdf(m / self.unit)
            case Displaced.READING:
                return lambda m: 1.0 - np.searchsorted(self.truth, -m) / self.truth.size


@dataclass(frozen=True, eq=False)
class Corrupted:
    table: pd.DataFrame
    """Wide readings: sensor, coordinates, one column a field."""
    labels: pd.DataFrame
    """For the same rows, of each field: the true value, whether the reading is an outlier, and its faults by name."""
    law: MisfitLaw
    dropped: int
    """Rows that a drop-out has taken away from both tables."""

    def is_outlier(self, fields: tuple[str, ...]) -> np.ndarray:
        """One entry a reading, in the order in which a wide table is read."""
        return self.labels[[f"{name}_outlier" for name in fields]].to_numpy(bool).reshape(-1)

    def is_faulty(self, fields: tuple[str, ...]) -> np.ndarray:
        """One entry a reading, in the order in which a wide table is read."""
        return (self.labels[[f"{name}_fault" for name in fields]] != "").to_numpy(bool).reshape(-1)


def corrupt(
    benchmark: Benchmark,
    outliers: float,
    seed: int,
    *,
    noise: SimulatedNoise = PAPER_MIXTURE,
    outlier_style: OutlierStyle = ONE_SIDED,
    faults: Sequence[Fault] = (),
    noise_scale: float = 1.0,
) -> Corrupted:
    """Noise, a share of outliers, and faults; by default the paper's corruption.

    That is mixture noise, and outliers whose noise is replaced by a gross positive one, uniform between 3 and 10
    standard deviations of the noise. `noise_scale` multiplies that standard deviation, and with it outliers and faults.
    """
    noisy, gross = Noise(noise), Outliers(outliers, outlier_style)
    points, sensors = benchmark.sensor_points()
    # Before the truth is asked for, which may have to be solved first.
    _check_counts(faults, len(np.unique(sensors)))
    perfect = measured(points, sensors, benchmark.truth(points))
    table = dataclasses.replace(perfect, share=noise_scale * MIXTURE_SHARE)
    rng = np.random.default_rng(seed)
    table = gross.apply(noisy.apply(table, rng), rng)
    for fault, stream in zip(faults, _streams(faults, seed), strict=True):
        table = fault.apply(table, stream)
    law = MisfitLaw(noise, noisy.unit(table), gross, table.noise_std, np.sort(table.truth, axis=None))
    return Corrupted(*_frames(table, benchmark), law, int(table.missing.sum()))


def measured(points: np.ndarray, sensors: np.ndarray, truth: np.ndarray) -> Labelled:
    """Perfect readings."""
    return Labelled(
        points,
        sensors,
        truth,
        values=truth,
        outlier=np.zeros(truth.shape, bool),
        fault=np.full(truth.shape, "", dtype=object),
        missing=np.zeros(len(truth), bool),
        magnitude=float(np.abs(truth).mean()),
    )


def _check_counts(faults: Sequence[Fault], sensors: int) -> None:
    for fault in faults:
        if not 1 <= fault.sensors <= sensors:
            raise InputError(
                f"fault '{fault.name}' cannot hit {fault.sensors} sensors; the benchmark has {sensors}, "
                f"so choose from 1 to {sensors}."
            )


def _streams(faults: Sequence[Fault], seed: int) -> Iterator[np.random.Generator]:
    """By name and by how many of that name came before, so that two drifts differ and the order of faults is free."""
    for index, fault in enumerate(faults):
        again = sum(earlier.name == fault.name for earlier in faults[:index])
        yield np.random.default_rng([seed, zlib.crc32(fault.name.encode()), again])


def _frames(table: Labelled, benchmark: Benchmark) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Readings and labels without the missing rows."""
    problem = benchmark.problem
    kept = ~table.missing
    coordinates = dict(zip(problem.coordinates, table.points[kept].T, strict=True))
    readings = pd.DataFrame({"sensor": table.sensors[kept], **coordinates})
    labels = readings.copy()
    for index, name in enumerate(problem.fields):
        readings[name] = table.values[kept, index]
        labels[f"{name}_true"] = table.truth[kept, index]
        labels[f"{name}_outlier"] = table.outlier[kept, index]
        labels[f"{name}_fault"] = table.fault[kept, index]
    return readings, labels
