"""Physical units to the units that a network likes, and back.

Coordinates go to [-1, 1] over the box; fields are centred on their median and measured in robust standard deviations,
so that gross outliers do not set the scale, or by the size of a pulse among quiet readings (`napinn.data.variation`).
The identity frame is what the paper's presets use."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from napinn.data.readings import Readings
from napinn.data.robust import MAD_TO_STD
from napinn.data.variation import field_size
from napinn.problem import Problem
from napinn.problem.equations import wanted

DRAWS = 256
"""Random points at which the size of equations and unknowns is judged."""


class Frame(eqx.Module):
    """Network coordinate = (coordinate + shift) * factor; field = (network output + offset) * gain.

    Losses are taken of misfits in units of `gain` and of residuals in units of `residual`, which holds one unit an
    equation, then one a condition, then one a period, whose jumps are in units of `gain` already.
    """

    shift: Float[Array, " d"]
    factor: Float[Array, " d"]
    offset: Float[Array, " f"]
    gain: Float[Array, " f"]
    residual: Float[Array, " e"]
    unknowns: Float[Array, " k"]
    """A natural size of each unknown, in which it is trained."""


def identity_frame(inputs: int, outputs: int, dtype: jnp.dtype, equations: int = 1, unknowns: int = 0) -> Frame:
    sizes = (outputs, equations, unknowns)
    arrays = (np.zeros(inputs), np.ones(inputs), np.zeros(outputs), *(np.ones(size) for size in sizes))
    return Frame(*(jnp.asarray(array.astype(dtype)) for array in arrays))


def fitted_frame(
    problem: Problem,
    readings: Readings,
    dtype: jnp.dtype,
    equation_weight: float = 1.0,
    wavenumbers: Sequence[float] | None = None,
) -> Frame:
    """The frame of a problem's box and of its readings; a field without any is taken as it is.

    `wavenumbers` says how many waves, in place of one, a field naturally has across the box along each coordinate.
    A hidden field is centred on zero and has the scale that the problem gives it, or else the median scale of the
    measured ones."""
    lows, highs = np.asarray(problem.lows, float), np.asarray(problem.highs, float)
    values = [readings.of_field(number) for number in range(len(problem.fields))]
    measured = [size or 1.0 for size in field_sizes(problem, readings)]
    usual = float(np.median(measured))
    centres = np.array([*(np.median(v) if v.size else 0.0 for v in values), *(0.0 for _ in problem.hidden)])
    gains = np.array([*measured, *(problem.scales.get(name, usual) for name in problem.hidden)])
    # In float64 whatever the fit's own precision: products of sizes may leave the range of float32.
    with jax.enable_x64(True):
        probe = _Probe(problem, centres, gains, wavenumbers or [1.0] * len(lows))
        residual = residual_units(problem, probe)
        unknowns = unknown_units(problem, probe, residual)
    arrays = (
        -(lows + highs) / 2.0,
        2.0 / (highs - lows),
        centres / gains,
        gains,
        np.concatenate([residual, np.ones(len(problem.periodic))]) / np.sqrt(equation_weight),
        unknowns,
    )
    return Frame(*(jnp.asarray(np.asarray(array, dtype)) for array in arrays))


def field_sizes(problem: Problem, readings: Readings) -> list[float]:
    """The size of each measured field; 0 where its readings do not vary."""
    places = readings.points / (np.asarray(problem.highs, float) - np.asarray(problem.lows, float))
    sensors, fields = readings.numbered_sensors[0], readings.field_index
    mine = [fields == number for number in range(len(problem.fields))]
    return [field_size(places[own], readings.values[own], sensors[own]) for own in mine]


class _Probe:
    """Equations and conditions at random points where fields and derivatives have values of their natural size.

    A derivative's natural size is that of one full wave across the box, or of as many as the readings show: its gain
    times π over the half-width, for each order. Medians over the draws keep the tails of products from setting the
    size."""

    def __init__(self, problem: Problem, centres: np.ndarray, gains: np.ndarray, wavenumbers: Sequence[float]) -> None:
        random = np.random.default_rng(0)
        self.problem = problem
        self.bound = (*problem.system, *(condition.equation for condition in problem.placed))
        self.points = jnp.asarray(random.uniform(problem.lows, problem.highs, (DRAWS, len(problem.lows))))
        self.values = {}
        sides = zip(problem.coordinates.items(), wavenumbers, strict=True)
        rates = {name: waves * 2.0 * np.pi / (high - low) for (name, (low, high)), waves in sides}
        for terms in sorted(wanted(self.bound)):
            natural = gains * np.prod([rates[axis] for axis in terms[0]])
            drawn = natural * random.standard_normal((DRAWS, len(gains)))
            self.values[terms] = jnp.asarray(drawn + (centres if terms == ((),) else 0.0))

    def residuals(self, unknowns: dict[str, Array]) -> Array:
        return self.problem.residual_values(self.bound, self.points, self.values, unknowns)


def residual_units(problem: Problem, probe: _Probe) -> np.ndarray:
    """How large the terms of each equation and condition typically are, so that none weighs more for its unit.

    Unknowns are zero in the first attempt, because their start may be orders of magnitude away; they stand at their
    start only where nothing is left without them."""
    measure = jax.jit(probe.residuals)
    absent = _typical(measure({name: jnp.asarray(0.0) for name in problem.unknowns}))
    started = _typical(measure(_starts(problem)))
    largest = np.where(absent > 0.0, absent, started)
    return np.where(largest > 0.0, largest, 1.0)


def unknown_units(problem: Problem, probe: _Probe, residual: np.ndarray) -> np.ndarray:
    """The change of each unknown that moves some equation by about that equation's unit.

    Measured by the slope at its start; for one without a start, the smallest value that does it. An unknown that
    moves nothing, or infinitely much, is taken in units of its start."""
    if not problem.unknowns:
        return np.zeros(0)
    start = _starts(problem)
    slopes = jax.jit(jax.jacfwd(probe.residuals))(start)
    units = []
    for name, unknown in problem.unknowns.items():
        if unknown.start is None:
            units.append(_smallest_that_matters(probe, name, start, residual))
            continue
        size = float(np.max(_typical(slopes[name]) / residual))
        units.append(1.0 / size if size > 0.0 else abs(unknown.start) or 1.0)
    return np.asarray(units)


def _starts(problem: Problem) -> dict[str, Array]:
    return {name: jnp.asarray(float(unknown.started())) for name, unknown in problem.unknowns.items()}


def _smallest_that_matters(probe: _Probe, name: str, start: dict[str, Array], residual: np.ndarray) -> float:
    """Among the powers of ten and their roots, the first value that changes an equation by its unit; else 1."""

    def moved(value: Array) -> Array:
        return probe.residuals({**start, name: value}) - probe.residuals({**start, name: jnp.zeros_like(value)})

    tried = np.logspace(-15, 15, 61)
    for value, change in zip(tried, jax.jit(jax.vmap(moved))(jnp.asarray(tried)), strict=True):
        if np.any(_typical(change) >= residual):
            return float(value)
    return 1.0


def _typical(values: Array) -> np.ndarray:
    """The median size of each column; 0 where it is not a number."""
    sizes = MAD_TO_STD * np.median(np.abs(np.asarray(values, float)), axis=0)
    return np.where(np.isfinite(sizes), sizes, 0.0)
