"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from napinn.cli.commands import PROBLEM

LARGEST_SEED = 2**62
"""What 64 bits hold, and as many seeds after it as anyone will ask for."""

Json = Annotated[bool, typer.Option("--json", help="Print only one JSON object on standard output.")]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="Seed of everything random.", min=0, max=LARGEST_SEED)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in the same folder.")]
Replace = Annotated[bool, typer.Option("--overwrite", help="Replace the file.")]
Run = Annotated[Path, typer.Argument(help="Folder of a finished run.")]
FieldName = Annotated[str | None, typer.Option("--field", help="Field to show; default the first.")]
Port = Annotated[int, typer.Option(help="Port on this machine; 0 takes any free one.", min=0, max=65_535)]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")]
Every = Annotated[float, typer.Option("--checkpoint-every", help="Seconds between two checkpoints.", min=0.0)]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print everything that is written to RUN/log.txt.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
ProblemFile = Annotated[
    Path | None,
    typer.Option(
        "--problem", "-p", help="YAML file with coordinates, fields, unknowns, equations.", rich_help_panel=PROBLEM
    ),
]
Equations = Annotated[
    list[str] | None,
    typer.Option(
        "--equation",
        "-e",
        metavar="EQUATION",
        help="Instead of a problem file: 'u_t = D*u_xx'. Give it again for more.",
        rich_help_panel=PROBLEM,
    ),
]
Unknowns = Annotated[
    list[str] | None,
    typer.Option(
        "--unknown",
        "-u",
        metavar="UNKNOWN",
        help="A coefficient to find: D, D=0.5, D=0.5,low=0,high=10 or D=0.5,positive.",
        rich_help_panel=PROBLEM,
    ),
]
Constants = Annotated[
    list[str] | None,
    typer.Option("--constant", metavar="NAME=VALUE", help="A number that you know: Q=0.3.", rich_help_panel=PROBLEM),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--condition",
        metavar="CONDITION",
        help="A condition on a face of the box: 'u = 0 at x = 1'.",
        rich_help_panel=PROBLEM,
    ),
]
Periodic = Annotated[
    list[str] | None,
    typer.Option("--periodic", metavar="COORDINATE", help="A coordinate that repeats.", rich_help_panel=PROBLEM),
]
Flags = Annotated[
    str | None,
    typer.Option(
        "--flags", metavar="SCHEME", help="Write quality flags of a scheme into the tables: qartod, argo or saqc."
    ),
]
Steps = Annotated[int | None, typer.Option(help="Training steps; the default is the method's own.", min=1)]
