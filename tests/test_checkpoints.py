"""A fit that is stopped anywhere continues bit for bit; a torn or foreign checkpoint is refused in a sentence."""

import contextlib
import dataclasses
import errno
import os
import random
import shutil
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import napinn
from napinn import FitStatus, InputError, Problem, Table, Unknown, fit, load, read_table, save
from napinn.engines.network.methods import law_pinn
from napinn.engines.network.model import frame_of, initial
from napinn.engines.network.training import Adam, Method, Phase, PhaseKind, Screen, begin
from napinn.engines.network.training import prepare_data as load_data
from napinn.engines.network.training.checkpoints import latest, read
from napinn.engines.request import Request
from napinn.errors import StorageError
from napinn.field.backbones import MLP
from napinn.noise.density import GMM
from napinn.runs.request import read_request, write_request
from napinn.storage.checkpoints import Checkpoints, found

SIZES = dict(backbone=MLP(4, 1), collocation_batch=32, reading_batch=32, log_every=10)


def numbers(result):
    return list(result.model.arrays().values())


def same(first, second):
    assert all(np.array_equal(a, b) for a, b in zip(numbers(first), numbers(second), strict=True))
    assert first.unknowns == second.unknowns
    np.testing.assert_array_equal(first.reliability, second.reliability)
    assert all(result.history["seconds"].is_monotonic_increasing for result in (first, second))
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
    """Warm-up, screening, a law and a second optimiser: all that a state may hold."""
    base = law_pinn(40, warm_up=20, law_steps=20, estimator=GMM(), adapts=False, **SIZES)
    warm, law, joint, _ = base.phases
    phases = (
        warm,
        dataclasses.replace(law, screen=Screen()),
        dataclasses.replace(joint, steps=20, patience=30, optimiser=Adam(1e-3)),
        Phase("last", PhaseKind.GATED, 20, joint.loss, optimiser=Adam(1e-4)),
    )
    return dataclasses.replace(base, phases=phases)


METHOD = with_every_kind_of_state()


@pytest.fixture(scope="module")
def whole(decay_problem, decay_readings, compiled_once):
    return fit(decay_problem, decay_readings, METHOD, seed=4)


def kill(problem, readings, folder, chunks):
    kept = Checkpoints(folder, every=0.0)
    with pytest.raises(KilledError):
        fit(problem, readings, METHOD, seed=4, progress=stop_after(chunks), checkpoints=kept)


@pytest.mark.parametrize("chunks", range(1, 8))
def test_a_fit_that_was_killed_goes_on_bit_for_bit(decay_problem, decay_readings, tmp_path, whole, chunks):
    kill(decay_problem, decay_readings, tmp_path, chunks)
    steps = []
    again = fit(
        decay_problem, decay_readings, METHOD, seed=4, checkpoints=tmp_path, resume=True,
        progress=lambda snapshot: steps.append(snapshot.done),
    )  # fmt: skip
    same(whole, again)
    assert len(steps) == len(whole.history) - chunks
    assert len(found(tmp_path)) <= 2


def test_without_a_checkpoint_a_resumed_fit_begins_at_the_start(decay_problem, decay_readings, tmp_path, whole):
    same(whole, fit(decay_problem, decay_readings, METHOD, seed=4, checkpoints=tmp_path, resume=True))


def test_an_interrupt_is_taken_up_from_the_run_folder(decay_problem, decay_readings, tmp_path, whole):
    def stop(snapshot):
        if snapshot.done == 30:
            raise KeyboardInterrupt

    request = Request(decay_problem, decay_readings, METHOD, 4)
    write_request(request, tmp_path)
    first = fit(decay_problem, decay_readings, METHOD, seed=4, progress=stop, checkpoints=tmp_path)
    assert first.status is FitStatus.INTERRUPTED
    save(first, tmp_path)
    asked = read_request(tmp_path)
    assert asked.digest() == request.digest()
    again = napinn.resume(tmp_path, problem=decay_problem)
    same(whole, again)
    save(again, tmp_path)
    assert not found(tmp_path)
    same(whole, dataclasses.replace(load(tmp_path), history=again.history))


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    match how:
        case "torn":
            content = content[: len(content) // 2]
        case "flipped":
            content[-100] ^= 1
        case "empty":
            content = bytearray()
        case "another file":
            content = bytearray(b"PK\x03\x04" + bytes(300))
        case "longer":
            content += bytes(8)
        case "absurd":
            line, _, rest = bytes(content).partition(b"\n")
            content = bytearray(line.rsplit(b" ", 1)[0] + b" 99999999999999\n" + rest)
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["torn", "flipped", "empty", "another file", "longer", "absurd"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_used(
    decay_problem, decay_readings, tmp_path, whole, how, caplog
):
    kill(decay_problem, decay_readings, tmp_path, 3)
    newest, older = found(tmp_path)
    damage(newest, how)
    request = Request(decay_problem, decay_readings, METHOD, 4)
    rest = blank(request)
    with pytest.raises(InputError, match=r"damaged|not a checkpoint") as refused:
        read(newest, request.digest(), METHOD, *rest)
    assert str(newest) in str(refused.value)
    fit_state = latest(tmp_path, request.digest(), METHOD, *rest)
    assert fit_state is not None
    assert fit_state.rows[-1]["step"] == 20
    assert "The one before it is tried" in caplog.text
    damage(older, how)
    with pytest.raises(InputError, match="no other is left"):
        latest(tmp_path, request.digest(), METHOD, *rest)


def blank(request):
    """First state and data, as a fit has them before it looks for checkpoints."""
    dtype = np.dtype(np.float32)
    with jax.enable_x64(False):
        data, _ = load_data(request.problem, request.readings, dtype)
        frame = frame_of(request.problem, request.readings, request.method, dtype)
        key = jax.random.key(0)
        return begin(request.method, initial(request.problem, request.method, frame, key), key), data


def test_a_checkpoint_of_another_run_is_refused(decay_problem, decay_readings, tmp_path, whole):
    kill(decay_problem, decay_readings, tmp_path, 1)
    with pytest.raises(InputError, match="checkpoint of another run"):
        fit(decay_problem, decay_readings, METHOD, seed=5, checkpoints=tmp_path, resume=True)
    other = dataclasses.replace(METHOD, reading_batch=16)
    with pytest.raises(InputError, match="checkpoint of another run"):
        fit(decay_problem, decay_readings, other, seed=4, checkpoints=tmp_path, resume=True)


def test_a_disk_that_fails_costs_a_checkpoint_and_not_the_fit(
    decay_problem, decay_readings, tmp_path, whole, monkeypatch, caplog
):
    kill(decay_problem, decay_readings, tmp_path, 2)
    before = {path.name: path.read_bytes() for path in found(tmp_path)}

    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    kept = Checkpoints(tmp_path, every=0.0)
    same(whole, fit(decay_problem, decay_readings, METHOD, seed=4, checkpoints=kept, resume=True))
    assert caplog.text.count("No space left on device; the fit continues") == 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()} == before
    with pytest.raises(StorageError, match=r"could not be saved to .*: No space left on device"):
        save(whole, tmp_path)
    assert not (tmp_path / "result.json").exists()


def test_a_run_folder_that_is_removed_meanwhile_is_made_again(decay_problem, decay_readings, tmp_path, whole):
    folder = tmp_path / "run"
    kept = Checkpoints(folder, every=0.0)

    def remove(snapshot):
        if snapshot.done == 30:
            shutil.rmtree(folder)

    result = fit(decay_problem, decay_readings, METHOD, seed=4, checkpoints=kept, progress=remove)
    save(result, folder)
    same(whole, dataclasses.replace(load(folder), history=result.history))


def test_time_already_spent_counts_after_a_resume(decay_problem, decay_readings, tmp_path, compiled_once):
    method = dataclasses.replace(METHOD, minutes=60.0)
    spent = []
    for stop in (stop_after(3), None):
        with contextlib.suppress(KilledError):
            kept = Checkpoints(tmp_path, every=0.0)
            result = fit(decay_problem, decay_readings, method, progress=stop, checkpoints=kept, resume=True)
        request = Request(decay_problem, decay_readings, method)
        with jax.enable_x64(False):
            fit_state = latest(tmp_path, request.digest(), method, *blank(request))
        assert fit_state is not None
        spent.append(fit_state.seconds)
    assert spent[1] > spent[0] > 0.0
    assert result.seconds >= spent[1]  # pyright: ignore[reportPossiblyUnboundVariable]


def test_the_request_of_a_run_folder_is_the_one_that_was_made(decay_problem, tmp_path):
    """Numbers, dates, gaps, a column per sensor and a table: all come back to the last bit."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"t": np.sort(rng.uniform(0, 3, 50)), "u": rng.normal(0, 1e-9, 50), "note": "a;b"})
    frame.loc[3, "u"] = np.nan
    grid = np.linspace(0, 3, 7)
    problem = Problem(
        {"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u + q",), {"k": Unknown(0.3)},
        tables={"q": Table(("t",), (grid,), rng.normal(size=7))},
    )  # fmt: skip
    request = Request(problem, read_table(frame, ("t",), ("u",)), METHOD, 7)
    write_request(request, tmp_path)
    back = read_request(tmp_path)
    assert back.digest() == request.digest()
    np.testing.assert_array_equal(back.readings.values, request.readings.values)
    named = read_table(frame.assign(sensor=["a", "b"] * 25), ("t",), ("u",))
    for changed in (dataclasses.replace(request, seed=8), dataclasses.replace(request, readings=named)):
        assert changed.digest() != request.digest()


def test_functions_of_one_name_are_told_apart(decay_problem, decay_readings):
    def made(sign):
        def decay(p, f, c):
            return f.u_t + sign * c.k * f.u

        return Request(dataclasses.replace(decay_problem, equations=(decay,)), decay_readings, METHOD).digest()

    assert made(1.0) == made(1.0) != made(-1.0)


def test_a_checkpoint_damaged_anywhere_is_refused_in_a_sentence(decay_problem, decay_readings, tmp_path, whole):
    kill(decay_problem, decay_readings, tmp_path, 3)
    request, path = Request(decay_problem, decay_readings, METHOD, 4), found(tmp_path)[0]
    content, chance, rest = path.read_bytes(), random.Random(0), blank(request)
    for _ in range(150):
        hurt, at = bytearray(content), chance.randrange(len(content))
        match chance.randrange(3):
            case 0:
                hurt[at] ^= 1 << chance.randrange(8)
            case 1:
                del hurt[at : at + chance.choice([1, 8, 500])]
            case _:
                hurt[at:at] = chance.randbytes(chance.choice([1, 8]))
        path.write_bytes(bytes(hurt))
        with pytest.raises(InputError) as refused:
            read(path, request.digest(), METHOD, *rest)
        assert str(refused.value).startswith(str(path))
        assert len(str(refused.value).splitlines()) == 1
