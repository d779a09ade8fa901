"""`napinn fit`."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.markup import escape

from napinn.cli.console import Console
from napinn.cli.running import OutputOptions, display, print_result
from napinn.data.flags import scheme_named
from napinn.engines.catalogue import BACKBONES, DEFAULT, DENSITIES, LOSSES, METHODS, NETWORK, SPLINE_DENSITIES, Entry
from napinn.engines.request import Request
from napinn.errors import InputError, nearest
from napinn.pipeline import PipelineOptions, check_options, run_request
from napinn.problem import Problem
from napinn.problem.file import Inputs, ProblemTexts, read_inputs
from napinn.problem.file.joined import names_of_files, run_name
from napinn.results.recipe import Recipe


@dataclass(frozen=True)
class Choice:
    """A method and its parts by their words on the command line; None leaves a part as the method has it."""

    method: str | None = None
    backbone: str | None = None
    density: str | None = None
    loss: str | None = None
    steps: int | None = None
    double: bool = False
    minutes: float | None = None

    @property
    def name(self) -> str:
        """The method; whoever names none but a part, a density or a budget that only one kind has means that kind."""
        if self.method is not None:
            return self.method
        if self._network_options or (self.density in DENSITIES and self.density not in SPLINE_DENSITIES):
            return NETWORK
        return "splines" if self.density in SPLINE_DENSITIES and self.density not in DENSITIES else DEFAULT

    @property
    def _network_options(self) -> list[str]:
        """The options given that only a network has."""
        words = {"backbone": self.backbone, "loss": self.loss, "steps": self.steps, "minutes": self.minutes}
        return [f"--{name}" for name, word in {**words, "double": self.double or None}.items() if word is not None]

    @property
    def in_double(self) -> bool:
        """Whether it computes in float64."""
        return self.double or METHODS[self.name].steps == 0

    def check(self) -> "Choice":
        """Itself, or a sentence on what is wrong with the words; nothing is made."""
        entry = _named(self.name, METHODS, "method")
        for word, option in ((self.steps, "steps"), (self.minutes, "minutes")):
            if word is not None and entry.steps == 0:
                raise InputError(f"method '{self.name}' ends by itself; leave out --{option}.")
        for word, table, kind in ((self.backbone, BACKBONES, "backbone"), (self.loss, LOSSES, "loss")):
            if word is None:
                continue
            _named(word, table, kind)
            if kind not in entry.parts:
                raise InputError(f"method '{self.name}' has no choice of {kind}; leave out --{kind}.")
        if self.density is not None:
            self._check_density(self.density, entry)
        if self.loss == "likelihood" and "estimator" not in entry.parts:
            raise InputError(
                f"method '{self.name}' learns no noise law, which the loss 'likelihood' needs; use law_pinn."
            )
        if self.name == "b_pinn" and self.backbone not in (None, "bayesian"):
            raise InputError("method 'b_pinn' needs the backbone 'bayesian'; leave out --backbone.")
        return self

    def _check_density(self, density: str, entry: Entry) -> None:
        _named(density, {**DENSITIES, **SPLINE_DENSITIES}, "density")
        if entry.steps == 0 and density not in SPLINE_DENSITIES:
            raise InputError(
                f"method '{self.name}' has no density '{density}', only {', '.join(SPLINE_DENSITIES)}; "
                f"use --method {NETWORK}."
            )
        if self.name == DEFAULT and density not in DENSITIES:
            raise InputError(
                f"method '{DEFAULT}' may hand over to a network, which has no density '{density}'; "
                "use --method splines."
            )
        if entry.steps == 0:
            return
        if "estimator" not in entry.parts:
            raise InputError(f"method '{self.name}' has no choice of density; leave out --density.")
        if density not in DENSITIES:
            others = f", which {self._network_options[0]} asks for," if self.method is None else ""
            raise InputError(
                f"method '{self.name}'{others} has no density '{density}', only {', '.join(DENSITIES)}; "
                "use --method splines."
            )

    def make(self) -> Recipe:
        """The method; the modules that it is made of are loaded only now."""
        self.check()
        if METHODS[self.name].steps == 0:
            return METHODS[self.name].make() if self.density is None else METHODS[self.name].make(self.density)
        parts: dict[str, Any] = {"double": self.double, "minutes": self.minutes}
        if self.steps is not None:
            parts["steps"] = self.steps
        if self.backbone is not None:
            parts |= {"backbone": BACKBONES[self.backbone].make(), "keeps_backbone": True}
        if self.density is not None:
            parts["estimator"] = _estimator(self.name, self.density)
        if self.loss is not None:
            parts["loss"] = LOSSES[self.loss].make()
        return METHODS[self.name].make(**parts)


def _estimator(method: str, density: str) -> Any:
    estimator = DENSITIES[density].make()
    if method != NETWORK:
        return estimator
    from napinn.engines.network.methods import compressed

    return compressed(estimator)


def _named(word: str, table: Mapping[str, Entry], kind: str) -> Entry:
    if word not in table:
        raise InputError(f"there is no {kind} '{word}'; {nearest(word, table)}")
    return table[word]


def fit_command(
    readings: Sequence[Path],
    problem: Path | ProblemTexts,
    choice: Choice,
    seed: int,
    out: Path | None,
    options: PipelineOptions,
    output: OutputOptions,
    leave_out_bad: bool = False,
) -> int:
    """What is refused is refused before the method is made, because that may load JAX."""
    choice.check()
    if options.flags is not None:
        scheme_named(options.flags)
    found = read_and_print_notes(problem, readings, Console(stderr=True, quiet=output.quiet), leave_out_bad)
    options = replace(options, inputs=found.files)
    check_options(found.problem, found.readings, choice.in_double, options)
    if found.problem.spline_only is not None and METHODS[choice.name].steps:
        raise InputError(f"{found.problem.spline_only}, which only --method splines can fit with.")
    folder = out or Path("runs") / run_name(readings)

    def request() -> Request:
        return Request(found.problem, found.readings, choice.make(), seed)

    finished = run_request(request, folder, options, functools.partial(display, output))
    return print_result(finished.result, folder, output, finished.complete)


def read_and_print_notes(
    problem: Path | ProblemTexts, readings: Sequence[Path], console: Console, leave_out_bad: bool = False
) -> Inputs:
    """Problem and readings; what was guessed or deduced is said."""
    found = read_inputs(problem, readings, leave_out_bad=leave_out_bad)
    notes = [f"{names_of_files(readings)}: {note}" for note in found.unusual_notes]
    if isinstance(problem, ProblemTexts):
        notes.append(f"understood: {deduced(found.problem)}")
    for line in notes:
        console.print(escape(line), soft_wrap=True, highlight=False)
    return found


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
