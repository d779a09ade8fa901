"""Unseen problems in time alone."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from unseen_base import FAULTY, HIDDEN, ODE, STIFF, Solution, Unseen, gauges, instants

from napinn.problem import Problem, Unknown

Rate = Callable[[float, np.ndarray], Any]


def solved(rate: Rate, initial: tuple[float, ...], end: float, outputs: tuple[int, ...]) -> Solution:
    """The states with these numbers, by an explicit solver of order eight; none is too stiff for it."""

    @cache
    def path() -> Any:
        return solve_ivp(rate, (0.0, end), initial, "DOP853", dense_output=True, rtol=1e-10, atol=1e-12).sol

    return lambda points: path()(points[:, 0])[list(outputs)].T


def positive(**starts: float) -> dict[str, Unknown]:
    return {name: Unknown(start, low=0.0) for name, start in starts.items()}


def pendulum() -> Unseen:
    """Dry friction acts within a twentieth of a radian a second, so the acceleration jumps wherever it turns."""
    return Unseen(
        STIFF,
        Problem(
            {"t": (0.0, 8.0)}, ("q",), ("q_tt = -a*sin(q) - c*q_t - f*tanh(20*q_t)",),
            positive(a=5.0, c=0.5, f=0.1), name="pendulum",
        ),
        {"a": 9.0, "c": 0.15, "f": 0.4},
        solved(
            lambda t, y: [y[1], -9.0 * np.sin(y[0]) - 0.15 * y[1] - 0.4 * np.tanh(20.0 * y[1])], (1.8, 0.0), 8.0, (0,)
        ),
        instants(np.linspace(0.0, 8.0, 400)), "laplace", 0.03, 0.05,
    )  # fmt: skip


def enzyme() -> Unseen:
    """Substrate and complex by mass action; the complex fills within a hundredth of the record."""
    early, late = np.linspace(0.0, 0.4, 60), np.linspace(0.45, 8.0, 60)
    return Unseen(
        STIFF,
        Problem(
            {"t": (0.0, 8.0)}, ("s", "c"),
            ("s_t = -kf*(e0 - c)*s + kr*c", "c_t = kf*(e0 - c)*s - (kr + kc)*c"),
            positive(kf=10.0, kc=1.0), constants={"e0": 0.1, "kr": 1.0}, name="enzyme",
        ),
        {"kf": 20.0, "kc": 2.0},
        solved(
            lambda t, y: [
                -20.0 * (0.1 - y[1]) * y[0] + y[1], 20.0 * (0.1 - y[1]) * y[0] - 3.0 * y[1]
            ], (1.0, 0.0), 8.0, (0, 1),
        ),
        instants(np.concatenate([early, late])), "gaussian", 0.02,
    )  # fmt: skip


def predator() -> Unseen:
    """Predators that need time for each prey (Holling's second type)."""

    def rate(t: float, y: np.ndarray) -> list[float]:
        eaten = 1.2 * y[0] * y[1] / (1.0 + 0.5 * y[0])
        return [y[0] * (1.0 - y[0] / 8.0) - eaten, 0.6 * eaten - 0.4 * y[1]]

    return Unseen(
        ODE,
        Problem(
            {"t": (0.0, 30.0)}, ("x", "y"),
            ("x_t = r*x*(1 - x/K) - a*x*y/(1 + h*x)", "y_t = 0.6*a*x*y/(1 + h*x) - m*y"),
            positive(r=0.5, a=0.5, m=1.0), constants={"K": 8.0, "h": 0.5}, name="predator",
        ),
        {"r": 1.0, "a": 1.2, "m": 0.4},
        solved(rate, (2.0, 1.0), 30.0, (0, 1)),
        instants(np.linspace(0.0, 30.0, 150)), "student_t", 0.05, 0.05,
    )  # fmt: skip


def duffing() -> Unseen:
    return Unseen(
        ODE,
        Problem(
            {"t": (0.0, 20.0)}, ("x",), ("x_tt + c*x_t + a*x + b*x**3 = g*cos(om*t)",),
            {"c": Unknown(0.5), "a": Unknown(0.5), "b": Unknown(0.5)}, constants={"g": 0.6, "om": 1.1}, name="duffing",
        ),
        {"c": 0.2, "a": 1.0, "b": 0.8},
        solved(
            lambda t, y: [y[1], 0.6 * np.cos(1.1 * t) - 0.2 * y[1] - y[0] - 0.8 * y[0] ** 3], (1.0, 0.0), 20.0, (0,)
        ),
        instants(np.linspace(0.0, 20.0, 300)), "bimodal", 0.05, 0.1, one_sided=True,
    )  # fmt: skip


def elimination() -> Unseen:
    """A drug leaves the blood by an enzyme that it saturates; two dozen samples."""
    return Unseen(
        ODE,
        Problem({"t": (0.0, 5.0)}, ("u",), ("u_t = -V*u/(K + u)",), positive(V=1.0, K=1.0), name="elimination"),
        {"V": 1.2, "K": 0.8},
        solved(lambda t, y: -1.2 * y / (0.8 + y), (3.0,), 5.0, (0,)),
        instants(np.linspace(0.0, 5.0, 24)), "gaussian", 0.02, 0.05,
    )  # fmt: skip


def reactor() -> Unseen:
    """A turns into B and B into C in a stirred tank; B is not measured."""
    return Unseen(
        HIDDEN,
        Problem(
            {"t": (0.0, 6.0)}, ("a", "p"), ("a_t = -k1*a", "b_t = k1*a - k2*b", "p_t = k2*b"),
            positive(k1=0.3, k2=1.0), hidden=("b",), scales={"b": 0.3}, conditions=("b = 0 at t = 0",), name="reactor",
        ),
        {"k1": 0.8, "k2": 2.0},
        solved(
            lambda t, y: [-0.8 * y[0], 0.8 * y[0] - 2.0 * y[1], 2.0 * y[1]], (1.0, 0.0, 0.0), 6.0, (0, 2, 1)
        ),
        instants(np.linspace(0.0, 6.0, 50)), "gaussian", 0.03, 0.04,
    )  # fmt: skip


def epidemic() -> Unseen:
    """Susceptible and infectious shares are surveyed, the exposed are not."""

    def rate(t: float, y: np.ndarray) -> list[float]:
        return [-0.9 * y[0] * y[2], 0.9 * y[0] * y[2] - 0.35 * y[1], 0.35 * y[1] - 0.2 * y[2]]

    return Unseen(
        HIDDEN,
        Problem(
            {"t": (0.0, 50.0)}, ("s", "i"), ("s_t = -b*s*i", "e_t = b*s*i - k*e", "i_t = k*e - g*i"),
            positive(b=0.5, k=0.5, g=0.5), hidden=("e",), scales={"e": 0.1}, name="epidemic",
        ),
        {"b": 0.9, "k": 0.35, "g": 0.2},
        solved(rate, (0.99, 0.005, 0.005), 50.0, (0, 2, 1)),
        instants(np.linspace(0.0, 50.0, 100)), "skewed", 0.03, 0.05,
    )  # fmt: skip


def tanks() -> Unseen:
    """Two tanks that drain into each other, six gauges at each; one pair drifts and one is offset."""
    return Unseen(
        FAULTY,
        Problem(
            {"t": (0.0, 12.0)}, ("h", "g"), ("h_t = q - k1*sqrt(h)", "g_t = k1*sqrt(h) - k2*sqrt(g)"),
            positive(k1=0.3, k2=0.8), constants={"q": 0.3}, name="tanks",
        ),
        {"k1": 0.6, "k2": 0.45},
        solved(
            lambda t, y: [0.3 - 0.6 * np.sqrt(y[0]), 0.6 * np.sqrt(y[0]) - 0.45 * np.sqrt(y[1])], (3.0, 0.5), 12.0,
            (0, 1),
        ),
        gauges(np.linspace(0.0, 12.0, 40), 6), "student_t", 0.04, 0.03, faults={"drift": 1, "offset": 1},
    )  # fmt: skip


CASES = {case.problem.name: case for case in (
    pendulum(), enzyme(), predator(), duffing(), elimination(), reactor(), epidemic(), tanks(),
)}  # fmt: skip
