"""A fitted field on splines, behind the contract of every fitted model."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from napinn.data.readings import Readings, Scatters
from napinn.errors import InputError
from napinn.field.chunks import in_chunks
from napinn.field.splines.axis import Axis, axis_between
from napinn.field.splines.functions import function_space
from napinn.field.splines.space import Orders, Space
from napinn.noise.law import NoiseLaw
from napinn.noise.mixture import TAIL_REACH, Mixture, mixture_of, names_in_files
from napinn.problem import Problem
from napinn.problem.equations import Terms
from napinn.results.functions import FoundFunction
from napinn.results.intervals import FieldSpread
from napinn.results.model import FittedModel
from napinn.storage.arrays import SavedArrays


@dataclass(frozen=True, eq=False)
class SplineNoise(NoiseLaw):
    """The mixture that was learned from the standardised misfits of all fields, in the unit of one of them."""

    law: Mixture
    location: float
    deviation: float

    @property
    def centre(self) -> float:
        return self.location

    @property
    def scale(self) -> float:
        return self.deviation

    @property
    def has_spread(self) -> bool:
        return self.deviation > 0.0

    def log_prob(self, misfits: np.ndarray) -> np.ndarray:
        standard = (np.asarray(misfits, float) - self.location) / self.deviation
        return -self.law.loss(standard) - np.log(self.deviation)

    def support(self) -> tuple[float, float]:
        return -TAIL_REACH, TAIL_REACH

    def normaliser(self) -> float:
        return float(np.diff(self.law.distribution(np.array([-TAIL_REACH, TAIL_REACH])))[0])


@dataclass(frozen=True, eq=False)
class SplineModel(FittedModel):
    """Tensor-product B-splines, their noise law and the gate on it."""

    problem: Problem
    space: Space
    coefficients: np.ndarray
    laws: tuple[Mixture, ...]
    """Of each noise group."""
    scatters: Scatters
    """Which readings have one noise scale."""
    centres: np.ndarray
    """The location of the noise by scale."""
    scales: np.ndarray
    """The deviation of the noise by scale."""
    gate_curve: tuple[float, float]
    share: float
    sizes: np.ndarray
    """Of the terms of each equation, then of each condition."""
    naturals: np.ndarray
    """Of each unknown."""
    tolerance: float
    """The relative error that the equations were allowed at the end."""
    found: Mapping[str, FoundFunction] = field(default_factory=dict)
    """Unknown functions."""
    roughness_weight: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Of these, in the order of the engine."""

    def values(self, points: np.ndarray) -> np.ndarray:
        return self._at(points, (0,) * len(self.space.axes))

    def derivatives(self, points: np.ndarray, wanted: Collection[Terms]) -> dict[Terms, np.ndarray]:
        names = tuple(self.problem.coordinates)
        found = {}
        for terms in wanted:
            parts = [self._at(points, tuple(axes.count(name) for name in names)) for axes in terms]
            found[terms] = np.sum(parts, axis=0)
        return found

    def _at(self, points: np.ndarray, orders: Orders) -> np.ndarray:
        return fields_at(self.space, self.coefficients, np.asarray(points, float), orders)

    @property
    def noise(self) -> Mapping[str, NoiseLaw]:
        return {
            name: SplineNoise(self.laws[group], float(self.centres[number]), float(self.scales[number]))
            for number, (name, group) in enumerate(zip(self.scatters.names, self.scatters.group, strict=True))
        }

    @property
    def functions(self) -> Mapping[str, FoundFunction]:
        return self.found

    @property
    def gate(self) -> tuple[float, float] | None:
        return self.gate_curve

    @property
    def noise_share(self) -> float:
        return self.share

    @property
    def equation_units(self) -> np.ndarray:
        return self.sizes

    @property
    def unknown_units(self) -> np.ndarray:
        return self.naturals

    def arrays(self) -> dict[str, np.ndarray]:
        breaks = {f"breaks.{number}": axis.breaks for number, axis in enumerate(self.space.axes)}
        return {
            **breaks,
            "degrees": np.array([axis.degree for axis in self.space.axes]),
            "coefficients": self.coefficients,
            **{name: array for number, law in enumerate(self.laws) for name, array in _law_arrays(law, number)},
            "noise": np.stack([self.centres, self.scales]),
            "gate": np.array([*self.gate_curve, self.share]),
            "sizes": self.sizes,
            "naturals": self.naturals,
            "tolerance": np.array([self.tolerance]),
            **({"roughness_weight": self.roughness_weight} if self.found else {}),
            **{
                f"function.{name}": np.vstack([each.coefficients, each.covariance, each.scatter])
                for name, each in self.found.items()
            },
        }


@dataclass(frozen=True, eq=False)
class SplineSpread(FieldSpread):
    """The deviation of the field over draws from its Gaussian posterior, kept as coefficients."""

    space: Space
    draws: np.ndarray
    """(draws, coefficients): differences from the fitted field."""

    def __call__(self, points: np.ndarray) -> np.ndarray:
        orders = (0,) * len(self.space.axes)
        squares = [fields_at(self.space, draw, np.asarray(points, float), orders) ** 2 for draw in self.draws]
        return np.sqrt(np.mean(squares, axis=0))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"draws": self.draws.astype(np.float32)}


def fields_at(space: Space, coefficients: np.ndarray, points: np.ndarray, orders: Orders) -> np.ndarray:
    """(n, f): a derivative of all fields at (n, d) points."""
    table = coefficients.reshape(space.functions, space.fields)

    def piece(part: np.ndarray) -> np.ndarray:
        return space.with_fields(1).design(part, 0, orders) @ table

    return in_chunks(piece, points)


def _law_arrays(law: Mixture, number: int) -> list[tuple[str, np.ndarray]]:
    return list(zip(names_in_files(number), (law.shape, np.array([law.tail])), strict=True))


def restored(problem: Problem, readings: Readings, saved: SavedArrays) -> SplineModel:
    """The model whose arrays were saved; anything that does not fit together is one sentence."""
    dimensions, fields, scatters = len(problem.coordinates), len(problem.outputs), readings.scatters
    degrees = _checked(saved, "degrees", (dimensions,))
    if not (np.all(degrees == np.round(degrees)) and np.all((degrees >= 1) & (degrees <= MOST_DEGREE))):
        raise _mismatch(saved, "degrees")
    boxes = problem.coordinates.values()
    axes = tuple(_axis(saved, n, int(degree), box) for n, (degree, box) in enumerate(zip(degrees, boxes, strict=True)))
    fast = frozenset(list(problem.coordinates).index(name) for name in problem.periodic)
    space = Space(axes, fields, fast)
    noise = _checked(saved, "noise", (2, len(scatters.names)))
    if not np.all(noise[1] > 0.0):
        raise _mismatch(saved, "noise")
    gate = _checked(saved, "gate", (3,))
    residuals = len(problem.written) + len(problem.placed)
    laws = tuple(_law(saved, *names_in_files(number)) for number in range(len(readings.groups)))
    return SplineModel(
        problem, space, _checked(saved, "coefficients", (space.size,)),
        laws, scatters, noise[0], noise[1],
        (float(gate[0]), float(gate[1])), float(gate[2]),
        _checked(saved, "sizes", (residuals,)), _checked(saved, "naturals", (len(problem.unknowns),)),
        _tolerance(saved), _functions(problem, saved),
        saved.any_shape("roughness_weight") if problem.varying else np.zeros(0),
    )  # fmt: skip


MOST_DEGREE = 20
"""More than any equation that napinn reads can need."""


EARLIER_CELLS = 6
"""Of a smooth function along each of two coordinates, in models that were saved before there were more."""
USUAL_TOLERANCE = 1e-3
"""Of models that were saved before the tolerance was."""


def _functions(problem: Problem, saved: SavedArrays) -> dict[str, FoundFunction]:
    """The unknown functions of a problem: coefficients, then their covariance and their scatter."""
    found = {}
    for name, varying in problem.varying.items():
        ranges = [problem.coordinates[axis] for axis in varying.of]
        space = function_space(varying.of, ranges, varying.positive, varying.steps)
        earlier = function_space(varying.of, ranges, varying.positive, varying.steps, EARLIER_CELLS)
        if saved.any_shape(f"function.{name}").shape[-1:] == (earlier.size,) and len(varying.of) > 1:
            space = earlier
        rows = _checked(saved, f"function.{name}", (1 + 2 * space.size, space.size))
        found[name] = FoundFunction(space, rows[0], rows[1 : 1 + space.size], rows[1 + space.size :])
    return found


def _tolerance(saved: SavedArrays) -> float:
    array = saved.of_shape("tolerance", (1,))
    if array is None:
        return USUAL_TOLERANCE
    if not _finite(array) or not array[0] > 0.0:
        raise _mismatch(saved, "tolerance")
    return float(array[0])


def restored_spread(model: SplineModel, saved: SavedArrays) -> SplineSpread:
    draws = saved.any_shape("draws")
    if draws.ndim != 2 or draws.shape[1] != model.space.size or not len(draws) or not _finite(draws):
        raise _mismatch(saved, "draws")
    return SplineSpread(model.space, draws.astype(float))


def _law(saved: SavedArrays, shape: str, tail: str) -> Mixture:
    """A noise law: at least one component beside the broad one, and a density."""
    weight = float(_checked(saved, tail, (1,))[0])
    try:
        return mixture_of(saved.any_shape(shape), weight)
    except ValueError:
        raise _mismatch(saved, shape) from None


def _axis(saved: SavedArrays, number: int, degree: int, box: tuple[float, float]) -> Axis:
    """The axis of one coordinate: its breaks ascend from one end of the box to the other."""
    name = f"breaks.{number}"
    try:
        return axis_between(saved.any_shape(name), *box, degree)
    except ValueError:
        raise _mismatch(saved, name) from None


def _checked(saved: SavedArrays, name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = saved.of_shape(name, shape)
    if array is None or not _finite(array):
        raise _mismatch(saved, name)
    return array.astype(float)


def _finite(array: np.ndarray) -> bool:
    return array.dtype.kind in "fi" and bool(np.all(np.isfinite(array)))


def _mismatch(saved: SavedArrays, name: str) -> InputError:
    return InputError(f"{saved.path} does not match the settings of the run (array '{name}').")
