"""The public names explain themselves: every argument, what comes back, and an example that runs."""

import dataclasses
import doctest
import inspect
import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.results.notebook import Plots

NAMES = [name for name in napinn.__all__ if not isinstance(getattr(napinn, name), types.ModuleType)]
PLAIN = (BaseException, napinn.FitStatus)


def documented(text: str) -> set[str]:
    return set(re.findall(r":param (\w+):", text))


@pytest.fixture(scope="module")
def examples() -> dict[str, Any]:
    """What examples have at hand, as the API page says: the names, and a fit of exp(-0.8 t)."""
    t, rng = np.tile(np.linspace(0.0, 3.0, 40), 4), np.random.default_rng(0)
    table = pd.DataFrame({"sensor": np.repeat(list("abcd"), 40), "t": t})
    table["u"] = np.exp(-0.8 * t) + 0.01 * rng.standard_normal(len(t))
    problem = napinn.Problem({"t": (0, 3)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(0.5)})
    readings = napinn.read_readings(table, problem)
    result = napinn.fit(problem, readings, napinn.bsplines())
    return {"napinn": napinn, "np": np, "pd": pd, "Path": Path, "problem": problem, "readings": readings,
            "result": result}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_explains_itself(name):
    thing = getattr(napinn, name)
    text = inspect.getdoc(thing) or ""
    assert ">>>" in text, "no example"
    if isinstance(thing, type) and issubclass(thing, PLAIN):
        return
    wanted = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    if inspect.isfunction(thing):
        wanted = set(inspect.signature(thing).parameters)
        back = inspect.signature(thing).return_annotation
        assert ":return:" in text or back in (None, "None")
    assert documented(text) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, examples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE)
    thing = getattr(napinn, name)
    for test in finder.find(inspect.unwrap(thing), name, globs=dict(examples)):
        said: list[str] = []
        assert runner.run(test, out=said.append, clear_globs=False).failed == 0, "".join(said)


def test_arguments_of_methods_of_results_are_explained():
    for owner in (napinn.FitResult, Plots):
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                wanted = set(inspect.signature(method).parameters) - {"self"}
                assert documented(inspect.getdoc(method) or "") == wanted, f"{owner.__name__}.{name}"
