"""`napinn verify`: whether a finished fit can be trusted."""

import contextlib
import json
import shlex
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from napinn.cli.console import Console, prose
from napinn.cli.exit_codes import EXIT_NOT_TRUSTED
from napinn.cli.progress import progress_display
from napinn.diagnostics.findings import CheckOutcome, Verification
from napinn.engines.base import Progress
from napinn.errors import storing
from napinn.evaluation.verify import verify
from napinn.runs.folder import load
from napinn.runs.verification import VERIFICATION, write_verification

COLOURS = {CheckOutcome.PASS: "green", CheckOutcome.DOUBT: "red", CheckOutcome.CANNOT: "dim"}


def verify_command(run: Path, refit: bool, as_json: bool) -> int:
    result = load(run)
    with contextlib.ExitStack() as shown:

        def progress(title: str) -> Progress:
            # There is one live display at a time.
            shown.close()
            return shown.enter_context(progress_display(title, Console(stderr=True, quiet=as_json)))

        verification = verify(result, refit=refit, progress=progress)
    # What was found is shown before it is kept: the folder may not be writable.
    if as_json:
        print(json.dumps({**verification.describe(), "folder": str(run)}))  # noqa: T201
    else:
        show(verification, Console())
    with storing(f"{run / VERIFICATION} could not be written"):
        write_verification(verification, run)
    if not as_json:
        text = f"{run / VERIFICATION}; napinn report {shlex.quote(str(run))} puts it into the report"
        Console().print(escape(text), soft_wrap=True, highlight=False)
    return 0 if verification.trusted else EXIT_NOT_TRUSTED


def show(verification: Verification, console: Console) -> None:
    table = Table(*prose("check", "", "what was found"), box=None, pad_edge=False)
    for check in verification.checks:
        table.add_row(check.name, f"[{COLOURS[check.outcome]}]{check.outcome.value}[/]", escape(check.found))
    console.print(table)
    console.print(escape(verification.sentence()), style="green" if verification.trusted else "red", soft_wrap=True)
