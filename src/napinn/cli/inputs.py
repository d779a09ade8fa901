"""Problem and readings of a command, and what was guessed of them in words; nothing that fits is loaded."""

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from napinn.cli.console import Console
from napinn.problem import Problem
from napinn.problem.file import Inputs, Words, read_inputs
from napinn.problem.file.joined import told_names


def told_inputs(
    problem: Path | Words, readings: Sequence[Path], console: Console, leave_out_bad: bool = False
) -> Inputs:
    """Problem and readings; what was guessed or deduced is said."""
    found = read_inputs(problem, readings, leave_out_bad=leave_out_bad)
    told = [f"{told_names(readings)}: {note}" for note in found.unusual_notes]
    if isinstance(problem, Words):
        told.append(f"understood: {deduced(found.problem)}")
    for line in told:
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
