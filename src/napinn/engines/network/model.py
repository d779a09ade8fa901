"""A network as the model of a fit: what `FittedModel`, `NoiseLaw` and `FieldSpread` are for a trained network.

Everything that only a network has (weights, a frame, the state of its density) is reached through `network_of`, which
refuses a fit that has no network."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from napinn.data.readings import Readings
from napinn.engines.network.objective import Learned, NoiseState, blank_law
from napinn.engines.network.training import Method, PhaseKind
from napinn.errors import InputError
from napinn.field.backbones import BayesianLinear, sampled
from napinn.field.chunks import in_chunks
from napinn.field.derivatives import FieldNetwork
from napinn.field.scaling import Frame, fitted_frame, identity_frame
from napinn.noise.density import Density
from napinn.noise.density.scale import SMALLEST
from napinn.noise.gate import Gate
from napinn.noise.law import NoiseLaw
from napinn.problem import Problem
from napinn.problem.equations import Terms
from napinn.results.intervals import FieldSpread
from napinn.results.model import FittedModel
from napinn.results.result import FitResult
from napinn.storage.arrays import SavedArrays
from napinn.storage.pytrees import fill, leaves

DIRECTIONS = 16
"""In which the spread of a field is kept."""


@dataclass(frozen=True, eq=False)
class NetworkModel(FittedModel):
    """A trained network with its gate, raw unknowns and noise law."""

    problem: Problem
    method: Method
    readings: Readings
    learned: Learned
    law: NoiseState | None

    @property
    def network(self) -> FieldNetwork:
        return self.learned.field

    def values(self, points: np.ndarray) -> np.ndarray:
        return values_of(self.network, points)

    def derivatives(self, points: np.ndarray, wanted: Collection[Terms]) -> dict[Terms, np.ndarray]:
        terms, names = tuple(sorted(wanted)), tuple(self.problem.coordinates)
        if not terms:
            return {}

        def piece(some: np.ndarray) -> np.ndarray:
            return np.asarray(_derivatives(self.network, jnp.asarray(some.astype(dtype)), terms, names), float)

        dtype = self.network.frame.gain.dtype
        with jax.enable_x64(dtype == jnp.float64):
            found = in_chunks(piece, np.asarray(points, float))
        return {each: found[:, number] for number, each in enumerate(terms)}

    @property
    def noise(self) -> dict[str, NoiseLaw]:
        if self.law is None:
            return {}
        gains = np.asarray(self.network.frame.gain, float)
        return {
            name: NetworkNoise(self.method, self.law, float(gains[i]), i) for i, name in enumerate(self.problem.fields)
        }

    @property
    def gate(self) -> tuple[float, float] | None:
        gated = any(phase.kind is PhaseKind.GATED for phase in self.method.phases)
        if self.law is None or self.method.gating is None or not gated:
            return None
        return float(self.learned.gate.steepness), float(self.learned.gate.cutoff)

    @property
    def noise_share(self) -> float:
        return 1.0 if self.law is None else float(self.law.noise_share)

    @property
    def equation_units(self) -> np.ndarray:
        frame, weight = self._natural_frame
        placed = len(self.problem.written) + len(self.problem.placed)
        return np.asarray(frame.residual, float)[:placed] * np.sqrt(weight)

    @property
    def unknown_units(self) -> np.ndarray:
        return np.asarray(self._natural_frame[0].unknowns, float)

    @cached_property
    def _natural_frame(self) -> tuple[Frame, float]:
        """Natural sizes of equations and unknowns, and what the weight of the equations has divided the former by."""
        if self.method.scaled:
            return self.network.frame, self.method.equation_weight
        dtype = self.network.frame.gain.dtype
        with jax.enable_x64(dtype == jnp.float64):
            return fitted_frame(self.problem, self.readings, dtype), 1.0

    def arrays(self) -> dict[str, np.ndarray]:
        return leaves((self.learned, self.law))

    def posterior_spread(self, points: np.ndarray, samples: int, seed: int) -> np.ndarray:
        parts = jax.tree.leaves(self.network, is_leaf=lambda node: isinstance(node, BayesianLinear))
        if not any(isinstance(part, BayesianLinear) for part in parts):
            return super().posterior_spread(points, samples, seed)
        with jax.enable_x64(self.network.frame.gain.dtype == jnp.float64):
            keys = jax.random.split(jax.random.key(seed), samples)
            draws = [values_of(sampled(self.network, key), points) for key in keys]
        return np.std(draws, axis=0)


def network_of(result: FitResult) -> NetworkModel:
    """The network of a fit; a fit without one is refused."""
    if isinstance(result.model, NetworkModel):
        return result.model
    raise InputError(f"a fit by the method '{result.method.name}' has no network; fit with 'law_pinn' for this.")


def values_of(network: FieldNetwork, points: np.ndarray) -> np.ndarray:
    """(n, d) points to (n, f) values, in the network's precision and a piece at a time."""
    dtype = network.frame.gain.dtype
    with jax.enable_x64(dtype == jnp.float64):
        return in_chunks(
            lambda piece: np.asarray(_evaluate(network, jnp.asarray(piece.astype(dtype))), float),
            np.asarray(points, float),
        )


@jax.jit
def _evaluate(network: FieldNetwork, points: jax.Array) -> jax.Array:
    return network(points)


@eqx.filter_jit
def _derivatives(
    network: FieldNetwork, points: jax.Array, wanted: tuple[Terms, ...], names: tuple[str, ...]
) -> jax.Array:
    found = network.derivatives(points, wanted, names)
    return jnp.stack([found[terms] for terms in wanted], axis=1)


@dataclass(frozen=True, eq=False)
class NetworkNoise(NoiseLaw):
    """The law that a density learned beside a network."""

    method: Method
    law: NoiseState
    unit: float
    """Field units per unit of the misfits that were trained on."""
    index: int
    """The field's number, whose centre and scale standardise it."""

    @property
    def density(self) -> Density:
        assert self.method.gating is not None
        return self.method.gating.density

    @property
    def centre(self) -> float:
        return float(self.law.standard.centre[self.index]) * self.unit

    @property
    def scale(self) -> float:
        return float(self.law.standard.scale[self.index]) * self.unit

    @property
    def has_spread(self) -> bool:
        return float(self.law.standard.scale[self.index]) > 2.0 * SMALLEST

    def log_prob(self, misfits: np.ndarray) -> np.ndarray:
        dtype = self.law.standard.scale.dtype
        with jax.enable_x64(dtype == jnp.float64):
            density, state = self.density, self.law.density
            standard = ((np.asarray(misfits, float).reshape(-1) - self.centre) / self.scale).astype(dtype)
            found = in_chunks(lambda piece: np.asarray(_log_prob(density, state, jnp.asarray(piece)), float), standard)
            return found.reshape(np.shape(misfits)) - np.log(self.scale)

    def support(self) -> tuple[float, float]:
        low, high = self.density.support(self.law.density)
        return float(low), float(high)

    def normaliser(self) -> float:
        with jax.enable_x64(self.law.standard.scale.dtype == jnp.float64):
            return float(_normaliser(self.density, self.law.density))


@eqx.filter_jit
def _log_prob(density: Density, state: Any, standard: jax.Array) -> jax.Array:
    return density.log_prob(state, standard)


@eqx.filter_jit
def _normaliser(density: Density, state: Any) -> jax.Array:
    return density.normaliser(state)


@dataclass(frozen=True, eq=False)
class NetworkSpread(FieldSpread):
    """A few directions in the space of the network's weights, one standard deviation each; along each of them the
    field is followed to first order."""

    field: FieldNetwork
    directions: Any
    """The network's arrays, each with a leading axis of `DIRECTIONS`."""

    def __call__(self, points: np.ndarray) -> np.ndarray:
        dtype = self.field.frame.gain.dtype
        with jax.enable_x64(dtype == jnp.float64):
            return in_chunks(
                lambda piece: np.asarray(_spread(self.field, self.directions, jnp.asarray(piece, dtype))), points
            )

    def arrays(self) -> dict[str, np.ndarray]:
        return leaves(self.directions)


@eqx.filter_jit
def _spread(field: FieldNetwork, directions: Any, points: jax.Array) -> jax.Array:
    moving, still = eqx.partition(field.network, eqx.is_inexact_array)

    def values(network: Any) -> jax.Array:
        return FieldNetwork(eqx.combine(network, still), field.frame)(points)

    def add(total: jax.Array, direction: Any) -> tuple[jax.Array, None]:
        moved = jax.jvp(values, (moving,), (direction,))[1]
        return total + moved * moved, None

    nothing = jnp.zeros((len(points), len(field.frame.gain)), points.dtype)
    return jnp.sqrt(jax.lax.scan(add, nothing, directions)[0])


def initial(problem: Problem, method: Method, frame: Frame, key: PRNGKeyArray) -> Learned:
    """Network, unknowns and gate before the first step."""
    inputs, outputs = len(problem.coordinates), len(problem.outputs)
    dtype = frame.gain.dtype
    low, high = ((jnp.asarray(side, dtype) + frame.shift) * frame.factor for side in (problem.lows, problem.highs))
    network = method.backbone.init(key, inputs, outputs, low, high)
    units = np.asarray(frame.unknowns, float)
    raw = {
        name: jnp.asarray(unknown.raw_start(units[index]), dtype)
        for index, (name, unknown) in enumerate(problem.unknowns.items())
    }
    gate = method.gating.gate if method.gating else Gate()
    return Learned(FieldNetwork(network, frame), raw, gate.init(dtype))


def frame_of(problem: Problem, readings: Readings, method: Method, dtype: jnp.dtype) -> Frame:
    if not method.scaled:
        return blank_frame(problem, dtype)
    return fitted_frame(problem, readings, dtype, method.equation_weight, method.wavenumbers)


def blank_frame(problem: Problem, dtype: jnp.dtype) -> Frame:
    """The identity frame, of a problem's sizes."""
    residuals = len(problem.written) + len(problem.placed) + len(problem.periodic)
    return identity_frame(len(problem.coordinates), len(problem.outputs), dtype, residuals, len(problem.unknowns))


def restored(problem: Problem, method: Method, readings: Readings, arrays: SavedArrays, has_law: bool) -> NetworkModel:
    """The model whose arrays were saved: settings rebuild the tree, and the file only fills in its numbers."""
    with jax.enable_x64(method.double):
        dtype = jnp.dtype(jnp.float64 if method.double else jnp.float32)
        key = jax.random.key(0)
        frame = blank_frame(problem, dtype)

        def blank() -> tuple[Learned, NoiseState | None]:
            gating = method.gating if has_law else None
            law = None if gating is None else blank_law(gating, len(problem.fields), dtype, key)
            return initial(problem, method, frame, key), law

        # Only shapes are needed: every number comes from the file.
        learned, law = _filled(eqx.filter_eval_shape(blank), arrays)
        return NetworkModel(problem, method, readings, learned, law)


def restored_spread(network: FieldNetwork, arrays: SavedArrays) -> NetworkSpread:
    moving = eqx.filter(network.network, eqx.is_inexact_array)
    skeleton = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((DIRECTIONS, *leaf.shape), leaf.dtype), moving)
    with jax.enable_x64(network.frame.gain.dtype == jnp.float64):
        return NetworkSpread(network, _filled(skeleton, arrays))


def _filled(skeleton: Any, arrays: SavedArrays) -> Any:
    return fill(skeleton, lambda name, shape, _: arrays.of_shape(name, shape), arrays.path)
