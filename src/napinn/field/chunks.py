"""Many rows through a compiled function, a piece at a time, so that memory stays bounded however many there are."""

from collections.abc import Callable
from typing import Any

import numpy as np

PIECE = 65_536


def in_chunks(function: Callable[[Any], np.ndarray], rows: np.ndarray, size: int = PIECE) -> np.ndarray:
    """What `function`, row by row, makes of all rows.

    All pieces have one length, so that the function compiles once: the last one reaches back over rows that are done
    already."""
    count = len(rows)
    if count <= size:
        return function(rows)
    found = []
    for start in range(0, count, size):
        first = min(start, count - size)
        found.append(function(rows[first : first + size])[start - first :])
    return np.concatenate(found)
