"""How readings see the field on a mesh: one sparse row of basis functions for each."""

import numpy as np

from napinn.field.splines.banded import Banded, Pattern
from napinn.field.splines.space import Space

MOST_AT_ONCE = 400_000
"""Entries of cell Jacobians that are formed at once, so that they stay in the cache."""


class ReadingRows:
    """The matrix from coefficients to the field at readings, and its normal matrix for any weights."""

    def __init__(self, space: Space, points: np.ndarray, field: np.ndarray) -> None:
        self.space = space
        self.matrix = space.design(points, field)
        self.transposed = self.matrix.T
        first, _ = space.rows(points)
        first, self.members = self._grouped(first * space.fields + field)
        self.pattern = Pattern(first, space.offsets * space.fields, space.size, space.bandwidth)
        self._precise: np.ndarray | None = None

    @staticmethod
    def _grouped(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Readings of one field in one cell together, in rows of equal length, so that one product serves them."""
        order = np.argsort(key, kind="stable")
        keys, start, count = np.unique(key[order], return_index=True, return_counts=True)
        width = int(max(4, np.ceil(len(key) / max(len(keys), 1))))
        rank = np.arange(len(order)) - np.repeat(start, count)
        row = np.repeat(np.concatenate([[0], np.cumsum(-(-count // width))[:-1]]), count) + rank // width
        members = np.full((int(row.max(initial=-1)) + 1, width), -1)
        members[row, rank % width] = order
        first = np.zeros(len(members), int)
        first[row] = key[order]
        return first, members

    def add_normal(self, band: Banded, weights: np.ndarray) -> None:
        """Add the sum over readings of weight × row × rowᵀ."""
        rows = self.matrix.data.reshape(-1, len(self.space.offsets))
        step = max(1, MOST_AT_ONCE // max(1, self.members.shape[1] * len(self.space.offsets)))
        for start in range(0, len(self.members), step):
            members = self.members[start : start + step]
            values, each = rows[np.maximum(members, 0)], weights[np.maximum(members, 0)] * (members >= 0)
            band.add_cells(self.pattern, np.matmul((values * each[..., None]).transpose(0, 2, 1), values), start)

    def precise_normal(self, spread: np.ndarray) -> np.ndarray:
        """The entries of the normal matrix of readings of curvature one, each with its known relative deviation; formed
        at the first call."""
        if self._precise is None:
            band = Banded(self.space.size, self.space.bandwidth)
            self.add_normal(band, 1.0 / spread**2)
            self._precise = band.entries
        return self._precise
