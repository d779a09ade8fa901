"""A time in words, for terminal, report and pages."""

MOST_SECONDS, MOST_MINUTES = 90, 90
"""From here on, which is one and a half of it, the next unit is used."""


def duration(seconds: float, tenths: bool = False) -> str:
    """A time in the one unit that suits its size, such as `12 s`, `3 min` or `1.5 h`.

    It is rounded before the unit is chosen: 89.7 s are `2 min` as 90 s are.

    :param seconds: 0 or more.
    :param tenths: Whether less than ten seconds have a decimal: for a time that was measured and not estimated."""
    if tenths and round(seconds, 1) < 10.0:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < MOST_SECONDS:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < MOST_MINUTES else f"{minutes / 60:.1f} h"
