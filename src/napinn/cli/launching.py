"""`napinn app`: the page for people who do not use a terminal."""

import contextlib
import http.server
import json
import os
import webbrowser
from pathlib import Path

from rich.markup import escape

from napinn.app.server import Application, server
from napinn.app.workspace import open_workspace
from napinn.cli.console import Console
from napinn.errors import InputError
from napinn.report.serving import ADDRESS
from napinn.storage.lock import held

RUNNING = "server.json"
"""The address of the running server, token included; only the owner may read it."""


PORT = 8877
"""The first choice: a page that is still open finds a server that was started again."""


def app_command(folder: Path | None, port: int | None, no_open: bool) -> None:
    chosen = (folder or Path.home() / "napinn-app").resolve()
    workspace = open_workspace(chosen)
    console = Console()
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(held(chosen))
        except InputError:
            _show_running(chosen, console, no_open)
            return
        application = stack.enter_context(contextlib.closing(Application(workspace)))
        running = stack.enter_context(_listening(application, port))
        address = f"http://{ADDRESS}:{running.server_port}/#token={application.token}"
        stack.callback((chosen / RUNNING).unlink, missing_ok=True)
        _write(chosen / RUNNING, address)
        console.print(f"napinn app: {address}", soft_wrap=True, highlight=False, markup=False)
        console.print(escape(f"Analyses are kept in {chosen}. Ctrl-C ends the server; fits continue."), soft_wrap=True)
        if not no_open:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            running.serve_forever()


def _listening(application: Application, port: int | None) -> http.server.ThreadingHTTPServer:
    if port is not None:
        return server(application, port)
    try:
        return server(application, PORT)
    except InputError:
        return server(application, 0)


def _show_running(folder: Path, console: Console, no_open: bool) -> None:
    """A second launch leads to the first."""
    try:
        address = str(json.loads((folder / RUNNING).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError):
        raise InputError(f"another napinn app uses {folder}; end it, or name another folder with --folder.") from None
    console.print(f"napinn app is running already: {address}", soft_wrap=True, highlight=False, markup=False)
    if not no_open:
        webbrowser.open(address)


def _write(path: Path, address: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({"address": address}, file)
