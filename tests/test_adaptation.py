"""Readings change a method only where they show many waves, or fronts in the plane, and then as promised."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, law_pinn, na_pinn
from napinn.data.readings import Readings, read_table
from napinn.engines.network.adaptation import adapted, steepens
from napinn.engines.network.methods import SETTINGS, as_printed
from napinn.engines.network.wavenumber import wavenumbers
from napinn.field.backbones import FLS, MLP
from napinn.storage.settings import decode, encode

LINE = {"x": (0.0, 1.0), "t": (0.0, 1.0)}
CARRIED = Problem({**LINE, "y": (0.0, 1.0)}, ("u",), ("u_t + u*u_x = u_xx + u_yy",))
CARRIED_ON_A_LINE = Problem(LINE, ("u",), ("u_t + u*u_x = u_xx",))
OSCILLATOR = Problem({"t": (0.0, 1.0)}, ("u",), ("u_tt = -u",))


def swings(waves: float, count: int = 400, problem: Problem = OSCILLATOR, wrong: float = 0.15) -> Readings:
    random = np.random.default_rng(0)
    t = random.uniform(0.0, 1.0, count)
    values = np.sin(2.0 * np.pi * waves * t) + 0.05 * random.standard_normal(count)
    values = np.where(random.random(count) < wrong, random.uniform(-7.0, 7.0, count), values)
    others = {name: random.uniform(0.0, 1.0, count) for name in problem.coordinates if name != "t"}
    return read_table(pd.DataFrame({"t": t, **others, "u": values}), tuple(problem.coordinates), ("u",))


@pytest.mark.parametrize(("waves", "crowded"), [(1.0, False), (2.0, False), (10.0, True), (20.0, True)])
def test_many_waves_are_told_from_few_among_wrong_readings(waves, crowded):
    (times,) = wavenumbers(swings(waves), (0.0,), (1.0,))
    assert (times > 1.0) is crowded


def test_noise_alone_is_no_wave():
    assert wavenumbers(swings(0.0), (0.0,), (1.0,)) == (1.0,)


def test_waves_make_the_first_layer_sines_of_their_number():
    method = adapted(law_pinn(backbone=MLP(24, 3)), swings(10.0), OSCILLATOR)
    assert method.wavenumbers is not None
    assert method.backbone == FLS(24, 3, (1.5 * method.wavenumbers[0],))
    assert decode(encode(method), SETTINGS) == method


@pytest.mark.parametrize(
    ("problem", "count"),
    [(OSCILLATOR, 20), (OSCILLATOR, 1000), (CARRIED, 999), (CARRIED, 5000), (CARRIED_ON_A_LINE, 2000)],
)
def test_readings_of_few_waves_change_nothing(problem, count):
    """However few they are; fronts on a line, or in fewer or more readings than some thousands, change nothing."""
    same = dataclasses.replace(law_pinn(), wavenumbers=(1.0,) * len(problem.coordinates))
    assert adapted(law_pinn(), swings(2.0, count, problem), problem) == same


@pytest.mark.parametrize(("waves", "count"), [(10.0, 400), (2.0, 2000)])
def test_a_method_is_suited_once(waves, count):
    once = adapted(law_pinn(), swings(waves, count, CARRIED), CARRIED)
    assert once != law_pinn()
    assert adapted(once, swings(1.0, 1500, CARRIED), CARRIED) == once


@pytest.mark.parametrize("count", [1000, 4999])
def test_some_thousands_of_readings_of_fronts_in_the_plane_are_followed_under_light_equations_first(count):
    method = law_pinn(900)
    changed = adapted(method, swings(2.0, count, CARRIED), CARRIED)
    assert changed.steps == method.steps
    warm_up, law, joint, cooling = changed.phases
    assert warm_up.steps == 300
    assert law == method.phases[1]
    assert warm_up.equation_factors[0] < warm_up.equation_factors[1] < 1.0
    assert (
        joint.equation_factors[0]
        == joint.equation_factors[1]
        == cooling.equation_factors[0]
        < cooling.equation_factors[1]
        == 1.0
    )
    assert decode(encode(changed), SETTINGS) == changed


@pytest.mark.parametrize("method", [as_printed(na_pinn()), law_pinn(adapts=False)], ids=["printed", "told not to"])
def test_a_method_that_does_not_adapt_stays(method):
    assert adapted(method, swings(10.0), OSCILLATOR) == method


def test_a_backbone_that_was_named_stays():
    named = law_pinn(backbone=MLP(24, 3), keeps_backbone=True)
    assert adapted(named, swings(10.0), OSCILLATOR) == dataclasses.replace(named, wavenumbers=(1.0,))


@pytest.mark.parametrize(
    ("equations", "fronts"),
    [
        (("u_t + a*u*u_x = b*u_xx", "v = u"), True),
        (("u_t + a*u*u_x + b*u_xxx = 0", "v = u"), True),
        (("u_t + v*u_x = 0", "v_t = a*v_xx + b*u"), True),
        (("u_t = a*(u_xx + v_xx) + b*u*(1 - u)", "v_t = v_xx - u*v"), False),
        (("u_t + a*u_x = b*u_xx", "v_x = u_t"), False),
        (("u_t = a*u_x**2 + b*sin(u)", "v = u"), False),
    ],
)
def test_where_a_field_is_carried_by_a_field_there_are_fronts(equations, fronts):
    unknowns = {"a": Unknown(0.0), "b": Unknown(0.1)}
    problem = Problem({"x": (-1.0, 1.0), "t": (0.0, 1.0)}, ("u", "v"), equations, unknowns)
    assert steepens(problem) is fronts
