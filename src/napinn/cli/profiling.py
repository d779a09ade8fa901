"""`napinn profile`: the profile likelihood of every unknown of a finished run."""

import json
from dataclasses import replace
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from napinn.cli.console import Console
from napinn.engines.base import backend_of
from napinn.errors import InputError, storing
from napinn.results.profiles import Identifiability, described
from napinn.results.result import FitResult
from napinn.runs.pipeline import finished_run, keep_more
from napinn.storage.atomic import atomic_path

COLOURS = {
    Identifiability.IDENTIFIABLE: "green",
    Identifiability.PRACTICALLY_NOT: "yellow",
    Identifiability.STRUCTURALLY_NOT: "red",
}
PICTURE = "profile.png"


def profile_command(run: Path, as_json: bool) -> None:
    """Add profiles to a finished run, show them, and draw them."""
    result = finished_run(run, "profiles")
    if not result.unknowns:
        raise InputError(f"{run} has no unknown, so there is nothing to profile.")
    result = replace(result, profiles=backend_of(result.method).profiles(result))
    if as_json:
        print(json.dumps(described(result.profiles)))  # noqa: T201
    else:
        show_profiles(result, Console())
    keep_more(result, run)
    draw(result, run)
    if not as_json:
        message = f"added to {run}: result.json, report.html and {PICTURE}"
        Console().print(escape(message), soft_wrap=True, highlight=False)


def draw(result: FitResult, run: Path) -> None:
    """The picture of all profiles in the run folder."""
    # Loads matplotlib, which a fit without pictures does not need.
    from napinn.report.figures import save as save_figure
    from napinn.report.plot import profile as draw_profile

    with storing(f"{run / PICTURE} could not be written"), atomic_path(run / PICTURE) as beside:
        save_figure(draw_profile(result), beside)


def show_profiles(result: FitResult, console: Console) -> None:
    """One line an unknown: its class and its interval."""
    table = Table("unknown", "found", "95 % interval by profile", "", box=None)
    for name, profile in result.profiles.items():
        kind = profile.kind
        unit = result.problem.unit_of(name) or ""
        found = f"{result.unknowns[name]:.6g} {unit}".strip()
        table.add_row(name, escape(found), profile.interval, f"[{COLOURS[kind]}]{kind.value}[/]")
    console.print_whole(table)
