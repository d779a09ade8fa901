"""The compiler that users have computes correct sums; one that does not is refused before a network is fitted."""

import os
import subprocess
import sys

import pytest

from napinn.engines.fitting import fit
from napinn.engines.network import compiler_check
from napinn.errors import InputError
from shared_fixtures import DECAY

REPRODUCER = """
import jax, jax.numpy as jnp, numpy as np
for precision, count in (("float64", 16_385), ("float32", 32_769)):
    with jax.enable_x64(precision == "float64"):
        rows = np.zeros((count, 3), precision)
        rows[:, 0] = np.arange(count)
        found = jax.jit(lambda x: jax.vmap(lambda row: jnp.sum((jnp.eye(3, dtype=x.dtype) @ row) ** 2))(x))(rows)
        print(int(found[-1]))
"""

TRAINING = """
import sys, numpy as np, pandas as pd
from napinn import Problem, Unknown, fit, na_pinn, read_table
from napinn.field.backbones import MLP
from napinn.noise.density import EBM
problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})
table = pd.read_csv(sys.argv[1])
small = {"backbone": MLP(16, 2), "estimator": EBM(width=8, depth=1, nodes=64)}
parts = {**small, "collocation_batch": 64, "reading_batch": 128, "unknowns_rate": 5.0}
result = fit(problem, read_table(table, ("t",), ("u",)), na_pinn(1200, equation_weight=10.0, **parts))
print(result.unknowns["k"], int(result.flagged[::10].sum()), int(result.flagged.sum()))
"""


def with_users_flags(code: str, *arguments: str) -> list[str]:
    """What a script prints in a process without the tests' flags, which choose other code of the compiler."""
    ours = ("XLA_FLAGS", "JAX_DISABLE_MOST_OPTIMIZATIONS", "JAX_COMPILATION_CACHE_DIR", "NPROC")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    found = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, env=environment
    )
    return found.stdout.split()


def test_users_compiler_computes_correct_sums():
    """jaxlib 0.10.2 prints 266342400 and 1065369600."""
    assert with_users_flags(REPRODUCER) == ["268435456", "1073741824"]


def test_network_trained_with_users_flags_finds_coefficient_and_outliers(decay_table, tmp_path):
    decay_table.to_csv(tmp_path / "readings.csv", index=False)
    coefficient, found, flagged = map(float, with_users_flags(TRAINING, str(tmp_path / "readings.csv")))
    assert coefficient == pytest.approx(DECAY, rel=0.1)
    assert found == 40
    assert flagged < 80


@pytest.fixture
def unchecked(tmp_path, monkeypatch):
    """As in a new process, with an empty cache folder."""
    monkeypatch.setenv("NAPINN_CACHE", str(tmp_path))
    compiler_check._passes.cache_clear()
    yield tmp_path / "compiler_check"
    compiler_check._passes.cache_clear()


def one_wrong(rows):
    """What jaxlib 0.10.2 computes: the last row has the value of one 64 rows before."""
    found = rows[:, 0] ** 2
    found[-1] = found[-65]
    return found


def test_compiler_that_is_right_is_remembered(unchecked, monkeypatch):
    compiler_check.check_compiler()
    assert len(list(unchecked.iterdir())) == 1
    compiler_check._passes.cache_clear()
    monkeypatch.setattr(compiler_check, "squared_norms", one_wrong)
    compiler_check.check_compiler()


@pytest.mark.parametrize("change", ["jaxlib", "flags"])
def test_another_compiler_is_checked_again(unchecked, monkeypatch, change):
    compiler_check.check_compiler()
    compiler_check._passes.cache_clear()
    monkeypatch.setattr(compiler_check, "squared_norms", one_wrong)
    if change == "jaxlib":
        monkeypatch.setattr(compiler_check, "machine", lambda: "another")
    else:
        monkeypatch.setenv("XLA_FLAGS", "--another")
    with pytest.raises(InputError):
        compiler_check.check_compiler()


def test_compiler_that_is_wrong_is_refused(unchecked, monkeypatch, decay_problem, decay_readings, small_method):
    monkeypatch.setattr(compiler_check, "squared_norms", one_wrong)
    monkeypatch.setattr(compiler_check, "_version", lambda: "0.10.2")
    with pytest.raises(InputError, match=r"jaxlib 0\.10\.2 computes wrong sums .* install .* jaxlib==0\.10\.1"):
        fit(decay_problem, decay_readings, small_method(10))
    assert not unchecked.exists()


def test_one_wrong_element_in_either_precision_is_seen(monkeypatch):
    assert all(compiler_check.sums_are_right(precision) for precision in compiler_check.ROWS)
    for broken in compiler_check.ROWS:
        monkeypatch.setattr(
            compiler_check,
            "squared_norms",
            lambda rows, b=broken: one_wrong(rows) if rows.dtype == b else rows[:, 0] ** 2,
        )
        assert [name for name in compiler_check.ROWS if not compiler_check.sums_are_right(name)] == [broken]


def test_read_only_cache_is_no_obstacle(unchecked, monkeypatch):
    monkeypatch.setenv("NAPINN_CACHE", "/dev/null/cache")
    compiler_check.check_compiler()
