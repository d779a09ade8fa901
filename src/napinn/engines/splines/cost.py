"""How long steps take: a model of the processor time of one Gauss–Newton step, and a budget counted in it.

The model counts operations, so that a budget ends at the same step on every machine. Its factors were fitted to steps
of five problems on 15 meshes with one thread of a 2024 server processor (`python benchmarks/spline_cost.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from napinn.field.splines.space import PointGrid, Space
from napinn.results.model import FittedModel

STEP = 7e-4
"""Seconds of any step, however small."""
PRODUCT = 5e-11
"""Seconds a multiplication in the Jacobians of cells and readings."""
SCATTER = 6e-9
"""Seconds an entry of a cell matrix that is added to the band."""
BAND = 2.4e-8
"""Seconds an entry of the band."""
FACTOR = 2e-11
"""Seconds a multiplication of the Cholesky factorisation."""
MATRIX_FREE_FROM = 0.7
"""Seconds of a step with a factorisation, from which conjugate gradients take its place."""
ITERATIONS = 12
"""Of conjugate gradients in a matrix-free step, which is usual."""
SUBSTITUTION = 1.2e-9
"""Seconds an entry of the band in one iteration."""
STEPS_A_FACTOR = 10
"""Matrix-free steps that one factor serves, which is usual."""


class TooSlowError(RuntimeError):
    """A budget was used up. `model` and `unknowns` are what was found until then, if there is anything."""

    model: FittedModel | None = None
    unknowns: Mapping[str, float] = MappingProxyType({})


@dataclass
class Meter:
    """Seconds of the model that were spent, and how many there are."""

    limit: float = float("inf")
    spent: float = field(default=0.0)

    def spend(self, seconds: float) -> None:
        self.spent += seconds
        if self.spent > self.limit:
            raise TooSlowError


def reading_seconds(space: Space, readings: int, groups: int) -> float:
    """Of the normal matrix of readings that were put into groups."""
    functions = len(space.offsets)
    return PRODUCT * readings * functions**2 + SCATTER * groups * functions**2


def band_seconds(space: Space) -> float:
    """Of forming and factoring the banded matrix."""
    return BAND * space.size * space.bandwidth + FACTOR * space.size * space.bandwidth**2


def matrix_free_seconds(space: Space, direct: float) -> float:
    """Of a matrix-free step, and its share of a factorisation that takes `direct` seconds."""
    return direct / STEPS_A_FACTOR + ITERATIONS * SUBSTITUTION * space.size * space.bandwidth


def equation_seconds(grid: PointGrid, equations: int) -> float:
    """Of the equations on a grid."""
    functions = len(grid.space.all_offsets)
    return PRODUCT * grid.cells * grid.points * equations * functions**2 + SCATTER * grid.cells * functions**2
