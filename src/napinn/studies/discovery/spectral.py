"""Reference solutions of periodic problems whose stiff part is linear: Fourier in space, ETDRK4 in time.

Exponential time differencing of fourth order (Cox and Matthews 2002) with coefficients as means over a circle in the
complex plane, which avoids their cancellation (Kassam and Trefethen 2005). Products are computed on the grid with the
highest third of the wave numbers left out."""

from collections.abc import Callable, Sequence

import numpy as np

ON_CIRCLE = 32
"""Points of the circle over which coefficients are averaged."""
Rate = Callable[[np.ndarray], np.ndarray]


def wave_numbers(count: int, length: float) -> np.ndarray:
    return 2.0 * np.pi * np.fft.fftfreq(count, 1.0 / count) / length


def smooth_waves(*numbers: np.ndarray) -> np.ndarray:
    """1 for the wave numbers that are kept, 0 for the highest third along any axis."""
    kept = np.ones(np.broadcast_shapes(*(each.shape for each in numbers)))
    for each in numbers:
        kept = kept * (np.abs(each) <= 2.0 / 3.0 * np.abs(each).max())
    return kept


class Etdrk4:
    """Steps of u' = linear × u + rest(u) in Fourier space; `linear` is diagonal."""

    def __init__(self, linear: np.ndarray, rest: Rate, step: float) -> None:
        self.rest = rest
        scaled = linear * step
        self.whole, self.half = np.exp(scaled), np.exp(scaled / 2.0)
        circle = np.exp(2j * np.pi * (np.arange(1, ON_CIRCLE + 1) - 0.5) / ON_CIRCLE)
        r = scaled[..., None] + circle
        e = np.exp(r)
        self.first = step * np.mean((np.exp(r / 2.0) - 1.0) / r, axis=-1)
        self.begin = step * np.mean((-4.0 - r + e * (4.0 - 3.0 * r + r**2)) / r**3, axis=-1)
        self.middle = step * np.mean((2.0 + r + e * (r - 2.0)) / r**3, axis=-1)
        self.end = step * np.mean((-4.0 - 3.0 * r - r**2 + e * (4.0 - r)) / r**3, axis=-1)

    def __call__(self, now: np.ndarray) -> np.ndarray:
        rate = self.rest(now)
        a = self.half * now + self.first * rate
        rate_a = self.rest(a)
        b = self.half * now + self.first * rate_a
        rate_b = self.rest(b)
        c = self.half * a + self.first * (2.0 * rate_b - rate)
        return self.whole * now + rate * self.begin + 2.0 * (rate_a + rate_b) * self.middle + self.rest(c) * self.end


def march_waves(
    linear: np.ndarray,
    rest: Rate,
    start: np.ndarray,
    times: Sequence[float] | np.ndarray,
    steps: int,
    axes: tuple[int, ...],
) -> np.ndarray:
    """(times, …): the field on its grid at equally spaced times, with so many steps between two."""
    step = Etdrk4(linear, rest, (times[1] - times[0]) / steps)
    now, found = np.fft.fftn(start, axes=axes), [start]
    for _ in times[1:]:
        for _ in range(steps):
            now = step(now)
        found.append(np.fft.ifftn(now, axes=axes).real)
    return np.stack(found)
