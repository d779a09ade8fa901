"""Allen–Cahn in the plane, with a closed-form truth and the forcing that makes it one.

u_t - ε² (u_xx + u_yy) + u³ - u = f,      u* = sin(πx) sin(πy) cos(ωt) on [0, 1]³,  ε = 0.3 to be found from 1.0
"""

import numpy as np

from napinn.problem import Problem, Unknown
from napinn.studies.benchmarks.base import Benchmark

EPSILON = 0.3
OMEGA = 8.0


def truth(points: np.ndarray) -> np.ndarray:
    x, y, t = points.T
    return (np.sin(np.pi * x) * np.sin(np.pi * y) * np.cos(OMEGA * t))[:, None]


_MODE = "sin(pi*x)*sin(pi*y)"
_TRUTH = f"{_MODE}*cos(omega*t)"
EQUATION = (
    "u_t - eps**2*(u_xx + u_yy) + u**3 - u"
    f" = -omega*{_MODE}*sin(omega*t) + (2*pi**2*{EPSILON}**2 - 1)*{_TRUTH} + ({_TRUTH})**3"
)


LENGTH, TIME, PRESSURE = 0.02, 3000.0, 1e5
"""A box of 2 cm, three thousand seconds and one bar."""


def allen_cahn_si() -> Benchmark:
    """The same physics in other units: metres, seconds and pascals, and as unknown the root of a diffusivity."""
    unit = LENGTH / TIME**0.5
    mode = f"sin(pi*x/{LENGTH})*sin(pi*y/{LENGTH})"
    wave = f"({mode}*cos(omega*t/{TIME}))"
    forcing = f"-omega*{mode}*sin(omega*t/{TIME}) + (2*pi**2*{EPSILON}**2 - 1)*{wave} + {wave}**3"
    problem = Problem(
        coordinates={"x": (0.0, LENGTH), "y": (0.0, LENGTH), "t": (0.0, TIME)},
        fields=("p",),
        equations=(f"p_t = k**2*(p_xx + p_yy) + (p - p**3/p0**2)/{TIME} + p0/{TIME}*({forcing})",),
        unknowns={"k": Unknown(start=unit)},
        constants={"omega": OMEGA, "p0": PRESSURE},
        units={"x": "m", "y": "m", "t": "s", "p": "Pa"},
        name="allen_cahn_si",
    )
    sizes = np.array([LENGTH, LENGTH, TIME])
    return Benchmark(
        problem, lambda points: PRESSURE * truth(points / sizes), {"k": EPSILON * unit}, 100, 0.5 * PRESSURE**2
    )


def allen_cahn() -> Benchmark:
    problem = Problem(
        coordinates={"x": (0.0, 1.0), "y": (0.0, 1.0), "t": (0.0, 1.0)},
        fields=("u",),
        equations=(EQUATION,),
        unknowns={"eps": Unknown(start=1.0)},
        constants={"omega": OMEGA},
        name="allen_cahn",
    )
    return Benchmark(problem, truth, {"eps": EPSILON}, times=100, paper_rejection=0.5)
