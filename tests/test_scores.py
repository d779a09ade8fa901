"""Scores say what their names promise, against brute force, closed forms and results made to measure."""

import dataclasses
import itertools
import json
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from known_results import with_network
from napinn.data.readings import read_table
from napinn.engines.fitting import fit
from napinn.engines.network.methods import na_pinn
from napinn.engines.network.model import network_of
from napinn.engines.network.objective import Gating, NoiseState
from napinn.field.backbones import MLP
from napinn.noise.density import EBM, GMM
from napinn.noise.density.scale import Standard
from napinn.problem import Problem, Unknown
from napinn.results.result import FitResult
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.corruption import OUTLIER_STYLES, Corrupted, corrupt
from napinn.studies.benchmarks.faults import Bias, DropOut
from napinn.studies.benchmarks.noise import NOISES, PAPER_MIXTURE
from napinn.studies.benchmarks.scores import (
    Confusion,
    _error_of_instants,
    auroc,
    confusion,
    evaluation,
    law_distance,
    relative_error,
    score,
)

FIELDS = ("u", "v")


def waves(points: np.ndarray) -> np.ndarray:
    x, y, t = points.T
    return np.stack([np.sin(3.0 * x + t), 2.0 * np.cos(4.0 * y - t)], axis=1)


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    problem = Problem(
        coordinates={"x": (0.0, 1.0), "y": (0.0, 1.0), "t": (0.0, 1.0)},
        fields=FIELDS,
        equations=("u_t = k*u_x", "v_t = c*v_y"),
        unknowns={"k": Unknown(1.0), "c": Unknown(0.5)},
        name="waves",
    )
    return Benchmark(problem, waves, {"k": 2.0, "c": 0.0}, times=4, paper_rejection=0.1)


@pytest.fixture(scope="module")
def corrupted(benchmark: Benchmark) -> Corrupted:
    return corrupt(benchmark, 0.1, 0, faults=[Bias(20), DropOut(5, stretch=0.5)])


@pytest.fixture(scope="module")
def result(benchmark: Benchmark, corrupted: Corrupted) -> FitResult:
    """A few steps of one phase: what is scored here is made to measure afterwards."""
    sizes = {"backbone": MLP(4, 1), "collocation_batch": 8, "reading_batch": 8, "log_every": 6, "scaled": False}
    method = na_pinn(6, warm_up=0, law_steps=0, estimator=GMM(4), **sizes)
    readings = read_table(corrupted.table, tuple(benchmark.problem.coordinates), FIELDS)
    return fit(benchmark.problem, readings, method)


def test_counts_add_up_and_faulty_readings_are_not_false_alarms(benchmark, corrupted, result):
    outlier, faulty = corrupted.is_outlier(FIELDS), corrupted.is_faulty(FIELDS)
    assert len(outlier) == len(result.readings)
    flagged = outlier | faulty
    flagged[np.flatnonzero(outlier)[:7]] = False
    flagged[np.flatnonzero(~outlier & faulty)[:5]] = False
    flagged[np.flatnonzero(~outlier & ~faulty)[:3]] = True
    scores = score(replace(result, reliability=np.where(flagged, 0.2, 0.8)), benchmark, corrupted)
    assert scores.outliers + scores.faulty + scores.good_readings == len(outlier)
    assert scores.outliers == outlier.sum()
    assert scores.faulty == (faulty & ~outlier).sum() > 0
    assert scores.outliers - scores.outliers_flagged == 7
    assert scores.faulty - scores.faulty_flagged == 5
    assert scores.good_flagged == 3
    bad = scores.outliers + scores.faulty
    assert scores.confusion == Confusion(bad - 12, 12, 3, scores.good_readings - 3)
    assert scores.precision == pytest.approx((bad - 12) / (bad - 9))
    assert scores.recall == pytest.approx((bad - 12) / bad)
    assert scores.auroc == pytest.approx((scores.recall + 1.0 - 3 / scores.good_readings) / 2)


def test_unknowns_are_off_by_what_is_said(benchmark, corrupted, result):
    scores = score(replace(result, unknowns={"k": 1.5, "c": 0.25}), benchmark, corrupted)
    assert scores.unknown_errors == {"k": 0.5, "c": 0.25}
    assert scores.unknown_relative_errors == {"k": 0.25, "c": None}


def test_field_errors_are_relative_norms(benchmark, corrupted, result):
    scores = score(result, benchmark, corrupted)
    points = benchmark.evaluation_points()
    error, truth = result.field(points) - waves(points), waves(points)
    assert scores.rmae == np.abs(error).sum() / np.abs(truth).sum()
    assert scores.rmse == pytest.approx(np.sqrt((error**2).sum() / (truth**2).sum()), rel=1e-14)


def test_scores_without_an_answer_are_none_in_json(benchmark, result):
    clean = corrupt(benchmark, 0.0, 0, faults=[DropOut(5, stretch=0.5)])
    kept = replace(result, reliability=np.ones(len(result.readings)))
    kept = with_network(kept, law=None)
    told = json.loads(json.dumps(dataclasses.asdict(score(kept, benchmark, clean)), allow_nan=False))
    assert [told[name] for name in ("precision", "recall", "auroc", "law_distance")] == [None] * 4
    assert list(told)[:6] == ["rmae", "rmse", "outliers", "outliers_flagged", "good_readings", "good_flagged"]
    assert told["confusion"]["good_kept"] == len(result.readings)


@pytest.mark.parametrize("levels", [2, 7, 10_000])
def test_auroc_is_the_share_of_pairs_in_the_right_order(levels):
    rng = np.random.default_rng(levels)
    bad = rng.random(300) < 0.2
    reliability = rng.integers(levels, size=300) / levels - 0.3 * bad
    wins = [
        1.0 if low < high else 0.5 if low == high else 0.0
        for low, high in itertools.product(reliability[bad], reliability[~bad])
    ]
    assert auroc(bad, reliability) == pytest.approx(np.mean(wins), rel=1e-12)
    assert auroc(bad, -reliability) == pytest.approx(1.0 - np.mean(wins), rel=1e-12)


def test_auroc_at_its_ends():
    bad = np.array([True, False, False])
    assert auroc(bad, np.array([0.1, 0.5, 0.9])) == 1.0
    assert auroc(bad, np.array([0.9, 0.5, 0.1])) == 0.0
    assert auroc(bad, np.ones(3)) == 0.5
    assert auroc(np.ones(3, bool), np.ones(3)) is None
    assert auroc(np.zeros(3, bool), np.ones(3)) is None


def test_precision_and_recall_do_not_divide_by_nothing():
    nothing = confusion(np.zeros(4, bool), np.zeros(4, bool))
    assert (nothing.precision, nothing.recall) == (None, None)
    missed = confusion(np.ones(4, bool), np.zeros(4, bool))
    assert (missed.precision, missed.recall) == (None, 0.0)
    alarmed = confusion(np.zeros(4, bool), np.ones(4, bool))
    assert (alarmed.precision, alarmed.recall) == (0.0, None)


# --- distance of laws


@pytest.mark.parametrize("style", OUTLIER_STYLES.values(), ids=OUTLIER_STYLES)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_a_law_is_at_no_distance_from_itself(benchmark, noise, style):
    law = corrupt(benchmark, 0.15, 0, noise=noise, outlier_style=style).law
    assert law_distance(law.pdf, law.pdf, law.noise_std) == 0.0
    # And the nodes hold all of it: from a law that is elsewhere the distance is one.
    assert law_distance(np.zeros_like, law.pdf, law.noise_std) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 0.1, 1.0, 200.0])
def test_the_distance_of_two_gaussians_is_known(unit, shift):
    expected = 2.0 * stats.norm.cdf(abs(shift) / 2.0) - 1.0
    found = law_distance(stats.norm(shift * unit, unit).pdf, stats.norm(0.0, unit).pdf, unit)  # pyright: ignore[reportAttributeAccessIssue]
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_learned_law_may_be_wider_than_the_nodes():
    found = law_distance(stats.uniform(-500.0, 1000.0).pdf, stats.uniform(-1.0, 2.0).pdf, 1.0)  # pyright: ignore[reportAttributeAccessIssue]
    assert found == pytest.approx(1.0 - 2.0 / 1000.0, abs=1e-6)


def test_leaving_the_outliers_out_costs_their_share(benchmark):
    dirty, clean = (corrupt(benchmark, share, 0, noise=NOISES["uniform"]).law for share in (0.2, 0.0))
    assert law_distance(clean.pdf, dirty.pdf, clean.noise_std) == pytest.approx(0.2, abs=1e-3)


def centred(scale: float) -> Standard:
    return Standard(jnp.zeros(2, jnp.float32), jnp.full(2, scale, jnp.float32))


def test_the_true_law_learned_is_at_no_distance(benchmark, result):
    """Through the estimator's own units: a state with the paper's mixture in it."""
    clean = corrupt(benchmark, 0.0, 0, faults=[DropOut(5, stretch=0.5)])
    means, stds = jnp.asarray(PAPER_MIXTURE.components, jnp.float32).T / PAPER_MIXTURE.std
    smallest = result.method.gating.density.smallest
    law = eqx.tree_at(
        lambda law: (law.density.mixture.logits, law.density.mixture.means, law.density.mixture.log_stds, law.standard),
        network_of(result).law,
        (jnp.zeros(4, jnp.float32), means, jnp.log(stds - smallest), centred(clean.law.noise_std)),
    )
    assert score(with_network(result, law=law), benchmark, clean).law_distance == pytest.approx(0.0, abs=1e-4)
    moved = eqx.tree_at(lambda law: law.density.mixture.means, law, means + 0.3)
    assert score(with_network(result, law=moved), benchmark, clean).law_distance > 0.2


def test_a_learned_law_counts_only_within_its_support(benchmark, corrupted, result):
    """An energy of zero is a uniform law on the grid; beyond it the same height is a score, not a density."""
    ebm = EBM(width=4, depth=1, low=-2.0, high=2.0)
    state = ebm.init(jax.random.key(0), jnp.zeros(3, jnp.float32))
    zero = jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_array(leaf) else leaf, state.network)
    state = eqx.tree_at(lambda state: state.network, state, zero)
    law = network_of(result).law
    flat = NoiseState(state, centred(corrupted.law.noise_std), law.rejection, law.noise_share)
    gated = replace(result.method, gating=Gating(ebm))
    end = 2.0 * corrupted.law.noise_std
    expected = law_distance(stats.uniform(-end, 2.0 * end).pdf, corrupted.law.pdf, corrupted.law.noise_std)  # pyright: ignore[reportAttributeAccessIssue]
    found = score(with_network(result, law=flat, method=gated), benchmark, corrupted).law_distance
    assert found == pytest.approx(expected, abs=1e-3)


# --- the truth is worked out once


def test_the_truth_is_asked_once_for_many_fits(benchmark, corrupted, result):
    asked = []

    def truth(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return waves(points)

    counted = replace(benchmark, truth=truth)
    first = score(result, counted, corrupted)
    assert score(result, replace(counted), corrupted) == first
    assert asked == [len(benchmark.evaluation_points())]
    points, known = evaluation(counted)
    np.testing.assert_array_equal(known, waves(points))
    with pytest.raises(ValueError, match="read-only"):
        known[0] = 0.0
    evaluation(replace(counted, times=3))
    assert len(asked) == 2


def test_errors_of_single_instants_are_divided_by_the_field_of_their_own_instant():
    """A field that nearly vanishes at the end: the same error weighs far more there than in the whole record."""
    truth = np.concatenate([np.full((8, 1), 1.0), np.full((8, 1), 0.5), np.full((8, 1), 0.1)])
    found = truth + 0.05
    assert relative_error(found, truth, 1) == pytest.approx(0.05 / np.mean([1.0, 0.5, 0.1]))
    expected = pytest.approx(np.mean([0.05, 0.1, 0.5]))
    assert _error_of_instants(found, truth, 3, 1) == expected
    assert _error_of_instants(found, truth, 3, 2) == expected
