"""Every status is earned: each doubt is raised where it should be, by name, and nowhere else."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from known_results import with_network
from napinn import FitResult, FitStatus, Problem, Table, Unknown, judge_seeds, law_pinn, pinn, read_table
from napinn.cli.running import exit_code
from napinn.diagnostics.status import judge_fit as judge_settled
from napinn.diagnostics.status import sensitivities
from napinn.engines.network.convergence import settled
from napinn.engines.network.model import NetworkModel, frame_of, initial, network_of
from napinn.engines.network.objective import unknown_values
from napinn.engines.network.training import Method, Phase, PhaseKind
from napinn.field.backbones import MLP
from napinn.noise.density import Compressed


def judge(result: FitResult) -> tuple[FitStatus, tuple[str, ...]]:
    """As a fit of a network judges itself."""
    return judge_settled(result, settled(result))


TIMES = np.linspace(0.0, 3.0, 40)


def untrained(problem: Problem, method: Method | None = None, history: pd.DataFrame | None = None) -> FitResult:
    """A result whose network is as it was drawn: all that the judgement of unknowns needs."""
    method = method or pinn(1000, backbone=MLP(8, 2), equation_weight=10.0)
    frame = pd.DataFrame({"t": TIMES, "u": np.exp(-0.8 * TIMES) + 0.01 * np.cos(40 * TIMES)})
    readings = read_table(frame, ("t",), ("u",))
    with jax.enable_x64(False):
        dtype = jnp.dtype(jnp.float32)
        learned = initial(problem, method, frame_of(problem, readings, method, dtype), jax.random.key(1))
        unknowns = {name: float(value) for name, value in unknown_values(problem, learned).items()}
    return FitResult(
        problem, method, readings, 0, NetworkModel(problem, method, readings, learned, None), unknowns,
        readings.values, np.ones(40), pd.DataFrame() if history is None else history, FitStatus.BUDGET_SPENT, 1.0,
    )  # fmt: skip


def decay(equation: str = "u_t = -k*u", unknowns: dict[str, Unknown] | None = None, **parts) -> Problem:
    return Problem({"t": (0.0, 3.0)}, ("u",), (equation,), unknowns or {"k": Unknown(0.3)}, **parts)


def test_an_unknown_that_moves_nothing_is_named():
    silent = Table(("t",), (np.array([0.0, 3.0]),), np.zeros(2))
    problem = decay("u_t = -k*u + c*q", {"k": Unknown(0.3), "c": Unknown(1.0)}, tables={"q": silent})
    status, notes = judge(untrained(problem))
    assert status is FitStatus.NOT_IDENTIFIABLE
    assert notes == ("At the field found, the equations do not depend on 'c'.",)


@pytest.mark.parametrize("equation", ["u_t = -(a + b)*u + c", "u_t = -a*b*u + c"])
def test_unknowns_that_move_the_equations_alike_are_named(equation):
    unknowns = {name: Unknown(start) for name, start in {"a": 0.3, "b": 0.5, "c": 0.1}.items()}
    status, notes = judge(untrained(decay(equation, unknowns)))
    assert status is FitStatus.NOT_IDENTIFIABLE
    assert notes == (
        "Changes of 'a' and 'b' change the equations in the same way, so only a combination of them can be found.",
    )


def test_an_unknown_of_a_condition_is_seen_there():
    problem = decay(unknowns={"k": Unknown(0.3), "a": Unknown(0.7)}, conditions=("u = a at t = 0",))
    result = untrained(problem)
    assert judge(result)[0] is not FitStatus.NOT_IDENTIFIABLE
    columns = sensitivities(result)
    assert columns.shape == (2 * 512, 2)
    assert np.abs(columns[:512, 1]).max() == 0.0
    assert np.abs(columns[512:, 0]).max() == 0.0


@pytest.mark.parametrize("scaled", [True, False])
def test_sensitivities_are_the_derivative_of_the_residual(scaled):
    """Of u_t + k u by k it is u itself, in units of the frame."""
    result = untrained(decay(), pinn(1000, backbone=MLP(8, 2), equation_weight=4.0, scaled=scaled))
    points = np.random.default_rng(0).uniform([0.0], [3.0], (512, 1))
    ratio = sensitivities(result)[:, 0] / result.field(points)[:, 0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)
    assert 0.05 < abs(ratio[0] * np.std(result.readings.values)) < 20.0


def course(steps: int = 1000, drift: float = 0.0, fall: float = 0.0, **columns) -> pd.DataFrame:
    step = np.arange(10, steps + 1, 10)
    noise = 1.0 + 0.01 * np.random.default_rng(0).standard_normal(len(step))
    late = (step - step[-1]) / steps
    table = {"phase": "training", "step": step, "total": 0.1 * noise - fall * late, "k": 0.3 - drift * late}
    return pd.DataFrame({**table, **columns})


@pytest.mark.parametrize(
    ("history", "status"),
    [
        (course(), FitStatus.CONVERGED),
        (course(drift=0.3), FitStatus.BUDGET_SPENT),
        (course(fall=0.5), FitStatus.BUDGET_SPENT),
        (course(held_out=np.linspace(1.0, 2.0, 100)), FitStatus.BUDGET_SPENT),
        (course(fall=0.5, held_out=1.0), FitStatus.CONVERGED),
        (course().head(3), FitStatus.BUDGET_SPENT),
    ],
)
def test_settled_means_that_nothing_moves_any_more(history, status):
    result = untrained(decay(), history=history)
    assert judge(result) == (status, ())
    assert exit_code(replace(result, status=status)) == (0 if status is FitStatus.CONVERGED else 3)


def test_the_end_of_a_short_last_phase_settles_it_too():
    """A last phase of a hundredth of the steps."""
    prolonged = replace(law_pinn(1000), phases=(*law_pinn(1000).phases, Phase("last", PhaseKind.PLAIN, 10)))
    before = course(2000).assign(phase="cooling")
    last = pd.DataFrame({"phase": "last", "step": 2000 + np.arange(1, 11), "total": 0.1, "k": 0.3})
    history = pd.concat([before, last], ignore_index=True)
    assert judge(untrained(decay(), prolonged, history=history))[0] is FitStatus.CONVERGED
    moving = history.assign(k=np.where(history["step"] > 2008, 0.4, 0.3) + 0.01 * (history["step"] % 2))
    assert judge(untrained(decay(), prolonged, history=moving))[0] is FitStatus.BUDGET_SPENT


@pytest.mark.parametrize("unknown", [Unknown(None, low=0.0), Unknown(1.0, low=0.0), Unknown(1.0, 0.0, 1e4)])
def test_a_small_coefficient_is_not_at_its_bound(unknown):
    """Of slow decay, whose natural size is as small."""
    slow = Problem({"t": (0.0, 3e7)}, ("u",), ("u_t = -k*u",), {"k": unknown})
    result = untrained(slow)
    assert judge(replace(result, unknowns={"k": 1e-7}))[0] is not FitStatus.AT_BOUND
    assert judge(replace(result, unknowns={"k": 1e-13}))[0] is FitStatus.AT_BOUND


def test_an_unknown_at_its_bound_is_named():
    result = untrained(decay(unknowns={"k": Unknown(0.3, low=0.0)}))
    status, notes = judge(replace(result, unknowns={"k": 1e-6}))
    assert status is FitStatus.AT_BOUND
    assert notes == ("'k' ended at 1e-06, at its bound 0.",)


@pytest.mark.parametrize(("share", "status"), [(0.4, None), (0.6, FitStatus.REJECTS_MOST)])
def test_with_half_of_the_readings_flagged_the_verdicts_cannot_be_trusted(finished, share, status):
    reliability = (np.arange(len(finished.readings)) >= share * len(finished.readings)).astype(float)
    found, notes = judge(replace(finished, reliability=reliability))
    assert (found is FitStatus.REJECTS_MOST) is (status is not None)
    assert any("60 % of the readings are flagged" in note for note in notes) == (status is not None)


def test_a_gate_that_lets_the_impossible_through_is_doubted(finished):
    predicted = finished.predicted.copy()
    predicted[::20] += 1e6
    gating = replace(finished.method.gating, density=Compressed(finished.method.gating.density))
    compressed = with_network(finished, method=replace(finished.method, gating=gating))
    status, notes = judge(replace(compressed, predicted=predicted, reliability=np.ones(len(predicted))))
    assert status is FitStatus.REJECTS_NOTHING
    assert "20 readings practically impossible" in notes[0]


@pytest.mark.parametrize(("noise_share", "weight", "told"), [(0.0, 0.1, True), (1.0, 0.1, False), (0.0, 0.0, False)])
def test_flags_on_what_neighbours_share_are_told_to_mean_little(finished, noise_share, weight, told):
    """Unless all are of sensors that were left out, whose records speak for themselves."""
    reliability = np.ones(len(finished.readings))
    reliability[::10] = weight
    law = replace(network_of(finished).law, noise_share=jnp.asarray(noise_share))
    _, notes = judge(replace(with_network(finished, law=law), reliability=reliability))
    assert any("flags on single readings mean little" in note for note in notes) is told


def test_a_law_without_spread_or_without_a_total_is_no_law(finished):
    law = network_of(finished).law
    flat = replace(law.standard, scale=jnp.full((1,), 1e-6, law.standard.scale.dtype))
    status, notes = judge(with_network(finished, law=replace(law, standard=flat)))
    assert status is FitStatus.LAW_DEGENERATE
    assert "'u' have no spread" in notes[0]
    broken = jax.tree.map(lambda leaf: leaf * jnp.nan if leaf.dtype.kind == "f" else leaf, law.density)
    status, notes = judge(with_network(finished, law=replace(law, density=broken)))
    assert status is FitStatus.LAW_DEGENERATE
    assert "integrates to nan" in notes[0]


def test_seeds_agree_or_are_told_apart(finished):
    alike = replace(finished, unknowns={"k": finished.unknowns["k"] * 1.01}, seed=1)
    assert judge_seeds([finished, alike]) == (finished.status, finished.notes)
    apart = replace(finished, unknowns={"k": finished.unknowns["k"] * 1.5}, predicted=finished.predicted + 9.0)
    status, notes = judge_seeds([finished, apart])
    assert status is FitStatus.SEEDS_DISAGREE
    assert "'k' ranges from" in notes[0]
    assert "'u' of 2 seeds lie 9 apart" in notes[1]


def test_only_a_settled_fit_is_to_be_trusted_and_each_status_is_a_sentence_with_advice(finished):
    codes = {status.name: exit_code(replace(finished, status=status)) for status in FitStatus}
    assert {name for name, code in codes.items() if code == 0} == {"CONVERGED"}
    assert {status.name for status in FitStatus if status.colour == "green"} == {"CONVERGED"}
    assert {status.name for status in FitStatus if status.colour == "yellow"} == {"BUDGET_SPENT", "INTERRUPTED"}
    assert codes["INTERRUPTED"] == 130
    assert set(codes.values()) == {0, 3, 130}
    assert all(status.value.endswith(".") for status in FitStatus)
