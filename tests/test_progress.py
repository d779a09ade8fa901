"""What is said while a fit runs, and before it: the time that is left in every phase, which start or seed it is."""

import dataclasses
import types

import numpy as np
import pandas as pd
import pytest
from rich.table import Table

from known_results import known
from napinn import fit
from napinn.cli.console import Console, prose
from napinn.cli.progress import left
from napinn.data.durations import duration
from napinn.engines.network import backend as network_backend
from napinn.engines.network.methods import law_pinn
from napinn.engines.network.training.fit_state import seconds_left
from napinn.engines.network.training.phases import PhaseKind
from napinn.engines.snapshot import Snapshot
from napinn.engines.splines.method import bsplines
from napinn.evaluation import seeds
from napinn.field.backbones import MLP


def snapshot(phase: str, step: int, steps: int, rate: float, count: int = 100) -> Snapshot:
    """One row of history, of `count` steps at `rate` steps a second."""
    losses = {"total": 1.0, "data": 1.0, "rejected": 0.1}
    return Snapshot(phase, step, steps, step, steps, losses, {"k": 0.8}, {}, count / rate, rate, new_steps=count)


def test_the_time_left_counts_every_later_phase_and_no_compiling():
    method = law_pinn(1200, warm_up=400, law_steps=1000)
    assert [phase.steps for phase in method.phases] == [400, 1000, 266, 534]
    measured: dict[PhaseKind, float] = {}
    # The first row of the first phase holds the time of compiling.
    assert seconds_left(method, 0, 0.0, snapshot("warm-up", 100, 400, 1.0), measured) is None
    found = seconds_left(method, 0, 0.0, snapshot("warm-up", 200, 400, 100.0), measured)
    assert found == pytest.approx(200 * 0.01 + 1000 * 0.001 + 800 * 0.013)
    found = seconds_left(method, 1, 0.0, snapshot("noise law", 100, 1000, 1.0), measured)
    assert found == pytest.approx(900 * 0.001 + 800 * 0.013)
    found = seconds_left(method, 1, 0.0, snapshot("noise law", 200, 1000, 500.0), measured)
    assert found == pytest.approx(800 * 0.002 + 800 * 0.013)
    found = seconds_left(method, 2, 0.0, snapshot("joint", 200, 266, 50.0), measured)
    assert found == pytest.approx((66 + 534) * 0.02)
    # A phase that ends early leaves none of its steps, and the last one none at all.
    found = seconds_left(method, 3, 0.0, snapshot("joint", 200, 266, 50.0), measured)
    assert found == pytest.approx(534 * 0.02)
    assert seconds_left(method, 4, 0.0, snapshot("cooling", 534, 534, 50.0), measured) == 0.0
    budget = dataclasses.replace(method, minutes=0.1)
    assert seconds_left(budget, 3, 2.0, snapshot("joint", 200, 266, 50.0), measured) == 4.0


def test_every_phase_of_a_fit_has_a_time_left(decay_problem, decay_readings, small_method):
    seen: list[Snapshot] = []
    fit(decay_problem, decay_readings, small_method(200, log_every=25), progress=seen.append)
    assert {each.phase for each in seen if each.seconds_left is not None} == {"warm-up", "noise law", "joint"}
    assert seen[-1].seconds_left == 0.0
    assert [each.new_steps for each in seen] == np.diff([0, *(each.done for each in seen)]).tolist()
    assert left(seen[-1]) == "0 s left"
    assert left(seen[0]) == ""


def test_the_estimate_of_time_counts_every_phase(decay_problem, decay_readings, monkeypatch):
    method = law_pinn(1200, warm_up=400, law_steps=1000, backbone=MLP(4, 1))
    asked = []

    def tried(self, request, options):
        asked.extend((phase.name, phase.kind, phase.steps) for phase in request.method.phases)
        rows = [("plain", 20, 9.0), ("plain", 40, 11.0), ("law", 60, 16.0), ("law", 80, 16.2), ("gated", 100, 24.2),
                ("gated", 120, 28.2)]  # fmt: skip
        return types.SimpleNamespace(history=pd.DataFrame(rows, columns=["phase", "step", "seconds"]))

    clock = iter([100.0, 140.0])
    monkeypatch.setattr(network_backend.Networks, "fit", tried)
    monkeypatch.setattr(network_backend, "time", types.SimpleNamespace(perf_counter=lambda: next(clock)))
    found = network_backend.BACKEND.estimate(decay_problem, decay_readings, method)
    assert asked == [("plain", PhaseKind.PLAIN, 40), ("law", PhaseKind.LAW, 40), ("gated", PhaseKind.GATED, 40)]
    # 40 s for all that was tried, of which 12.4 s are steps once they are compiled.
    around = 40.0 - 12.4 + network_backend.AROUND_FIT
    assert found.seconds == pytest.approx(around + 400 * 0.1 + 1000 * 0.01 + 800 * 0.2)


def test_several_seeds_are_told_as_one_fit(decay_problem, decay_readings, monkeypatch):
    def pretended(request, options):
        options.progress(dataclasses.replace(snapshot("joint", 50, 100, 10.0), seconds_left=5.0))
        found = known(request.problem, {"k": 0.8}, lambda t: t, readings=request.readings)
        return dataclasses.replace(found, seed=request.seed)

    monkeypatch.setattr(seeds, "fit_request", pretended)
    monkeypatch.setattr(seeds, "time", types.SimpleNamespace(perf_counter=lambda: 0.0))
    told: list[Snapshot] = []
    seeds.fit_seeds(decay_problem, decay_readings, seeds=3, seed=7, progress=told.append)
    assert [each.phase for each in told] == ["seed 7, joint", "seed 8, joint", "seed 9, joint"]
    assert [(each.done, each.total) for each in told] == [(50, 300), (150, 300), (250, 300)]
    assert [each.seconds_left for each in told] == [15.0, 10.0, 5.0]
    # A clock that moves on by a second whenever it is read: once before all seeds, then twice a seed.
    clock = iter(range(7))
    monkeypatch.setattr(seeds, "time", types.SimpleNamespace(perf_counter=lambda: float(next(clock))))
    seeds.fit_seeds(decay_problem, decay_readings, seeds=3, seed=7, progress=told.append)
    assert [each.seconds for each in told[3:]] == [11.0, 13.0, 15.0]


def test_splines_say_which_start_is_tried_and_which_is_continued(decay_problem, decay_readings):
    few = decay_readings.only(np.arange(len(decay_readings)) % (len(decay_readings) // 30) == 0)
    seen: list[Snapshot] = []
    result = fit(decay_problem, few, bsplines(), progress=seen.append)
    phases = list(dict.fromkeys(each.phase for each in seen))
    tried = [phase.removeprefix("start ") for phase in phases if phase.startswith("start ")]
    assert len(tried) > 1
    assert phases[-1].removeprefix("continuing ") in tried
    assert list(dict.fromkeys(result.history["phase"])) == phases
    # The unknowns of a line are those of the start that the line names.
    last = result.history.iloc[-1]
    assert last["k"] == pytest.approx(result.unknowns["k"], rel=0.01)
    assert all(each.seconds_left is not None for each in seen)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"), (4.4, "4 s"), (59.7, "60 s"), (89.0, "89 s"), (89.4, "89 s"), (89.7, "2 min"), (91.0, "2 min"),
        (119.7, "2 min"), (5369.0, "89 min"), (5399.0, "1.5 h"), (5401.0, "1.5 h"), (7199.0, "2.0 h"),
        (7200.0, "2.0 h"), (7260.0, "2.0 h"),
    ],
)  # fmt: skip
def test_a_time_is_said_in_the_unit_that_suits_it(seconds, said):
    assert duration(seconds) == said


def test_a_measured_time_below_ten_seconds_has_a_decimal():
    assert [duration(seconds, tenths=True) for seconds in (0.04, 3.0, 9.94, 9.99, 10.0, 119.7)] == [
        "0.0 s", "3.0 s", "9.9 s", "10 s", "10 s", "2 min",
    ]  # fmt: skip


def test_output_that_is_no_terminal_has_no_width_even_in_colour(monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    table = Table("name", "value", box=None)
    table.add_row("a long name of a coefficient", "6.0476123e-07")
    Console().print(table)
    assert "6.0476123e-07" in capfd.readouterr().out


def test_a_terminal_that_is_too_narrow_cuts_no_number(capfd):
    console = Console()
    console.width = 12
    table = Table("name", "value", box=None)
    table.add_row("coefficient", "6.0476123e-07")
    console.print_whole(table)
    assert "6.0476123e-07" in capfd.readouterr().out
    assert console.width == 12
    table = Table(*prose("method", "what it is"), box=None)
    table.add_row("a_long_name_of_a_method", "words")
    console.print(table)
    words = capfd.readouterr().out
    assert "…" not in words
    assert "_met" in words
