"""The list of commands: in which group `napinn --help` shows each, in which order, and an example of its use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

START, LOOK, TRUST, STUDIES = "Start here", "Look", "Trust", "Studies"
PROBLEM, METHOD, EXTRAS, RUN = "The problem", "The method", "Beside the fit", "The run"
"""Groups of options in the help of a command."""
MANY = 15
"""Options above which all of them stand in groups; fewer are found in one list."""
OF_METHOD = frozenset({"steps", "seed"})


@dataclass(frozen=True)
class CommandEntry:
    """How the help presents a command."""

    group: str
    example: str
    """A command line that the parser accepts; a test parses every one."""


COMMANDS = {
    "demo": CommandEntry(START, "napinn demo"),
    "app": CommandEntry(START, "napinn app"),
    "init": CommandEntry(START, "napinn init readings.csv"),
    "check": CommandEntry(START, "napinn check problem.yaml readings.csv"),
    "fit": CommandEntry(START, "napinn fit readings.csv --equation 'T_t = D*T_xx' --unknown D"),
    "discover": CommandEntry(START, "napinn discover readings.csv --left u_t"),
    "resume": CommandEntry(START, "napinn resume runs/readings"),
    "new": CommandEntry(START, "napinn new problem.yaml"),
    "watch": CommandEntry(LOOK, "napinn watch runs/readings"),
    "report": CommandEntry(LOOK, "napinn report runs/readings -o report.html"),
    "plot": CommandEntry(LOOK, "napinn plot runs/readings --what noise -o noise.pdf"),
    "animate": CommandEntry(LOOK, "napinn animate runs/readings -o field.gif"),
    "predict": CommandEntry(LOOK, "napinn predict runs/readings --grid 50 -o field.nc"),
    "export": CommandEntry(LOOK, "napinn export runs/readings --what field -o field.nc"),
    "verify": CommandEntry(TRUST, "napinn verify runs/readings"),
    "intervals": CommandEntry(TRUST, "napinn intervals runs/readings"),
    "profile": CommandEntry(TRUST, "napinn profile runs/readings"),
    "compare": CommandEntry(TRUST, "napinn compare problem.yaml readings.csv --methods splines,law_pinn"),
    "rerun": CommandEntry(TRUST, "napinn rerun runs/readings -o runs/again"),
    "bundle": CommandEntry(TRUST, "napinn bundle runs/readings -o bundle.zip"),
    "simulate": CommandEntry(STUDIES, "napinn simulate burgers --outliers 0.15 --fault drift:3 -o readings.csv"),
    "reproduce": CommandEntry(STUDIES, "napinn reproduce main --preset quick"),
    "methods": CommandEntry(STUDIES, "napinn methods"),
    "backbones": CommandEntry(STUDIES, "napinn backbones"),
    "schema": CommandEntry(STUDIES, "napinn schema -o problem.schema.json"),
}
"""Every command, in the order of the help."""


def _without_types(params: list[Any]) -> list[Any]:
    """Options that take no value are shown without one: Typer writes `<bool>` after them."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


def _grouped(params: list[Any]) -> list[Any]:
    """Options that several commands share, in a group where the command has many."""
    for param in params if len(params) > MANY else ():
        if getattr(param, "rich_help_panel", "") is None and param.param_type_name == "option" and param.name != "help":
            param.rich_help_panel = METHOD if param.name in OF_METHOD else RUN
    return params


class Command(TyperCommand):
    """A command whose help shows flags as flags, and many options in groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _grouped(_without_types(super().get_params(ctx)))


class Group(TyperGroup):
    """All commands, listed in the order of `COMMANDS`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, OLD_NAMES.get(cmd_name, cmd_name))


app = typer.Typer(
    cls=Group,
    help="Field, coefficients, noise law and a reliability for every reading, from bad sensors and an equation.",
    epilog="napinn COMMAND -h explains a command and gives an example. napinn --install-completion sets up the shell.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


OLD_NAMES = {"sure": "intervals"}
"""By the former name of a command, its name today; the former one still works and is not listed."""


def command(function: Callable[..., None], name: str | None = None) -> Callable[..., None]:
    """Register a command with the group and the example of `COMMANDS`.

    :param function: What the command calls; its docstring is the help.
    :param name: What it is called; default the name of its function."""
    name = name or function.__name__
    listed = COMMANDS[name]
    # Two spaces: the help joins the lines of a paragraph, and a command line must stay whole.
    register = app.command(name, cls=Command, rich_help_panel=listed.group, epilog=f"Example:  {listed.example}")
    return register(function)
