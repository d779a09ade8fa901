"""The verb: recovered numbers, determinism, how a fit may end, and a run that survives the disk."""

import json

import jax
import numpy as np
import pandas as pd
import pytest

import napinn
from napinn import FitStatus, Problem, Unknown, fit, law_pinn, load, pinn, read_table, save
from napinn.data.readings import Readings
from napinn.engines.network.model import network_of
from napinn.engines.network.training import loop
from napinn.field.backbones import MLP

DECAY = 0.8


@pytest.fixture(scope="module")
def finished(request):
    """One naPINN fit shared by the tests that only read it."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.uniform(0.0, 3.0, 400))
    values = np.exp(-DECAY * times) + rng.normal(0.0, 0.02, 400)
    values[::10] += rng.uniform(0.4, 1.0, 40)
    table = pd.DataFrame({"t": times, "u": values})
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)}, name="decay", units={"t": "s"})
    readings = read_table(table, ("t",), ("u",))
    method = napinn.na_pinn(
        3000, law_steps=1000, backbone=MLP(16, 2), collocation_batch=64, reading_batch=128, optimiser=loop_adam(3e-3)
    )
    return fit(problem, readings, method)


def loop_adam(rate):
    from napinn.engines.network.training import Adam

    return Adam(rate)


def test_napinn_recovers_the_coefficient_and_flags_exactly_the_outliers(finished):
    outlier = np.arange(400) % 10 == 0
    assert finished.status.trusted
    assert finished.unknowns["k"] == pytest.approx(DECAY, rel=0.02)
    assert finished.flagged[outlier].all()
    assert finished.flagged[~outlier].mean() <= 0.03
    grid = np.linspace(0.0, 3.0, 50)
    assert np.abs(finished.field.at(t=grid)["u"] - np.exp(-DECAY * grid)).max() < 0.02


def test_the_plain_pinn_is_pulled_by_the_outliers(finished):
    plain = fit(
        finished.problem, finished.readings, pinn(1500, backbone=MLP(16, 2), collocation_batch=64, reading_batch=128)
    )
    grid = np.linspace(0.0, 3.0, 50)
    error = lambda result: np.linalg.norm(result.field.at(t=grid)["u"] - np.exp(-DECAY * grid))  # noqa: E731
    assert error(plain) > 3 * error(finished)
    assert plain.noise == {}
    assert not plain.flagged.any()


def test_the_learned_noise_is_a_density_in_the_fields_own_units(finished):
    grid = np.linspace(-2.5, 2.5, 40_001)
    density = finished.noise["u"].pdf(grid)
    inside = np.abs(grid) <= 10 * finished.noise["u"].scale
    assert np.trapezoid(density[inside], grid[inside]) == pytest.approx(1.0, abs=2e-3)
    assert abs(grid[np.argmax(density)]) < 0.02


def test_the_field_is_the_same_by_array_and_by_name(finished):
    times = np.linspace(0, 3, 7)
    np.testing.assert_array_equal(finished.field(times[:, None])[:, 0], finished.field.at(t=times)["u"])
    assert finished.field.at(t=np.ones((2, 3)))["u"].shape == (2, 3)
    with pytest.raises(napinn.InputError, match="'x' is not a coordinate"):
        finished.field.at(x=1.0)


def test_the_history_tells_every_phase(finished):
    assert finished.history["phase"].unique().tolist() == ["warm-up", "noise law", "joint"]
    assert finished.history["step"].is_monotonic_increasing
    assert finished.history["step"].iloc[-1] == 4000
    assert finished.history["seconds"].is_monotonic_increasing
    assert finished.history["seconds"].iloc[-1] == finished.seconds
    assert finished.history["k"].iloc[-1] == pytest.approx(finished.unknowns["k"], rel=1e-6)
    assert {"steepness", "cutoff", "scale", "rejected"} <= set(finished.history.columns)


def test_a_saved_run_comes_back_whole(finished, tmp_path):
    save(finished, tmp_path / "run")
    back = load(tmp_path / "run")
    times = np.linspace(0, 3, 9)[:, None]
    np.testing.assert_array_equal(back.field(times), finished.field(times))
    np.testing.assert_array_equal(back.reliability, finished.reliability)
    np.testing.assert_array_equal(back.noise["u"].pdf(times[:, 0]), finished.noise["u"].pdf(times[:, 0]))
    assert back.unknowns == finished.unknowns
    assert back.method == finished.method
    assert back.status is finished.status
    assert back.problem.show() == finished.problem.show()
    pd.testing.assert_frame_equal(back.history, finished.history)
    with np.load(tmp_path / "run" / "model.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype.kind in "fiu" for name in archive.files)


def test_a_run_folder_that_does_not_fit_its_settings_is_refused(finished, tmp_path):
    save(finished, tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    content = json.loads(path.read_text())
    content["method"]["backbone"]["width"] = 24
    path.write_text(json.dumps(content))
    with pytest.raises(napinn.InputError, match="does not match the settings"):
        load(tmp_path / "run")
    content["method"]["backbone"]["type"] = "Popen"
    path.write_text(json.dumps(content))
    with pytest.raises(napinn.InputError, match="unknown type 'Popen'"):
        load(tmp_path / "run")
    del content["method"]["backbone"]["type"]
    path.write_text(json.dumps(content))
    with pytest.raises(napinn.InputError, match="no type for their entry 'backbone'"):
        load(tmp_path / "run")


def test_the_same_seed_gives_the_same_numbers_bit_for_bit(decay_problem, decay_readings, small_method):
    first, again, other = (fit(decay_problem, decay_readings, small_method(120), seed=seed) for seed in (1, 1, 2))
    leaves = [[np.asarray(leaf) for leaf in run.model.arrays().values()] for run in (first, again, other)]
    assert all(np.array_equal(a, b) for a, b in zip(leaves[0], leaves[1], strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(leaves[0], leaves[2], strict=True))
    np.testing.assert_array_equal(first.reliability, again.reliability)


def test_the_length_of_a_chunk_changes_nothing_but_the_log(decay_problem, decay_readings, small_method):
    short, long = (fit(decay_problem, decay_readings, small_method(120, log_every=n)) for n in (7, 60))
    assert short.unknowns == long.unknowns
    np.testing.assert_array_equal(short.reliability, long.reliability)


def test_the_order_of_the_table_does_not_reach_the_answer_of_other_rows(finished):
    table = finished.readings_table()
    np.testing.assert_array_equal(table["t"], finished.readings.points[:, 0])
    np.testing.assert_allclose(table["predicted"] + table["misfit"], table["u"], rtol=1e-12)
    assert ((table["verdict"] == "unreliable") == (table["reliability"] < 0.5)).all()


def test_no_chunk_and_no_schedule_compiles_anew(decay_problem, decay_readings, monkeypatch):
    """Four phases in chunks of several lengths, the last two with different schedules, make three programs."""
    traced = []
    original = loop.step_of

    def counting(*arguments):
        step = original(*arguments)

        def counted(*inputs):
            traced.append(arguments[2].name)
            return step(*inputs)

        return counted

    monkeypatch.setattr(loop, "step_of", counting)
    sizes = dict(backbone=MLP(8, 2), collocation_batch=16, reading_batch=32, log_every=25)
    method = law_pinn(90, law_steps=30, optimiser=loop_adam(1e-3), adapts=False, **sizes)
    assert len(method.phases) == 4
    fit(decay_problem, decay_readings, method)
    assert sorted(traced) == ["gated", "law", "plain"]


def test_float64_is_an_option_of_the_fit(decay_problem, decay_readings, small_method):
    result = fit(decay_problem, decay_readings, small_method(60, double=True))
    assert network_of(result).network.frame.gain.dtype == np.float64
    assert all(leaf.dtype == np.float64 for leaf in jax.tree.leaves(network_of(result).learned))


def test_an_interrupt_keeps_what_there_is(decay_problem, decay_readings, small_method):
    def stop(snapshot):
        if snapshot.phase == "joint":
            raise KeyboardInterrupt

    result = fit(decay_problem, decay_readings, small_method(300, log_every=50), progress=stop)
    assert result.status is FitStatus.INTERRUPTED
    assert 0 < len(result.history) < 8
    assert np.isfinite(result.reliability).all()


def test_a_fit_that_meets_a_number_that_is_not_finite_says_so(decay_readings, small_method):
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*sqrt(u - 5)",), {"k": Unknown(0.3)})
    result = fit(problem, decay_readings, small_method(100))
    assert result.status is FitStatus.DIVERGED
    assert result.unknowns["k"] == pytest.approx(0.3)
    assert np.isfinite(result.field.at(t=1.0)["u"])


def test_two_fields_read_at_different_points_are_fitted_together():
    """u' = v, v' = -w² u with u and v read at different times: rows carry one field each."""
    rng = np.random.default_rng(0)
    times = rng.uniform(0, 3, 600)
    names = np.where(np.arange(600) % 3 == 0, "v", "u")
    values = np.where(names == "u", np.cos(2 * times), -2 * np.sin(2 * times)) + rng.normal(0, 0.02, 600)
    table = pd.DataFrame({"t": times, "field": names, "value": values})
    problem = Problem({"t": (0.0, 3.0)}, ("u", "v"), ("u_t = v", "v_t = -w**2*u"), {"w": Unknown(1.0)})
    readings = read_table(table, ("t",), ("u", "v"))
    sizes = dict(backbone=MLP(20, 2), collocation_batch=64, reading_batch=128, optimiser=loop_adam(3e-3))
    result = fit(problem, readings, pinn(3000, **sizes))
    assert result.unknowns["w"] == pytest.approx(2.0, rel=0.03)


def test_readings_of_another_problem_are_refused(decay_problem, decay_table):
    renamed = decay_table.rename(columns={"u": "w"})
    with pytest.raises(napinn.InputError, match="other fields than the problem's: w and not u"):
        fit(decay_problem, read_table(renamed, ("t",), ("w",)))
    moved = decay_table.rename(columns={"t": "s"})
    with pytest.raises(napinn.InputError, match="other coordinates than the problem's: s and not t"):
        fit(decay_problem, read_table(moved, ("s",), ("u",)))
    assert isinstance(read_table(renamed, ("t",), ("w",)), Readings)
