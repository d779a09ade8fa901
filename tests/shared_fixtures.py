"""Strict numerics for every test, and what several files of tests use.

x64 is available, ranks are not promoted silently, shapes and types are checked at run time."""

import equinox  # noqa: F401
import jax
import optax  # noqa: F401
import pint  # noqa: F401
import scipy.special
import scipy.stats  # noqa: F401
import xarray  # noqa: F401

import runtime_types

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

# Before napinn is imported anywhere, and after the large packages that it imports: one that is first imported by a
# module with shapes would be compiled once more, under the name that jaxtyping gives to that module's compiled file.
runtime_types.install()

import dataclasses  # noqa: E402
import functools  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pytest  # noqa: E402

from napinn.data.readings import Readings, read_table  # noqa: E402
from napinn.engines.fitting import fit  # noqa: E402
from napinn.engines.network import methods  # noqa: E402
from napinn.engines.network.methods import na_pinn  # noqa: E402
from napinn.engines.network.training import Method, loop  # noqa: E402
from napinn.field.backbones import MLP  # noqa: E402
from napinn.noise.density import EBM  # noqa: E402
from napinn.problem import Problem, Unknown  # noqa: E402
from napinn.results.result import FitResult  # noqa: E402
from napinn.runs.folder import load, save  # noqa: E402

DECAY = 0.8


@pytest.fixture(autouse=True, scope="module")
def bounded_memory() -> Iterator[None]:
    """Compiled programs hold memory maps, and a process that runs out of these ends in a segmentation fault."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_text().count("\n") > 20_000:
        jax.clear_caches()


@pytest.fixture(scope="session")
def decay_problem() -> Problem:
    """u' = -k u, the smallest inverse problem there is."""
    return Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)}, name="decay")


@pytest.fixture(scope="session")
def decay_table() -> pd.DataFrame:
    """400 readings of exp(-k t) with small noise; every tenth is a gross positive outlier."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.uniform(0.0, 3.0, 400))
    values = np.exp(-DECAY * times) + rng.normal(0.0, 0.02, 400)
    values[::10] += rng.uniform(0.4, 1.0, 40)
    return pd.DataFrame({"t": times, "u": values})


@pytest.fixture(scope="session")
def decay_readings(decay_problem: Problem, decay_table: pd.DataFrame) -> Readings:
    return read_table(decay_table, tuple(decay_problem.coordinates), decay_problem.fields)


@pytest.fixture(scope="session")
def small_method() -> Callable[..., Method]:
    """naPINN on a network small enough for a test."""

    def make(steps: int = 600, **parts: object) -> Method:
        networks = {"backbone": MLP(16, 2), "estimator": EBM(width=8, depth=1, nodes=64)}
        sizes = {"collocation_batch": 64, "reading_batch": 128, "log_every": 50}
        return na_pinn(steps, **{**networks, **sizes, **parts})  # pyright: ignore[reportArgumentType]

    return make


@pytest.fixture
def small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that a command line names train networks small enough for a test."""
    sizes = {"backbone": MLP(8, 2), "collocation_batch": 32, "reading_batch": 32}
    for name in ("pinn", "law_pinn", "na_pinn"):
        monkeypatch.setattr(methods, name, functools.partial(getattr(methods, name), **sizes))


@pytest.fixture(scope="module")
def compiled_once() -> Iterator[None]:
    """Fits of one problem and method share their compiled phases: compiling is nearly all that a short fit costs."""
    ready: dict[tuple, Callable] = {}
    original = loop.chunk_runner

    def runner(problem, method, phase):
        key = (repr(problem), dataclasses.replace(method, minutes=None), phase)
        ready[key] = ready.get(key) or original(problem, method, phase)
        return ready[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "chunk_runner", runner)
        yield


@pytest.fixture(scope="session")
def finished_run(
    tmp_path_factory: pytest.TempPathFactory, decay_problem: Problem, decay_table: pd.DataFrame, small_method: Callable
) -> Path:
    """A short fit of two sensors, one with a nasty name, in a run folder that no test may change."""
    names = np.where(np.arange(len(decay_table)) % 2, "fine", "</script><script>alert(1)</script>")
    readings = read_table(decay_table.assign(sensor=names), ("t",), ("u",))
    folder = tmp_path_factory.mktemp("runs") / "decay"
    save(fit(decay_problem, readings, small_method(60)), folder)
    return folder


@pytest.fixture(scope="session")
def finished(finished_run: Path) -> FitResult:
    return load(finished_run)


@pytest.fixture(scope="session")
def weighed(finished: FitResult) -> FitResult:
    """The finished fit, had a third of its readings been twice as uncertain, and off by twice as much."""
    spread = np.where(np.arange(len(finished.readings)) % 3, 1.0, 2.0)
    values = finished.predicted + spread * finished.misfits
    return dataclasses.replace(finished, readings=dataclasses.replace(finished.readings, values=values, sigma=spread))
