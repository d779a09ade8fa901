"""How sure a fit is, where the right answer is known: a straight line is its own field, and nothing is trained."""

import contextlib
import errno
import json
import os
import sys
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import t as student

from napinn import (
    Clock,
    FitResult,
    FitStatus,
    Interval,
    Problem,
    SeedFits,
    Table,
    Unknown,
    estimate_uncertainty,
    load,
    pinn,
    predict,
    read_table,
    save,
)
from napinn.cli import main
from napinn.diagnostics.findings import Check, CheckOutcome, Verification
from napinn.diagnostics.status import with_uncertainty
from napinn.diagnostics.uncertainty.groups import groups_of
from napinn.diagnostics.uncertainty.jackknife import Balance, JackknifeRows, jackknife
from napinn.engines.network.model import NetworkModel, network_of
from napinn.engines.network.objective import Learned
from napinn.engines.network.uncertainty import tangent as tangents
from napinn.engines.network.uncertainty.score import score_values
from napinn.engines.request import Request
from napinn.errors import StorageError
from napinn.evaluation import finishing
from napinn.field.backbones import MLP
from napinn.field.derivatives import FieldNetwork
from napinn.field.scaling import identity_frame
from napinn.noise.gate import Gate
from napinn.noise.losses import Absolute, Squared
from napinn.runs import pipeline
from napinn.runs.request import RunExtras, read_extras, read_request
from napinn.runs.verification import write_verification

TIMES = np.linspace(0.0, 2.0, 40)
SLOPE = Problem({"t": (0.0, 2.0)}, ("u",), ("u_t = k",), {"k": Unknown(1.0)})


class Line(eqx.Module):
    """A field with two weights: a + b t."""

    weights: jax.Array

    def __call__(self, points):
        return self.weights[0] + self.weights[1] * points


def line_result(
    table: pd.DataFrame, weights: np.ndarray, problem: Problem = SLOPE, unknowns: dict | None = None
) -> FitResult:
    readings = read_table(table, ("t",), ("u",))
    raw = unknowns or {"k": weights[1]}
    frame = identity_frame(1, 1, jnp.dtype(jnp.float64), len(problem.equations), len(problem.unknowns))
    # Small residuals count much: the equation holds the line, and Laplace's error is the regression's.
    frame = replace(frame, residual=0.1 * frame.residual)
    field = FieldNetwork(Line(jnp.asarray(weights)), frame)
    learned = Learned(
        field, {name: jnp.asarray(value) for name, value in raw.items()}, Gate().init(jnp.dtype(jnp.float64))
    )
    predicted = weights[0] + weights[1] * readings.points[:, 0]
    method = pinn(1000, scaled=False, double=True)
    return FitResult(
        problem, method, readings, 0, NetworkModel(problem, method, readings, learned, None), dict(raw), predicted,
        np.ones(len(readings)), pd.DataFrame(), FitStatus.CONVERGED, 1.0,
    )  # fmt: skip


def least_squares(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Intercept and slope, and their covariance by the jackknife over single readings."""
    design = np.stack([np.ones(len(table)), table["t"].to_numpy()], axis=1)
    found = lambda keep: np.linalg.lstsq(design[keep], table["u"].to_numpy()[keep], rcond=None)[0]  # noqa: E731
    count = len(table)
    each = np.stack([found(np.arange(count) != left) for left in range(count)])
    centred = each - each.mean(axis=0)
    return found(np.ones(count, bool)), (count - 1) / count * centred.T @ centred


@pytest.fixture(scope="module")
def scattered() -> pd.DataFrame:
    """Every reading by a sensor of its own, so that a group is one reading."""
    noise = np.random.default_rng(5).gamma(2.0, 0.1, 40)
    return pd.DataFrame({"sensor": np.arange(40).astype(str), "t": TIMES, "u": 0.5 + 1.3 * TIMES + noise})


@pytest.fixture(scope="module")
def fitted(scattered):
    weights, covariance = least_squares(scattered)
    result = line_result(scattered, weights)
    return replace(result, uncertainty=estimate_uncertainty(result)), covariance


def test_the_interval_of_a_slope_is_students(fitted):
    """Where u_t = k, the slope of a regression and k are one; its error is known in closed form."""
    result, covariance = fitted
    interval = result.uncertainty.intervals["k"]
    exact = np.sqrt(covariance[1, 1])
    # Laplace's error may be the larger, a little: it also counts what freedom the equation leaves.
    assert exact * (1.0 - 1e-6) < interval.error < 1.03 * exact
    half = 0.5 * (interval.high - interval.low)
    assert half / interval.error == pytest.approx(student.isf(0.025, 22), rel=0.02)
    assert interval.drift == pytest.approx(0.0, abs=1e-9)
    assert result.uncertainty.source == "40 sensors"


def test_the_spread_of_the_field_is_that_of_the_regression_line(fitted):
    result, covariance = fitted
    for time in (0.0, 1.0, 2.0):
        ends = np.array([1.0, time])
        found = result.uncertainty.spread(np.array([[time]]))
        assert found[0, 0] == pytest.approx(np.sqrt(ends @ covariance @ ends), rel=1e-6)


def test_how_far_a_newton_step_would_move_is_found_and_held(scattered):
    weights, _ = least_squares(scattered)
    away = line_result(scattered, weights + np.array([0.1, -0.2]), unknowns={"k": weights[1] - 0.25})
    uncertainty = estimate_uncertainty(away)
    interval = uncertainty.intervals["k"]
    assert away.unknowns["k"] + interval.drift == pytest.approx(weights[1], rel=1e-9)
    assert interval.low < away.unknowns["k"] < weights[1] < interval.high
    judged = with_uncertainty(away, uncertainty)
    assert judged.status is FitStatus.DOUBTFUL
    assert any(
        note.startswith("A Newton step from the end of the fit would move 'k' by +0.25") for note in judged.notes
    )


@pytest.mark.parametrize("equation", ["u_t = k + c", "u_t = k + 0*c", "u_t = k + c*q"])
def test_what_cannot_be_determined_has_no_end(scattered, equation):
    """The sum of two, or one that moves nothing: a resampling would find it perfectly certain."""
    silent = Table(("t",), (np.array([0.0, 2.0]),), np.zeros(2))
    unknowns = {"k": Unknown(1.0), "c": Unknown(1.0, low=0.0)}
    tables = {"q": silent} if "q" in equation else {}
    problem = Problem({"t": (0.0, 2.0)}, ("u",), (equation,), unknowns, tables=tables)
    weights, _ = least_squares(scattered)
    traded = equation == "u_t = k + c"
    raw = {"k": weights[1] - np.log1p(np.exp(0.3)) * traded, "c": 0.3}
    result = line_result(scattered, weights, problem, raw)
    uncertainty = estimate_uncertainty(result)
    found = uncertainty.intervals
    assert (
        "The readings do not determine 'c': its 95 % interval is 0 … ∞." in with_uncertainty(result, uncertainty).notes
    )
    assert (found["c"].low, found["c"].high) == (0.0, np.inf)
    assert found["k"].bounded is not traded
    assert str(found["c"]) == "0 … ∞"


@pytest.mark.parametrize(("low", "high"), [(0.0, None), (0.0, 1.5), (None, 1.5)])
def test_intervals_respect_bounds(scattered, low, high):
    """However little is known, no end lies beyond a bound."""
    wild = scattered.assign(u=scattered["u"] + 20.0 * np.sin(np.arange(40.0)))
    problem = Problem({"t": (0.0, 2.0)}, ("u",), ("u_t = k",), {"k": Unknown(1.0, low, high)})
    weights, _ = least_squares(wild)
    interval = estimate_uncertainty(line_result(wild, weights, problem, {"k": 0.1})).intervals["k"]
    assert interval.high - interval.low > 1.0
    assert interval.low >= (-np.inf if low is None else low)
    assert interval.high <= (np.inf if high is None else high)


def test_sensors_that_err_as_a_whole_make_for_wider_intervals():
    """Eight sensors, each with an offset of its own: a reading says less than it seems to."""
    random = np.random.default_rng(0)
    sensor = np.repeat(np.arange(8), 20)
    time = 0.25 * sensor + random.uniform(0.0, 0.25, 160)
    offset = random.normal(0.0, 0.3, 8)[sensor]
    table = pd.DataFrame({"sensor": sensor.astype(str), "t": time, "u": time + offset + random.normal(0, 0.05, 160)})
    alone = table.assign(sensor=np.arange(160).astype(str))
    weights, _ = least_squares(table)
    whole, single = (estimate_uncertainty(line_result(each, weights)).intervals["k"] for each in (table, alone))
    assert whole.error > 1.5 * single.error


def test_few_sensors_are_cut_into_stretches_of_time(scattered):
    readings = read_table(scattered.assign(sensor="one"), ("t",), ("u",))
    groups = groups_of(readings, np.arange(40) != 3)
    assert groups.source == "30 stretches of 1 sensor"
    assert groups.label[3] == -1
    assert (np.diff(groups.label[4:]) >= 0).all()


def test_stretches_are_of_time_also_where_dates_tell_it(scattered):
    frame = scattered.assign(sensor="one", x=np.arange(40) % 2).rename(columns={"t": "day"})
    readings = read_table(frame, ("day", "x"), ("u",))
    dated = replace(readings, columns=replace(readings.columns, clocks={"day": Clock("days")}))
    labels = groups_of(dated, np.ones(40, bool)).label
    assert (np.diff(labels[np.argsort(dated.points[:, 0])]) >= 0).all()


def test_leaving_out_is_exact_where_rows_differ_in_slope():
    """Against solving anew without the group, for rows of unequal weight, two to a reading."""
    random = np.random.default_rng(2)
    rows = JackknifeRows(
        random.normal(size=(24, 4)), random.normal(size=24), random.uniform(0.1, 3.0, 24), np.arange(24) % 12
    )
    balance = Balance(np.zeros(5), random.normal(size=(5, 4)), rows, 1.0, 1)
    group = np.arange(24) % 4
    moves = []
    for left in range(4):
        mine = group == left
        share = (rows.follow[mine] * rows.slope[mine][:, None]).T @ rows.follow[mine] / 12
        moves.append(np.linalg.solve(balance.curvature - share, rows.follow[mine].T @ rows.score[mine] / 12))
    expected = np.sqrt(3 / 4 * np.sum((np.array(moves) - np.mean(moves, axis=0)) ** 2, axis=0))
    np.testing.assert_allclose(jackknife(balance, group).errors, expected, rtol=1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "skewed", "offsets"])
def test_intervals_hold_the_truth_as_often_as_they_say(noise):
    """Three hundred simulated regressions; offsets are shared by the readings of a sensor."""
    random, held = np.random.default_rng(1), 0
    sensor = np.repeat(np.arange(10), 6)
    for _ in range(300):
        time = random.uniform(-1.0, 1.0, 60)
        drawn = {
            "gaussian": lambda: random.normal(size=60),
            "skewed": lambda: random.gamma(1.0, size=60),
            "offsets": lambda: random.normal(size=10)[sensor] + 0.3 * random.normal(size=60),
        }[noise]()
        design = np.stack([np.ones(60), time, np.zeros(60)], axis=1)
        weights = np.linalg.lstsq(design, drawn, rcond=None)[0]
        score = 2.0 * (design @ weights - drawn)
        rows = JackknifeRows(design, score, np.full(60, 2.0), np.arange(60))
        # One residual, slope minus unknown.
        balance = Balance(np.zeros(1), 10.0 * np.array([[0.0, 1.0, -1.0]]), rows, 1.0, 1)
        found = jackknife(balance, sensor, slice(-1, None))
        held += abs(weights[1]) < student.isf(0.025, found.freedom[0]) * found.errors[0]
    assert 0.93 <= held / 300 <= 0.99


@pytest.fixture(scope="module")
def certain(finished):
    return replace(finished, uncertainty=estimate_uncertainty(finished))


def test_many_weights_are_folded_without_losing_the_answer(finished, certain, monkeypatch):
    whole = certain.uncertainty.intervals["k"]
    monkeypatch.setattr(tangents, "MOST", 100)
    folded = estimate_uncertainty(finished).intervals["k"]
    assert folded.error == pytest.approx(whole.error, rel=0.1)
    assert folded.drift == pytest.approx(whole.drift, rel=0.1)


@pytest.mark.parametrize(("loss", "expected"), [(Squared(), lambda m: 2 * m), (Absolute(), np.sign)])
def test_pulls_are_the_slopes_of_the_loss(loss, expected, finished):
    misfit = np.array([-2.0, -0.1, 0.3, 5.0])
    found = score_values(
        pinn(10, loss=loss), network_of(finished).learned, None, jnp.asarray(misfit), jnp.zeros(4, int)
    )
    np.testing.assert_allclose(found, expected(misfit))


def test_certainty_survives_the_disk(certain, tmp_path):
    save(certain, tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.uncertainty is not None
    assert again.uncertainty.intervals == certain.uncertainty.intervals
    points = pd.DataFrame({"t": [0.0, 1.5]})
    np.testing.assert_array_equal(predict(again, points)["u_spread"], predict(certain, points)["u_spread"])
    with xr.open_dataset(tmp_path / "run" / "field.nc", engine="h5netcdf") as field:
        expected = certain.uncertainty.spread(field["t"].to_numpy()[:, None])[:, 0]
        np.testing.assert_allclose(field["u_spread"], expected, rtol=1e-3)
    description = json.loads((tmp_path / "run" / "result.json").read_text())
    assert description["intervals"]["k"]["low"] == certain.uncertainty.intervals["k"].low


def test_an_open_end_is_null_in_json(certain, tmp_path):
    opened = replace(certain.uncertainty, intervals={"k": Interval(0.2, np.inf, np.inf)})
    save(replace(certain, uncertainty=opened), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "result.json").read_text())["intervals"]["k"]["high"] is None
    assert load(tmp_path / "run").uncertainty.intervals["k"] == Interval(0.2, np.inf, np.inf)


def seeds_of(finished, found, scores) -> SeedFits:
    rows = [finished.history.assign(held_out=score) for score in scores]
    made = [
        replace(finished, unknowns={"k": value}, history=history, seed=number)
        for number, (value, history) in enumerate(zip(found, rows, strict=True))
    ]
    return SeedFits(tuple(made))


def test_the_best_seed_is_the_one_that_predicts_best_and_says_how_far_they_are_apart(finished, certain):
    fits = seeds_of(finished, (0.80, 0.81, 0.79), (-1.0, -0.5, -2.0))
    assert fits.best.seed == 1
    assert fits.best.status is finished.status
    assert fits.best.notes[-1] == (
        "3 seeds found 'k' from 0.79 to 0.81; this is seed 1, the best on held-out readings."
    )
    best = fits.with_uncertainty(replace(certain.uncertainty, intervals={"k": Interval(0.805, 0.83, 0.01)})).best
    assert best.uncertainty.intervals["k"] == Interval(0.79, 0.83, 0.01)
    assert best.uncertainty.source.endswith("and 3 seeds")


def test_seeds_disagree_when_they_differ_by_more_than_chance(finished, certain):
    apart = seeds_of(finished, (0.8, 0.9), (0.0, 1.0))
    assert apart.best.status is FitStatus.SEEDS_DISAGREE
    wide = apart.with_uncertainty(replace(certain.uncertainty, intervals={"k": Interval(0.7, 1.0, 0.1)}))
    assert wide.best.status is finished.status


def test_the_command_line_adds_intervals(finished_run, tmp_path, monkeypatch, capfd):
    def said(*words):
        monkeypatch.setattr(sys, "argv", ["napinn", *words])
        with pytest.raises(SystemExit) as stop:
            main.run()
        return stop.value.code, capfd.readouterr().out

    run = tmp_path / "run"
    save(load(finished_run), run)
    write_verification(Verification((Check("held-out readings", CheckOutcome.PASS, "As the law says."),)), run)
    checked = (run / "verify.json").read_bytes()
    code, out = said("intervals", str(run), "--json")
    assert code == 0
    assert (run / "verify.json").read_bytes() == checked
    assert "As the law says." in (run / "report.html").read_text()
    interval = json.loads(out)["intervals"]["k"]
    pd.DataFrame({"seed": [0, 1], "k": [-5.0, 9.0]}).to_csv(run / "seeds.csv", index=False)
    assert "(-5 … 9)" in said("sure", str(run))[1]
    said("report", str(run))
    assert "95 % interval -5 to 9" in (run / "report.html").read_text()
    assert interval["low"] < json.loads(out)["unknowns"]["k"] < interval["high"]


def run_seeds(request, folder, extras):
    return pipeline._fit_seeds(request, folder, extras, lambda title: contextlib.nullcontext(lambda snapshot: None))


def test_a_disk_that_is_full_after_all_seeds_is_not_the_users_mistake(finished, tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(pipeline, "fit_seeds_of", lambda *_, **__: seeds_of(finished, (0.8, 0.8), (0.0, 1.0)))
    request = Request(finished.problem, finished.readings, finished.method)
    with pytest.raises(StorageError, match="could not be written to: No space left on device"):
        run_seeds(request, tmp_path, RunExtras(2))


@pytest.mark.parametrize(("status", "done"), [(FitStatus.CONVERGED, 1), (FitStatus.INTERRUPTED, 0)])
def test_seeds_that_were_not_fitted_are_told(finished, certain, tmp_path, monkeypatch, status, done):
    fits = SeedFits((replace(finished, status=status),))
    monkeypatch.setattr(pipeline, "fit_seeds_of", lambda *_, **__: fits)
    monkeypatch.setattr(finishing, "estimate_uncertainty", lambda result: certain.uncertainty)
    request = Request(finished.problem, finished.readings, finished.method)
    assert not run_seeds(request, tmp_path, RunExtras(8, intervals=True)).complete
    result = load(tmp_path)
    assert f"Interrupted after {done} of 8 seeds" in result.notes[-1]
    assert (result.uncertainty is not None) == bool(done)
    assert read_extras(tmp_path) == RunExtras(8, intervals=True)


def test_several_seeds_leave_one_run_that_can_be_repeated(decay_problem, decay_readings, tmp_path):
    method = pinn(40, backbone=MLP(8, 2), collocation_batch=32, reading_batch=32, log_every=20)
    request = Request(decay_problem, decay_readings, method, 5)
    assert run_seeds(request, tmp_path, RunExtras(2, intervals=True)).complete
    result, table = load(tmp_path), pd.read_csv(tmp_path / "seeds.csv")
    assert table["seed"].tolist() == [5, 6]
    chosen = table[table["chosen"]].iloc[0]
    assert result.seed == chosen["seed"] == read_request(tmp_path).seed
    assert result.unknowns["k"] == pytest.approx(chosen["k"])
    interval = result.uncertainty.intervals["k"]
    assert (interval.low <= table["k"]).all()
    assert (table["k"] <= interval.high).all()
    assert "2 seeds found 'k' from" in result.notes[-1]
    assert "the best by its loss" in result.notes[-1]


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.7, 0.9), "0.7 … 0.9"),
        ((1.69969, 1.70029), "1.69969 … 1.70029"),
        ((0.99, 1.01), "0.99 … 1.01"),
        ((2.997924e8, 2.997926e8), "299792400 … 299792600"),
        ((0.5, 0.5), "0.5 … 0.5"),
        ((-np.inf, 2.0), "-∞ … 2"),
        ((-np.inf, np.inf), "-∞ … ∞"),
        ((0.0, 0.0), "0 … 0"),
        ((1.0, np.nextafter(1.0, 2.0)), "1 … 1"),
    ],
)
def test_the_ends_of_an_interval_have_the_digits_that_show_its_width(ends, shown):
    assert str(Interval(*ends, error=0.1)) == shown
