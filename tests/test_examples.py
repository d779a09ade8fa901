"""Every example runs from the repository alone, on a small budget, and its maker makes what its problem file says."""

import functools
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from browser import chromium, is_readable, needs_chromium, opens_alone, size, slides
from napinn import bsplines, fit, pinn, read_table
from napinn.diagnostics.preflight import Weight, inspect_problem
from napinn.field.backbones import MLP
from napinn.problem.file import bind_readings, load_problem_file
from napinn.report.html import report_html, write_report
from napinn.studies.benchmarks.names import BENCHMARKS

EXAMPLES = Path(__file__).parent.parent / "examples"
CASES = sorted(path.parent.name for path in EXAMPLES.glob("*/problem.yaml"))
LONG = ("rod_of_two_metals",)
"""Fits of a minute; `tests/test_varying.py` finds coefficients that vary from fewer readings."""
PAGES = {
    "a curve": "van_der_pol",
    "two curves": "lynx_hare",
    "curves with hidden fields": "influenza",
    "several experiments and an observable": "theophylline",
    "a rod whose sensors are judged": "heat_rod_faults",
    "a rod with a hidden field": "hidden_grazers",
    "a rod in converted units": "heat_rod_units",
}
"""One example for each kind of report page: others have the same charts and tables."""
BENCHMARK_PAGES = {"a plane": "allen_cahn", "two fields in a plane": "reaction_diffusion"}
PARTS = {"theophylline": "subject < 3"}
"""Rows of an example that are enough to see that it trains."""
TINY = {"backbone": MLP(8, 2), "collocation_batch": 32, "reading_batch": 32, "adapts": False}


def maker(case: str):
    spec = importlib.util.spec_from_file_location("make_readings", EXAMPLES / case / "make_readings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def bound(case: str, part: str | None = None):
    """The problem and the readings of the repository alone: simulated where the measured ones belong to others."""
    readings = maker(case).readings()
    kept = readings if part is None else readings.query(part).reset_index(drop=True)
    return bind_readings(load_problem_file(EXAMPLES / case / "problem.yaml"), kept, case)


def test_heat_rod_recovers_its_diffusivity():
    module = maker("heat_rod")
    problem, readings = bind_readings(
        load_problem_file(EXAMPLES / "heat_rod" / "problem.yaml"), module.readings(), "heat"
    )
    result = fit(problem, readings)
    assert result.unknowns["D"] == pytest.approx(module.DIFFUSIVITY, rel=0.15)
    assert result.unknowns["h"] == pytest.approx(module.LOSS, rel=0.15)


def test_the_rod_in_other_units_obeys_its_equation_as_converted():
    """The field in °C at places in m and times in h; D in mm²/s, between which and m²/h there is a factor."""
    module, (problem, readings), step = maker("heat_rod_units"), bound("heat_rod_units"), 1e-4
    x, t = readings.points.T
    assert np.median(np.abs(readings.values - module.temperature(x, t))) < 0.5
    assert readings.points.max(axis=0) == pytest.approx([0.95, 1.0])
    at = module.temperature
    derivatives = {
        ((),): at(x, t),
        (("t",),): (at(x, t + step) - at(x, t - step)) / (2 * step),
        (("x", "x"),): (at(x + step, t) - 2 * at(x, t) + at(x - step, t)) / step**2,
    }
    values = {terms: array[:, None] for terms, array in derivatives.items()}
    unknowns = {"D": module.DIFFUSIVITY * 1e6 / 3600, "h": module.LOSS}
    assert np.abs(problem.residuals(readings.points, values, unknowns)).max() < 1e-3
    assert (problem.unit_of("D"), problem.unit_of("h")) == ("mm²/s", "1/h")


@pytest.fixture(scope="module")
def driver():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def trained():
    """Each example after a few steps, fitted when it is first asked for."""

    @functools.cache
    def result(case: str):
        problem, readings = bound(case, PARTS.get(case))
        return fit(problem, readings, bsplines() if problem.spline_only else pinn(20, **TINY))

    return result


@pytest.mark.parametrize("case", CASES)
def test_an_example_binds_checks_and_trains(case, trained):
    problem, readings = bound(case)
    assert not [finding for finding in inspect_problem(problem, readings) if finding.weight is Weight.OBSTACLE]
    if case not in LONG:
        assert all(np.isfinite(value) for value in trained(case).unknowns.values())
        assert "<h1>" in report_html(trained(case))
    assert (EXAMPLES / case / "README.md").exists()


@needs_chromium
@pytest.mark.parametrize("case", PAGES.values(), ids=PAGES)
def test_the_report_of_an_example_opens_alone_and_is_readable(case, trained, driver, tmp_path):
    page = tmp_path / "report.html"
    write_report(trained(case), page)
    size(driver, 1280)
    opens_alone(driver, page)
    assert slides(driver)
    is_readable(driver)


@needs_chromium
@pytest.mark.parametrize("name", BENCHMARK_PAGES.values(), ids=BENCHMARK_PAGES)
def test_the_report_of_a_benchmark_opens_alone_and_is_readable(name, driver, tmp_path):
    """On readings of nothing in particular: a reference takes minutes to solve, and the page does not know it."""
    problem, rng = BENCHMARKS[name]().problem, np.random.default_rng(0)
    points = rng.uniform(problem.lows, problem.highs, (60, len(problem.lows)))
    columns = dict(zip(problem.coordinates, points.T, strict=True)) | {f: rng.normal(size=60) for f in problem.fields}
    readings = read_table(pd.DataFrame(columns), tuple(problem.coordinates), problem.fields)
    page = tmp_path / "report.html"
    write_report(fit(problem, readings, pinn(20, **TINY)), page)
    opens_alone(driver, page)
    assert slides(driver)
    is_readable(driver)


@pytest.mark.parametrize("case", ["influenza", "lynx_hare"])
def test_three_readings_are_turned_into_gross_errors(case):
    module = maker(case)
    fields = load_problem_file(EXAMPLES / case / "problem.yaml").fields
    changed = module.readings(gross=True)[fields] != module.readings()[fields]
    assert changed.to_numpy().sum() == 3


def test_burgers_shock_by_cole_and_hopf_solves_its_equation():
    module, h = maker("burgers_shock"), 1e-4
    x, t = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(-0.9, 0.9, 19), np.linspace(0.05, 0.3, 6)))
    u = module.velocity
    slope, bend = (u(x + h, t) - u(x - h, t)) / (2 * h), (u(x + h, t) - 2 * u(x, t) + u(x - h, t)) / h**2
    change = (u(x, t + h) - u(x, t - h)) / (2 * h)
    assert np.abs(change + module.SPEED * u(x, t) * slope - module.VISCOSITY * bend).max() < 1e-3
    assert np.abs(change + u(x, t) * slope - 2 * module.VISCOSITY * bend).max() > 0.03
    np.testing.assert_allclose(u(x, np.full_like(x, 1e-12)), -np.sin(np.pi * x), atol=1e-5)


def test_two_solitons_solve_their_equation():
    module, h = maker("kdv"), 0.01
    x, t = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(-29, 29, 117), np.linspace(0.5, 19.5, 9)))
    u = module.height
    slope, change = (u(x + h, t) - u(x - h, t)) / (2 * h), (u(x, t + h) - u(x, t - h)) / (2 * h)
    third = (u(x + 2 * h, t) - 2 * u(x + h, t) + 2 * u(x - h, t) - u(x - 2 * h, t)) / (2 * h**3)
    assert np.abs(change + module.STEEPENING * u(x, t) * slope + module.DISPERSION * third).max() < 1e-4
    assert np.abs(change + 5.0 * u(x, t) * slope + third).max() > 1e-2


def test_the_oscillator_solves_its_equation_and_repeats_itself():
    module, h = maker("van_der_pol"), 1e-3
    t = np.linspace(0.1, module.END - 0.1, 60)
    before, now, after = (module.position(t + step) for step in (-h, 0.0, h))
    speed, bend = (after - before) / (2 * h), (after - 2 * now + before) / h**2
    assert np.abs(bend - module.DAMPING * (1 - now**2) * speed + now).max() < 1e-3
    ends = module.position(np.asarray([0.0, module.PERIOD, module.END]))
    np.testing.assert_allclose(ends, ends[0], atol=2e-3)


def test_plankton_and_grazers_solve_their_equations():
    module = maker("hidden_grazers")
    u, v = module.solution()
    x, t = np.linspace(0.1, 0.9, 17), np.linspace(0.5, 9.5, 19)
    eaten = u(x, t) * v(x, t)
    plankton = module.SPREADING * u(x, t, dx=2) + u(x, t) * (1 - u(x, t)) - eaten
    grazers = module.SPREADING * v(x, t, dx=2) + module.GAIN * eaten - module.DEATH * v(x, t)
    np.testing.assert_allclose(u(x, t, dy=1), plankton, atol=1e-3)
    np.testing.assert_allclose(v(x, t, dy=1), grazers, atol=1e-3)


def test_the_rod_of_two_metals_solves_its_equation():
    """The heat between two places changes by the fluxes through them, so that no derivative is taken twice."""
    module, h = maker("rod_of_two_metals"), 0.01
    assert module.diffusivity(1.0) / module.diffusivity(0.0) == pytest.approx(module.RATIO)
    x, t = np.linspace(0.3, 0.7, 401), np.array([0.39, 0.4, 0.41])
    heat = np.trapezoid(module.temperature(x, t), x, axis=0)
    ends = np.array([0.3 - h, 0.3 + h, 0.7 - h, 0.7 + h])
    around = module.temperature(ends, t[:2])[:, 1]
    slopes = np.array([around[1] - around[0], around[3] - around[2]]) / (2 * h)
    flux = module.diffusivity(np.array([0.3, 0.7])) * slopes
    assert (heat[2] - heat[0]) / 0.02 == pytest.approx(flux[1] - flux[0], rel=0.02)


def test_the_rod_with_faults_solves_its_equation_and_has_them():
    module, h = maker("heat_rod_faults"), 1e-4
    x, t = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(0.1, 0.9, 9), np.linspace(0.1, 0.9, 9)))
    u = module.temperature
    bend = (u(x + h, t) - 2 * u(x, t) + u(x - h, t)) / h**2
    np.testing.assert_allclose((u(x, t + h) - u(x, t - h)) / (2 * h), module.DIFFUSIVITY * bend, atol=1e-4)
    made = module.readings()
    misfit = (made["u"] - u(made["x"].to_numpy(), made["t"].to_numpy())).to_numpy().reshape(module.SENSORS, -1)
    late, early = np.median(misfit[:, -20:], axis=1), np.median(misfit[:, :20], axis=1)
    assert set(np.argsort(late - early)[-2:]) == {module.DRIFTING, module.STUCK}
    assert np.unique(made["u"].to_numpy().reshape(module.SENSORS, -1)[module.STUCK, 31:]).size < 10


def test_the_simulated_drawdown_solves_the_problem_in_theis_variable():
    module, h = maker("pumping_test"), 1e-3
    w = np.linspace(-19.9, -7.5, 31)
    before, after = (module.drawdown(30.0, 900.0 * np.exp(w + step)) for step in (-h, h))
    flow = module.PUMPED * np.exp(-module.STORAGE * np.exp(-w) / (4 * module.TRANSMISSIVITY))
    np.testing.assert_allclose(
        4 * np.pi * module.TRANSMISSIVITY * (after - before) / (2 * h), flow, rtol=1e-3, atol=1e-3
    )
    assert module.drawdown(30.0, 900.0 * np.exp(-20.0)) < 1e-20


def test_the_simulated_wound_loses_no_cell_through_its_ends():
    module = maker("scratch_assay")
    made = module.density()
    gained = np.diff(made.mean(axis=0))
    growth = (module.GROWTH * made * (1 - made / module.CAPACITY)).mean(axis=0)
    np.testing.assert_allclose(gained, 12.0 * (growth[1:] + growth[:-1]) / 2, rtol=0.05)
    assert set(module.readings()) == {"sensor", "x", "t", "u"}
