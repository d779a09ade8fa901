"""A run folder in the browser while the fit goes on: a small server for this machine alone.

It listens on the loopback address, answers only to that name (so that no page of another site can read it through a
name of its own), and serves the plain files of one folder by exact name: there is no path to escape by."""

import html
import http.server
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pandas as pd

from napinn.errors import InputError
from napinn.report.document import page

ADDRESS = "127.0.0.1"
HOSTS = frozenset({ADDRESS, "localhost"})
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
}
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'"
)


def server(folder: Path, port: int = 0) -> http.server.ThreadingHTTPServer:
    """A server for one run folder, not yet running; port 0 takes any free one."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not there; start a fit with --out {folder}, or name a run folder.")
    try:
        return http.server.ThreadingHTTPServer((ADDRESS, port), partial(_Handler, folder.resolve()))
    except OSError as error:
        raise InputError(f"port {port} cannot be used: {error.strerror}; name another with --port.") from None


class _Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, folder: Path, *arguments: Any):
        self.folder = folder
        http.server.BaseHTTPRequestHandler.__init__(self, *arguments)

    def do_GET(self) -> None:
        if self.headers.get("Host", "").rpartition(":")[0] not in HOSTS:
            self._answer(403, "text/plain", b"This server answers to 127.0.0.1 only.")
            return
        name = unquote(urlsplit(self.path).path).removeprefix("/")
        pages: dict[str, Callable[[], tuple[str, bytes]]] = {
            "": lambda: (TYPES[".html"], _page(self.folder).encode()),
            "status.json": lambda: (TYPES[".json"], json.dumps(status(self.folder)).encode()),
        }
        if name in pages:
            self._answer(200, *pages[name]())
        elif name in served(self.folder):
            path = self.folder / name
            self._answer(200, TYPES.get(path.suffix, "application/octet-stream"), path.read_bytes())
        else:
            self._answer(404, "text/plain", b"There is no such file in the run folder.")

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store",
                   "X-Content-Type-Options": "nosniff", "Content-Security-Policy": POLICY}  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the page asks every other second."""


def served(folder: Path) -> frozenset[str]:
    """The files that may be asked for: plain ones of the folder itself, neither hidden nor links to elsewhere."""
    return frozenset(
        path.name
        for path in folder.iterdir()
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
    )


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
        "seconds_ago": time.time() - written.stat().st_mtime if written.exists() else None,
        "history": history,
        "unknowns": list((progress or result or {}).get("unknowns", [])),
        "report": (folder / "report.html").exists(),
    }


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
    name = html.escape(folder.name)
    charts = {"losses": "Losses", "unknowns": "Coefficients", "gate": "Gate", "flagged": "Share flagged"}
    figures = "".join(
        f'<figure><figcaption><h3>{title}</h3></figcaption><div class="plot" id="{key}"></div></figure>'
        for key, title in charts.items()
    )
    body = (
        '<header class="bar"><span class="name">napinn</span>'
        '<button type="button" id="theme" aria-pressed="false">Dark</button></header>'
        f'<main><h1>{name}</h1><p class="status" id="state" aria-live="polite">Asking …</p>'
        '<progress id="bar" aria-label="share of the training done" value="0" max="1"></progress>'
        '<p id="report" hidden><a href="report.html">Open the report</a></p>'
        f'<section><h2>Training</h2><div class="grid">{figures}</div></section></main>'
    )
    return page(f"napinn: {folder.name}", body, ("dress.js", "watch.js"))
