"""Every estimator is a density, samples as it says, and recovers the paper's mixture."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from napinn.noise.density import EBM, GMM, KDE, Bandwidth, Compressed, CrossValidated, Density
from napinn.noise.density.kde import Binned

MEANS = np.array([-9.0, -0.3, 2.7, 8.5])
STDS = np.array([2.0, 4.0, 0.6, 1.0])
COUNT = 20_000
BATCH = 1024
NODES = 80_001
OPTIMISED = {"xla_backend_optimization_level": 3, "xla_llvm_disable_expensive_passes": False}
"""Updates are repeated thousands of times, which repays what the other tests leave out (`conftest.py`)."""


class Case(NamedTuple):
    density: Density
    steps: int
    bound: float
    """Total-variation distance to the truth that the estimator must reach."""


CASES = {
    "ebm": Case(EBM(), 2_500, 0.04),
    "ebm_compressed": Case(Compressed(EBM(low=-15.0, high=15.0)), 2_000, 0.06),
    "gmm": Case(GMM(), 1_500, 0.15),
    "kde": Case(KDE(), 20, 0.21),
    "kde_modes": Case(KDE(bandwidth=CrossValidated()), 20, 0.08),
}


class Compiled:
    """The functions of a density, compiled once for all tests that call them with the same shapes."""

    def __init__(self, density: Density) -> None:
        def update(state: Any, misfits: jax.Array, key: jax.Array) -> Any:
            self.traces += 1
            return density.update(state, misfits, key)

        self.traces = 0
        self.init = jax.jit(density.init)
        self.update = jax.jit(update, compiler_options=OPTIMISED)
        self.log_prob = jax.jit(density.log_prob)
        self.sample = jax.jit(density.sample, static_argnames="count")
        self.normaliser = jax.jit(density.normaliser)


compiled = functools.cache(Compiled)


def mixture(count: int, seed: int = 0) -> tuple[np.ndarray, float]:
    """Samples in units of their standard deviation, and that deviation."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 4, count)
    drawn = MEANS[which] + STDS[which] * rng.normal(size=count)
    return drawn / drawn.std(), float(drawn.std())


def mixture_density(standard: np.ndarray, scale: float) -> np.ndarray:
    z = (standard[:, None] * scale - MEANS[None]) / STDS[None]
    return np.mean(np.exp(-0.5 * z**2) / (STDS[None] * np.sqrt(2.0 * np.pi)), axis=1) * scale


class Learned(NamedTuple):
    case: Case
    of: Compiled
    state: Any
    misfits: np.ndarray
    scale: float

    def heights(self, places: np.ndarray) -> np.ndarray:
        return np.exp(np.asarray(self.of.log_prob(self.state, jnp.asarray(places, jnp.float32)), float))

    def window(self) -> np.ndarray:
        """Fine nodes over the support; beyond ±40 deviations no estimator here has mass to speak of."""
        low, high = (float(np.clip(end, -40.0, 40.0)) for end in self.case.density.support(self.state))
        return np.linspace(low, high, NODES)


@functools.cache
def learn(name: str) -> Learned:
    """In float32, as in a fit."""
    case, of = CASES[name], compiled(CASES[name].density)
    samples, scale = mixture(COUNT)
    misfits = samples.astype(np.float32)
    rng, key = np.random.default_rng(1), jax.random.key(2)
    state = of.init(jax.random.key(1), misfits)
    for _ in range(case.steps):
        state, _ = of.update(state, misfits[rng.integers(0, COUNT, BATCH)], key)
    return Learned(case, of, state, misfits, scale)


@pytest.fixture(params=CASES)
def learned(request: pytest.FixtureRequest) -> Learned:
    return learn(request.param)


def test_integrates_to_one(learned: Learned) -> None:
    nodes = learned.window()
    assert np.trapezoid(learned.heights(nodes), nodes) == pytest.approx(1.0, abs=1e-3)
    assert learned.of.normaliser(learned.state) == pytest.approx(1.0, abs=1e-5)


def test_samples_follow_the_density(learned: Learned) -> None:
    samples = np.sort(learned.of.sample(learned.state, jax.random.key(3), count=COUNT))
    nodes = learned.window()
    heights = learned.heights(nodes)
    below = np.concatenate([[0.0], np.cumsum(0.5 * (heights[1:] + heights[:-1]) * np.diff(nodes))])
    steps = np.arange(COUNT + 1) / COUNT
    at_samples = np.interp(samples, nodes, below)
    distance = max(np.max(np.abs(at_samples - steps[1:])), np.max(np.abs(at_samples - steps[:-1])))
    # Samples of the law itself stay within this distance 99 times in 100.
    assert distance < 1.63 / np.sqrt(COUNT)


def test_recovers_the_mixture(learned: Learned) -> None:
    nodes = np.linspace(-10.0, 10.0, NODES)
    difference = np.abs(learned.heights(nodes) - mixture_density(nodes, learned.scale))
    assert 0.5 * np.trapezoid(difference, nodes) <= learned.case.bound


def test_update_scores_before_it_learns(learned: Learned) -> None:
    batch = learned.misfits[:BATCH] + np.float32(1.0)
    after, scored = learned.of.update(learned.state, batch, jax.random.key(4))
    np.testing.assert_allclose(scored, learned.of.log_prob(learned.state, batch), rtol=1e-5, atol=1e-5)
    # And it does learn: misfits that it is shown become likelier.
    assert np.mean(learned.of.log_prob(after, batch)) > np.mean(scored) + 1e-3


def test_far_misfits_are_finite_and_have_slopes(learned: Learned) -> None:
    far = jnp.asarray([-1e4, -200.0, -30.0, 0.3, 30.0, 200.0, 1e4], jnp.float32)
    log_prob, slope = jax.jit(jax.vmap(jax.value_and_grad(lambda r: learned.of.log_prob(learned.state, r[None])[0])))(
        far
    )
    assert np.all(np.isfinite(log_prob))
    assert np.all(np.isfinite(slope))


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("name", ["gmm", "kde", "kde_modes"])
def test_the_score_falls_outwards(name: str, side: float) -> None:
    law = learn(name)
    outwards = side * jnp.linspace(3.0, 300.0, BATCH, dtype=jnp.float32)
    assert np.all(np.diff(law.of.log_prob(law.state, outwards)) < 0.0)


def test_misfits_all_alike_do_no_harm_and_updates_compile_once(learned: Learned) -> None:
    of, alike = learned.of, np.full(COUNT, 0.7, np.float32)
    traces, state = of.traces, of.init(jax.random.key(0), alike)
    for seed in range(3):
        state, scored = of.update(state, alike[:BATCH], jax.random.key(seed))
        assert np.all(np.isfinite(scored))
    assert of.traces == traces
    assert of.normaliser(state) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("density", [case.density for case in CASES.values()], ids=CASES)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("count", [1, 300, 5_000])
def test_no_update_changes_a_shape_or_a_type(density: Density, dtype: jnp.dtype, count: int) -> None:
    def looks(state: Any) -> Any:
        return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), state)

    key, misfits = jax.random.key(0), jax.ShapeDtypeStruct((count,), dtype)
    # Saved states are read back into one that was made from two numbers.
    state = jax.eval_shape(density.init, key, jax.ShapeDtypeStruct((2,), dtype))
    assert looks(jax.eval_shape(density.init, key, misfits)) == looks(state)
    after, scored = jax.eval_shape(density.update, state, misfits, key)
    assert looks(after) == looks(state)
    drawn = jax.eval_shape(lambda state: density.sample(state, key, count), state)
    assert looks((scored, drawn)) == (((count,), dtype),) * 2
    ends = jax.eval_shape(density.support, state)
    assert looks((jax.eval_shape(density.normaliser, state), *ends)) == (((), dtype),) * 3


# --- energy-based


def test_the_papers_grid_stays_whatever_the_misfits() -> None:
    state = compiled(EBM()).init(jax.random.key(0), np.linspace(-40.0, 80.0, COUNT, dtype=np.float32))
    assert (state.low, state.high) == (-10.0, 10.0)


def test_beyond_the_grid_a_misfit_scores_as_its_edge() -> None:
    law = learn("ebm")
    within, beyond = np.zeros((2, BATCH), np.float32)
    within[:2], beyond[:2] = [-10.0, 10.0], [-11.0, 1e3]
    np.testing.assert_array_equal(law.of.log_prob(law.state, beyond), law.of.log_prob(law.state, within))


# --- mixture


def test_a_component_never_gets_narrower_than_the_floor() -> None:
    gmm = compiled(GMM(rate=0.5, smallest=0.05))
    state = gmm.init(jax.random.key(0), jnp.zeros(64))
    for seed in range(40):
        state, _ = gmm.update(state, jnp.zeros(64), jax.random.key(seed))
    peak = gmm.log_prob(state, state.mixture.means)
    assert np.all(peak <= np.log(1.0 / (0.05 * np.sqrt(2.0 * np.pi))) + 1e-9)


# --- kernels


def held(state: Any) -> np.ndarray:
    return np.asarray(state.recent)[state.recent.size - int(state.count) :]


@pytest.mark.parametrize("batches", [(), (7,), (7, 7, 7, 7), (40,), (7, 40, 7)])
def test_the_buffer_holds_the_newest(batches: tuple[int, ...]) -> None:
    kde = compiled(KDE(size=20, nodes=64))
    start = jnp.asarray([-2.0, -1.0])
    state = kde.init(jax.random.key(0), start)
    came = list(held(state))
    assert sorted(came) == [-2.0, -1.0]
    for batch in batches:
        fresh = np.arange(len(came), len(came) + batch, dtype=float)
        state, _ = kde.update(state, jnp.asarray(fresh), jax.random.key(1))
        came.extend(fresh)
        np.testing.assert_array_equal(held(state), came[-20:])


def test_the_buffer_starts_with_a_choice_from_all_misfits() -> None:
    state = compiled(KDE(size=64)).init(jax.random.key(0), jnp.arange(1000.0))
    assert np.unique(held(state)).size == 64
    assert np.min(held(state)) < 250.0
    assert np.max(held(state)) > 750.0


@pytest.mark.parametrize("count", [60, 2048])
@pytest.mark.parametrize("law", ["normal", "uniform", "standard_t"])
def test_silvermans_bandwidth(count: int, law: str) -> None:
    rng = np.random.default_rng(7)
    draws: dict[str, Callable[[], np.ndarray]] = {
        "normal": lambda: rng.normal(size=count),
        "uniform": lambda: rng.uniform(-1.0, 1.0, count),
        "standard_t": lambda: rng.standard_t(2.0, count),
    }
    misfits = draws[law]()
    state = compiled(KDE()).init(jax.random.key(0), jnp.asarray(misfits))
    lower, upper = np.quantile(misfits, [0.25, 0.75], method="inverted_cdf")
    expected = 0.9 * min(misfits.std(), (upper - lower) / 1.34) * count**-0.2
    assert state.bandwidth == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kde", [KDE(), KDE(bandwidth=CrossValidated())], ids=["silverman", "cross_validated"])
def test_the_grid_agrees_with_the_kernel_sum(kde: KDE) -> None:
    misfits = mixture(2_048)[0]
    state = compiled(kde).init(jax.random.key(0), jnp.asarray(misfits))
    places, width = np.linspace(-4.0, 4.0, 801), float(state.bandwidth)
    bumps = np.exp(-0.5 * ((places[:, None] - misfits[None]) / width) ** 2)
    exact = np.mean(bumps, axis=1) / (width * np.sqrt(2.0 * np.pi))
    np.testing.assert_allclose(np.exp(compiled(kde).log_prob(state, jnp.asarray(places))), exact, atol=0.003)


def test_one_gross_misfit_does_not_coarsen_the_grid() -> None:
    kde = compiled(KDE())
    misfits = np.append(np.random.default_rng(0).normal(size=2_047), 1e4)
    state = kde.init(jax.random.key(0), jnp.asarray(misfits))
    assert state.spacing < 0.4 * state.bandwidth
    assert np.exp(kde.log_prob(state, jnp.zeros(1)))[0] == pytest.approx(1.0 / np.sqrt(2.0 * np.pi), rel=0.1)
    assert kde.normaliser(state) == pytest.approx(1.0)


def test_copies_of_readings_do_not_narrow_the_bandwidth() -> None:
    kde = compiled(KDE(bandwidth=CrossValidated()))
    few = mixture(128, seed=4)[0]
    once = kde.init(jax.random.key(0), jnp.asarray(few))
    copied = kde.init(jax.random.key(0), jnp.asarray(np.repeat(few, 16)))
    assert copied.bandwidth == pytest.approx(float(once.bandwidth), rel=0.35)


def test_any_rule_can_give_the_bandwidth() -> None:
    class Half(Bandwidth):
        def __call__(self, binned: Binned) -> jax.Array:
            return 0.5 * binned.silverman

    misfits = jnp.asarray(mixture(2_048)[0])
    halved, plain = (compiled(kde).init(jax.random.key(0), misfits) for kde in (KDE(bandwidth=Half()), KDE()))
    assert halved.bandwidth == pytest.approx(0.5 * float(plain.bandwidth))
