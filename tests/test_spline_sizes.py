"""Starts of unknowns that only multiply or divide, when the user gives none."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp

import napinn
from napinn.data.readings import read_table
from napinn.engines.catalogue import METHODS
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.journal import Journal
from napinn.engines.splines.smoothing import FINEST, FINEST_STIFFNESS, choose_start, finest
from napinn.engines.splines.starts import Starts
from napinn.engines.splines.task import Task
from napinn.problem import Problem, Unknown


def fitted(equation: str, path: np.ndarray, times: np.ndarray, *names: str) -> dict[str, float]:
    """Unknowns without any start, from readings of one field with a hundredth of noise."""
    problem = Problem({"t": (0.0, float(times[-1]))}, ("u",), (equation,), {name: Unknown() for name in names})
    noise = 0.01 * np.std(path) * np.random.default_rng(0).normal(size=len(path))
    readings = read_table(pd.DataFrame({"t": times, "u": path + noise}), ("t",), ("u",))
    return dict(napinn.fit(problem, readings, METHODS["splines"].make()).unknowns)


def test_an_unknown_that_only_multiplies_another_has_a_size() -> None:
    times = np.linspace(0.0, 10.0, 120)
    found = fitted("u_t = a*(b - u)", 20.0 + 60.0 * np.exp(-0.35 * times), times, "a", "b")
    assert found["a"] == pytest.approx(0.35, rel=0.02)
    assert found["b"] == pytest.approx(20.0, rel=0.02)


def test_an_unknown_that_divides_has_the_size_of_what_it_divides() -> None:
    times = np.linspace(0.0, 10.0, 120)
    found = fitted("u_t = r*u*(1 - u/K)", 9e3 / (1.0 + 40.0 * np.exp(-0.9 * times)), times, "r", "K")
    assert found["r"] == pytest.approx(0.9, rel=0.02)
    assert found["K"] == pytest.approx(9e3, rel=0.02)


def two_compartments() -> tuple[Problem, pd.DataFrame]:
    """A drug in blood, which exchanges it with a tissue that nobody measures; after a dose of ten."""
    times = np.array([0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24])
    rates = np.array([[-1.15, 0.5], [0.9, -0.5]])
    values, vectors = np.linalg.eig(rates)
    amounts = np.linalg.solve(vectors, [10.0, 0.0])
    blood = np.exp(np.outer(times, values)) @ (amounts * vectors[0])
    noise = 0.05 * np.random.default_rng(0).normal(size=len(times))
    problem = Problem(
        {"t": (0.0, 24.0)}, ("C",), ("C_t = -(k12 + ke)*C + k21*P", "P_t = k12*C - k21*P"),
        {name: Unknown(low=0.0) for name in ("k12", "k21", "ke")}, hidden=("P",),
        conditions=("C = 10 at t = 0", "P = 0 at t = 0"),
    )  # fmt: skip
    return problem, pd.DataFrame({"t": times, "C": blood + noise})


def test_rates_beside_a_hidden_field_start_at_the_size_of_those_that_are_measured() -> None:
    problem, table = two_compartments()
    task = Task(problem, read_table(table, ("t",), ("C",)))
    starts = Starts(task, lambda *_: None, lambda _: None, Journal(), Meter())
    starts.find_first(choose_start(task, 0, 10_000, Meter()))
    # The hidden field is constant at first, and rounding in its derivative says nothing of the size of a rate.
    assert np.all((starts.natural > 0.05) & (starts.natural < 5.0))


def test_exchange_with_a_hidden_field_is_found_without_starts() -> None:
    problem, table = two_compartments()
    result = napinn.fit(problem, read_table(table, ("t",), ("C",)), METHODS["splines"].make())
    assert result.unknowns == pytest.approx({"k12": 0.9, "k21": 0.5, "ke": 0.25}, rel=0.1)
    assert result.status.trusted


def test_a_yield_that_only_a_hidden_field_contains_has_a_size() -> None:
    times = np.linspace(0.0, 14.0, 45)

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        growth = 0.55 * state[1] / (1.2 + state[1]) * state[0]
        return np.array([growth, -growth / 0.45])

    cells = solve_ivp(rate, (0.0, 14.0), [0.1, 6.0], t_eval=times, rtol=1e-9).y[0]
    table = pd.DataFrame({"t": times, "X": cells + 0.005 * np.random.default_rng(0).normal(size=45)})
    problem = Problem(
        {"t": (0.0, 14.0)}, ("X",), ("X_t = mu*S/(K + S)*X", "S_t = -mu*S/(K + S)*X/Y"),
        {name: Unknown(low=0.0) for name in ("mu", "K", "Y")}, hidden=("S",), conditions=("S = 6 at t = 0",),
    )  # fmt: skip
    found = napinn.fit(problem, read_table(table, ("t",), ("X",)), METHODS["splines"].make()).unknowns
    assert found == pytest.approx({"mu": 0.55, "K": 1.2, "Y": 0.45}, rel=0.1)


def task_of(readings: int) -> Task:
    times = np.linspace(0.0, 1.0, readings)
    problem = Problem({"t": (0.0, 1.0)}, ("u",), ("u_t = r*u*(1 - u/K) - u/(c*K)",), {n: Unknown() for n in "rKc"})
    return Task(problem, read_table(pd.DataFrame({"t": times, "u": 5.0 + times}), ("t",), ("u",)))


@pytest.mark.parametrize(("readings", "doublings"), [(12, 0), (40, 1), (2000, FINEST)])
def test_the_finest_start_has_no_more_functions_than_readings_support(readings: int, doublings: int) -> None:
    task = task_of(readings)
    start = choose_start(task, 0, 10_000, Meter())
    starts = finest(task, start)
    assert set(starts) == (set(FINEST_STIFFNESS) if doublings else set())
    assert all(each.cells == (start.cells[0] * 2**doublings,) for each in starts.values())


def test_an_unknown_that_multiplies_the_derivative_of_a_hidden_field_has_a_size() -> None:
    """Depth of shallow water, of which gauges see the surface and nobody the current: two waves that run apart."""
    depth, gravity = 2.0, 9.81
    speed = np.sqrt(depth * gravity)
    x, t = (each.ravel() for each in np.meshgrid(np.linspace(0.5, 9.5, 12), np.linspace(0.0, 0.9, 40), indexing="ij"))
    surface = sum(0.5 * np.exp(-(((x - 5.0 - way * speed * t) / 1.5) ** 2)) for way in (-1.0, 1.0))
    table = pd.DataFrame({"x": x, "t": t, "e": surface + 0.01 * np.random.default_rng(0).normal(size=len(x))})
    problem = Problem(
        {"x": (0.0, 10.0), "t": (0.0, 0.9)}, ("e",), ("e_t = -H*u_x", "u_t = -9.81*e_x"), {"H": Unknown()},
        hidden=("u",),
    )  # fmt: skip
    result = napinn.fit(problem, read_table(table, ("x", "t"), ("e",)), METHODS["splines"].make())
    assert result.unknowns["H"] == pytest.approx(depth, rel=0.02)
