"""Where a record changes: the stretch of readings, to an end of the record or inside it, that differs most from the
rest."""

from dataclasses import dataclass

import numpy as np

SHORTEST = 5
"""Fewer readings than this are outliers in a row, not a stretch."""
CHANGE_COSTS = 2
"""Parameters that the time of a change counts for: the best of n times saves up to 2 log n by chance alone."""
NODES = 192
"""Times between which a stretch is first looked for; in longer records both ends are then refined to a reading."""


@dataclass(frozen=True)
class Change:
    """Readings from `start` up to, not including, `stop`."""

    start: int
    stop: int
    count: int
    """Of the record."""

    @property
    def changes(self) -> int:
        """How many times the record changes: twice where the stretch reaches neither end."""
        return int(self.start > 0) + int(self.stop < self.count)

    @property
    def inside(self) -> np.ndarray:
        chosen = np.zeros(self.count, bool)
        chosen[self.start : self.stop] = True
        return chosen

    @property
    def complement(self) -> "Change":
        """The rest of the record, where it is in one piece."""
        return Change(self.stop, self.count, self.count) if self.start == 0 else Change(0, self.start, self.count)


@dataclass(frozen=True, eq=False)
class Step:
    """A stretch that differs from the rest of its record: a step or a burst."""

    when: Change
    inside: float
    outside: float
    """Of a step the levels about that of the typical sensor, of a burst the deviations."""


def best_change(scores: np.ndarray) -> Change | None:
    """The stretch whose mean differs most from that of the rest, by least squares; None in records too short for one.

    A second change has to save what its time costs under BIC."""
    count = len(scores)
    if count < 2 * SHORTEST:
        return None
    sums = np.concatenate([[0.0], np.cumsum(scores - scores.mean())])
    total = max(float(np.sum((scores - scores.mean()) ** 2)), np.finfo(float).tiny)
    ends = np.arange(SHORTEST, count - SHORTEST + 1)
    single = _saved(sums, np.zeros(1, int), ends)[0]
    one = int(np.argmax(single))
    found = Change(0, int(ends[one]), count)
    pair = _best_pair(sums)
    if pair is None:
        return found
    left = [max(total - saved, 1e-12 * total) for saved in (single[one], pair[2])]
    return (
        Change(pair[0], pair[1], count) if count * np.log(left[0] / left[1]) > CHANGE_COSTS * np.log(count) else found
    )


def sharpened(change: Change, gains: np.ndarray) -> Change:
    """The stretch about the middle of this one that gains most in all; `gains` says for each reading how much likelier
    it is inside than outside. Ends that are those of the record stay."""
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    middle = (change.start + change.stop) // 2
    start = int(np.argmin(sums[: middle + 1])) if change.start > 0 else 0
    stop = middle + int(np.argmax(sums[middle:])) if change.stop < change.count else change.count
    found = Change(start, stop, change.count)
    return found if found.changes and stop > start else change


def _saved(sums: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """(starts, stops): by how much a level of its own for each stretch lowers the sum of squares."""
    count = len(sums) - 1
    length = stops[None, :] - starts[:, None]
    allowed = (length >= SHORTEST) & (length <= count - SHORTEST)
    size = np.where(allowed, length, 1)
    return np.where(
        allowed, (sums[stops][None, :] - sums[starts][:, None]) ** 2 * count / (size * (count - size)), -1.0
    )


def _best_pair(sums: np.ndarray) -> tuple[int, int, float] | None:
    """Start, stop and what is saved of the best stretch that reaches neither end."""
    count = len(sums) - 1
    first, last = SHORTEST, count - SHORTEST
    if last - first < SHORTEST:
        return None
    stride = max(1, count // NODES)
    nodes = np.arange(first, last + 1, stride)
    saved = _saved(sums, nodes, nodes)
    start, stop = (nodes[index] for index in np.unravel_index(np.argmax(saved), saved.shape))
    if stride > 1:
        near = np.arange(-stride, stride + 1)
        starts, stops = (np.clip(end + near, first, last) for end in (start, stop))
        saved = _saved(sums, starts, stops)
        place = np.unravel_index(np.argmax(saved), saved.shape)
        start, stop = starts[place[0]], stops[place[1]]
    return int(start), int(stop), float(saved.max())
