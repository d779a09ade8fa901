"""Source terms in the equations: closed forms of what judges them, a wrong and a right equation, and their files."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn import FitStatus, plot
from napinn.engines.base import backend_of
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.discrepancy import (
    MOST_IN_GROUP,
    MOST_JUDGED,
    MOST_PARTS,
    _cut,
    _drawn,
    _parted,
    sources_of,
)
from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.held_out import held_out_log_densities
from napinn.engines.splines.model import SplineModel
from napinn.engines.splines.rebuilding import rebuilt_fit
from napinn.engines.splines.solver import solve
from napinn.engines.splines.source_terms import _summands
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.unknown_functions import tree_of
from napinn.errors import InputError
from napinn.evaluation.finishing import with_discrepancy
from napinn.field.splines.axis import uniform_axis
from napinn.field.splines.space import Space
from napinn.noise.laws import Gaussian
from napinn.problem import Problem, Unknown
from napinn.problem.equations.printing import show
from napinn.report.html import report_html
from napinn.results.discrepancy import (
    CONFIRMED,
    LEAST_GAIN,
    STANDARD_ERRORS,
    Discrepancy,
    Likeness,
    SourceTerm,
    described,
    restored,
)

BOX = {"t": (0.0, 5.0)}


def cooling() -> pd.DataFrame:
    """A body that cools from 2 to 0.3 with a rate of 0.7; so many readings that one start of a fit is enough."""
    t = np.linspace(0.0, 5.0, 120)
    return pd.DataFrame({"t": t, "u": 0.3 + 1.7 * np.exp(-0.7 * t) + 0.03 * np.random.default_rng(4).normal(size=120)})


def fitted(equation: str, *unknowns: str) -> napinn.FitResult:
    problem = Problem(BOX, ("u",), (equation,), {name: Unknown(0.3, low=0.0) for name in unknowns})
    return napinn.fit(problem, napinn.read_readings(cooling(), problem), napinn.bsplines())


@pytest.fixture(scope="module")
def wrong() -> napinn.FitResult:
    """Without the temperature that the body cools to."""
    return with_discrepancy(fitted("u_t = -k*u", "k"))


def source(**entries: object) -> SourceTerm:
    known: dict[str, object] = {
        "equation": "u' = -k u", "axes": {"t": np.linspace(0.0, 1.0, 5)},
        "values": np.array([0.0, 1.0, -3.0, 1.0, 0.0]),
        "halves": np.array([1.0, 0.1, 0.5, 0.1, 1.0]), "size": 1.5, "terms": {"k u": 3.0, "u'": 2.0},
        "likeness": Likeness("u", -0.12, 0.9),
    }  # fmt: skip
    return SourceTerm(**{**known, **entries})  # pyright: ignore[reportArgumentType]


def test_an_equation_that_lacks_a_constant_is_called_wrong(wrong: napinn.FitResult) -> None:
    found = wrong.discrepancy
    assert found is not None
    assert wrong.status is FitStatus.EQUATION_WRONG
    assert not wrong.status.trusted
    assert wrong.status.value.startswith("The equation does not describe these readings")
    assert found.gain > 3.0 * found.error
    assert any("the likelihood of held-out readings rises" in note for note in wrong.notes)
    # The whole right-hand side is -0.7 u + 0.21, of which a larger rate takes a part.
    assert found.unknowns["k"] != pytest.approx(wrong.unknowns["k"], rel=0.02)


def test_the_right_equation_is_not() -> None:
    result = with_discrepancy(fitted("u_t = -k*(u - m)", "k", "m"))
    assert result.status is FitStatus.CONVERGED
    assert result.discrepancy is not None
    assert result.discrepancy.sources[0].share < 0.01
    assert any("do not need a source term" in note for note in result.notes)


def test_a_fit_is_rebuilt_with_its_own_kind_of_noise_law() -> None:
    problem = Problem(BOX, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3, low=0.0)})
    result = napinn.fit(problem, napinn.read_readings(cooling(), problem), napinn.bsplines("gaussian"))
    assert isinstance(result.model, SplineModel)
    system, state = rebuilt_fit(result, result.model)
    assert system.task.density == "gaussian"
    assert state.laws == result.model.laws


def test_a_source_term_is_kept_shown_and_drawn(wrong: napinn.FitResult, tmp_path: Path) -> None:
    napinn.save(wrong, tmp_path / "run")
    again = napinn.load(tmp_path / "run")
    assert again.status is FitStatus.EQUATION_WRONG
    assert wrong.lacks_a_term
    assert again.lacks_a_term
    assert again.discrepancy is not None
    assert wrong.discrepancy is not None
    assert wrong.discrepancy.doubted
    np.testing.assert_allclose(again.discrepancy.sources[0].values, wrong.discrepancy.sources[0].values, rtol=1e-5)
    page = report_html(again)
    assert "Is the sensor wrong, or the equation?" in page
    assert "Source term of" in page
    assert len(plot.discrepancy(again)) == 2


@pytest.mark.parametrize(
    ("gain", "error", "wanted"),
    [
        (1.01 * LEAST_GAIN, 0.1, True),
        (0.99 * LEAST_GAIN, 0.1, False),
        (30.0, 30.0 / STANDARD_ERRORS - 0.1, True),
        (30.0, 30.0 / STANDARD_ERRORS + 0.1, False),
    ],
)
def test_the_thresholds_decide(gain: float, error: float, wanted: bool) -> None:
    assert Discrepancy((source(),), gain, error, "12 sensors", {}).wanted == wanted


@pytest.mark.parametrize(("gain", "wanted"), [(1.01 * CONFIRMED, True), (0.99 * CONFIRMED, False)])
def test_less_suffices_where_the_first_fit_already_lacks_a_term(gain: float, wanted: bool) -> None:
    assert Discrepancy((source(),), 3.0 * gain, 3.0, "12 sensors", {}, doubted=True).wanted == wanted
    assert not Discrepancy((source(),), 3.0 * gain, 3.0, "12 sensors", {}).wanted


def test_a_source_term_says_its_size_its_place_and_what_it_looks_like() -> None:
    said = source().sentence
    assert source().share == pytest.approx(0.5)
    assert "50 % of the largest term" in said
    assert "-3 at t = 0.5" in said
    assert "resembles -0.12·u, which explains 90 %" in said
    assert "not resemble a simple term" in source(likeness=None).sentence


@pytest.mark.parametrize(("share", "vanishes"), [(0.0009, True), (0.0011, False)])
def test_a_source_term_below_a_thousandth_of_the_largest_term_is_called_none(share: float, vanishes: bool) -> None:
    assert ("vanishes" in source(size=share, terms={"∂u/∂t": 1.0}).sentence) is vanishes


def test_a_file_gives_back_what_was_found() -> None:
    found = Discrepancy((source(), source(likeness=None)), 12.0, 2.0, "12 sensors", {"k": 0.7}, doubted=True)
    again = restored(json.loads(json.dumps(described(found))))
    assert again is not None
    assert described(again) == described(found)
    assert restored(None) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"gain": math.inf},
        {"sources": []},
        {"sources": [{**described(Discrepancy((source(),), 1.0, 1.0, "", {}))["sources"][0], "values": [1.0]}]},
    ],
)
def test_a_damaged_file_is_refused(damage: dict[str, object]) -> None:
    entry = described(Discrepancy((source(),), 12.0, 2.0, "12 sensors", {"k": 0.7}))
    with pytest.raises((InputError, ValueError)):
        restored({**entry, **damage})


def test_readings_left_out_are_predicted_as_by_a_fit_without_them() -> None:
    """Exactly, where equation and noise are linear and Gaussian."""
    problem = Problem(BOX, ("u",), ("u_t = -0.7*(u - 0.3)",))
    readings = napinn.read_readings(cooling(), problem)
    task = Task(problem, readings)
    space = Space((uniform_axis(0.0, 5.0, 8, 4),), 1)
    system = System(task, space, 3, np.ones(120, bool), Meter())
    state = State(np.zeros(space.size), np.zeros(0), np.zeros(1), np.array([0.02]), (Gaussian(),))
    units = measured_units(system, replace(state, coefficients=np.ones(space.size)))
    label = np.arange(120) // 20

    def ended(used: np.ndarray, tolerance: float) -> State:
        return solve(system.using(used), units, tolerance, state, steps=3, least_gain=0.0).state

    whole = solve(system, units, 0.05, state, steps=3, least_gain=0.0)
    found = held_out_log_densities(whole, label)
    for group in (0, 3, 5):
        kept = label != group
        # The weight of the equations counts readings, so a fit with fewer has a tolerance that is less.
        without = ended(kept, 0.05 * math.sqrt(float(kept.mean())))
        mine = system.standardised(without)[label == group]
        np.testing.assert_allclose(found[label == group], -Gaussian().loss(mine) - math.log(0.02), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [MOST_PARTS, MOST_PARTS + 1])
def test_many_groups_are_put_together(count: int) -> None:
    label, said = _parted(np.append(np.arange(count), -1))
    assert len(np.unique(label[label >= 0])) == MOST_PARTS
    assert label[-1] == -1
    assert bool(said) == (count > MOST_PARTS)


@pytest.mark.parametrize(("readings", "groups"), [(MOST_IN_GROUP, 1), (MOST_IN_GROUP + 1, 2)])
def test_large_groups_are_cut(readings: int, groups: int) -> None:
    label = _cut(np.append(np.full(readings, 4), -1))
    assert sorted(np.unique(label)) == [-1, *range(groups)]
    assert np.all(np.diff(label[:-1]) >= 0)


def test_as_many_groups_are_drawn_as_can_be_judged() -> None:
    label = np.repeat(np.arange(100), 50)
    assert np.count_nonzero(_drawn(label) >= 0) == MOST_JUDGED
    np.testing.assert_array_equal(_drawn(label[:1000]), label[:1000])


def test_terms_are_those_of_both_sides() -> None:
    problem = Problem(BOX, ("u",), ("u_t = r*u*(1 - u/K)",), {"r": Unknown(1.0), "K": Unknown(1.0)})
    assert len([show(term) for term in _summands(tree_of(problem.written[0]))]) == 3


def test_what_cannot_be_tried_is_one_sentence() -> None:
    varying = {"q": napinn.VaryingUnknown(("t",))}
    problem = Problem(BOX, ("u",), ("u_t = q",), varying=varying)
    task = Task(problem, napinn.read_readings(cooling(), problem))
    with pytest.raises(InputError, match="'q' varies along all coordinates"):
        sources_of(task, Units([], [], []))


def test_a_network_says_that_splines_are_needed(wrong: napinn.FitResult) -> None:
    network = replace(wrong, method=napinn.pinn(steps=10), status=FitStatus.CONVERGED)
    with pytest.raises(InputError, match="fit with --method splines"):
        backend_of(network.method).discrepancy(network)
    assert "No source term was tried" in with_discrepancy(network).notes[-1]
