"""A run folder in the browser while its fit runs."""

import http.server
import json
import math
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pandas as pd

from napinn.errors import InputError
from napinn.report.document import page
from napinn.report.serving import HOSTS, TYPES, LocalHandler, kind_of, listen, served
from napinn.report.templating import render
from napinn.results.result import FitStatus


def server(folder: Path, port: int = 0) -> http.server.ThreadingHTTPServer:
    """A server for one run folder, not yet running; port 0 takes any free one."""
    if not folder.is_dir():
        quoted = shlex.quote(str(folder))
        raise InputError(f"{folder} is not there; start a fit with --out {quoted}, or name a run folder.")
    return listen(_Handler, port, folder.resolve())


class _Handler(LocalHandler):
    def __init__(self, folder: Path, *arguments: Any):
        self.folder = folder
        LocalHandler.__init__(self, *arguments)

    def do_GET(self) -> None:
        if self.host() not in HOSTS:
            self.answer(403, "text/plain", b"This server answers to 127.0.0.1 only.")
            return
        name = unquote(urlsplit(self.path).path).removeprefix("/")
        pages: dict[str, Callable[[], tuple[str, bytes]]] = {
            "": lambda: (TYPES[".html"], _page(self.folder).encode()),
            "status.json": lambda: (TYPES[".json"], json.dumps(status(self.folder)).encode()),
        }
        if name in pages:
            self.answer(200, *pages[name]())
        elif name in served(self.folder):
            path = self.folder / name
            self.answer(200, kind_of(name), path.read_bytes())
        else:
            self.answer(404, "text/plain", b"There is no such file in the run folder.")


def status(folder: Path) -> dict[str, Any]:
    """Where a run stands, from what its folder holds at this moment."""
    progress, result = _json(folder / "progress.json"), _json(folder / "result.json")
    history = _history(folder / "history.csv")
    state = "running" if progress else "finished" if result else "stopped" if history else "waiting"
    written = folder / "history.csv"
    return {
        "state": state,
        "progress": progress,
        "message": (result or {}).get("message"),
        "colour": None if result is None else colour_of(result.get("status")),
        "seconds_ago": time.time() - written.stat().st_mtime if written.exists() else None,
        "history": history,
        "unknowns": list((progress or result or {}).get("unknowns", [])),
        "report": (folder / "report.html").exists(),
    }


def colour_of(name: object) -> str:
    """The colour of a status by its name, as on the terminal and in the report.

    :param name: As `result.json` has it."""
    return next((status.colour for status in FitStatus if status.name == name), "red")


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _history(path: Path) -> dict[str, list[Any]]:
    """Columns of the history; a number that JSON cannot hold becomes null."""
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError):
        return {}
    return {
        str(name): [None if isinstance(value, float) and not math.isfinite(value) else value for value in column]
        for name, column in table.to_dict("list").items()
    }


def _page(folder: Path) -> str:
    charts = {"losses": "Losses", "unknowns": "Coefficients", "gate": "Gate", "flagged": "Share flagged"}
    body = render("watch", name=folder.name, charts=charts)
    return page(f"napinn: {folder.name}", body, ("dress.js", "watch.js"))
