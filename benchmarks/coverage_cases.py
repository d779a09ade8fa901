"""Small problems whose coefficients are drawn anew for every case, in the five kinds of `coverage.py`."""

from collections.abc import Callable, Mapping

import numpy as np
from unseen_base import FAULTY, HIDDEN, LINE, PLANE, STIFF, Unseen, gauges, instants, scattered, stations
from unseen_fields import closed
from unseen_odes import positive, solved

from napinn.problem import Problem, Unknown

Random = np.random.Generator
Draw = Callable[[Random], Unseen]
LAWS = ("gaussian", "skewed", "mixture", "student_t", "laplace")


def noisy(random: Random) -> tuple[str, float, float]:
    """A noise law, its level, and the share of gross errors."""
    return str(random.choice(LAWS)), float(random.uniform(0.02, 0.06)), float(random.uniform(0.0, 0.08))


def relaxation(random: Random) -> Unseen:
    """A probe that follows a slow oscillation within a twentieth of its period."""
    k, w = random.uniform(15.0, 40.0), random.uniform(1.0, 2.0)
    problem = Problem(
        {"t": (0.0, 6.0)}, ("u",), ("u_t = -k*(u - a*cos(w*t))",), positive(k=10.0, a=0.5), {"w": w}, name="relaxation"
    )
    times = np.concatenate([np.linspace(0.0, 0.3, 60), np.linspace(0.32, 6.0, 120)])
    path = solved(lambda t, y: [-k * (y[0] - np.cos(w * t))], (3.0,), 6.0, (0,))
    return Unseen(STIFF, problem, {"k": k, "a": 1.0}, path, instants(times), *noisy(random))


def fast_and_slow(random: Random) -> Unseen:
    """A reaction whose first step is thirty times as fast as its second."""
    fast, slow = random.uniform(15.0, 30.0), random.uniform(0.5, 1.0)
    problem = Problem(
        {"t": (0.0, 4.0)}, ("a", "b"), ("a_t = -f*a", "b_t = f*a - s*b"), positive(f=8.0, s=0.3), name="fast and slow"
    )
    times = np.concatenate([np.linspace(0.0, 0.3, 60), np.linspace(0.32, 4.0, 80)])
    path = solved(lambda t, y: [-fast * y[0], fast * y[0] - slow * y[1]], (1.0, 0.0), 4.0, (0, 1))
    return Unseen(STIFF, problem, {"f": fast, "s": slow}, path, instants(times), *noisy(random))


def rod(random: Random) -> Unseen:
    """Heat in a rod with free ends, in two modes."""
    spread = random.uniform(0.05, 0.2)

    def form(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        modes = ((1.0, 1.0, 0.0), (2.0, 0.5, 0.7))
        parts = [
            size * np.sin(n * np.pi * x + shift) * np.exp(-spread * (n * np.pi) ** 2 * t) for n, size, shift in modes
        ]
        return np.sum(parts, axis=0)

    problem = Problem({"x": (0.0, 1.0), "t": (0.0, 1.0)}, ("u",), ("u_t = D*u_xx",), positive(D=0.3), name="rod")
    return Unseen(LINE, problem, {"D": spread}, closed(form), scattered(problem, 500), *noisy(random))


def carried(random: Random) -> Unseen:
    """A cloud that is carried and spreads."""
    speed, spread = random.uniform(0.5, 1.0), random.uniform(0.03, 0.08)

    def form(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        wide = 0.1 + 2.0 * spread * t
        return np.sqrt(0.1 / wide) * np.exp(-((x - 1.0 - speed * t) ** 2) / (2.0 * wide))

    problem = Problem(
        {"x": (0.0, 4.0), "t": (0.0, 2.0)}, ("c",), ("c_t + v*c_x = D*c_xx",), {"v": Unknown(0.3), **positive(D=0.1)},
        name="cloud",
    )  # fmt: skip
    places = stations(problem, 16, np.linspace(0.0, 2.0, 40))
    return Unseen(LINE, problem, {"v": speed, "D": spread}, closed(form), places, *noisy(random))


def plate(random: Random) -> Unseen:
    spread, loss = random.uniform(0.1, 0.3), random.uniform(0.5, 1.5)

    def form(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
        slow = np.cos(np.pi * x) * np.exp(-(spread * np.pi**2 + loss) * t)
        return slow + np.cos(np.pi * x) * np.cos(np.pi * y) * np.exp(-(2.0 * spread * np.pi**2 + loss) * t)

    problem = Problem(
        {"x": (0.0, 1.0), "y": (0.0, 1.0), "t": (0.0, 0.4)}, ("u",), ("u_t = D*(u_xx + u_yy) - k*u",),
        positive(D=0.1, k=0.5), name="plate",
    )  # fmt: skip
    return Unseen(PLANE, problem, {"D": spread, "k": loss}, closed(form), scattered(problem, 800), *noisy(random))


def drifting_cloud(random: Random) -> Unseen:
    east, north = random.uniform(0.3, 0.8), random.uniform(-0.6, -0.2)

    def form(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
        wide = 0.08 + 0.04 * t
        return 0.08 / wide * np.exp(-((x - 0.6 - east * t) ** 2 + (y - 0.9 - north * t) ** 2) / (2.0 * wide))

    problem = Problem(
        {"x": (0.0, 1.5), "y": (0.0, 1.5), "t": (0.0, 1.0)}, ("c",), ("c_t + v*c_x + w*c_y = D*(c_xx + c_yy)",),
        {"v": Unknown(0.1), "w": Unknown(0.1)}, {"D": 0.02}, name="cloud in the plane",
    )  # fmt: skip
    places = stations(problem, 30, np.linspace(0.0, 1.0, 25))
    return Unseen(PLANE, problem, {"v": east, "w": north}, closed(form), places, *noisy(random))


def hidden_step(random: Random) -> Unseen:
    """A reaction whose middle substance is not measured."""
    first, second = random.uniform(0.5, 1.0), random.uniform(1.5, 3.0)
    problem = Problem(
        {"t": (0.0, 6.0)}, ("a", "p"), ("a_t = -f*a", "b_t = f*a - s*b", "p_t = s*b"), positive(f=0.3, s=1.0),
        hidden=("b",), scales={"b": 0.3}, conditions=("b = 0 at t = 0",), name="hidden step",
    )  # fmt: skip
    path = solved(
        lambda t, y: [-first * y[0], first * y[0] - second * y[1], second * y[1]], (1.0, 0.0, 0.0), 6.0, (0, 2, 1)
    )
    times = np.linspace(0.0, 6.0, 100)
    return Unseen(HIDDEN, problem, {"f": first, "s": second}, path, instants(times), *noisy(random))


def epidemic(random: Random) -> Unseen:
    """Only the infected are counted."""
    spread, recovery = random.uniform(0.8, 1.2), random.uniform(0.25, 0.4)
    problem = Problem(
        {"t": (0.0, 25.0)}, ("i",), ("s_t = -b*s*i", "i_t = b*s*i - g*i"), positive(b=0.6, g=0.2), hidden=("s",),
        scales={"s": 0.5}, conditions=("s = 0.99 at t = 0",), name="epidemic",
    )  # fmt: skip
    path = solved(
        lambda t, y: [spread * y[1] * y[0] - recovery * y[0], -spread * y[1] * y[0]], (0.01, 0.99), 25.0, (0, 1)
    )
    times = np.linspace(0.0, 25.0, 150)
    return Unseen(HIDDEN, problem, {"b": spread, "g": recovery}, path, instants(times), *noisy(random))


def faulty_rod(random: Random) -> Unseen:
    """Of twelve sensors along a rod one is stuck and one drifts."""
    sound = rod(random)
    places = stations(sound.problem, 12, np.linspace(0.0, 1.0, 50))
    return Unseen(
        FAULTY, sound.problem, sound.truth, sound.solution, places, *noisy(random), faults={"stuck": 1, "drift": 1}
    )


def faulty_gauges(random: Random) -> Unseen:
    """Of eight gauges of one cooling body one is offset and one drifts."""
    rate, level = random.uniform(0.5, 1.0), random.uniform(0.2, 0.4)
    problem = Problem({"t": (0.0, 5.0)}, ("u",), ("u_t = -k*(u - m)",), positive(k=0.3, m=0.1), name="gauges")
    path = solved(lambda t, y: [-rate * (y[0] - level)], (2.0,), 5.0, (0,))
    places = gauges(np.linspace(0.0, 5.0, 60), 8)
    return Unseen(
        FAULTY, problem, {"k": rate, "m": level}, path, places, *noisy(random), faults={"offset": 1, "drift": 1}
    )


PROBLEMS: Mapping[str, Draw] = {
    "relaxation": relaxation, "fast and slow": fast_and_slow, "rod": rod, "cloud": carried, "plate": plate,
    "cloud in the plane": drifting_cloud, "hidden step": hidden_step, "epidemic": epidemic, "faulty rod": faulty_rod,
    "faulty gauges": faulty_gauges,
}  # fmt: skip
"""Two of each kind."""
