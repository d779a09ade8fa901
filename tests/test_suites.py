"""The truths that benchmarks compare with solve the equations that napinn is given."""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from napinn.problem import Problem
from napinn.problem.equations import Derivative

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import pulse
import unseen_fields
import unseen_odes
from ode_rival import forward_fit, noise_of
from ode_systems import SYSTEMS

UNSEEN = {**unseen_odes.CASES, **unseen_fields.CASES}
STEP = 1e-3
"""Of differences, as a share of each coordinate's range."""


def differences(solution, points, axes, steps):
    """A mixed partial of all fields, by central differences of fourth order along each axis in turn."""
    if not axes:
        return solution(points)
    axis, *rest = axes
    shift = np.zeros(points.shape[1])
    shift[axis] = steps[axis]
    near, far = (
        differences(solution, points + k * shift, rest, steps) - differences(solution, points - k * shift, rest, steps)
        for k in (1, 2)
    )
    return (8.0 * near - far) / (12.0 * steps[axis])


def as_arrays(numbers):
    return {name: jnp.asarray(value) for name, value in numbers.items()}


def residual_values(problem: Problem, solution, truth) -> float:
    """The largest residual of any equation at points drawn from the box, over the largest derivative in any."""
    low, high = np.array(problem.lows), np.array(problem.highs)
    points = np.random.default_rng(0).uniform(low + 0.05 * (high - low), high - 0.05 * (high - low), (20, low.size))
    names, sizes = list(problem.coordinates), []

    def derivative(leaf):
        assert isinstance(leaf, Derivative)
        parts = [
            differences(solution, points, [names.index(c) for c in term], STEP * (high - low)) for term in leaf.terms
        ]
        found = np.sum(parts, axis=0)[:, problem.outputs.index(leaf.field)]
        sizes.append(np.abs(found).max() if leaf.terms != ((),) else 0.0)
        return jnp.asarray(found)

    places = {name: jnp.asarray(column) for name, column in zip(names, points.T, strict=True)}
    residuals = problem.evaluated(problem.written, places, derivative, as_arrays(truth))
    return max(float(jnp.abs(residual).max()) for residual in residuals) / max(sizes)


@pytest.mark.parametrize("name", UNSEEN)
def test_truth_of_an_unseen_problem_solves_its_equations(name):
    case = UNSEEN[name]
    assert residual_values(case.problem, case.solution, case.truth) < 2e-3


@pytest.mark.parametrize(("name", "form"), [("puff", pulse.puff), ("river", pulse.river)])
def test_truth_of_a_pulse_solves_its_equation(name, form):
    case = pulse.CASES[name]
    assert residual_values(case.problem, lambda points: form(*points.T)[:, None], case.truth) < 1e-6


@pytest.mark.parametrize("name", SYSTEMS)
def test_text_of_a_system_says_what_its_forward_solver_solves(name):
    system = SYSTEMS[name]
    problem = system.problem(seed=0)
    state = np.random.default_rng(1).uniform(0.2, 2.0, len(system.states))
    slope = system.slope(1.5, state, system.truth)

    def derivative(leaf):
        number = system.states.index(leaf.field)
        return jnp.array([state[number] if leaf.terms == ((),) else slope[number]])

    truth = as_arrays(dict(zip(system.names, system.truth, strict=True)))
    residuals = problem.evaluated(problem.written, {"t": jnp.array([1.5])}, derivative, truth)
    assert np.abs(residuals).max() < 1e-12 * max(1.0, np.abs(slope).max())


def test_gross_errors_are_an_exact_share_and_the_same_at_every_level():
    system = SYSTEMS["lotka_volterra"]
    clean, none = system.read(0.05, 0.0, seed=3)
    values, gross = system.read(0.05, 0.15, seed=3)
    _, fewer = system.read(0.05, 0.05, seed=3)
    assert not none.any()
    assert gross.sum() == round(0.15 * gross.size)
    assert gross[fewer].all()
    np.testing.assert_array_equal(values[~gross], clean[~gross])
    far = np.abs(values - system.path) / np.std(system.path, axis=0)
    assert far[gross].min() >= 3.0


def test_forward_solver_recovers_the_truth_from_readings_with_little_noise():
    system = SYSTEMS["lotka_volterra"]
    values, _ = system.read(0.01, 0.05, seed=0)
    assert noise_of(values) == pytest.approx(0.01 * np.sqrt(np.mean(system.path**2, axis=0)), rel=0.5)
    assert forward_fit(system, values, 0, "cauchy", from_truth=True) == pytest.approx(system.truth, rel=0.02)
