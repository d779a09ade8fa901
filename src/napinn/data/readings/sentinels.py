"""What stands in a column of numbers for no reading: numbers such as -9999, and words such as OVERFLOW."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from napinn.data.readings.cells import BLANKS, readings_in
from napinn.data.robust import robust_std

FAR = 8.0
"""Robust standard deviations beyond which a value that repeats is taken for a sentinel."""
SENTINEL_TIMES = 3
"""Repetitions of a far value: twice may be chance in rounded readings."""
SENTINELS = tuple(
    sign * value for sign in (-1.0, 1.0) for value in (99.0, 99.9, 999.0, 999.9, 9999.0, 99999.0, 32768.0, 1e20, 1e30)
)
"""Values that loggers write for no reading; far from all others, one of them is enough to ask."""
FEWEST_NUMBERS = 0.5
"""Share of the filled cells of a column; where fewer are numbers, its words are no gaps between readings."""


def far_repeats(values: np.ndarray) -> dict[float, int]:
    """Values far from all others that repeat, or that loggers are known to write, and how often each occurs.

    :param values: Readings of one field."""
    if not len(values):
        return {}
    numbers, counts = np.unique(values, return_counts=True)
    unit = robust_std(values)
    usual = (counts >= SENTINEL_TIMES) | np.isin(numbers, SENTINELS)
    far = (np.abs(numbers - np.median(values)) > FAR * unit) & usual & (unit > 0.0)
    return dict(zip(numbers[far].tolist(), counts[far].tolist(), strict=True))


def certain_sentinels(column: pd.Series, words: Sequence[str] = ()) -> list[float]:
    """Values that mean 'no reading' beyond doubt: loggers are known to write them, they repeat, and no other is near.

    :param column: Numbers, or text that holds them.
    :param words: What else means 'no reading' there."""
    values = readings_in(column, "", words)
    found = far_repeats(values[np.isfinite(values)])
    certain = [number for number, count in found.items() if number in SENTINELS and count >= SENTINEL_TIMES]
    return [int(number) if number.is_integer() else number for number in certain]


def words_for_nothing(column: pd.Series) -> list[str]:
    """Words without a digit in a column that otherwise holds numbers, such as OVERFLOW; with a digit they may be
    mistyped readings. Empty where there are other cells that are no number.

    :param column: Cells as they were read."""
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return []
    filled = column.dropna().astype(str).str.strip()
    filled = filled[~filled.str.lower().isin(BLANKS)]
    odd = filled[~np.isfinite(pd.to_numeric(filled, errors="coerce"))]
    mostly_numbers = len(filled) - len(odd) > FEWEST_NUMBERS * len(filled)
    return [] if not mostly_numbers or odd.str.contains(r"\d").any() else list(odd.unique())
