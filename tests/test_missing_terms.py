"""Equations that lack a term are doubted, and those that lack none are not."""

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.data.readings import Readings, read_table
from napinn.engines.splines import missing_terms
from napinn.engines.splines.missing_terms import richer_problem, terms_of
from napinn.engines.splines.solver import solve
from napinn.problem import Problem, Unknown
from napinn.results.result import FitResult, FitStatus

ROD = Problem(
    {"x": (0.0, 1.0), "t": (0.0, 0.5)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.3, low=0.0)},
    conditions=("u = 0 at x = 0", "u = 0 at x = 1"),
)  # fmt: skip
GROWTH = Problem({"t": (0.0, 6.0)}, ("u",), ("u_t = r*u",), {"r": Unknown(0.5, low=0.0)})


def rod(loss: float) -> Readings:
    """Readings of a rod with a diffusivity of 0.4 that also loses heat along its length."""
    random = np.random.default_rng(1)
    x, t = random.uniform(0.0, 1.0, 300), random.uniform(0.0, 0.5, 300)
    slow = np.exp(-(0.4 * np.pi**2 + loss) * t) * np.sin(np.pi * x)
    fast = 0.3 * np.exp(-(0.4 * 9.0 * np.pi**2 + loss) * t) * np.sin(3.0 * np.pi * x)
    table = pd.DataFrame({"x": x, "t": t, "u": slow + fast + random.normal(0.0, 0.006, 300)})
    return read_table(table, ("x", "t"), ("u",))


def growth(capacity: float) -> Readings:
    random = np.random.default_rng(2)
    t = np.linspace(0.0, 6.0, 60)
    u = capacity / (1.0 + (capacity / 0.1 - 1.0) * np.exp(-0.8 * t))
    return read_table(pd.DataFrame({"t": t, "u": u + random.normal(0.0, 0.02, 60)}), ("t",), ("u",))


@pytest.fixture(scope="module")
def lossy() -> FitResult:
    return napinn.fit(ROD, rod(4.0), napinn.bsplines())


def lacks(result: FitResult) -> list[str]:
    return [note for note in result.notes if "lack a term" in note]


def test_a_larger_diffusivity_in_place_of_a_loss_is_doubted(lossy):
    assert lossy.unknowns["D"] > 0.6
    assert lossy.status is FitStatus.DOUBTFUL
    assert lossy.lacks_a_term
    (said,) = lacks(lossy)
    assert "·u on the right of 'u_t = D*u_xx'" in said
    assert "moves 'D' from 0." in said


def test_a_rod_that_loses_nothing_is_not_doubted():
    result = napinn.fit(ROD, rod(0.0), napinn.bsplines())
    assert result.unknowns["D"] == pytest.approx(0.4, rel=0.05)
    assert result.status is FitStatus.CONVERGED
    assert not result.lacks_a_term
    assert not lacks(result)


def test_growth_without_the_limit_that_the_readings_show_is_doubted():
    assert lacks(napinn.fit(GROWTH, growth(3.0), napinn.bsplines()))


def test_growth_far_below_its_limit_is_not_doubted():
    assert not lacks(napinn.fit(GROWTH, growth(1e6), napinn.bsplines()))


@pytest.mark.parametrize(("capacity", "begun"), [(1e6, False), (3.0, True)])
def test_a_descent_is_begun_only_where_its_first_step_promises_enough(monkeypatch, capacity, begun):
    steps = []

    def counted(*arguments, **options):
        steps.append(options["steps"])
        return solve(*arguments, **options)

    monkeypatch.setattr(missing_terms, "solve", counted)
    napinn.fit(GROWTH, growth(capacity), napinn.bsplines())
    assert (len(steps) > 1) is begun
    assert steps[0] == 0


def test_terms_are_the_field_its_square_a_constant_and_first_derivatives_beside_second_ones():
    problem = Problem(
        {"x": (0.0, 1.0), "t": (0.0, 1.0)}, ("u", "v"), ("u_tt = c*u_xx", "v = u**2"), {"c": Unknown(1.0)}
    )
    found = list(terms_of(problem))
    assert [term.text for term in found] == ["u", "u**2", "1", "d(u, x)", "d(u, t)"]
    assert {term.equation for term in found} == {0}
    richer = richer_problem(problem, found)
    assert len(richer.unknowns) == 6
    assert richer.equations[1] == problem.equations[1]
