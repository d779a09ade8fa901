"""Runs with splines: on disk, damaged, interrupted, refused."""

import shutil

import numpy as np
import pandas as pd
import pytest

from napinn import FitStatus, InputError, Problem, Unknown, estimate_uncertainty, fit, load, save
from napinn.engines.splines.method import bsplines
from napinn.engines.splines.model import SplineModel
from napinn.runs.folder import CERTAINTY
from napinn.storage.json_files import MODEL
from spline_cases import decaying, fitted, small_decay


@pytest.fixture(scope="module")
def clean():
    """A fit of few readings, shared by tests that only read it."""
    return fitted(small_decay(), decaying(40, 0.02))


@pytest.fixture(scope="module")
def decayed(decay_problem, decay_readings):
    """A fit of 400 readings, every tenth a gross error: enough to learn the noise law."""
    return fit(decay_problem, decay_readings, bsplines())


@pytest.fixture(scope="module")
def saved(tmp_path_factory, clean):
    folder = tmp_path_factory.mktemp("runs") / "clean"
    save(clean, folder)
    return folder


@pytest.fixture
def run(tmp_path, saved):
    """A run that a test may damage."""
    return shutil.copytree(saved, tmp_path / "run")


# ---- runs on disk ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("which", ["clean", "decayed"])
def test_a_run_survives_the_disk(which, request, tmp_path):
    result = request.getfixturevalue(which)
    save(result, tmp_path / "run")
    again = load(tmp_path / "run")
    grid = np.linspace(0.0, 3.0, 77)[:, None]
    assert isinstance(again.model, SplineModel)
    assert again.method == result.method
    assert again.unknowns == result.unknowns
    assert again.uncertainty.intervals == result.uncertainty.intervals
    assert again.uncertainty.source == result.uncertainty.source
    assert (again.status, again.notes, again.seed) == (result.status, result.notes, result.seed)
    np.testing.assert_array_equal(again.field(grid), result.field(grid))
    # Draws of the field are kept in single precision.
    np.testing.assert_allclose(again.uncertainty.spread(grid), result.uncertainty.spread(grid), rtol=1e-5)
    np.testing.assert_allclose(again.predicted, result.predicted, rtol=1e-12)
    np.testing.assert_allclose(again.reliability, result.reliability, rtol=1e-12)
    misfits = np.linspace(-1.0, 1.0, 200)
    np.testing.assert_array_equal(again.noise["u"].log_prob(misfits), result.noise["u"].log_prob(misfits))
    np.testing.assert_array_equal(again.model.equation_units, result.model.equation_units)
    np.testing.assert_array_equal(again.model.unknown_units, result.model.unknown_units)
    assert again.model.gate == result.model.gate
    assert again.model.noise_share == result.model.noise_share
    assert estimate_uncertainty(again).intervals == result.uncertainty.intervals


def with_arrays(path, **changed):
    """Write an archive again with some of its arrays changed, or left out where they are None."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {**archive, **changed}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def first_array(path, name):
    with np.load(path, allow_pickle=False) as archive:
        return archive[name]


DAMAGES = {
    "degrees missing": ("degrees", lambda _: None),
    "degrees not whole": ("degrees", lambda array: array + 0.5),
    "degrees too high": ("degrees", lambda array: np.full_like(array, 10**6)),
    "degrees negative": ("degrees", lambda array: -array),
    "degrees of another count": ("degrees", lambda array: np.append(array, 4)),
    "breaks descending": ("breaks.0", lambda array: array[::-1]),
    "breaks repeated": ("breaks.0", lambda array: np.repeat(array, 2)),
    "one break": ("breaks.0", lambda array: array[:1]),
    "breaks infinite": ("breaks.0", lambda array: np.append(array[:-1], np.inf)),
    "breaks not a number": ("breaks.0", lambda array: np.full_like(array, np.nan)),
    "breaks of text": ("breaks.0", lambda array: array.astype(str)),
    "breaks missing": ("breaks.0", lambda _: None),
    "a cell more": ("breaks.0", lambda array: np.append(array, array[-1] + 1.0)),
    "breaks of another box": ("breaks.0", lambda array: 2.0 * array),
    "too few coefficients": ("coefficients", lambda array: array[:-1]),
    "coefficients not a number": ("coefficients", lambda array: np.full_like(array, np.nan)),
    "complex coefficients": ("coefficients", lambda array: array.astype(complex)),
    "coefficients missing": ("coefficients", lambda _: None),
    "law without components": ("law", lambda array: array[:, :1]),
    "law of two rows": ("law", lambda array: array[:2]),
    "law of no width": ("law", lambda array: array * np.array([[1.0], [1.0], [0.0]])),
    "law of negative weight": ("law", lambda array: array * np.array([[-1.0], [1.0], [1.0]])),
    "law that is no density": ("law", lambda array: array * np.array([[2.0], [1.0], [1.0]])),
    "law not a number": ("law", lambda array: np.full_like(array, np.nan)),
    "law of text": ("law", lambda array: array.astype(str)),
    "negative tail": ("tail", lambda array: array - 2.0),
    "noise of no scale": ("noise", lambda array: np.zeros_like(array)),
    "noise of another field": ("noise", lambda array: np.repeat(array, 2, axis=1)),
    "gate of another count": ("gate", lambda array: array[:2]),
    "sizes of another count": ("sizes", lambda array: np.append(array, 1.0)),
    "naturals missing": ("naturals", lambda _: None),
}


@pytest.mark.parametrize(("name", "change"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_model_is_refused_in_one_sentence(run, name, change):
    with_arrays(run / MODEL, **{name: change(first_array(run / MODEL, name))})
    with pytest.raises(InputError, match=r"model\.npz does not match the settings of the run \(array '") as refused:
        load(run)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    "change",
    [lambda _: None, lambda draws: draws[:, :-1], lambda draws: draws[:0], lambda draws: draws.astype(str),
     lambda draws: draws.ravel(), lambda draws: np.full_like(draws, np.nan)],
    ids=["missing", "too few", "none", "text", "flat", "not a number"],
)  # fmt: skip
def test_a_damaged_spread_is_refused_in_one_sentence(run, change):
    with_arrays(run / CERTAINTY, draws=change(first_array(run / CERTAINTY, "draws")))
    with pytest.raises(InputError, match=r"certainty\.npz does not match the settings of the run"):
        load(run)


STRANGE = (0.0, -1.0, 0.5, 1e300, -1e300, 1e-300, np.nan, np.inf, 1e9)


def changed(array, random):
    """An array with one entry, its shape or its type changed."""
    kind = random.integers(6)
    if kind == 0:
        return array.reshape(-1)[: random.integers(array.size + 1)]
    if kind == 1:
        return array.astype(random.choice(["float32", "int64", "complex128", "str", "bool", "S8"]))
    if kind == 2:
        return np.expand_dims(array, int(random.integers(array.ndim + 1)))
    if kind == 3:
        return np.concatenate([array, array], axis=int(random.integers(array.ndim)))
    other = array.astype(float)
    other.reshape(-1)[random.integers(array.size)] = random.choice(STRANGE)
    return other


@pytest.mark.parametrize(("file", "rounds"), [(MODEL, 100), (CERTAINTY, 25)])
@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered", "ignore:Casting complex")
def test_random_changes_inside_whole_archives_are_read_or_refused_in_one_sentence(run, file, rounds):
    """The archive itself is sound, so no checksum of it helps: the arrays are judged by what they hold."""
    with np.load(run / file, allow_pickle=False) as archive:
        whole = dict(archive)
    random, places, told = np.random.default_rng(0), np.linspace(0.0, 3.0, 7)[:, None], []
    for _ in range(rounds):
        name = str(random.choice(list(whole)))
        np.savez(run / file, **{**whole, name: changed(whole[name], random)})
        try:
            again = load(run)
        except InputError as error:
            told.append(str(error))
            continue
        assert again.field(places).shape == (7, 1)
        assert again.uncertainty.spread(places).shape == (7, 1)
        assert not np.isnan(again.noise["u"].log_prob(places[:, 0])).any()
    assert len(told) > rounds // 3
    assert all(len(sentence.splitlines()) == 1 for sentence in told)


# ---- how a fit may end -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("calls", [0, 4])
def test_an_interrupt_gives_what_was_found_so_far(calls, tmp_path):
    seen = []

    def interrupt(snapshot):
        seen.append(snapshot)
        if len(seen) > calls:
            raise KeyboardInterrupt

    result = fitted(small_decay(), decaying(40, 0.02), progress=interrupt)
    assert result.status is FitStatus.INTERRUPTED
    assert len(result.history) == calls + 1
    assert np.isfinite(result.predicted).all()
    assert np.abs(result.misfits).mean() < 0.1
    assert ((result.reliability >= 0.0) & (result.reliability <= 1.0)).all()
    with pytest.raises(InputError, match="was interrupted before its intervals were known"):
        estimate_uncertainty(result)
    save(result, tmp_path / "run")
    assert load(tmp_path / "run").status is FitStatus.INTERRUPTED


def test_an_interrupt_while_the_first_mesh_is_chosen_gives_the_smoothed_readings(monkeypatch):
    from napinn.engines.splines import engine

    real, calls = engine.choose_start, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(engine, "choose_start", interrupted)
    result = fitted(small_decay(), decaying(40, 0.02))
    assert result.status is FitStatus.INTERRUPTED
    assert result.unknowns == {"k": 0.3}
    assert np.abs(result.misfits).mean() < 0.1


def test_progress_tells_of_tolerance_mesh_and_unknowns(clean):
    assert {"total", "equation", "data", "tolerance", "cells", "k"} <= set(clean.history.columns)
    assert clean.history["tolerance"].iloc[-1] < clean.history["tolerance"].iloc[0]
    assert clean.history["seconds"].is_monotonic_increasing
    assert clean.history["seconds"].iloc[-1] <= clean.seconds


# ---- what splines refuse ---------------------------------------------------------------------------------------------
def test_a_python_function_is_refused_in_one_sentence():
    def equation(place, field, unknown):
        return field.u_t + unknown.k * field.u

    problem = Problem({"t": (0.0, 3.0)}, ("u",), (equation,), {"k": Unknown(0.3)})
    with pytest.raises(InputError, match=r"an equation is a Python function.*law_pinn\.$"):
        fitted(problem, decaying(40, 0.02))


def test_four_coordinates_are_refused_in_one_sentence():
    names = ("x", "y", "z", "t")
    problem = Problem(dict.fromkeys(names, (0.0, 1.0)), ("u",), ("u_t = D*(u_xx + u_yy + u_zz)",), {"D": Unknown(0.3)})
    random = np.random.default_rng(0)
    table = pd.DataFrame({**{name: random.uniform(size=30) for name in names}, "u": random.normal(size=30)})
    with pytest.raises(InputError, match=r"4 coordinates, and splines take at most 3.*law_pinn\.$"):
        fitted(problem, table)


@pytest.mark.parametrize(("factor", "size"), [(1e200, r"\S+e\+(199|200)"), (1e-200, r"\S+e-20[01]")])
def test_numbers_beyond_double_precision_are_refused_in_one_sentence(factor, size):
    table = decaying(40, 0.02)
    table["u"] *= factor
    with pytest.raises(InputError, match=rf"the largest reading of 'u' is {size}; use units in which .*1e\+100\.$"):
        fitted(small_decay(), table)
    inside = fitted(
        small_decay(), decaying(40, 0.02).assign(u=lambda table: 0.9e100 ** np.sign(factor - 1.0) * table["u"])
    )
    assert inside.unknowns["k"] == pytest.approx(0.8, rel=0.05)


def test_two_readings_are_refused_and_three_are_fitted():
    with pytest.raises(InputError, match=r"2 reading\(s\), and splines need at least 3; use --method law_pinn\.$"):
        fitted(small_decay(), decaying(2, 0.02))
    assert np.isfinite(fitted(small_decay(), decaying(3, 0.02)).predicted).all()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_readings_that_do_not_vary_give_a_result_that_is_not_trusted(value):
    result = fitted(small_decay(), decaying(8, 0.0).assign(u=value))
    np.testing.assert_allclose(result.predicted, value, atol=0.01)
    assert not result.status.trusted


def test_numbers_that_are_not_finite_end_as_diverged():
    """The root of a negative number everywhere: no point of a descent is reached."""
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*sqrt(u - 5)",), {"k": Unknown(0.3)})
    result = fitted(problem, decaying(40, 0.02))
    assert result.status is FitStatus.DIVERGED
    assert np.abs(result.misfits).mean() < 0.1
    with pytest.raises(InputError, match="failed or was interrupted before its intervals were known"):
        estimate_uncertainty(result)
