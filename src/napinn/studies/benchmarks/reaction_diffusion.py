"""The λ–ω reaction–diffusion system: an oscillator at every place, coupled into a rotating spiral.

u_t = d_u Δu + (1 - r²) u + β r² v,   v_t = d_v Δv - β r² u + (1 - r²) v,   r² = u² + v², on [-10, 10]² × [0, 10],
β = 1 to be found from 0. One spiral does not fit a periodic square: its phase jumps at the edges, and the jump spreads
inwards as a front. So the truth is rough at the edges at first, and smooth soon after.
"""

from dataclasses import asdict, dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from napinn.problem import Problem, Unknown
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.cache import recorded
from napinn.studies.benchmarks.solvers import Fields, Limit, Progress, Square, laplacian, march, viscous_limit

EQUATIONS = (
    "u_t = d_u*(u_xx + u_yy) + (1 - u**2 - v**2)*u + beta*(u**2 + v**2)*v",
    "v_t = d_v*(v_xx + v_yy) - beta*(u**2 + v**2)*u + (1 - u**2 - v**2)*v",
)


@dataclass(frozen=True)
class LambdaOmega:
    diffusion: float
    beta: float

    def rate(self, state: Fields, spacing: Float[Array, ""]) -> Fields:
        u, v = state
        squared = u**2 + v**2
        growth, turning = 1.0 - squared, -self.beta * squared
        reaction = jnp.stack([growth * u - turning * v, turning * u + growth * v])
        return self.diffusion * laplacian(state, spacing) + reaction

    def limits(self, state: np.ndarray, spacing: float, step: float) -> tuple[Limit, ...]:
        return (viscous_limit(self.diffusion, spacing, step),)


@dataclass(frozen=True)
class Setup:
    """Everything that the reference solution depends on."""

    diffusion: float = 1.0
    beta: float = 1.0
    half_side: float = 10.0
    duration: float = 10.0
    times: int = 250
    count: int = 200
    longest_step: float = 2.5e-4
    """A tenth of what is stable: Euler steps speed the rotation up by a share dt/2, 0.01 rad at the end there."""
    early: int = 16
    """Snapshots kept between the first recorded times besides, while the jump at the edges is sharp."""

    @property
    def square(self) -> Square:
        return Square(-self.half_side, self.half_side, self.count)

    @property
    def instants(self) -> np.ndarray:
        """The recorded times and the early ones, which grow denser towards the start as the jump grows sharper."""
        regular = np.linspace(0.0, self.duration, self.times)
        sharpest = self.square.spacing**2 / (20.0 * self.diffusion)
        return np.union1d(regular, np.geomspace(sharpest, regular[3], self.early, endpoint=False))


REFERENCE = Setup()


def reaction_diffusion(setup: Setup = REFERENCE, progress: Progress | None = None) -> Benchmark:
    half = setup.half_side
    problem = Problem(
        coordinates={"x": (-half, half), "y": (-half, half), "t": (0.0, setup.duration)},
        fields=("u", "v"),
        equations=EQUATIONS,
        unknowns={"beta": Unknown(start=0.0)},
        constants={"d_u": setup.diffusion, "d_v": setup.diffusion},
        name="reaction_diffusion",
    )
    truth = recorded(problem.name, asdict(setup), setup.square, setup.instants, lambda: solve(setup, progress))
    return Benchmark(problem, truth, {"beta": setup.beta}, times=setup.times, paper_rejection=0.5)


def solve(setup: Setup, progress: Progress | None = None) -> np.ndarray:
    system = LambdaOmega(setup.diffusion, setup.beta)
    start = spiral(setup.square)
    return march(system, setup.square, start, setup.instants, setup.longest_step, progress).snapshots


def spiral(square: Square) -> np.ndarray:
    """The spiral at the nodes; on an edge, which is both ends of the square at once, the mean of both.

    With the value of one end alone the jump would sit half a cell off, and grids would agree only to first order.
    """
    x, y = square.nodes()
    other_x, other_y = (np.where(axis == square.low, square.high, axis) for axis in (x, y))
    return np.mean([_spiral(a, b) for a in (x, other_x) for b in (y, other_y)], axis=0)


def _spiral(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    radius = np.tanh(np.hypot(x, y))
    phase = np.arctan2(y, x) - radius
    return np.stack([radius * np.cos(phase), radius * np.sin(phase)])
