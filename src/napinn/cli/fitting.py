"""`napinn fit`."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape

from napinn.certainty.sure import FEWEST
from napinn.cli.certainty import finishing, run_seeds
from napinn.cli.console import Console
from napinn.cli.running import Manner, run_request, tell_result
from napinn.errors import InputError, nearest
from napinn.fitting import check_readings
from napinn.io import PLAIN, read_file
from napinn.io.lock import held
from napinn.likelihood import Likelihood
from napinn.loggers import check_loggers
from napinn.methods import BACKBONES, DENSITIES, LOSSES, METHODS, Entry, compressed
from napinn.problem import Problem
from napinn.problem_file import Words, bind_readings, deduce, load_problem_file, sheet_of
from napinn.readings import Readings
from napinn.request import Request, Wishes
from napinn.run_folder import begin, prepare
from napinn.training import Method


@dataclass(frozen=True)
class Choice:
    """A method and its parts by their words on the command line; None leaves a part as the method has it."""

    method: str
    backbone: str | None = None
    density: str | None = None
    loss: str | None = None
    steps: int | None = None
    double: bool = False
    minutes: float | None = None

    def make(self) -> Method:
        parts: dict[str, Any] = {"double": self.double, "minutes": self.minutes}
        if self.steps is not None:
            parts["steps"] = self.steps
        if self.backbone is not None:
            parts |= {"backbone": _named(self.backbone, BACKBONES, "backbone")(), "keeps_backbone": True}
        if self.density is not None:
            estimator = _named(self.density, DENSITIES, "density")()
            parts["estimator"] = compressed(estimator) if self.method == "law_pinn" else estimator
        if self.loss is not None:
            parts["loss"] = _named(self.loss, LOSSES, "loss")()
        make = _named(self.method, METHODS, "method")
        taken = inspect.signature(make).parameters
        for name, word in (("estimator", "density"), ("loss", "loss")):
            if name in parts and name not in taken:
                raise InputError(f"method '{self.method}' has no choice of {word}; leave out --{word}.")
        if isinstance(parts.get("loss"), Likelihood) and "estimator" not in taken:
            raise InputError(
                f"method '{self.method}' learns no noise law, which the loss 'likelihood' needs; use law_pinn."
            )
        if self.method == "b_pinn" and self.backbone not in (None, "bayesian"):
            raise InputError("method 'b_pinn' needs the backbone 'bayesian'; leave out --backbone.")
        return make(**parts)


def _named(word: str, table: Mapping[str, Entry], kind: str) -> Callable[..., Any]:
    if word not in table:
        raise InputError(f"there is no {kind} '{word}'; {nearest(word, table)}")
    return table[word].make


def fit_command(
    readings: Path,
    problem: Path | Words,
    choice: Choice,
    seed: int,
    out: Path | None,
    overwrite: bool,
    manner: Manner,
    seeds: int = 1,
    intervals: bool = False,
) -> int:
    recipe = choice.make()
    bound, table = problem_and_readings(problem, readings, Console(stderr=True, quiet=manner.quiet))
    folder = out or Path("runs") / readings.stem
    check_loggers(manner.logs)
    check_readings(bound, table, recipe.double)
    if intervals and len(table) < FEWEST:
        raise InputError(
            f"{readings} holds {len(table)} reading(s), and intervals need {FEWEST}: one has to be left out at a time."
        )
    request = Request(bound, table, recipe, seed)
    inputs = files_read(problem, readings)
    prepare(folder, overwrite, inputs=inputs)
    with held(folder):
        wishes = Wishes(seeds, intervals, manner.logs, tuple(os.path.relpath(path, folder) for path in inputs))
        begin(request, folder, wishes)
        if seeds > 1:
            return run_seeds(request, folder, manner, wishes)
        return tell_result(run_request(request, folder, manner, finish=finishing(wishes)), folder, manner)


def files_read(problem: Path | Words, readings: Path) -> list[Path]:
    """Every file that a fit is read from, with the tables and places that its problem file names."""
    if isinstance(problem, Words):
        return [readings]
    return [readings, problem, *load_problem_file(problem).side_files()]


def problem_and_readings(problem: Path | Words, readings: Path, console: Console) -> tuple[Problem, Readings]:
    """From a problem file, or from the words of one line; what was guessed or deduced is said."""
    if isinstance(problem, Words):
        sheet = read_file(readings)
        file, source = deduce(problem, sheet.table, readings.name), "the command line"
    else:
        file, source = load_problem_file(problem), str(problem)
        sheet = sheet_of(file, readings, source)
    bound, table = bind_readings(file, sheet.table, str(readings), source)
    told = [f"{readings}: {note}" for note in sheet.notes if note != PLAIN]
    if isinstance(problem, Words):
        told.append(f"understood: {deduced(bound)}")
    for line in told:
        console.print(escape(line), soft_wrap=True, highlight=False)
    return bound, table


def deduced(problem: Problem) -> str:
    """What a problem is about, in one line."""
    axes = ", ".join(f"{name} ({low:g} to {high:g})" for name, (low, high) in problem.coordinates.items())
    parts = [f"coordinates {axes}", f"measured {', '.join(problem.fields)}"]
    if problem.hidden:
        parts.append(f"hidden {', '.join(problem.hidden)}")
    if problem.unknowns:
        starts = {name: "" if u.start is None else f" from {u.start:g}" for name, u in problem.unknowns.items()}
        parts.append("unknown " + ", ".join(f"{name}{start}" for name, start in starts.items()))
    return "; ".join(parts)
