"""`napinn intervals`: intervals for a finished run."""

import json
from pathlib import Path

from rich.markup import escape

from napinn.cli.console import Console
from napinn.cli.running import show_status, show_unknowns
from napinn.engines.description import describe
from napinn.runs.pipeline import intervals_of, keep_more


def intervals_command(run: Path, as_json: bool) -> None:
    """Add intervals and spread to a finished run."""
    result = intervals_of(run)
    # What was found is shown before it is kept: the folder may not be writable.
    console = Console(quiet=as_json)
    if as_json:
        message = describe(result)
        print(json.dumps({key: message[key] for key in ("unknowns", "intervals", "intervals_from")}))  # noqa: T201
    show_unknowns(result, console)
    show_status(result, console)
    keep_more(result, run)
    message = f"added to {run}: result.json, report.html and the spread of the field in field.nc"
    console.print(escape(message), soft_wrap=True, highlight=False)
