"""Readings on the device, and batches drawn from them there."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from napinn.objective import Batch
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.training.phases import Method


class Data(eqx.Module):
    """All readings and the box.

    Where every field is read at every point, a row is a point with all its fields, so that one pass of the network
    serves them; otherwise a row is one reading and `field` says of what."""

    points: Float[Array, "n d"]
    values: Float[Array, "n f"]
    field: Int[Array, " n"] | None
    low: Float[Array, " d"]
    high: Float[Array, " d"]
    spread: Float[Array, "n f"] | None = None
    """Known deviations over their median, where the readings have them."""


def load(problem: Problem, readings: Readings, dtype: jnp.dtype) -> tuple[Data, np.ndarray]:
    """The device arrays, and for each reading its place in the flattened misfits."""
    low, high = (jnp.asarray(np.asarray(side, dtype)) for side in (problem.lows, problem.highs))
    fields, spread = len(problem.fields), readings.spread
    complete = _complete_points(readings, fields) if fields > 1 else None
    if fields > 1 and complete is None:
        data = Data(
            jnp.asarray(readings.points.astype(dtype)),
            jnp.asarray(readings.values[:, None].astype(dtype)),
            jnp.asarray(readings.field_index.astype(np.int32)),
            low,
            high,
            None if spread is None else jnp.asarray(spread[:, None].astype(dtype)),
        )
        return data, np.arange(len(readings))
    order = np.arange(len(readings)).reshape(-1, fields) if complete is None else complete
    data = Data(
        jnp.asarray(readings.points[order[:, 0]], dtype),
        jnp.asarray(readings.values[order], dtype),
        None,
        low,
        high,
        None if spread is None else jnp.asarray(spread[order], dtype),
    )
    place = np.empty(len(readings), np.int64)
    place[order.reshape(-1)] = np.arange(len(readings))
    return data, place


def _complete_points(readings: Readings, fields: int) -> np.ndarray | None:
    """Reading numbers as a (points, fields) array if each sensor read every field at each of its points, else None."""
    if len(readings) % fields:
        return None
    sensor_number = np.unique(readings.sensors, return_inverse=True)[1]
    keys = [readings.field_index, *readings.points.T[::-1], sensor_number]
    order = np.lexsort(keys).reshape(-1, fields)
    same_point = (readings.points[order] == readings.points[order[:, :1]]).all()
    same_sensor = (sensor_number[order] == sensor_number[order[:, :1]]).all()
    every_field = (readings.field_index[order] == np.arange(fields)).all()
    return order if same_point and same_sensor and every_field else None


def draw(data: Data, kept: Float[Array, "n f"] | None, method: Method, key: PRNGKeyArray) -> Batch:
    """A batch with replacement; its cost does not depend on how many readings there are."""
    for_points, for_readings = jax.random.split(key)
    rows = jax.random.randint(for_readings, (method.reading_batch,), 0, data.points.shape[0])
    return Batch(
        method.collocation.draw(for_points, method.collocation_batch, data.low, data.high),
        data.points[rows],
        data.values[rows],
        None if data.field is None else data.field[rows],
        None if kept is None else kept[rows],
        None if data.spread is None else data.spread[rows],
    )
