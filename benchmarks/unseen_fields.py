"""Unseen problems along a line and in a plane."""

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import RectBivariateSpline
from scipy.sparse import csr_array, kron
from unseen_base import FAULTY, HIDDEN, LINE, PLANE, Solution, Unseen, scattered, stations
from unseen_odes import positive

from napinn.problem import Problem, Unknown

NODES = 401


def closed(form: Callable[..., np.ndarray]) -> Solution:
    """One field that is known in closed form, as a function of its coordinates."""
    return lambda points: form(*points.T)[:, None]


def two_fields(
    rate: Callable[[np.ndarray, float], np.ndarray], start: np.ndarray, length: float, end: float
) -> Solution:
    """Two fields by the method of lines on 401 nodes; `rate` takes the fields (2, nodes) and the distance of nodes."""

    @cache
    def splines() -> list[RectBivariateSpline]:
        x, times = np.linspace(0.0, length, NODES), np.linspace(0.0, end, 401)
        number = np.arange(NODES)
        neighbours = csr_array(np.abs(number[:, None] - number) <= 2)
        path = solve_ivp(
            lambda t, y: rate(y.reshape(2, NODES), x[1]).reshape(-1), (0.0, end), start.reshape(-1), "BDF", times,
            rtol=1e-7, atol=1e-9, jac_sparsity=kron(np.ones((2, 2)), neighbours),
        ).y  # fmt: skip
        return [RectBivariateSpline(x, times, part) for part in path.reshape(2, NODES, -1)]

    return lambda points: np.stack([spline.ev(*points.T) for spline in splines()], axis=1)


def bend(values: np.ndarray, step: float) -> np.ndarray:
    """Second derivative along the last axis, nothing passing through the ends."""
    mirrored = np.concatenate([values[..., 1:2], values, values[..., -2:-1]], axis=-1)
    return np.diff(mirrored, 2) / step**2


def front() -> Unseen:
    """Fisher's front at the speed 5/√6, the one that has a closed form."""
    steep, speed = np.sqrt(1.5 / (6.0 * 0.02)), 5.0 / 6.0 * 1.5
    problem = Problem(
        {"x": (0.0, 4.0), "t": (0.0, 4.0)},
        ("u",),
        ("u_t = D*u_xx + r*u*(1 - u)",),
        positive(D=0.1, r=0.5),
        name="front",
    )
    return Unseen(
        LINE, problem, {"D": 0.02, "r": 1.5}, closed(lambda x, t: (1.0 + np.exp(steep * (x - 1.0) - speed * t)) ** -2),
        scattered(problem, 600), "student_t", 0.04, 0.08,
    )  # fmt: skip


def telegraph() -> Unseen:
    """A damped string, held at both ends, in two modes."""

    def form(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        total = np.zeros(np.shape(x))
        for number, size in ((1, 1.0), (3, 0.4)):
            rate = np.sqrt((number * np.pi) ** 2 - 0.3**2)
            wave = np.cos(rate * t) + 0.3 / rate * np.sin(rate * t)
            total += size * np.sin(number * np.pi * x) * np.exp(-0.3 * t) * wave
        return total

    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 3.0)}, ("u",), ("u_tt + b*u_t = s*u_xx",), positive(b=1.0, s=0.5), name="telegraph"
    )
    return Unseen(
        LINE, problem, {"b": 0.6, "s": 1.0}, closed(form), stations(problem, 12, np.linspace(0.0, 3.0, 60)),
        "laplace", 0.05, 0.05,
    )  # fmt: skip


def cable() -> Unseen:
    """Voltage along a passive nerve fibre; of fourteen electrodes one is stuck, one drifts and one is offset."""

    def form(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        modes = ((0, 0.3), (1, 0.8), (2, -0.6), (3, 0.3))
        parts = [size * np.cos(n * np.pi * x) * np.exp(-(0.8 + 0.1 * (n * np.pi) ** 2) * t) for n, size in modes]
        return np.sum(parts, axis=0)

    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 2.0)}, ("v",), ("v_t = D*v_xx - k*v",), positive(D=0.3, k=0.3), name="cable"
    )
    return Unseen(
        FAULTY, problem, {"D": 0.1, "k": 0.8}, closed(form), stations(problem, 14, np.linspace(0.0, 2.0, 40)),
        "skewed", 0.05, 0.05, faults={"stuck": 1, "drift": 1, "offset": 1},
    )  # fmt: skip


def carried() -> Unseen:
    """A broad cloud that is carried, spreads and decays, read at scattered points."""

    def form(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        wide = 0.3**2 + 2.0 * 0.05 * t
        return 0.3 / np.sqrt(wide) * np.exp(-((x - 0.8 - 0.8 * t) ** 2) / (2.0 * wide) - 0.3 * t)

    problem = Problem(
        {"x": (0.0, 4.0), "t": (0.0, 3.0)}, ("c",), ("c_t + v*c_x = D*c_xx - k*c",),
        {"v": Unknown(0.3), **positive(D=0.2, k=0.1)}, name="carried",
    )  # fmt: skip
    return Unseen(
        LINE, problem, {"v": 0.8, "D": 0.05, "k": 0.3}, closed(form), scattered(problem, 400), "uniform", 0.06, 0.1
    )


def steepening() -> Unseen:
    """Burgers' equation by Cole and Hopf, smooth throughout; the noise has two modes."""

    def form(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        decay = np.exp(-(np.pi**2) * 0.05 * t)
        return 0.1 * np.pi * decay * np.sin(np.pi * x) / (1.1 + decay * np.cos(np.pi * x))

    problem = Problem(
        {"x": (0.0, 2.0), "t": (0.0, 2.0)}, ("u",), ("u_t + l*u*u_x = nu*u_xx",),
        {"l": Unknown(0.5), **positive(nu=0.2)}, name="steepening",
    )  # fmt: skip
    return Unseen(
        LINE, problem, {"l": 1.0, "nu": 0.05}, closed(form), scattered(problem, 2500), "bimodal", 0.08, 0.15,
        one_sided=True,
    )  # fmt: skip


def brusselator() -> Unseen:
    """Two species that oscillate and spread, both measured."""

    def rate(fields: np.ndarray, step: float) -> np.ndarray:
        u, v = fields
        made = u * u * v
        return np.stack(
            [1.0 - 3.0 * u + made + 0.02 * bend(u, step), 2.0 * u - made + 0.05 * bend(v, step)]
        )  # fmt: skip

    x = np.linspace(0.0, 1.0, NODES)
    start = np.stack([1.0 + 0.6 * np.cos(np.pi * x), 2.0 - 0.5 * np.cos(2.0 * np.pi * x)])
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 8.0)}, ("u", "v"),
        ("u_t = a - (b + 1)*u + u**2*v + D*u_xx", "v_t = b*u - u**2*v + E*v_xx"),
        positive(a=0.5, b=1.0, D=0.1, E=0.1), name="brusselator",
    )  # fmt: skip
    return Unseen(
        LINE, problem, {"a": 1.0, "b": 2.0, "D": 0.02, "E": 0.05}, two_fields(rate, start, 1.0, 8.0),
        scattered(problem, 500), "laplace", 0.04, 0.05,
    )  # fmt: skip


def exchange() -> Unseen:
    """Solute in flowing water that lingers in still water beside it, which is not sampled."""

    def rate(fields: np.ndarray, step: float) -> np.ndarray:
        moving, still = fields
        slope = np.gradient(moving, step)
        slope[[0, -1]] = 0.0
        lost = moving - still
        return np.stack([0.03 * bend(moving, step) - 0.8 * slope - 0.6 * lost, 0.4 * lost])

    x = np.linspace(0.0, 5.0, NODES)
    start = np.stack([np.exp(-((x - 1.2) ** 2) / (2.0 * 0.35**2)), np.zeros(NODES)])
    problem = Problem(
        {"x": (0.0, 5.0), "t": (0.0, 4.0)}, ("c",), ("c_t = D*c_xx - 0.8*c_x - a*(c - s)", "s_t = b*(c - s)"),
        positive(D=0.1, a=0.3, b=0.8), hidden=("s",), scales={"s": 0.2}, conditions=("s = 0 at t = 0",),
        name="exchange",
    )  # fmt: skip
    return Unseen(
        HIDDEN, problem, {"D": 0.03, "a": 0.6, "b": 0.4}, two_fields(rate, start, 5.0, 4.0),
        stations(problem, 16, np.linspace(0.0, 4.0, 50)), "gaussian", 0.04, 0.05,
    )  # fmt: skip


def cooling() -> Unseen:
    """A bar that loses heat along its whole length to air at 0.2; sixty readings."""

    def form(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        modes = ((0, 0.8), (1, 0.6), (2, 0.3))
        parts = [size * np.cos(n * np.pi * x) * np.exp(-(0.5 + 0.08 * (n * np.pi) ** 2) * t) for n, size in modes]
        return 0.2 + np.sum(parts, axis=0)

    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 2.0)}, ("u",), ("u_t = D*u_xx - k*(u - U)",), positive(D=0.3, k=0.2),
        constants={"U": 0.2}, name="cooling",
    )  # fmt: skip
    return Unseen(LINE, problem, {"D": 0.08, "k": 0.5}, closed(form), scattered(problem, 60), "gaussian", 0.03, 0.05)


def aquifer() -> Unseen:
    """Steady head of a leaky aquifer, eighty wells read once each."""

    def form(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        root = np.sqrt(2.5)
        ways = ((0.3, 0.5), (1.9, -0.3), (4.0, 0.4))
        return 1.0 + np.sum([size * np.exp(root * (x * np.cos(w) + y * np.sin(w))) for w, size in ways], axis=0)

    problem = Problem(
        {"x": (0.0, 2.0), "y": (0.0, 2.0)}, ("h",), ("h_xx + h_yy = k*(h - H)",), positive(k=1.0), constants={"H": 1.0},
        name="aquifer",
    )  # fmt: skip
    return Unseen(PLANE, problem, {"k": 2.5}, closed(form), scattered(problem, 80), "laplace", 0.03, 0.1)


def plume() -> Unseen:
    """A steady plume that widens downstream."""
    problem = Problem(
        {"x": (0.5, 4.0), "y": (-1.5, 1.5)}, ("c",), ("v*c_x = D*c_yy",), positive(D=0.3), constants={"v": 1.0},
        name="plume",
    )  # fmt: skip
    return Unseen(
        PLANE, problem, {"D": 0.08}, closed(lambda x, y: np.exp(-(y**2) / (0.32 * x)) / np.sqrt(x)),
        scattered(problem, 300), "student_t", 0.05, 0.1, one_sided=True,
    )  # fmt: skip


def plate() -> Unseen:
    """A plate that conducts better one way than the other and loses heat; one of thirty sensors is stuck."""

    def form(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
        modes = ((1, 0, 0.6), (0, 1, 0.5), (1, 1, -0.4), (2, 1, 0.2))
        parts = [
            size * np.cos(m * np.pi * x) * np.cos(n * np.pi * y)
            * np.exp(-(0.2 + np.pi**2 * (0.06 * m * m + 0.03 * n * n)) * t)
            for m, n, size in modes
        ]  # fmt: skip
        return np.sum(parts, axis=0)

    problem = Problem(
        {"x": (0.0, 1.0), "y": (0.0, 1.0), "t": (0.0, 2.0)}, ("u",), ("u_t = A*u_xx + B*u_yy - k*u",),
        positive(A=0.1, B=0.1, k=0.5), name="plate",
    )  # fmt: skip
    return Unseen(
        PLANE, problem, {"A": 0.06, "B": 0.03, "k": 0.2}, closed(form),
        stations(problem, 30, np.linspace(0.0, 2.0, 25)), "gaussian", 0.05, 0.05, faults={"stuck": 1},
    )  # fmt: skip


CASES = {case.problem.name: case for case in (
    front(), telegraph(), cable(), carried(), steepening(), brusselator(), exchange(), cooling(), aquifer(), plume(),
    plate(),
)}  # fmt: skip
