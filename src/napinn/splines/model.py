"""A fitted field on splines, behind the contract of every fitted model."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from napinn.equations import Terms
from napinn.errors import InputError
from napinn.intervals import FieldSpread
from napinn.io.saved import SavedArrays
from napinn.model import FittedModel, NoiseLaw
from napinn.pieces import in_pieces
from napinn.problem import Problem
from napinn.splines.axis import Axis, axis_between
from napinn.splines.learned import TAIL_REACH, Mixture, mixture_of
from napinn.splines.space import Orders, Space


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
    law: Mixture
    centres: np.ndarray
    """The location of the noise of each measured field."""
    scales: np.ndarray
    """The deviation of the noise of each measured field."""
    gate_curve: tuple[float, float]
    share: float
    sizes: np.ndarray
    """Of the terms of each equation, then of each condition."""
    naturals: np.ndarray
    """Of each unknown."""

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
            name: SplineNoise(self.law, float(self.centres[number]), float(self.scales[number]))
            for number, name in enumerate(self.problem.fields)
        }

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
            "law": np.stack([self.law.weights, self.law.means, self.law.widths]),
            "tail": np.array([self.law.tail]),
            "noise": np.stack([self.centres, self.scales]),
            "gate": np.array([*self.gate_curve, self.share]),
            "sizes": self.sizes,
            "naturals": self.naturals,
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

    return in_pieces(piece, points)


def restored(problem: Problem, saved: SavedArrays) -> SplineModel:
    """The model whose arrays were saved; anything that does not fit together is one sentence."""
    dimensions, fields, measured = len(problem.coordinates), len(problem.outputs), len(problem.fields)
    degrees = _checked(saved, "degrees", (dimensions,))
    if not (np.all(degrees == np.round(degrees)) and np.all((degrees >= 1) & (degrees <= MOST_DEGREE))):
        raise _mismatch(saved, "degrees")
    boxes = problem.coordinates.values()
    axes = tuple(_axis(saved, n, int(degree), box) for n, (degree, box) in enumerate(zip(degrees, boxes, strict=True)))
    fast = frozenset(list(problem.coordinates).index(name) for name in problem.periodic)
    space = Space(axes, fields, fast)
    noise = _checked(saved, "noise", (2, measured))
    if not np.all(noise[1] > 0.0):
        raise _mismatch(saved, "noise")
    gate = _checked(saved, "gate", (3,))
    residuals = len(problem.equations) + len(problem.conditions)
    return SplineModel(
        problem, space, _checked(saved, "coefficients", (space.size,)),
        _law(saved), noise[0], noise[1],
        (float(gate[0]), float(gate[1])), float(gate[2]),
        _checked(saved, "sizes", (residuals,)), _checked(saved, "naturals", (len(problem.unknowns),)),
    )  # fmt: skip


MOST_DEGREE = 20
"""More than any equation that napinn reads can need."""


def restored_spread(model: SplineModel, saved: SavedArrays) -> SplineSpread:
    draws = saved.any_shape("draws")
    if draws.ndim != 2 or draws.shape[1] != model.space.size or not len(draws) or not _finite(draws):
        raise _mismatch(saved, "draws")
    return SplineSpread(model.space, draws.astype(float))


def _law(saved: SavedArrays) -> Mixture:
    """The noise law: at least one component beside the broad one, and a density."""
    tail = float(_checked(saved, "tail", (1,))[0])
    try:
        return mixture_of(saved.any_shape("law"), tail)
    except ValueError:
        raise _mismatch(saved, "law") from None


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
