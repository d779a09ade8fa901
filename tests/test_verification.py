"""The trust check: unseen readings beside the noise law, sensors left out, and what the command says and writes."""

import dataclasses
import json
import shutil
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from exact_backend import Even
from known_results import known, with_network
from napinn.cli import main
from napinn.data.readings import read_table
from napinn.diagnostics.calibration import probabilities, spread_of
from napinn.diagnostics.findings import Check, CheckOutcome, Verification
from napinn.engines.base import backend_of
from napinn.engines.network.methods import compressed, law_pinn, pinn
from napinn.engines.network.objective import NoiseState
from napinn.errors import InputError
from napinn.evaluation import left_out
from napinn.evaluation import verify as verifying
from napinn.evaluation.held_out import check_held_out
from napinn.evaluation.left_out import check_left_out
from napinn.noise.density import GMM, KDE, Standard
from napinn.problem import Problem, Unknown
from napinn.results.intervals import Interval, Uncertainty
from napinn.results.result import FitStatus
from napinn.runs.folder import load, save
from napinn.runs.verification import read_verification, write_verification

DECAY = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})
NOISE = 0.1


def decay(t):
    return jnp.exp(-0.8 * t)


def watched(count=1500, sensors=5, seed=0):
    """Readings of a few sensors with Gaussian noise."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(0.0, 3.0, count)
    names = [f"s{number % sensors}" for number in range(count)]
    return pd.DataFrame({"sensor": names, "t": times, "u": np.exp(-0.8 * times) + rng.normal(0.0, NOISE, count)})


def fitted(table, **parts):
    return known(DECAY, {"k": 0.8}, decay, readings=read_table(table, ("t",), ("u",)), method=pinn(1, **parts))


def test_a_law_gives_its_own_samples_even_probabilities(finished):
    noise = finished.noise["u"]
    with jax.enable_x64(False):
        drawn = noise.method.gating.density.sample(noise.law.density, jax.random.key(1), 2000)
    times = np.linspace(0.0, 3.0, 2000)
    values = finished.field.at(t=times)["u"] + noise.centre + noise.scale * np.asarray(drawn, float)
    readings = read_table(pd.DataFrame({"t": times, "u": values}), ("t",), ("u",))
    everything = np.ones(2000, bool)
    found = spread_of(probabilities(finished, readings, everything, everything))
    assert found.coverage == pytest.approx(0.9, abs=0.02)
    assert found.distance_chance > 0.01


@pytest.mark.parametrize("density", [GMM(), KDE(), compressed(GMM())], ids=lambda d: type(d).__name__)
def test_a_law_without_end_gives_probabilities_too(density):
    result = fitted(watched())
    misfits = jnp.asarray(result.misfits / NOISE)
    one = jnp.ones(())
    law = NoiseState(density.init(jax.random.key(0), misfits), Standard(jnp.zeros(1), jnp.full(1, NOISE)), one, one)
    learned = with_network(result, method=law_pinn(estimator=density), law=law)
    everything = np.ones(len(misfits), bool)
    found = probabilities(learned, result.readings, everything, everything)
    np.testing.assert_allclose(found, norm.cdf(misfits), atol=0.2)
    assert spread_of(found).coverage > 0.7


def test_known_deviations_count_on_both_sides_where_no_law_is_learned(finished, weighed):
    chosen = np.arange(len(finished.readings)) % 2 == 0
    found = [
        probabilities(with_network(result, law=None), result.readings, chosen, ~chosen)
        for result in (finished, weighed)
    ]
    np.testing.assert_allclose(found[1], found[0], atol=0.01)


def test_probabilities_that_are_not_even_are_far_and_few():
    even = (np.arange(400) + 0.5) / 400
    assert spread_of(even).coverage == 0.9
    assert spread_of(even).distance < 0.01
    wide = spread_of(np.where(even < 0.5, even / 4, 1 - (1 - even) / 4))
    assert wide.coverage_chance < 1e-6
    assert wide.distance > 0.2


def test_readings_that_were_held_out_pass_unless_they_are_worse_than_the_law():
    table = watched()
    good = fitted(table, held_out=0.2)
    held = backend_of(good.method).held_out(good)
    assert held.sum() == 300
    assert check_held_out(good).outcome is CheckOutcome.PASS
    corrupted = table.assign(
        u=np.where(held, decay(table["t"].to_numpy()) + 3 * (table["u"] - decay(table["t"].to_numpy())), table["u"])  # pyright: ignore[reportOperatorIssue]
    )
    check = check_held_out(fitted(corrupted, held_out=0.2))
    assert check.outcome is CheckOutcome.DOUBT
    assert check.numbers["coverage"] < 0.6


def test_without_held_out_readings_nothing_is_said():
    assert "holds out no reading" in check_held_out(fitted(watched())).found
    few = check_held_out(fitted(watched(200), held_out=0.2))
    assert few.outcome is CheckOutcome.CANNOT
    assert "fewer than 1,000" in few.found


@pytest.mark.parametrize(("offset", "outcome"), [(0.0, CheckOutcome.PASS), (2 * NOISE, CheckOutcome.DOUBT)])
def test_sensors_left_out_are_not_seen_by_the_fit_that_predicts_them(monkeypatch, offset, outcome):
    """The field that the fits find is `offset` away from the truth where they saw no sensor."""
    seen = []

    def fit(problem, readings, method, *, seed, progress):
        seen.append(set(readings.sensors))
        result = known(problem, {"k": 0.8 + 0.01 * len(seen)}, lambda t: decay(t) + offset, readings=readings)
        return dataclasses.replace(result, predicted=result.predicted - offset)

    monkeypatch.setattr(left_out, "fit", fit)
    check = check_left_out(fitted(watched(600, sensors=20)))
    everyone = {f"s{number}" for number in range(20)}
    gone = [everyone - each for each in seen]
    assert [len(each) for each in gone] == [2, 2, 2]
    assert len(set.union(*gone)) == 6
    assert check.outcome is outcome
    assert check.numbers["readings"] == 180
    assert check.numbers["unknowns"] == {"k": [pytest.approx(0.81), pytest.approx(0.83)]}


def test_with_few_sensors_single_readings_are_left_out(monkeypatch):
    counts = []

    def fit(problem, readings, method, *, seed, progress):
        counts.append(len(readings))
        return known(problem, {"k": 0.8}, decay, readings=readings)

    monkeypatch.setattr(left_out, "fit", fit)
    assert check_left_out(fitted(watched(600, sensors=2))).outcome is CheckOutcome.PASS
    assert counts == [540, 540, 540]


def test_a_method_is_shortened_in_every_phase():
    whole, short = law_pinn(3000), law_pinn(3000).shortened(3)
    for before, after in zip(whole.phases, short.phases, strict=True):
        assert 3 * after.steps == pytest.approx(before.steps, abs=2)
    assert short.phases[2].patience == pytest.approx(whole.phases[2].patience / 3, abs=1)


CERTAIN = Uncertainty({"k": Interval(0.75, 0.85, 0.02)}, "50 readings", Even(0.01))


@pytest.fixture
def sure(monkeypatch):
    monkeypatch.setattr(verifying, "check_forward", lambda result: [Check("forward", CheckOutcome.PASS, ".")])
    return dataclasses.replace(fitted(watched(50)), uncertainty=CERTAIN)


def test_a_status_that_is_not_to_be_trusted_is_doubted(sure):
    assert verifying.verify(sure).trusted
    bad = verifying.verify(dataclasses.replace(sure, status=FitStatus.AT_BOUND, notes=("k is at 0.",)))
    assert not bad.trusted
    assert bad.sentence() == "Do not trust this fit as it is: status of the fit."


@pytest.mark.parametrize(("drift", "trusted"), [(0.01, True), (0.2, False)])
def test_a_spent_budget_is_forgiven_where_the_coefficients_have_settled(sure, drift, trusted):
    interval = Interval(0.75, 0.85 + drift, 0.02, drift)
    spent = dataclasses.replace(
        sure, status=FitStatus.BUDGET_SPENT, uncertainty=dataclasses.replace(CERTAIN, intervals={"k": interval})
    )
    found = {check.name: check for check in verifying.verify(spent).checks}
    assert (found["status of the fit"].outcome is CheckOutcome.PASS) is trusted
    assert (found["coefficients"].outcome is CheckOutcome.PASS) is trusted
    assert ("would move 'k' by +0.2 from 0.8" in found["coefficients"].found) is not trusted


def test_a_verification_comes_back_from_its_file_and_a_new_result_removes_it(tmp_path, finished):
    assert read_verification(tmp_path) is None
    written = Verification(
        (Check("a", CheckOutcome.DOUBT, "why", {"x": 1.5}), Check("b", CheckOutcome.CANNOT, "because"))
    )
    write_verification(written, tmp_path)
    assert read_verification(tmp_path) == written
    for content in ("", "[]", '{"format": 2}', '{"format": 2, "checks": [{"name": "a", "outcome": "fine"}]}'):
        (tmp_path / "verify.json").write_text(content)
        with pytest.raises(InputError, match=r"verify\.json"):
            read_verification(tmp_path)
    save(finished, tmp_path)
    assert read_verification(tmp_path) is None


def test_the_command_says_writes_and_reports(finished_run, tmp_path, monkeypatch, capfd):
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)

    def napinn(*arguments):
        monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
        with pytest.raises(SystemExit) as stop:
            main.run()
        return stop.value.code, capfd.readouterr().out

    # Sixty steps find no field that obeys the equation.
    code, out = napinn("verify", str(run), "--json")
    told = json.loads(out)
    assert (code, told["trusted"]) == (3, False)
    outcomes = {check["name"]: check["outcome"] for check in told["checks"]}
    assert outcomes["status of the fit"] == outcomes["forward solution"] == "doubt"
    assert outcomes["held-out readings"] == "cannot"
    assert {"neighbouring misfits", "coefficients", "forward solution and readings"} < outcomes.keys()
    assert json.loads((run / "verify.json").read_text())["checks"] == told["checks"]
    assert napinn("report", str(run))[0] == 0
    assert "Trust check" in (run / "report.html").read_text()
    passed = Verification((Check("forward solution", CheckOutcome.PASS, "It agrees."),))
    monkeypatch.setattr("napinn.cli.verifying.verify", lambda result, refit, progress: passed)
    code, out = napinn("verify", str(run))
    assert code == 0
    assert "It agrees." in out
    assert "1 of 1 could be made, and passed" in out
    assert not load(run).status.trusted
