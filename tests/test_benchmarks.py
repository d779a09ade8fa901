"""The references behind the benchmarks: right order, right equation, right limits, kept and read back."""

import io
import itertools
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from napinn.errors import InputError
from napinn.problem import Problem
from napinn.studies.benchmarks import burgers, cache, reaction_diffusion
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.burgers import Burgers
from napinn.studies.benchmarks.names import BENCHMARKS
from napinn.studies.benchmarks.reaction_diffusion import LambdaOmega
from napinn.studies.benchmarks.solvers import EvolutionSystem, Recording, Square, march

SMALL_BURGERS = burgers.Setup(viscosity=0.05, duration=0.6, times=31, count=96, modes=8)
SMALL_SPIRAL = reaction_diffusion.Setup(duration=1.0, times=26, count=100, longest_step=2e-3)
SMALL: dict[str, Callable[[], Benchmark]] = {
    "burgers": lambda: burgers.burgers(SMALL_BURGERS),
    "reaction_diffusion": lambda: reaction_diffusion.reaction_diffusion(SMALL_SPIRAL),
}


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NAPINN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Benchmark]:
    """Each small benchmark, solved once for this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAPINN_CACHE", str(tmp_path_factory.mktemp("small")))
        made = {name: make() for name, make in SMALL.items()}
        for benchmark in made.values():
            benchmark.truth(np.array([[*benchmark.problem.lows]]))
    return made


# Closed forms. In space: exact solutions of the equation. In time: exact solutions of the equation already discrete in
# space, so that nothing but the step is left to err.


def hopf_cole(square: Square, t: float) -> np.ndarray:
    """u = -2ν ∇φ / φ solves Burgers' equation when φ solves the heat equation."""
    x, y = square.nodes()
    nu, k = 0.1, 2.0 * np.pi / (square.high - square.low)
    slow, fast = 0.5 * np.exp(-nu * k**2 * t), 0.8 * np.exp(-2.0 * nu * k**2 * t)
    phi = 2.0 + slow * np.sin(k * x) + fast * np.cos(k * x) * np.cos(k * y)
    phi_x = k * (slow * np.cos(k * x) - fast * np.sin(k * x) * np.cos(k * y))
    phi_y = -k * fast * np.cos(k * x) * np.sin(k * y)
    return -2.0 * nu * np.stack([phi_x, phi_y]) / phi


def carried_shear(square: Square, t: float) -> np.ndarray:
    """A shear wave u(y) decays in a uniform wind v; both differences turn a wave into a multiple of itself."""
    _, y = square.nodes()
    nu, wind, h, k = 0.1, 0.5, square.spacing, 2.0 * np.pi / (square.high - square.low)
    decay, speed = nu * (2.0 - 2.0 * np.cos(k * h)) / h**2, wind * np.sin(k * h) / h
    return np.stack([0.3 * np.exp(-decay * t) * np.cos(k * y - speed * t), np.full_like(y, wind)])


def plane_wave(square: Square, t: float) -> np.ndarray:
    """u + iv = R exp(i(k·x - ct)) with R² = 1 - k² and c = βR²."""
    x, y = square.nodes()
    k = 2.0 * np.pi / (square.high - square.low)
    squared = 1.0 - 2.0 * k**2
    phase = k * (x + y) - 1.5 * squared * t
    return np.sqrt(squared) * np.stack([np.cos(phase), np.sin(phase)])


def homogeneous(square: Square, t: float) -> np.ndarray:
    """Everywhere alike: r² grows logistically to 1 and the phase turns at -βr²."""
    grown = 1.0 + 0.25 * np.expm1(2.0 * t)
    radius, phase = 0.5 * np.exp(t) / np.sqrt(grown), -0.75 * np.log(grown)
    return np.broadcast_to(
        np.array([radius * np.cos(phase), radius * np.sin(phase)])[:, None, None], (2, square.count, square.count)
    )


Exact = Callable[[Square, float], np.ndarray]


def error(system: EvolutionSystem, exact: Exact, square: Square, step: float) -> float:
    instants = np.array([0.0, 1.0])
    end = march(system, square, exact(square, 0.0), instants, step).snapshots[-1]
    return float(np.sqrt(np.mean((end - exact(square, 1.0)) ** 2)))


def orders(errors: list[float]) -> np.ndarray:
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


@pytest.mark.parametrize(
    ("system", "exact", "side", "step"),
    [(Burgers(0.1), hopf_cole, 2.0 * np.pi, 1e-4), (LambdaOmega(1.0, 1.5), plane_wave, 10.0, 2e-4)],
)
def test_solver_is_second_order_in_space(system: EvolutionSystem, exact: Exact, side: float, step: float):
    errors = [error(system, exact, Square(0.0, side, count), step) for count in (16, 32, 64)]
    np.testing.assert_allclose(orders(errors), 2.0, atol=0.1)


@pytest.mark.parametrize(("system", "exact"), [(Burgers(0.1), carried_shear), (LambdaOmega(1.0, 1.5), homogeneous)])
def test_solver_is_first_order_in_time(system: EvolutionSystem, exact: Exact):
    square = Square(0.0, 2.0 * np.pi, 12)
    errors = [error(system, exact, square, step) for step in (0.02, 0.01, 0.005)]
    np.testing.assert_allclose(orders(errors), 1.0, atol=0.05)


def test_spiral_is_second_order_despite_its_jump():
    setups = [replace(SMALL_SPIRAL, count=count, times=4, early=1) for count in (20, 40, 80, 160)]
    ends = [reaction_diffusion.solve(setup)[-1] for setup in setups]
    apart = [float(np.abs(coarse - fine[:, ::2, ::2]).mean()) for coarse, fine in itertools.pairwise(ends)]
    np.testing.assert_allclose(orders(apart)[1:], 2.0, atol=0.15)


def test_instants_need_not_be_multiples_of_the_step():
    square, instants = Square(0.0, 2.0 * np.pi, 12), np.array([0.0, 0.0317, 0.5, 1.0])
    found = march(Burgers(0.1), square, carried_shear(square, 0.0), instants, 1e-3).snapshots
    expected = np.stack([carried_shear(square, t) for t in instants])
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_progress_ends_at_one():
    shares: list[float] = []
    square = Square(0.0, 1.0, 8)
    march(Burgers(0.1), square, np.zeros((2, 8, 8)), np.linspace(0.0, 0.1, 6), 0.01, shares.append)
    np.testing.assert_allclose(shares, [0.2, 0.4, 0.6, 0.8, 1.0])


# Limits. Every sentence names a number to change, and changing it helps.

UNIT = Square(0.0, 1.0, 10)
WIND = np.ones((2, 10, 10))
JUMP = np.where(np.arange(10) < 5, 1.0, -1.0)[None, :, None] * np.array([1.0, 0.0])[:, None, None] * np.ones(10)


@pytest.mark.parametrize(
    ("system", "start", "step", "said"),
    [
        (Burgers(0.1), WIND, 0.05, "viscous number"),
        (LambdaOmega(1.0, 1.0), WIND, 0.005, "viscous number"),
        (Burgers(0.01), WIND, 0.11, "CFL number"),
        (Burgers(0.01), WIND, 0.02, "Euler number"),
        (Burgers(0.01), JUMP, 0.001, "cell Reynolds number"),
    ],
)
def test_broken_limit_is_a_sentence_with_the_remedy(system: EvolutionSystem, start: np.ndarray, step: float, said: str):
    with pytest.raises(InputError, match=said) as caught:
        march(system, UNIT, start, np.array([0.0, 2.0 * step]), step)
    said_last = re.search(r" at t = 0, above its limit of [12]; use (.*) of at most ([\d.e-]+)\.$", str(caught.value))
    assert said_last is not None
    lever, enough = said_last[1], float(said_last[2])
    state = np.asarray(start)
    limits = {
        "steps": lambda: system.limits(state, UNIT.spacing, enough),
        "a spacing": lambda: system.limits(state * enough / UNIT.spacing, enough, step),
    }[lever]()
    (limit,) = [limit for limit in limits if said in limit.what]
    np.testing.assert_allclose(limit.value, limit.highest, rtol=1e-2)


def test_limits_are_watched_during_the_run():
    setup = burgers.Setup(count=64, modes=8, times=31)
    with pytest.raises(InputError, match=r"cell Reynolds number .* at t = 0\.\d"):
        burgers.solve(setup)


def test_uniform_wind_is_no_cell_reynolds_number():
    march(Burgers(0.01), UNIT, WIND, np.array([0.0, 0.1]), 0.005)


@dataclass(frozen=True)
class Runaway:
    def rate(self, state, spacing):
        return state**3

    def limits(self, state, spacing, step):
        return ()


def test_solution_that_is_not_finite_is_said():
    with pytest.raises(InputError, match=r"no longer finite at t = 4, .* shorter steps or more nodes"):
        march(Runaway(), UNIT, 10.0 * WIND, np.array([0.0, 4.0, 8.0]), 0.1)


# The equations that a fit sees, on the reference that it never sees.

SIGNS = {
    "burgers": [("+ u*", "- u*"), ("+ v*", "- v*"), ("= nu", "= -nu"), ("_t", "_t*(-1)")],
    "reaction_diffusion": [("= d_", "= -d_"), ("beta", "(-beta)"), ("(1 -", "(-1)*(1 -"), ("_t", "_t*(-1)")],
}


def relative_residuals(benchmark: Benchmark, equations: tuple[str, ...]) -> np.ndarray:
    """Each equation's residual over the size of the time derivative, by fourth-order differences of the truth.

    The stencils are wider than the solver's own, which would hide its error.
    """
    problem = replace(benchmark.problem, equations=equations)
    points = interior(benchmark)
    values = {
        terms: jnp.asarray(sum(difference(benchmark, points, axes) for axes in terms)) for terms in problem.wanted
    }
    unknowns = {name: jnp.asarray(value) for name, value in benchmark.unknowns.items()}
    left = np.asarray(problem.residuals(jnp.asarray(points), values, unknowns))
    size = difference(benchmark, points, ("t",))
    return np.sqrt((left**2).mean(axis=0) / (size**2).mean(axis=0))


def interior(benchmark: Benchmark) -> np.ndarray:
    problem = benchmark.problem
    shares = np.random.default_rng(0).uniform(0.2, 0.8, (4000, 3))
    points = np.array(problem.lows) + shares * (np.array(problem.highs) - problem.lows)
    interval = (problem.highs[-1] - problem.lows[-1]) / (benchmark.times - 1)
    points[:, 2] = problem.lows[-1] + interval * np.rint((points[:, 2] - problem.lows[-1]) / interval)
    return points


def difference(benchmark: Benchmark, points: np.ndarray, axes: tuple[str, ...]) -> np.ndarray:
    if not axes:
        return benchmark.truth(points)
    names = list(benchmark.problem.coordinates)
    axis = names.index(axes[0])
    length = benchmark.problem.highs[axis] - benchmark.problem.lows[axis]
    h = length / (benchmark.times - 1 if axis == 2 else 96)
    around = [benchmark.truth(points + step * h * np.eye(3)[axis]) for step in (-2, -1, 0, 1, 2)]
    weights = (1, -8, 0, 8, -1) if len(axes) == 1 else (-1, 16, -30, 16, -1)
    return np.tensordot(weights, np.stack(around), axes=1) / (12.0 * h ** len(axes))


def texts(problem: Problem) -> tuple[str, ...]:
    return tuple(text for text in problem.equations if isinstance(text, str))


@pytest.mark.parametrize("name", SMALL)
def test_reference_obeys_the_equations(small: dict[str, Benchmark], name: str):
    assert (relative_residuals(small[name], texts(small[name].problem)) < 0.01).all()


@pytest.mark.parametrize(("name", "old", "new"), [(name, *pair) for name in SIGNS for pair in SIGNS[name]])
def test_reference_disobeys_when_a_sign_is_changed(small: dict[str, Benchmark], name: str, old: str, new: str):
    original = texts(small[name].problem)
    changed = tuple(text.replace(old, new, 1) for text in original)
    assert all(before != after for before, after in zip(original, changed, strict=True))
    assert (relative_residuals(small[name], changed) > 0.1).all()


@pytest.mark.parametrize("name", SMALL)
def test_truth_answers_at_every_sensor_and_wraps_at_the_high_edge(small: dict[str, Benchmark], name: str):
    benchmark = small[name]
    points, _ = benchmark.sensor_points()
    values = benchmark.truth(points)
    assert values.shape == (len(points), 2)
    assert np.isfinite(values).all()
    high = points[:, 0] == benchmark.problem.highs[0]
    wrapped = points[high] * [0.0, 1.0, 1.0] + [benchmark.problem.lows[0], 0.0, 0.0]
    np.testing.assert_allclose(values[high], benchmark.truth(wrapped), atol=1e-12)


# Recordings.


def smooth(x: np.ndarray, y: np.ndarray, t: np.ndarray | float) -> np.ndarray:
    return np.stack([np.sin(x + t) * np.cos(y), np.cos(x - 2.0 * y) + np.sin(t)])


def recording(count: int, instants: np.ndarray) -> Recording:
    square = Square(0.0, 2.0 * np.pi, count)
    return Recording(square, instants, np.stack([smooth(*square.nodes(), t) for t in instants]))


def interpolation_error(count: int, instants: np.ndarray) -> float:
    points = np.random.default_rng(1).uniform(0.0, [2.0 * np.pi, 2.0 * np.pi, 3.0], (3000, 3))
    return float(np.abs(recording(count, instants)(points).T - smooth(*points.T)).max())


def test_interpolation_is_fourth_order_in_space_and_in_time():
    in_space = [interpolation_error(count, np.linspace(0.0, 3.0, 200)) for count in (16, 32, 64)]
    in_time = [interpolation_error(200, np.linspace(0.0, 3.0, count)) for count in (9, 17, 33)]
    np.testing.assert_allclose(orders(in_space), 4.0, atol=0.4)
    np.testing.assert_allclose(orders(in_time), 4.0, atol=0.4)


def test_uneven_instants_are_interpolated_as_well():
    uneven = np.union1d(np.linspace(0.0, 3.0, 31), np.geomspace(1e-3, 0.3, 7, endpoint=False))
    assert interpolation_error(64, uneven) < 1e-4


def test_recording_returns_its_snapshots_in_any_order_of_points():
    instants = np.linspace(0.0, 3.0, 7)
    made = recording(8, instants)
    x, y = made.square.nodes()
    points = np.concatenate([np.stack([x.ravel(), y.ravel(), np.full(64, t)], axis=1) for t in instants])
    shuffled = np.random.default_rng(2).permutation(len(points))
    expected = made.snapshots.transpose(0, 2, 3, 1).reshape(-1, 2)
    np.testing.assert_allclose(made(points[shuffled]), expected[shuffled], atol=1e-12)


def test_time_outside_the_recording_is_said():
    with pytest.raises(InputError, match=r"recorded from t = 0 to 3 and was asked for t = 1 to 4"):
        recording(8, np.linspace(0.0, 3.0, 7))(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 4.0]]))


# The random start of Burgers' equation.


def test_random_field_has_its_mean_deviation_and_spectrum():
    setup = burgers.Setup(count=128, modes=40)
    rng = np.random.default_rng(3)
    fields = np.stack([burgers.random_field(rng, setup) for _ in range(40)])
    np.testing.assert_allclose(fields.mean(axis=(1, 2)), 0.0, atol=1e-12)
    np.testing.assert_allclose(fields.std(axis=(1, 2)), 0.5, rtol=1e-12)
    numbers = np.fft.fftfreq(128, 1.0 / 128)
    wave = np.hypot(numbers[:, None], numbers[None, :])
    power = (np.abs(np.fft.fft2(fields)) ** 2).mean(axis=0)
    assert power[wave > 40.5].max() < 1e-20 * power.max()
    used = (wave >= 4) & (wave <= 40)
    slope, _ = np.polyfit(np.log(wave[used]), np.log(power[used]), 1)
    np.testing.assert_allclose(slope, -5.0, atol=0.05)


def test_random_field_is_the_same_function_on_every_grid():
    fine, coarse = (
        burgers.random_field(np.random.default_rng(4), burgers.Setup(count=count, modes=10)) for count in (96, 48)
    )
    # The deviation over either grid's nodes is the exact one, since products of two modes still fit it.
    np.testing.assert_allclose(fine[::2, ::2], coarse, atol=1e-12)


def test_grid_too_coarse_for_the_start_is_said():
    with pytest.raises(InputError, match="use at least 127 nodes"):
        burgers.random_field(np.random.default_rng(0), burgers.Setup(count=64))


# The cache.

KEY = ("burgers", asdict(SMALL_BURGERS))


class Counting:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> np.ndarray:
        self.calls += 1
        return np.random.default_rng(5).normal(size=(4, 2, 8, 8))


def test_second_time_is_read_and_equal():
    solve = Counting()
    first, second = (cache.remembered(*KEY, solve) for _ in range(2))
    assert solve.calls == 1
    np.testing.assert_array_equal(first, second)


def foreign(path: Path) -> None:
    other = asdict(replace(SMALL_BURGERS, seed=99))
    cache.remembered("burgers", other, Counting())
    cache.location("burgers", other).replace(path)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def bare_array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "torn": lambda path: path.write_bytes(path.read_bytes()[:-200]),
    "one byte flipped": flipped,
    "text": lambda path: path.write_text("not a solution"),
    "a bare array": lambda path: path.write_bytes(bare_array()),
    "another archive": lambda path: np.savez(path, something=np.zeros(3)),
    "pickled": lambda path: np.savez(path, described=np.array([{}], dtype=object)),
    "another setup": foreign,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_file_is_solved_anew(damage: Callable[[Path], object], cache_folder: Path):
    solve = Counting()
    expected = cache.remembered(*KEY, solve)
    damage(cache.location(*KEY))
    np.testing.assert_array_equal(cache.remembered(*KEY, solve), expected)
    np.testing.assert_array_equal(cache.remembered(*KEY, solve), expected)
    assert solve.calls == 2
    assert list(cache_folder.iterdir()) == [cache.location(*KEY)]


def test_every_setting_has_its_own_file():
    _, settings = KEY
    changed = [settings | {name: value * (1.0 + 1e-15) + (value == 0.0)} for name, value in settings.items()]
    places = {cache.location("burgers", each) for each in (settings, *changed)} | {cache.location("other", settings)}
    assert len(places) == len(settings) + 2


def test_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NAPINN_CACHE", str(tmp_path / "file" / "below"))
    solve = Counting()
    cache.remembered(*KEY, solve)
    cache.remembered(*KEY, solve)
    assert solve.calls == 2


def test_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("NAPINN_CACHE", "/elsewhere")
    assert cache.folder() == Path("/elsewhere")
    monkeypatch.delenv("NAPINN_CACHE")
    assert cache.folder() == Path("/somewhere/napinn")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == Path.home() / ".cache" / "napinn"


def test_benchmark_reads_what_it_solved_before(monkeypatch: pytest.MonkeyPatch):
    setup = replace(SMALL_BURGERS, count=32, times=5)
    points = np.random.default_rng(6).uniform(0.0, [4.0, 4.0, 0.6], (100, 3))
    solved = burgers.burgers(setup).truth(points)
    monkeypatch.setattr(burgers, "march", None)
    np.testing.assert_array_equal(burgers.burgers(setup).truth(points), solved)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_problem_costs_nothing_and_does_not_start_at_the_truth(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(burgers, "march", None)
    monkeypatch.setattr(reaction_diffusion, "march", None)
    benchmark = BENCHMARKS[name]()
    problem = benchmark.problem
    assert problem.name == name
    assert set(benchmark.unknowns) == set(problem.unknowns)
    assert all(benchmark.unknowns[key] != unknown.start for key, unknown in problem.unknowns.items())
