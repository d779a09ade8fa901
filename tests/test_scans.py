"""Frequencies, phases and places need no start; a hidden field that an equation defines is put into the others."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp

from napinn import Experiment, Problem, Unknown, VaryingUnknown, read_table, with_experiments
from napinn.data.readings import tidy
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.elimination import without_defined
from napinn.engines.splines.journal import Journal
from napinn.engines.splines.scans import STEP, frequencies_to_try, phases_to_try
from napinn.engines.splines.smoothing import choose_start
from napinn.engines.splines.starts import Starts
from napinn.engines.splines.task import Task
from napinn.engines.splines.unknown_functions import tree_of
from napinn.engines.splines.weak_form import weak_start
from napinn.problem.equations.tree import evaluate
from spline_cases import fitted

UNKNOWNS = {name: Unknown() for name in ("c", "k", "F", "w")}
FIRST_ORDER = ("x_t = v", "v_t = -c*v - k*x + F*cos(w*t)")
TRUTH = {"c": 0.2, "k": 2.0, "F": 0.7, "w": 1.7}


def driven(seed):
    """An oscillator with a sinusoidal force, whose position is read with noise."""
    random, times = np.random.default_rng(seed), np.linspace(0.0, 30.0, 300)
    solution = solve_ivp(
        lambda t, y: [y[1], -0.2 * y[1] - 2.0 * y[0] + 0.7 * np.cos(1.7 * t)], (0.0, 30.0), [0.5, 0.0],
        t_eval=times, rtol=1e-8,
    )  # fmt: skip
    return pd.DataFrame({"t": times, "x": solution.y[0] + random.normal(0.0, 0.03, 300)})


@pytest.mark.parametrize(("equations", "hidden"), [(("x_tt + c*x_t + k*x = F*cos(w*t)",), ()), (FIRST_ORDER, ("v",))])
def test_a_frequency_needs_no_start(equations, hidden):
    problem = Problem({"t": (0.0, 30.0)}, ("x",), equations, UNKNOWNS, hidden=hidden)
    result = fitted(problem, driven(1))
    assert result.unknowns == pytest.approx(TRUTH, rel=0.05)
    assert result.status.name == "CONVERGED"


def test_a_delay_inside_the_wave_needs_no_start():
    times = np.linspace(0.0, 12.0, 240)
    truth = solve_ivp(lambda t, y: [-0.3 * y[0] + 2.0 * np.sin(4.3 * (t - 0.9))], (0.0, 12.0), [1.0], t_eval=times)
    table = pd.DataFrame({"t": times, "y": truth.y[0] + np.random.default_rng(2).normal(0.0, 0.03, 240)})
    unknowns = {name: Unknown(low=0.0) for name in ("k", "A", "w", "s")}
    problem = Problem({"t": (0.0, 12.0)}, ("y",), ("y_t = -k*y + A*sin(w*(t - s))",), unknowns)
    found = dict(fitted(problem, table).unknowns)
    delay = found.pop("s") % (2.0 * np.pi / 4.3)
    assert found == pytest.approx({"k": 0.3, "A": 2.0, "w": 4.3}, rel=0.05)
    assert delay == pytest.approx(0.9, abs=0.03)


def test_a_wave_in_a_condition_alone_needs_no_start():
    """The yearly wave of temperature in the ground, from two years of six sensors."""
    depth, time = (part.ravel() for part in np.meshgrid(np.linspace(0.0, 1.0, 6), np.linspace(0.0, 2.0, 50)))
    decay = np.sqrt(np.pi / 0.05)
    truth = 12.0 + 8.0 * np.exp(-decay * depth) * np.sin(2.0 * np.pi * time - decay * depth + 0.5)
    table = pd.DataFrame({"z": depth, "t": time, "T": truth + np.random.default_rng(3).normal(0.0, 0.2, len(time))})
    unknowns = {"D": Unknown(), "m": Unknown(), "A": Unknown(low=0.0), "w": Unknown(), "p": Unknown()}
    problem = Problem(
        {"z": (0.0, 1.0), "t": (0.0, 2.0)}, ("T",), ("T_t = D*T_zz",), unknowns,
        conditions=("T = m + A*sin(w*t + p) at z = 0",),
    )  # fmt: skip
    found = fitted(problem, table).unknowns
    assert found == pytest.approx({"D": 0.05, "m": 12.0, "A": 8.0, "w": 2.0 * np.pi, "p": 0.5}, rel=0.08)


def started(problem, readings):
    """The unknowns with which the first descent begins."""
    task, meter = Task(problem, readings), Meter(np.inf)
    starts = Starts(task, lambda point, happened: None, lambda stage: None, Journal(), meter)
    start = choose_start(task, 0, 4000, meter)
    starts.find_first(start)
    system, state = starts.smoothed_state(start)
    found = weak_start(system, state, state.unknowns)
    assert found is not None
    return dict(zip(task.unknowns, found, strict=True))


def test_wide_bounds_of_a_frequency_do_not_change_where_it_starts():
    unknowns = {**UNKNOWNS, "w": Unknown(low=0.0, high=1000.0)}
    problem = Problem({"t": (0.0, 30.0)}, ("x",), ("x_tt + c*x_t + k*x = F*cos(w*t)",), unknowns)
    assert started(problem, read_table(driven(2), ("t",), ("x",)))["w"] == pytest.approx(1.7, rel=0.02)


@pytest.mark.parametrize("phase", [0.4, 3.4, 5.6, 6.1])
def test_a_phase_is_found_between_the_bounds_of_one_turn(phase):
    times = np.linspace(0.0, 12.0, 240)
    truth = solve_ivp(lambda t, y: [-0.3 * y[0] + 2.0 * np.sin(2.3 * t + phase)], (0.0, 12.0), [1.0], t_eval=times)
    table = pd.DataFrame({"t": times, "y": truth.y[0] + np.random.default_rng(2).normal(0.0, 0.02, 240)})
    unknowns = {"k": Unknown(), "A": Unknown(low=0.0), "w": Unknown(), "p": Unknown(low=0.0, high=2.0 * np.pi)}
    problem = Problem({"t": (0.0, 12.0)}, ("y",), ("y_t = -k*y + A*sin(w*t + p)",), unknowns)
    found = started(problem, read_table(table, ("t",), ("y",)))
    assert (found["p"], found["w"]) == (pytest.approx(phase, abs=0.3), pytest.approx(2.3, rel=0.05))


def slab(rate, face):
    """Warmth that enters a slab of unit width, whose far side is closed, at 11 places."""
    x, t = (part.ravel() for part in np.meshgrid(np.linspace(0.0, 1.0, 11), np.linspace(0.0, 2.0, 40)))
    waves = (np.arange(60) + 0.5) * np.pi
    terms = np.sin(np.outer(x, waves)) * np.exp(-rate * np.outer(t, waves**2)) * 2.0 / waves
    return pd.DataFrame({"x": x, "t": t, "u": face - face * terms.sum(axis=1)})


def test_a_condition_does_not_move_what_the_equations_determine():
    """The unknown function k is in both; the heat transfer h is in the condition alone."""
    table = slab(0.3, 2.0)
    table["u"] += np.random.default_rng(0).normal(0.0, 0.01, len(table))
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 2.0)}, ("u",), ("u_t = k*u_xx",), {"h": Unknown()},
        varying={"k": VaryingUnknown(of=("t",))}, conditions=("k*u_x = h*u at x = 1",),
    )  # fmt: skip
    found = started(problem, read_table(table, ("x", "t"), ("u",)))
    assert found.pop("h") == pytest.approx(0.0, abs=0.1)
    assert found == pytest.approx(dict.fromkeys(found, 0.3), rel=0.3)


def test_a_frequency_that_the_equations_determine_is_not_scanned_in_a_condition():
    x, t = (part.ravel() for part in np.meshgrid(np.linspace(0.0, 1.0, 8), np.linspace(0.0, 9.0, 90)))
    value = 1.5 * np.sin(2.35 * t + 2.2) + 0.3 * x * t
    table = pd.DataFrame({"x": x, "t": t, "u": value + np.random.default_rng(1).normal(0.0, 0.02, len(x))})
    unknowns = {"w": Unknown(), "A": Unknown(low=0.0), "p": Unknown()}
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 9.0)}, ("u",), ("u_tt = -w^2*(u - 0.3*x*t)",), unknowns,
        conditions=("u = A*sin(w*t + p) at x = 0",),
    )  # fmt: skip
    found = started(problem, read_table(table, ("x", "t"), ("u",)))
    assert found == pytest.approx({"w": 2.35, "A": 1.5, "p": 2.2}, rel=0.05)


def test_a_condition_counts_in_the_range_of_its_experiment():
    """Nothing is read of the second experiment beyond its end, and its field is free there."""
    tables = []
    for name, end in (("a", 6.0), ("b", 1.5)):
        x, t = (part.ravel() for part in np.meshgrid(np.linspace(0.0, 1.0, 6), np.linspace(0.0, end, int(20 * end))))
        tables.append(pd.DataFrame({"x": x, "t": t, "u": (1.0 + np.sin(3.0 * t)) * np.exp(-x), "experiment": name}))
    table = pd.concat(tables, ignore_index=True)
    table["u"] += np.random.default_rng(4).normal(0.0, 0.01, len(table))
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 6.0)}, ("u",), ("u_x = -d*u",),
        {"d": Unknown(), "m": Unknown(per="experiment"), "s": Unknown(per="experiment")},
        conditions=("u = m + s*sin(3*t) at x = 0",),
    )  # fmt: skip
    both = with_experiments(problem, {"a": Experiment(), "b": Experiment(ranges={"t": (0.0, 1.5)})})
    found = started(both, tidy(table, ("x", "t"), ("u",), experiments=("a", "b")))
    assert found == pytest.approx(dict.fromkeys(("d", "m@a", "m@b", "s@a", "s@b"), 1.0), abs=0.1)


def steady_source(place):
    """u_t = -k*u + q*exp(-((x - a)/0.3)^2) from nothing, at 16 places."""
    x, t = (part.ravel() for part in np.meshgrid(np.linspace(0.0, 3.0, 16), np.linspace(0.0, 4.0, 30)))
    field = 2.0 * np.exp(-(((x - place) / 0.3) ** 2)) * (1.0 - np.exp(-0.5 * t)) / 0.5
    return pd.DataFrame({"x": x, "t": t, "u": field + np.random.default_rng(0).normal(0.0, 0.03, len(x))})


@pytest.mark.parametrize(
    ("argument", "place", "sign"), [("x - a", 2.4, 1.0), ("a - x", 0.5, 1.0), ("x + a", 2.4, -1.0)]
)
def test_the_weak_form_begins_at_the_place_of_a_source(argument, place, sign):
    problem = Problem(
        {"x": (0.0, 3.0), "t": (0.0, 4.0)}, ("u",), (f"u_t = -k*u + q*exp(-(({argument})/0.3)^2)",),
        {"k": Unknown(), "q": Unknown(), "a": Unknown()},
    )  # fmt: skip
    found = started(problem, read_table(steady_source(place), ("x", "t"), ("u",)))
    assert found["a"] == pytest.approx(sign * place, abs=0.1)


def test_frequencies_are_tried_a_quarter_of_a_period_apart_up_to_what_the_mesh_shows():
    found = frequencies_to_try(8.0, 4.0, -np.inf, np.inf, 100)
    assert found[0] == 0.0
    assert np.diff(found) * 8.0 == pytest.approx(np.full(len(found) - 1, STEP))
    assert found[-1] == pytest.approx(4.0 * 2.0 * np.pi / 8.0, abs=STEP / 8.0)
    assert frequencies_to_try(8.0, 4.0, -1e308, 1e308, 100).max() <= 4.0 * 2.0 * np.pi / 8.0
    assert len(frequencies_to_try(8.0, 1e6, -np.inf, np.inf, 100)) == 100


@pytest.mark.parametrize(
    ("low", "high", "first", "count"),
    [
        (-np.inf, np.inf, -np.pi, 4),
        (0.0, 2.0 * np.pi, np.pi / 4, 4),
        (5.0, np.inf, 5.0 + np.pi / 4, 4),
        (-np.inf, 5.0, 5.0 - np.pi / 4, 4),
        (0.1, 0.2, 7.0, 1),
    ],
)
def test_phases_are_tried_over_one_turn_from_their_bound(low, high, first, count):
    found = phases_to_try(1.0, low, high, present=7.0)
    assert (found[0], len(found)) == (pytest.approx(first), count)


@pytest.mark.parametrize(("low", "high"), [(1.0, 3.0), (-np.inf, -2.0), (5.0, np.inf)])
def test_frequencies_are_tried_within_their_bounds(low, high):
    found = frequencies_to_try(8.0, 4.0, low, high, 100)
    assert len(found) > 5
    assert low < found.min() < found.max() < high


def test_between_bounds_that_are_close_together_their_middle_is_tried():
    assert frequencies_to_try(8.0, 4.0, 1.0, 1.01, 100) == pytest.approx([1.005])


def reduced(*equations, hidden=("v",), fields=("x",)):
    """The trees of the equations after the elimination, and how many there were."""
    unknowns = {name: Unknown() for name in "kc" if any(name in each for each in equations)}
    problem = Problem({"t": (0.0, 3.0)}, fields, equations, unknowns, hidden=hidden)
    return [tree_of(each) for each in without_defined(Task(problem, readings_of(problem))).equations], len(equations)


def readings_of(problem):
    times = np.linspace(0.0, 3.0, 20)
    table = pd.DataFrame({"t": times} | {name: np.sin(times) for name in problem.fields})
    return read_table(table, ("t",), problem.fields)


def at(tree, **values):
    """The value of a tree by the names of its leaves: `x_tt` is the second derivative of x."""

    def look_up(leaf):
        axes = getattr(leaf, "terms", ((),))[0]
        name = getattr(leaf, "field", None) or leaf.name
        return np.float64(values[f"{name}_{''.join(axes)}" if axes else name])

    return float(evaluate(tree, look_up))


@pytest.mark.parametrize(
    ("definition", "value"),
    [("x_t = v", 3.0), ("v = x_t + 2*x", 3.0 + 2.0 * 5.0), ("x_t + v/4 = k*x", 4.0 * (7.0 * 5.0 - 3.0))],
)
def test_a_hidden_field_is_replaced_by_what_an_equation_says(definition, value):
    trees, before = reduced(definition, "0 = v - c")
    assert (len(trees), before) == (1, 2)
    assert abs(at(trees[0], x=5.0, x_t=3.0, k=7.0, c=11.0)) == pytest.approx(abs(value - 11.0))


def test_its_derivatives_are_those_of_what_it_is():
    trees, _ = reduced("x_t = v", "v_t = -k*x - c*v")
    assert at(trees[0], x=5.0, x_t=3.0, x_tt=2.0, k=7.0, c=11.0) == pytest.approx(2.0 + 7.0 * 5.0 + 11.0 * 3.0)


@pytest.mark.parametrize("definition", ["x_t = k*v", "x_t = v*x", "x_t = v + v^2", "x_t = v_t", "x_t = sin(v)"])
def test_only_a_term_that_is_the_field_times_a_number_defines_it(definition):
    trees, before = reduced(definition, "v_t = -k*x - c*v^2")
    assert len(trees) == before


@pytest.mark.parametrize("equations", [["x_t = v"], ["x_t = -c*x", "v = k*t", "v = 2*t"]])
def test_no_elimination_leaves_nothing_or_an_equation_without_a_field(equations):
    trees, before = reduced(*equations)
    assert len(trees) == before


def test_a_problem_of_one_equation_that_defines_its_hidden_field_is_fitted():
    times = np.linspace(0.0, 3.0, 40)
    table = pd.DataFrame({"t": times, "x": np.sin(times) + np.random.default_rng(0).normal(0.0, 0.01, 40)})
    result = fitted(Problem({"t": (0.0, 3.0)}, ("x",), ("x_t = v",), {}, hidden=("v",)), table)
    assert result.status.name != "DIVERGED"


def test_what_needs_a_higher_derivative_than_the_splines_have_keeps_its_field():
    chain = ["x_t = a1"] + [f"a{n}_t = a{n + 1}" for n in range(1, 5)] + ["a5_t = -k*x"]
    trees, before = reduced(*chain, hidden=tuple(f"a{n}" for n in range(1, 6)))
    assert len(trees) == before
