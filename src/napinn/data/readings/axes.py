"""Which coordinate is time, decided by the readings: an equation does not say it."""

from collections.abc import Collection, Sequence
from itertools import chain

TIME_NAMES = frozenset({"t", "time"})
PLACE_NAMES = frozenset(
    {"x", "y", "z", "r", "radius", "distance", "position", "depth", "height", "altitude", "latitude", "longitude"}
)


def time_axis(coordinates: Sequence[str], dated: Collection[str]) -> int | None:
    """The coordinate that is read as dates, else the one called time, else the only one if it is not a place."""
    by_date = (axis for axis, name in enumerate(coordinates) if name in dated)
    by_name = (axis for axis, name in enumerate(coordinates) if name.lower() in TIME_NAMES)
    alone = [0] if len(coordinates) == 1 and coordinates[0].lower() not in PLACE_NAMES else []
    return next(chain(by_date, by_name, alone), None)


def order_axis(coordinates: Sequence[str], dated: Collection[str]) -> int | None:
    """The coordinate along which the readings of a sensor follow each other: time, or the only one there is."""
    return 0 if len(coordinates) == 1 else time_axis(coordinates, dated)
