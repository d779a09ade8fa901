"""Methods: what each recipe promises, and that every part combines with every other."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import napinn
from napinn import Problem, Unknown, fit, read_table
from napinn.engines.catalogue import BACKBONES, METHODS
from napinn.engines.network.methods import (
    SETTINGS,
    as_printed,
    b_pinn,
    lad_pinn,
    law_pinn,
    mad_pinn,
    na_pinn,
    or_pinn,
    pinn,
)
from napinn.engines.network.model import frame_of, initial
from napinn.engines.network.training import Adam, FixedCost, PhaseKind, begin, prepare_data
from napinn.engines.network.training.loop import chunk_runner, enter
from napinn.field.backbones import FLS, KAN, MLP, BayesianMLP, PirateNet, QRes, parameter_count
from napinn.noise.density import EBM, GMM, KDE, BatchStd, CrossValidated
from napinn.noise.losses import Absolute, Huber, QGaussian, Squared
from napinn.results.recipe import decode_method
from napinn.storage.settings import decode, encode

TOGETHER = dict(warm_up=0, law_steps=0)
SMALL = dict(backbone=MLP(12, 2), collocation_batch=32, reading_batch=64, optimiser=Adam(5e-3), log_every=500)

FEW_POINTS = dict(collocation_batch=16, reading_batch=32, **TOGETHER)

SMALL_EBM = EBM(width=8, depth=1, nodes=64)
DENSITIES = (SMALL_EBM, GMM(), KDE(size=64))
LOSSES = (Squared(), Absolute(), QGaussian(2.9), Huber(1.0))
NETWORKS = (MLP(6, 1), FLS(6, 1), QRes(6, 1), PirateNet(6, 1, embedding=8), KAN(4, 1, intervals=3), BayesianMLP(6, 1))


@pytest.fixture(scope="module")
def begun(decay_problem, decay_readings):
    """Data, and a state that is about to enter its first phase, which no density has a part in yet."""

    @functools.cache
    def of(backbone, dtype):
        data, _ = prepare_data(decay_problem, decay_readings, dtype)
        method = na_pinn(50, backbone=backbone, **FEW_POINTS)
        frame = frame_of(decay_problem, decay_readings, method, dtype)
        start = jax.jit(lambda key: begin(method, initial(decay_problem, method, frame, key), key))
        return data, start(jax.random.key(0))

    return of


@pytest.mark.parametrize("density", range(len(DENSITIES)), ids=lambda number: type(DENSITIES[number]).__name__)
@pytest.mark.parametrize("network", range(len(NETWORKS)), ids=lambda number: type(NETWORKS[number]).__name__)
def test_every_density_and_loss_trains_with_every_backbone(network, density, decay_problem, begun):
    """Fifty joint steps: every number stays finite, and network, coefficient and law all move.

    Each backbone meets each loss once, with one of the densities, so chosen that every two parts meet somewhere. The
    density that compiles quickest meets two."""
    losses_met = [LOSSES[(network + more) % len(LOSSES)] for more in ((0,), (1, 2), (3,))[density]]
    backbone, density = NETWORKS[network], DENSITIES[density]
    parts = dict(estimator=density, backbone=backbone, **FEW_POINTS)
    weight = 1e-6 if isinstance(backbone, BayesianMLP) else 0.0
    with jax.enable_x64(False):
        dtype = jnp.dtype(jnp.float32)
        data, start = begun(backbone, dtype)
        for loss in losses_met:
            method = na_pinn(50, divergence_weight=weight, loss=loss, **parts)
            state = enter(method, method.phases[-1], start, data)
            run = chunk_runner(decay_problem, method, method.phases[-1])
            after, losses, finite = run(state, data, jnp.zeros((0,), dtype), 50)
            assert finite
            assert all(np.isfinite(float(value)) for value in vars(losses).values())
            assert 0.0 < abs(float(after.learned.unknowns["k"]) - 0.3) < 0.5
            for name in ("learned", "law"):
                pairs = zip(*(jax.tree.leaves(getattr(s, name)) for s in (state, after)), strict=True)
                assert any(not np.array_equal(old, new) for old, new in pairs)


def test_parameter_counts_are_the_papers():
    counts = {"mlp": 26_402, "fls": 26_402, "qres": 52_242, "piratenet": 110_327, "kan": 260_000}
    ends = jnp.ones((3,))
    for name, count in counts.items():
        network = BACKBONES[name].make().init(jax.random.key(0), 3, 2, -ends, ends)
        assert parameter_count(network) == count


def test_every_method_survives_its_settings_file():
    for name, entry in METHODS.items():
        method = entry.make(77) if entry.steps else entry.make()
        assert method.name == name
        assert decode_method(encode(method)) == method
    nested = na_pinn(estimator=KDE(bandwidth=CrossValidated()), loss=Huber(0.5), scale=BatchStd(), backbone=KAN())
    printed = as_printed(nested, FixedCost(0.1))
    assert decode(encode(printed), SETTINGS) == printed


def test_the_paper_preset_is_as_printed():
    method = as_printed(na_pinn(30_000), FixedCost(0.1))
    assert [(phase.kind, phase.steps) for phase in method.phases] == [
        (PhaseKind.PLAIN, 5_000), (PhaseKind.LAW, 5_000), (PhaseKind.GATED, 25_000),
    ]  # fmt: skip
    assert method.steps == 30_000
    assert (method.collocation_batch, method.reading_batch) == (4_000, 1_000)
    assert method.optimiser.rate == 1e-3  # pyright: ignore[reportAttributeAccessIssue]
    assert method.backbone == MLP(80, 5)
    assert method.gating is not None
    assert method.gating.density == EBM(32, 3, -10.0, 10.0, 1024, 1e-3)
    assert not method.scaled


def test_stages_can_be_left_out():
    assert [phase.name for phase in na_pinn(100, warm_up=0).phases] == ["joint"]
    assert [phase.name for phase in na_pinn(100, law_steps=0).phases] == ["warm-up", "joint"]
    assert [phase.name for phase in law_pinn(5).phases] == ["noise law", "joint", "cooling"]
    assert [phase.name for phase in law_pinn(60, law_steps=0).phases] == ["warm-up", "joint", "cooling"]
    assert [phase.name for phase in mad_pinn(1).phases] == ["screened"]


def test_no_rejection_cost_rejects_more_than_some(decay_problem, decay_readings):
    free, priced = (
        fit(
            decay_problem,
            decay_readings,
            na_pinn(600, rejection=FixedCost(cost), estimator=SMALL_EBM, **TOGETHER, **SMALL),
        )
        for cost in (0.0, 4.0)
    )
    assert free.reliability.mean() < priced.reliability.mean()


def test_mad_pinn_screens_what_is_beyond_three_deviations(decay_problem, decay_readings):
    method = mad_pinn(2400, **SMALL)
    result = fit(decay_problem, decay_readings, method)
    outlier = np.arange(400) % 10 == 0
    assert set(np.unique(result.reliability)) == {0.0, 1.0}
    assert result.flagged[outlier].all()
    assert result.flagged[~outlier].mean() < 0.05
    assert result.unknowns["k"] == pytest.approx(0.8, rel=0.03)


@pytest.fixture(scope="module")
def least_squares(decay_problem, decay_readings):
    return fit(decay_problem, decay_readings, pinn(2400, **SMALL))


@pytest.mark.parametrize("make", [lad_pinn, or_pinn], ids=["lad_pinn", "or_pinn"])
def test_robust_losses_resist_outliers_that_least_squares_does_not(make, decay_problem, decay_readings, least_squares):
    grid = np.linspace(0, 3, 40)
    robust = fit(decay_problem, decay_readings, make(2400, **SMALL))
    error = [np.abs(r.field.at(t=grid)["u"] - np.exp(-0.8 * grid)).mean() for r in (robust, least_squares)]
    assert error[0] < 0.6 * error[1]


def test_b_pinn_has_a_spread_that_is_wider_where_there_are_no_readings(decay_table, least_squares):
    early = decay_table[decay_table["t"] < 1.5]
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("0*u_t = 0*k*u",), {"k": Unknown(0.3)})
    result = fit(problem, read_table(early, ("t",), ("u",)), b_pinn(1500, **{**SMALL, "backbone": BayesianMLP(12, 2)}))
    inside, outside = result.field.spread(np.array([[0.7], [2.9]]), samples=200)[:, 0]
    assert 0.0 < inside < outside
    again = result.field.spread(np.array([[0.7], [2.9]]), samples=200)[:, 0]
    assert (inside, outside) == tuple(again)
    with pytest.raises(napinn.InputError, match="has no posterior"):
        least_squares.field.spread(np.array([[1.0]]))


@pytest.fixture(scope="module")
def in_first_units(decay_problem, decay_readings, compiled_once):
    return fit(decay_problem, decay_readings, na_pinn(400, double=True, estimator=SMALL_EBM, **TOGETHER, **SMALL))


@pytest.mark.parametrize("factor", [1000.0, 1e-6])
def test_flags_do_not_depend_on_the_unit_of_the_readings(decay_problem, decay_table, in_first_units, factor):
    one, table = in_first_units, pd.DataFrame({"t": decay_table["t"], "u": factor * decay_table["u"]})
    method = na_pinn(400, double=True, estimator=SMALL_EBM, **TOGETHER, **SMALL)
    other = fit(decay_problem, read_table(table, ("t",), ("u",)), method)
    np.testing.assert_array_equal(one.flagged, other.flagged)
    assert other.unknowns["k"] == pytest.approx(one.unknowns["k"], rel=1e-3)
    assert other.noise["u"].scale == pytest.approx(factor * one.noise["u"].scale, rel=1e-2)


def test_the_unit_of_a_coordinate_does_not_matter_either(decay_table, in_first_units):
    """The same decay in seconds and in milliseconds: the same flags, and a rate a thousand times smaller."""
    problem = Problem({"t": (0.0, 3000.0)}, ("u",), ("u_t = -k/1000*u",), {"k": Unknown(0.3)})
    table = decay_table.assign(t=decay_table["t"] * 1000.0)
    method = na_pinn(400, double=True, estimator=SMALL_EBM, **TOGETHER, **SMALL)
    other = fit(problem, read_table(table, ("t",), ("u",)), method)
    np.testing.assert_array_equal(in_first_units.flagged, other.flagged)
    assert other.unknowns["k"] == pytest.approx(in_first_units.unknowns["k"], rel=1e-3)
