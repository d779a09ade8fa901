"""`napinn watch`: apart from the other commands, because it needs neither JAX nor a finished run and starts at once."""

import contextlib
import webbrowser
from pathlib import Path

from rich.markup import escape

from napinn.cli.console import Console
from napinn.report.serving import ADDRESS
from napinn.report.watching import server


def watch_command(run: Path, port: int, no_open: bool) -> None:
    with server(run, port) as running:
        address = f"http://{ADDRESS}:{running.server_port}/"
        Console().print(f"watching {escape(str(run))} at {address}, until Ctrl-C", soft_wrap=True, highlight=False)
        if not no_open:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            running.serve_forever()
