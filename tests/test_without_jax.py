"""What does not train a network does not wait for JAX: modules, inputs, checks, and all that is refused."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import napinn
from napinn.engines.catalogue import BACKBONES, DENSITIES, LOSSES, METHODS, STEPS
from napinn.engines.network import methods

HEAVY = ("jax", "equinox", "optax")
PACKAGE = Path(napinn.__file__).parent
# What trains or describes a network; the studies of the paper are of networks, and listing them makes their methods.
NETWORKS = (
    "engines.network.", "field.backbones", "field.derivatives", "field.scaling", "field.streams", "noise.data_term",
    "noise.density", "noise.gate", "noise.likelihood", "noise.losses", "problem.equations.traced", "storage.pytrees",
    "studies.", "cli.reproducing",
)  # fmt: skip


def light_modules() -> list[str]:
    """Every module that must not load JAX, by its name below the package."""
    paths = (path.relative_to(PACKAGE).with_suffix("") for path in sorted(PACKAGE.rglob("*.py")))
    names = {".".join(path.parts).removesuffix("__init__").removesuffix(".") for path in paths} - {""}
    return sorted(name for name in names if not name.startswith(NETWORKS))


PROBLEM = """
coordinates: {t: [0, 3]}
fields: [u]
unknowns: {k: {start: 0.3, low: 0}}
equations: [u_t = -k*u]
conditions: ["u = exp(0) at t = 2*0"]
"""
SCRIPT = """
import importlib, sys

def check(what):
    loaded = [name for name in {heavy} if name in sys.modules]
    assert not loaded, f"{{what}} loads {{', '.join(loaded)}}"

for name in {modules}:
    importlib.import_module("napinn." + name)
    check(name)

import napinn
from napinn.diagnostics.preflight import inspect_problem, inspect_readings
problem, readings = napinn.read_problem("p.yaml", "r.csv")
assert inspect_problem(problem, readings) == []
inspect_readings(problem, readings)
check("inspection")

from napinn.cli.main import run
def said(*words):
    sys.argv = ["napinn", *words]
    try:
        run()
    except SystemExit as end:
        return end.code
assert said("check", "p.yaml", "r.csv", "--no-time") == 0
fit = ("fit", "r.csv", "--problem", "p.yaml")
for words in (
    ("--method", "pin"), ("--backbone", "mpl"), ("--method", "pinn", "--loss", "likelihood"),
    ("--method", "lad_pinn", "--density", "gmm"), ("--method", "b_pinn", "--backbone", "mlp"), ("--out", "taken"),
    ("--log", "nowhere"),
):
    assert said(*fit, *words) == 2, words
assert said("fit", "missing.csv", "--problem", "p.yaml") == 2
assert said("fit", "r.csv", "-e", "u_t = -k*v", "-u", "k") == 2
assert said("methods") == 0
assert said("simulate", "nothing") == 2
check("a refusal")
"""


def test_nothing_but_a_network_loads_jax(tmp_path):
    (tmp_path / "p.yaml").write_text(PROBLEM)
    (tmp_path / "r.csv").write_text("t,u\n" + "".join(f"{0.1 * i},{0.9**i}\n" for i in range(20)))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    script = SCRIPT.format(heavy=HEAVY, modules=light_modules())
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("table", [METHODS, BACKBONES, DENSITIES, LOSSES])
def test_every_entry_of_the_catalogue_can_be_made(table):
    for entry in table.values():
        assert entry.make() is not None


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_parts_and_steps_that_the_catalogue_says(name):
    entry = METHODS[name]
    assert entry.make().steps == entry.steps
    if not entry.steps:
        assert name in ("auto", "splines")
        assert entry.parts == ()
        return
    assert entry.steps == STEPS
    taken = inspect.signature(getattr(methods, name)).parameters
    assert {part for part in ("estimator", "loss") if part in taken} == set(entry.parts) - {"backbone"}
