"""Readings on the device, and batches drawn from them there."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, PRNGKeyArray

from napinn.data.readings import Readings
from napinn.engines.network.objective import Batch
from napinn.engines.network.training.devices import everywhere, split
from napinn.engines.network.training.phases import Method
from napinn.problem import Problem
from napinn.results.recipe import ENOUGH_TO_HOLD_OUT

MOST_HELD_OUT = 10_000
"""As many say as much as more would, and a chunk must not take longer for more readings."""


class Data(eqx.Module):
    """All readings and the box.

    Where every field is read at every point, a row is a point with all its fields, so that one pass of the network
    serves them; otherwise a row is one reading and `field` says of what."""

    points: Float[Array, "n d"]
    values: Float[Array, "n f"]
    field: Int[Array, " n"] | None
    low: Float[Array, " d"]
    high: Float[Array, " d"]
    fields: int = eqx.field(static=True)
    held: int = eqx.field(static=True)
    """How many rows at the end only judge and are never trained on."""
    spread: Float[Array, "n f"] | None = None
    """Known deviations over their median, where the readings have them."""
    mesh: Mesh | None = eqx.field(static=True, default=None)
    """The devices that share the work, where there are several."""

    @property
    def trained(self) -> int:
        return self.points.shape[0] - self.held

    @property
    def owner(self) -> Int[Array, " m"]:
        """The field of each of the flattened misfits."""
        rows, fields = self.values.shape
        return jnp.tile(jnp.arange(fields), rows) if self.field is None else self.field

    def only(self, kept: np.ndarray) -> "Data":
        """Without the readings for which `kept`, of the shape of `values`, is false.

        Where a point loses some of its fields and not all, every row becomes one reading."""
        if kept.all():
            return self
        whole = bool((kept.all(axis=1) | ~kept.any(axis=1)).all())
        fields = 1 if whole else self.values.shape[1]
        chosen = np.flatnonzero(kept[:, 0] if whole else kept.reshape(-1))
        held = int((chosen >= fields * self.trained).sum())
        spread = None if self.spread is None else self.spread.reshape(-1, self.values.shape[1] // fields)[chosen]
        return Data(
            self.points[chosen // fields],
            self.values.reshape(-1, self.values.shape[1] // fields)[chosen],
            self.owner[chosen] if self.field is not None or not whole else None,
            self.low,
            self.high,
            self.fields,
            held,
            spread,
            self.mesh,
        )

    @property
    def places(self) -> np.ndarray:
        """The point of each of the flattened misfits, in units of the box."""
        points = (np.asarray(self.points) - np.asarray(self.low)) / (np.asarray(self.high) - np.asarray(self.low))
        return np.repeat(points, self.values.shape[1], axis=0)

    def batch(self, rows: Int[Array, " b"] | slice, collocation: Float[Array, "c d"], kept: Array | None) -> Batch:
        field, spread = (None if array is None else array[rows] for array in (self.field, self.spread))
        batch = Batch(collocation, self.points[rows], self.values[rows], field, kept, spread)
        return jax.tree.map(lambda array: split(array, self.mesh), batch)


def prepare_data(
    problem: Problem,
    readings: Readings,
    dtype: jnp.dtype,
    held_out: float = 0.0,
    seed: int = 0,
    mesh: Mesh | None = None,
) -> tuple[Data, np.ndarray]:
    """The device arrays, and for each reading its place in the flattened misfits."""
    fields, spread = len(problem.fields), readings.spread
    complete = _complete_points(readings, fields)
    order = np.arange(len(readings))[:, None] if complete is None else complete
    held = min(int(held_out * len(order)), MOST_HELD_OUT) if len(order) >= ENOUGH_TO_HOLD_OUT else 0
    if held:
        order = np.random.default_rng(seed).permutation(order)
    data = Data(
        jnp.asarray(readings.points[order[:, 0]], dtype),
        jnp.asarray(readings.values[order], dtype),
        jnp.asarray(readings.field_index[order[:, 0]], jnp.int32) if complete is None else None,
        jnp.asarray(problem.lows, dtype),
        jnp.asarray(problem.highs, dtype),
        fields,
        held,
        None if spread is None else jnp.asarray(spread[order], dtype),
        mesh,
    )
    place = np.empty(len(readings), np.int64)
    place[order.reshape(-1)] = np.arange(len(readings))
    return everywhere(data, mesh), place


def _complete_points(readings: Readings, fields: int) -> np.ndarray | None:
    """Reading numbers as a (points, fields) array if each sensor read every field at each of its points, else None."""
    if fields == 1:
        return np.arange(len(readings))[:, None]
    if len(readings) % fields:
        return None
    sensor_number = readings.numbered_sensors[0]
    keys = [readings.field_index, *readings.points.T[::-1], sensor_number]
    order = np.lexsort(keys).reshape(-1, fields)
    same_point = (readings.points[order] == readings.points[order[:, :1]]).all()
    same_sensor = (sensor_number[order] == sensor_number[order[:, :1]]).all()
    every_field = (readings.field_index[order] == np.arange(fields)).all()
    return order if same_point and same_sensor and every_field else None


def draw(data: Data, kept: Float[Array, "n f"] | None, method: Method, key: PRNGKeyArray) -> Batch:
    """A batch with replacement; its cost does not depend on how many readings there are."""
    for_points, for_readings = jax.random.split(key)
    rows = jax.random.randint(for_readings, (method.reading_batch,), 0, data.trained)
    collocation = method.collocation.draw(for_points, method.collocation_batch, data.low, data.high)
    return data.batch(rows, collocation, None if kept is None else kept[rows])
