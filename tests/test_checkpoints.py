"""A fit that is stopped anywhere goes on bit for bit; a checkpoint that is torn or foreign is refused in a sentence."""

import dataclasses
import errno
import os
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

import napinn
from napinn import FitStatus, InputError, Problem, Unknown, fit, load, read_table, save
from napinn.fitting import frame_of, initial
from napinn.methods import law_pinn, mad_pinn
from napinn.networks import MLP
from napinn.request import Request, read_request, write_request
from napinn.training import LBFGS, Adam, Checkpoints, Cosine, Kind, Method, Phase, begin
from napinn.training import load as load_data
from napinn.training.checkpoints import found, latest, read

SIZES = dict(backbone=MLP(8, 2), collocation_batch=32, reading_batch=32, log_every=10)


def numbers(result):
    return [np.asarray(leaf) for leaf in jax.tree.leaves((result.learned, result.law))]


def same(first, second):
    assert all(np.array_equal(a, b) for a, b in zip(numbers(first), numbers(second), strict=True))
    assert first.unknowns == second.unknowns
    np.testing.assert_array_equal(first.reliability, second.reliability)
    timeless = [result.history.drop(columns="seconds") for result in (first, second)]
    assert timeless[0].equals(timeless[1])


class KilledError(Exception):
    """Stands for a process that is gone at once: nothing is cleaned up after it."""


def stop_after(chunks):
    seen = []

    def progress(snapshot):
        seen.append(snapshot)
        if len(seen) == chunks:
            raise KilledError

    return progress


def with_every_kind_of_state() -> Method:
    """Warm-up, screening, a law, averages and a line search: all that a state may hold."""
    base = law_pinn(60, law_steps=20, **SIZES)
    warm, law, joint, cooling = base.phases
    phases = (
        warm,
        dataclasses.replace(law, screen=mad_pinn(10).phases[1].screen),
        dataclasses.replace(joint, averaging=0.9, patience=30),
        dataclasses.replace(cooling, schedule=Cosine(), optimiser=Adam(1e-3)),
        Phase("polish", Kind.POLISH, 20, cooling.loss, optimiser=LBFGS(memory=4)),
    )
    return dataclasses.replace(base, phases=phases)


@pytest.mark.parametrize("chunks", [1, 2, 3, 5, 6, 8, 9, 11])
def test_a_fit_that_was_killed_goes_on_bit_for_bit(decay_problem, decay_readings, tmp_path, whole, chunks):
    method = with_every_kind_of_state()
    with pytest.raises(KilledError):
        kept = Checkpoints(tmp_path, every=0.0)
        fit(decay_problem, decay_readings, method, seed=4, progress=stop_after(chunks), checkpoints=kept)
    steps = []
    again = fit(
        decay_problem, decay_readings, method, seed=4, checkpoints=tmp_path, resume=True,
        progress=lambda snapshot: steps.append(snapshot.done),
    )  # fmt: skip
    same(whole, again)
    assert len(steps) == len(whole.history) - chunks
    assert len(found(tmp_path)) <= 2


@pytest.fixture(scope="module")
def whole(decay_problem, decay_readings):
    return fit(decay_problem, decay_readings, with_every_kind_of_state(), seed=4)
