"""How a field of any number of coordinates is laid on a flat page.

One coordinate is a curve. Two are a map; if one of them is time, the page adds the profile at an instant. From three
on, two places are drawn and every other coordinate, time first, gets a slider."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from napinn.data.readings import Readings, time_axis
from napinn.problem import Problem

NODES = 280_000
"""Values of one field in a page: 100 instants of a 52 by 52 map."""
FINEST, COARSEST = 101, 15
MOST_STEPS = {1: 100, 2: 24}
"""Steps of a slider, by how many sliders there are."""


class ViewKind(enum.Enum):
    CURVE = "curve"
    MAP = "map"
    SPACE_TIME = "space-time"


@dataclass(frozen=True, eq=False)
class View:
    kind: ViewKind
    across: str
    up: str | None
    sliders: tuple[str, ...]
    axes: Mapping[str, np.ndarray]
    """The nodes of every coordinate."""

    def step_of(self, name: str, places: np.ndarray) -> np.ndarray:
        """The node of a coordinate that is nearest to each place."""
        nodes = self.axes[name]
        return np.searchsorted((nodes[1:] + nodes[:-1]) / 2.0, places)

    @property
    def order(self) -> tuple[str, ...]:
        """Coordinates from the slowest to the fastest in the arrays that the page gets."""
        drawn = (self.across,) if self.up is None else (self.up, self.across)
        return (*(name for name in self.sliders if name not in drawn), *drawn)

    def values(self, function: Callable[[np.ndarray], np.ndarray], coordinates: tuple[str, ...]) -> np.ndarray:
        """A function of (n, d) points on the nodes: (f, …) with the coordinates in `order`."""
        mesh = self.places()
        points = np.stack([mesh[name].reshape(-1) for name in coordinates], axis=1)
        shape = tuple(len(self.axes[name]) for name in self.order)
        return np.moveaxis(function(points), 1, 0).reshape(-1, *shape)

    def places(self) -> dict[str, np.ndarray]:
        """Every coordinate on the nodes, in `order`."""
        return dict(zip(self.order, np.meshgrid(*(self.axes[n] for n in self.order), indexing="ij"), strict=True))

    def ordered(self, values: np.ndarray, coordinates: tuple[str, ...]) -> np.ndarray:
        """An array (f, …) with the coordinates in the order of the problem, brought into `order`."""
        return np.moveaxis(values, [1 + coordinates.index(name) for name in self.order], range(1, values.ndim))


def time_of(readings: Readings) -> str | None:
    axis = time_axis(readings.coordinates, readings.columns.clocks)
    return None if axis is None else readings.coordinates[axis]


def places_of(readings: Readings) -> tuple[str, ...]:
    return tuple(name for name in readings.coordinates if name != time_of(readings))


def widest_places(readings: Readings) -> tuple[str, ...]:
    """The places by which a map of sensors is drawn: the two along which they differ most, in their own order.

    Sensors in an upright plane share one place, and a map over it would be a line."""
    places = places_of(readings)
    spans = {name: np.ptp(readings.points[:, readings.coordinates.index(name)]) for name in places}
    return tuple(name for name in places if name in sorted(spans, key=lambda each: -spans[each])[:2])


def view_of(problem: Problem, readings: Readings) -> View:
    names, time, places = tuple(problem.coordinates), time_of(readings), places_of(readings)
    if len(names) == 1:
        return View(ViewKind.CURVE, names[0], None, (), {names[0]: np.linspace(*problem.coordinates[names[0]], 601)})
    if len(names) == 2 and time is not None:
        nodes = {
            time: _steps(problem, readings, time, MOST_STEPS[1]),
            places[0]: np.linspace(*problem.coordinates[places[0]], FINEST),
        }
        return View(ViewKind.SPACE_TIME, time, places[0], (time,), nodes)
    across, up, *rest = places if len(places) >= 2 else names
    sliders = tuple(name for name in (time, *rest) if name is not None and name not in (across, up))
    most = MOST_STEPS.get(len(sliders), 8)
    nodes = {name: _steps(problem, readings, name, most) for name in sliders}
    layers = int(np.prod([len(steps) for steps in nodes.values()], dtype=int))
    side = int(np.clip(np.sqrt(NODES / layers), COARSEST, FINEST))
    nodes |= {name: np.linspace(*problem.coordinates[name], side) for name in (across, up)}
    return View(ViewKind.MAP, across, up, sliders, nodes)


def _steps(problem: Problem, readings: Readings, name: str, most: int) -> np.ndarray:
    """Where the readings were taken, if that is at few enough values, so that they lie on the steps."""
    recorded = np.unique(readings.points[:, readings.coordinates.index(name)])
    return recorded if 2 <= len(recorded) <= most else np.linspace(*problem.coordinates[name], most)
