"""The server of the app: which requests are answered, and what is refused and written down.

A page of another site may send requests to this machine. So a request must name this server as its host, come from the
page of this server, and carry the token of this launch, which only the address that napinn printed holds. Files, which
a page shows in a frame or saves, have an address with a ticket: a code of the file's name under the token."""

import hmac
import http.server
import json
import logging
import logging.handlers
import secrets
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import plotly.offline

from napinn.app.fits import Fits
from napinn.app.pages import Pages
from napinn.app.refusal import RefusedError
from napinn.app.workspace import Analysis, ChangedElsewhereError, Workspace
from napinn.errors import InputError, printable
from napinn.report.document import resource
from napinn.report.serving import HOSTS, POLICY, TYPES, LocalHandler, kind_of, listen, served

LARGEST_UPLOAD = 256_000_000
"""Bytes of a file of readings: ten million rows of text, about what the default method can use."""
LARGEST_BODY = 400_000
"""Bytes of any other request; a draft with 500 columns has 100,000."""
APP_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILE_POLICY = f"{POLICY}; sandbox allow-scripts allow-downloads allow-modals; frame-ancestors 'self'"
"""A report runs its own scripts, and these can reach nothing of the app."""
LOG = "app.log"
LARGEST_LOG = 1_000_000


class Application:
    """One launch of the app; `close` ends its log.

    :param workspace: Where the analyses are."""

    def __init__(self, workspace: Workspace):
        self.workspace = workspace
        self.log = _log_in(workspace.folder)
        self.token = secrets.token_urlsafe(32)
        self.pages = Pages(workspace, Fits(), self.ticket)

    def close(self) -> None:
        for handler in self.log.handlers:
            handler.close()

    def ticket(self, name: str) -> str:
        """What opens one file.

        :param name: Analysis, run and file."""
        return hmac.new(self.token.encode(), name.encode(), "sha256").hexdigest()


def _log_in(folder: Path) -> logging.Logger:
    """Where refused requests and failures are written down."""
    try:
        kept = logging.handlers.RotatingFileHandler(folder / LOG, maxBytes=LARGEST_LOG, backupCount=1, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} cannot be written to: {error.strerror}; name another with --folder.") from None
    kept.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.Logger("napinn.app")
    log.addHandler(kept)
    return log


def server(application: Application, port: int = 0) -> http.server.ThreadingHTTPServer:
    """A server that is not yet running.

    :param application: What it serves.
    :param port: Where it listens; 0 takes any free port."""
    return listen(_Handler, port, application)


class _Handler(LocalHandler):
    timeout = 120

    def __init__(self, application: Application, *arguments: Any):
        self.application = application
        LocalHandler.__init__(self, *arguments)

    def do_GET(self) -> None:
        self._guarded(self._get)

    def do_POST(self) -> None:
        self._guarded(self._post)

    def _guarded(self, act: Callable[[list[str]], None]) -> None:
        """Answer a request; every failure is one sentence."""
        try:
            self._check_host()
            act(unquote(urlsplit(self.path).path).removeprefix("/").split("/"))
        except RefusedError as refusal:
            self.close_connection = True
            self.application.log.warning("refused %s %s: %s", self.command, printable(self.path[:200]), refusal)
            self._json({"problem": str(refusal)}, refusal.code)
        except ChangedElsewhereError:
            self._json({"problem": "This analysis was changed in another tab; the newest version is shown."}, 409)
        except InputError as error:
            self._json({"problem": _sentence(str(error))}, 400)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception:
            self.application.log.exception("failed %s %s", self.command, printable(self.path[:200]))
            self._json({"problem": f"This failed for a reason that is written down in {LOG}."}, 500)

    def _check_host(self) -> None:
        port = self.connection.getsockname()[1]
        own = {f"{name}:{port}" for name in HOSTS}
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host not in own:
            raise RefusedError(403, "This server answers to 127.0.0.1 only.")
        if origin is None and self.command == "POST":
            raise RefusedError(403, "A request that changes something must name its origin.")
        if origin is not None and origin != f"http://{host}":
            raise RefusedError(403, "This server answers its own page only.")

    def _check_token(self) -> None:
        given = self.headers.get("X-Napinn-Token", "")
        if not hmac.compare_digest(given.encode(), self.application.token.encode()):
            raise RefusedError(403, "Open the address that napinn printed when it was started.")

    def _get(self, parts: list[str]) -> None:
        match parts:
            case [name] if name in STATIC:
                self.answer(200, kind_of(name or "page.html"), STATIC[name]().encode(), APP_POLICY)
            case ["files", identifier, run, name]:
                self._file(identifier, run, name)
            case ["api", "home"]:
                self._check_token()
                self._json({**self.application.pages.home(), "largest": LARGEST_UPLOAD})
            case ["api", "analysis", identifier]:
                self._check_token()
                self._json(self.application.pages.analysis(self._analysis(identifier)))
            case ["api", "fit", identifier]:
                self._check_token()
                self._json(self.application.pages.fit(self._analysis(identifier)))
            case _:
                raise RefusedError(404, "There is no such page.")

    def _post(self, parts: list[str]) -> None:
        self._check_token()
        pages = self.application.pages
        match parts:
            case ["api", "upload"]:
                name = self._file_name()
                self._json({"analysis": pages.upload(name, self._store())})
            case ["api", "example"]:
                self._json({"analysis": pages.example(self._word("example", pages.examples))})
            case ["api", action, identifier] if action in pages.actions:
                analysis = self._analysis(identifier)
                self._json(pages.actions[action](analysis, self._content()))
            case _:
                raise RefusedError(404, "There is no such page.")

    def _analysis(self, identifier: str) -> Analysis:
        found = self.application.workspace.find(identifier)
        if found is None:
            raise RefusedError(404, "There is no such analysis; it may have been deleted in another tab.")
        return found

    def _file(self, identifier: str, run: str, name: str) -> None:
        """A file by the list of its folder, to a client that has its ticket."""
        query = parse_qs(urlsplit(self.path).query)
        ticket = self.application.ticket(f"{identifier}/{run}/{name}")
        if not hmac.compare_digest(query.get("ticket", [""])[0].encode(), ticket.encode()):
            raise RefusedError(403, "This address does not open the file; use the link on the page.")
        analysis = self._analysis(identifier)
        folder = next((path for path in (analysis.folder, *analysis.runs()) if path.name == run), None)
        if folder is None or name not in served(folder):
            raise RefusedError(404, "There is no such file.")
        save = {"Content-Disposition": f'attachment; filename="{name}"'} if "save" in query else {}
        self.answer(200, kind_of(name), (folder / name).read_bytes(), FILE_POLICY, save)

    def _length(self, largest: int) -> int:
        given = self.headers.get("Content-Length", "")
        if not (given.isascii() and given.isdigit()):
            raise RefusedError(411, "A request must say how long it is.")
        if len(given) > 15 or int(given) > largest:
            raise RefusedError(413, f"The request is larger than {largest / 1e6:g} MB, the most that is taken.")
        return int(given)

    def _content(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(415, "A request must be JSON.")
        try:
            content = json.loads(self.rfile.read(self._length(LARGEST_BODY)))
        except (ValueError, RecursionError):
            raise RefusedError(400, "The request is not JSON.") from None
        if not isinstance(content, dict):
            raise RefusedError(400, "The request holds no entries.")
        return content

    def _word(self, entry: str, known: frozenset[str]) -> str:
        content = self._content()
        if content.keys() != {entry} or content[entry] not in known:
            raise RefusedError(400, f"The request must name one {entry} of the page.")
        return content[entry]

    def _file_name(self) -> str:
        name = unquote(self.headers.get("X-File-Name", ""))
        if not name or len(name) > 200 or not name.isprintable() or any(mark in name for mark in "/\\:"):
            raise RefusedError(400, "A file is sent with its name alone, without a path.")
        return name

    def _store(self) -> Callable[[Path], None]:
        """Puts the body of the request at a path."""
        length = self._length(LARGEST_UPLOAD)

        def write(path: Path) -> None:
            with path.open("xb") as file:
                left = length
                while left:
                    piece = self.rfile.read(min(left, 1 << 20))
                    if not piece:
                        raise InputError("the file arrived incomplete; send it again.")
                    left -= file.write(piece)

        return write

    def _json(self, content: dict[str, Any], code: int = 200) -> None:
        self.answer(code, TYPES[".json"], json.dumps(content, allow_nan=False).encode(), APP_POLICY)


def _sentence(text: str) -> str:
    """A message that begins with a word begins with a capital letter; the name of a file is left as it is."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def _own(name: str) -> str:
    return resources.files("napinn.app").joinpath(name).read_text(encoding="utf-8")


STATIC: dict[str, Callable[[], str]] = {
    "": lambda: _own("page.html"),
    "app.css": lambda: resource("page.css") + _own("app.css"),
    "dress.js": lambda: resource("dress.js"),
    "plotly.js": plotly.offline.get_plotlyjs,
    **{name: lambda name=name: _own(name) for name in ("talk.js", "app.js", "columns.js", "equation.js", "fit.js")},
}
"""What every page is made of; none of it is anybody's secret."""
