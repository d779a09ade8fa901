"""Results of fits that found exactly what they are told, for tests of what reads a result."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from napinn.data.readings import Readings, read_table
from napinn.engines.network.methods import pinn
from napinn.engines.network.model import NetworkModel, blank_frame, network_of
from napinn.engines.network.objective import Learned
from napinn.engines.network.training import Method
from napinn.field.derivatives import FieldNetwork
from napinn.noise.gate import Gate
from napinn.problem import Problem
from napinn.results.result import FitResult, FitStatus

Formula = Callable[..., object]


class Formulas(eqx.Module):
    """A field that is known in closed form, in place of a network."""

    formulas: tuple[Formula, ...] = eqx.field(static=True)

    def __call__(self, points: jax.Array) -> jax.Array:
        columns = [jnp.asarray(formula(*points.T)) for formula in self.formulas]
        return jnp.stack([jnp.broadcast_to(column, points.shape[:1]) for column in columns], axis=1)


def known(
    problem: Problem,
    unknowns: Mapping[str, float],
    *formulas: Formula,
    readings: Readings | None = None,
    method: Method | None = None,
) -> FitResult:
    """The result of a fit that found these coefficients and this field; without readings it has exact ones."""
    field = FieldNetwork(Formulas(formulas), blank_frame(problem, jnp.dtype(jnp.float64)))
    readings, method = readings or _exact(problem, field), method or pinn(1)
    predicted = np.asarray(field(jnp.asarray(readings.points)))[np.arange(len(readings)), readings.field_index]
    learned = Learned(
        field, {name: jnp.asarray(value) for name, value in unknowns.items()}, Gate().init(jnp.dtype(jnp.float64))
    )
    return FitResult(
        problem, method, readings, 0, NetworkModel(problem, method, readings, learned, None), unknowns, predicted,
        np.ones(len(readings)), pd.DataFrame(), FitStatus.CONVERGED, 0.0,
    )  # fmt: skip


def with_network(result: FitResult, **parts: Any) -> FitResult:
    """The result with other parts of its network model: `learned`, `law` or `method`."""
    model = replace(network_of(result), **parts)
    return replace(result, model=model, method=model.method)


def _exact(problem: Problem, field: FieldNetwork) -> Readings:
    points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (20, len(problem.lows)))
    values = np.asarray(field(jnp.asarray(points)))
    table = pd.DataFrame(points, columns=list(problem.coordinates))
    for number, name in enumerate(problem.fields):
        table[name] = values[:, number]
    return read_table(table, tuple(problem.coordinates), problem.fields)
