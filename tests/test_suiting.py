"""Readings change the default only where they show many waves or are few, and then as promised."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, law_pinn, na_pinn
from napinn.density import EBM, KDE, Shrunk
from napinn.methods import SETTINGS, as_printed, compressed
from napinn.networks import FLS, MLP
from napinn.readings import Readings, read_table
from napinn.settings import decode, encode
from napinn.suiting import STIFFEST, steepens, suited
from napinn.waves import crowding

CARRIED = Problem({"t": (0.0, 1.0)}, ("u",), ("u_tt = -u*u_t",))
OSCILLATOR = Problem({"t": (0.0, 1.0)}, ("u",), ("u_tt = -u",))


def swings(waves: float, count: int = 400, wrong: float = 0.15) -> Readings:
    random = np.random.default_rng(0)
    t = random.uniform(0.0, 1.0, count)
    values = np.sin(2.0 * np.pi * waves * t) + 0.05 * random.standard_normal(count)
    values = np.where(random.random(count) < wrong, random.uniform(-7.0, 7.0, count), values)
    return read_table(pd.DataFrame({"t": t, "u": values}), ("t",), ("u",))


@pytest.mark.parametrize(("waves", "crowded"), [(1.0, False), (2.0, False), (10.0, True), (20.0, True)])
def test_many_waves_are_told_from_few_among_wrong_readings(waves, crowded):
    (times,) = crowding(swings(waves), (0.0,), (1.0,))
    assert (times > 1.0) is crowded


def test_noise_alone_is_no_wave():
    assert crowding(swings(0.0), (0.0,), (1.0,)) == (1.0,)


def test_waves_make_the_first_layer_sines_of_their_number():
    method = suited(law_pinn(backbone=MLP(24, 3)), swings(10.0), OSCILLATOR)
    assert method.crowding is not None
    assert method.backbone == FLS(24, 3, (1.5 * method.crowding[0],))
    assert decode(encode(method), SETTINGS) == method


def test_many_readings_of_few_waves_change_nothing():
    method = law_pinn()
    same = dataclasses.replace(method, crowding=(1.0,))
    assert suited(method, swings(2.0, count=1000), OSCILLATOR) == same
    assert suited(method, swings(2.0, count=5000), CARRIED) == same


@pytest.mark.parametrize(("waves", "count"), [(1.0, 20), (10.0, 400), (2.0, 2000)])
def test_a_method_is_suited_once(waves, count):
    once = suited(law_pinn(), swings(waves, count), CARRIED)
    assert once != law_pinn()
    assert suited(once, swings(1.0, 50), CARRIED) == once


def test_some_thousands_of_readings_of_fronts_are_followed_under_light_equations_first():
    method = law_pinn(900)
    changed = suited(method, swings(2.0, count=2000), CARRIED)
    assert changed.steps == method.steps
    warm_up, law, joint, cooling = changed.phases
    assert warm_up.steps == 300
    assert law == method.phases[1]
    assert warm_up.stiffness[0] < warm_up.stiffness[1] < 1.0
    assert joint.stiffness[0] == joint.stiffness[1] == cooling.stiffness[0] < cooling.stiffness[1] == 1.0
    assert decode(encode(changed), SETTINGS) == changed


@pytest.mark.parametrize("method", [as_printed(na_pinn()), law_pinn(adapts=False)], ids=["printed", "told not to"])
def test_a_method_that_does_not_adapt_stays(method):
    assert suited(method, swings(10.0), OSCILLATOR) == method


def test_few_readings_begin_with_light_equations_and_end_with_heavy_ones():
    method = suited(law_pinn(), swings(1.0, count=20), OSCILLATOR)
    assert [phase.name for phase in method.phases] == [
        "warm-up", "approach", "heavy warm-up", "heavy approach", "noise law", "joint", "cooling", "refinement",
    ]  # fmt: skip
    (lightest, _), (_, heaviest) = method.phases[0].stiffness, method.phases[-1].stiffness
    assert lightest < 1.0 < heaviest == STIFFEST
    # No law weighs readings before one has been learned.
    assert [phase.wants_law(there=False) for phase in method.phases] == [False] * 4 + [True] * 4
    assert method.gating is not None
    assert isinstance(method.gating.density, Shrunk)
    assert method.gating.density.share == pytest.approx(100 / 120)
    assert decode(encode(method), SETTINGS) == method


def test_what_was_named_stays():
    named = law_pinn(backbone=MLP(24, 3), keeps_backbone=True, estimator=compressed(KDE()))
    few = suited(named, swings(10.0, count=100), OSCILLATOR)
    assert few.backbone == MLP(24, 3)
    assert few.gating is not None
    assert few.gating.density == Shrunk(compressed(KDE()), 0.5)
    assert few.phases[-1].name == "refinement"


def test_a_shrunk_law_of_two_values_stays_bell_shaped():
    """Alone, the estimator would put all it has on the two values; with its prior it is highest between them."""
    density = Shrunk(EBM(rate=5e-3), share=0.9)
    misfits = jnp.tile(jnp.asarray([-1.0, 1.0]), 128)
    state = density.init(jax.random.key(0), misfits)
    learn = jax.jit(density.update)
    for key in jax.random.split(jax.random.key(1), 300):
        state, _ = learn(state, misfits, key)
    middle, far = density.log_prob(state, jnp.asarray([0.0, 5.0]))
    assert -1.6 < float(middle) < -0.6
    assert float(middle - far) > 2.0
    assert float(density.normaliser(state)) == pytest.approx(1.0, abs=0.02)


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
