"""A small web server for this machine alone: what the page of a running fit and the app share.

It listens on the loopback address and answers only to that name, so that no page of another site can read it through a
name of its own. Files are served by exact name from the list of one folder: there is no path to escape by."""

import functools
import http.server
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from napinn.errors import InputError

ADDRESS = "127.0.0.1"
HOSTS = frozenset({ADDRESS, "localhost"})
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".yaml": "text/plain; charset=utf-8",
}
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'"
)
"""For a page that holds its own scripts, as the report does."""


def listen(handler: Any, port: int, *given: Any) -> http.server.ThreadingHTTPServer:
    """A server that is not yet running.

    :param handler: The class of a `LocalHandler`.
    :param port: Where to listen; 0 takes any free port.
    :param given: What the handler is made with, before the request."""
    try:
        return http.server.ThreadingHTTPServer((ADDRESS, port), functools.partial(handler, *given))
    except OSError as error:
        raise InputError(f"port {port} cannot be used: {error.strerror}; name another with --port.") from None


class LocalHandler(http.server.BaseHTTPRequestHandler):
    """One request; a subclass defines the answer."""

    def host(self) -> str:
        """The name under which the browser asked, without its port."""
        return self.headers.get("Host", "").rpartition(":")[0]

    def answer(self, code: int, kind: str, body: bytes, policy: str = POLICY, more: Mapping[str, str] = {}) -> None:
        """Send a whole answer.

        :param code: Status of HTTP.
        :param kind: Content type.
        :param body: What is sent.
        :param policy: Content security policy of the page.
        :param more: Further headers by name."""
        self.send_response(code)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store",
                   "X-Content-Type-Options": "nosniff", "Content-Security-Policy": policy,
                   "Referrer-Policy": "no-referrer", **more}  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: a page asks every other second."""


def served(folder: Path) -> frozenset[str]:
    """The files that may be asked for: plain ones of the folder itself, neither hidden nor links to elsewhere."""
    return frozenset(
        path.name
        for path in folder.iterdir()
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
    )


def kind_of(name: str) -> str:
    """The content type of a file by its ending."""
    return TYPES.get(Path(name).suffix, "application/octet-stream")
