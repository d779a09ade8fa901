"""Every example runs from the repository alone, on a small budget."""

import importlib.util
from pathlib import Path

import pytest

from napinn import fit, na_pinn
from napinn.networks import MLP
from napinn.problem_file import bind_readings, load_problem_file
from napinn.training import Adam

EXAMPLES = Path(__file__).parent.parent / "examples"


def maker(folder: Path):
    spec = importlib.util.spec_from_file_location("make_readings", folder / "make_readings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_heat_rod_recovers_its_diffusivity():
    module = maker(EXAMPLES / "heat_rod")
    problem, readings = bind_readings(
        load_problem_file(EXAMPLES / "heat_rod" / "problem.yaml"), module.readings(), "heat"
    )
    method = na_pinn(4000, backbone=MLP(24, 3), collocation_batch=128, reading_batch=256, optimiser=Adam(3e-3))
    result = fit(problem, readings, method)
    assert result.unknowns["D"] == pytest.approx(module.DIFFUSIVITY, rel=0.15)
    assert result.unknowns["h"] == pytest.approx(module.LOSS, rel=0.15)
