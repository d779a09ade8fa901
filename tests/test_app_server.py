"""The server of the app answers its own page and nobody else, and loses nothing when it is killed."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from napinn.app import server
from napinn.app.server import Application
from napinn.app.workspace import open_workspace

CSV = b"t,u,note\n0,1.0,a\n1,0.6,b\n2,0.4,c\n3,0.2,d\n4,0.1,e\n"


class Client:
    """A page, honest unless told otherwise."""

    def __init__(self, application: Application, port: int):
        self.application, self.port = application, port

    def ask(
        self, method: str, path: str, body: bytes = b"", **changed: str | None
    ) -> tuple[int, bytes, dict[str, str]]:
        own = f"127.0.0.1:{self.port}"
        headers = {
            "Host": own, "Origin": f"http://{own}", "X-Napinn-Token": self.application.token,
            "Content-Type": "application/json", "Content-Length": str(len(body)),
        }  # fmt: skip
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        found = answer.status, answer.read(), dict(answer.headers)
        connection.close()
        return found

    def send(self, path: str, content: dict | None = None, **changed: str | None) -> tuple[int, dict]:
        code, body, _ = self.ask("POST", path, json.dumps(content or {}).encode(), **changed)
        return code, json.loads(body)

    def get(self, path: str) -> dict:
        code, body, _ = self.ask("GET", path)
        assert code == 200, body
        return json.loads(body)

    def upload(self, name: str, body: bytes = CSV, **changed: str | None) -> tuple[int, dict]:
        changed = {"Content_Type": "application/octet-stream", "X_File_Name": quote(name), **changed}
        code, answer, _ = self.ask("POST", "/api/upload", body, **changed)
        return code, json.loads(answer)


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator[Client]:
    application = Application(open_workspace(tmp_path_factory.mktemp("app")))
    with contextlib.closing(application), server.server(application) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield Client(application, running.server_port)
        running.shutdown()
        thread.join()


def log_of(client: Client) -> str:
    return (client.application.workspace.folder / server.LOG).read_text(encoding="utf-8")


@contextlib.contextmanager
def logged(client: Client) -> Iterator[None]:
    """One refusal more is written down."""
    before = log_of(client).count("refused")
    yield
    assert log_of(client).count("refused") == before + 1


@pytest.mark.parametrize(
    "changed",
    [
        {"X_Napinn_Token": None},
        {"X_Napinn_Token": "guess"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Content_Length": None},
        {"Content_Length": str(server.LARGEST_BODY + 1)},
        {"Content_Type": "text/plain"},
    ],
    ids=lambda changed: " ".join(f"{name} {str(value)[:20]}" for name, value in changed.items()),
)
def test_a_request_that_the_page_does_not_send_is_refused_and_logged(client, changed):
    before = len(client.get("/api/home")["analyses"])
    with logged(client):
        code, told = client.send("/api/example", {"example": "growth"}, **changed)
    assert code in (403, 411, 413, 415)
    assert told["problem"].endswith(".")
    assert len(client.get("/api/home")["analyses"]) == before


@pytest.mark.parametrize("path", ["/api/home", "/api/analysis/20260101-00000000", "/api/fit/20260101-00000000"])
def test_reading_needs_the_token_too(client, path):
    with logged(client):
        assert client.ask("GET", path, X_Napinn_Token=None)[0] == 403
    with logged(client):
        assert client.ask("GET", path, Host="evil.example")[0] == 403


@pytest.mark.parametrize("name", ["../../secret.csv", "/etc/passwd", "a\\b.csv", "C:x.csv", "", "a\nb.csv", "x" * 300])
def test_an_upload_that_names_a_path_is_refused_and_logged(client, name):
    with logged(client):
        assert client.upload(name)[0] == 400
    found = {path.name for path in client.application.workspace.folder.rglob("*")}
    assert not {"secret.csv", "passwd"} & found


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(client):
    with logged(client):
        code, told = client.upload("big.csv", Content_Length=str(server.LARGEST_UPLOAD + 1))
    assert (code, "larger than 256 MB" in told["problem"]) == (413, True)


def test_other_requests_that_name_a_path_are_refused_and_logged(client):
    analysis = client.upload("decay.csv")[1]["analysis"]
    draft = client.get(f"/api/analysis/{analysis}")["draft"]
    for path, content in (
        (f"/api/start/{analysis}", {"out": "/tmp/elsewhere"}),
        (f"/api/draft/{analysis}", {"draft": {**draft, "tables": {"q": "/etc/passwd"}}, "revision": 1}),
        (f"/api/draft/{analysis}", {"draft": draft, "revision": 1, "file": "../x"}),
        ("/api/example", {"example": "../rod"}),
        ("/api/delete/..%2f..", {}),
        (f"/api/delete/{analysis}%2f..", {}),
    ):
        with logged(client):
            assert client.send(path, content)[0] in (400, 404), path
    for path in ("/files/%2e%2e/x/passwd", f"/files/{analysis}/../analysis.json", "//etc/passwd", "/analysis.json"):
        with logged(client):
            assert client.ask("GET", path)[0] in (403, 404), path


def test_a_file_opens_with_its_own_ticket_only(client):
    analysis = client.send("/api/example", {"example": "growth"})[1]["analysis"]
    (file,) = client.get(f"/api/fit/{analysis}")["files"]
    code, body, headers = client.ask("GET", "/" + file["address"], X_Napinn_Token=None, Origin=None)
    assert (code, b"equations" in body) == (200, True)
    assert "sandbox allow-scripts" in headers["Content-Security-Policy"]
    assert "Content-Disposition" not in headers
    headers = client.ask("GET", f"/{file['address']}&save=1")[2]
    assert headers["Content-Disposition"] == 'attachment; filename="problem.yaml"'
    for address in (
        file["address"].replace("problem.yaml", "analysis.json"),
        file["address"].replace("ticket=", "ticket=0"),
        file["address"].partition("?")[0],
    ):
        with logged(client):
            assert client.ask("GET", "/" + address)[0] == 403
    path = f"{analysis}/{analysis}/../../{server.LOG}"
    with logged(client):
        address = f"/files/{analysis}/{analysis}/..%2f..%2f{server.LOG}?ticket={client.application.ticket(path)}"
        assert client.ask("GET", address)[0] in (403, 404)


def test_the_page_asks_nobody_else(client):
    code, body, headers = client.ask("GET", "/", X_Napinn_Token=None, Origin=None)
    assert code == 200
    assert client.application.token.encode() not in body
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    for name in ("app.css", "app.js", "talk.js", "columns.js", "equation.js", "fit.js", "dress.js"):
        code, text, _ = client.ask("GET", f"/{name}", X_Napinn_Token=None, Origin=None)
        assert (code, b"http:" in text or b"https:" in text) == (200, False), name


def test_a_file_that_cannot_be_read_is_one_sentence_and_leaves_nothing(client):
    before = len(client.get("/api/home")["analyses"])
    for name, body, said in (
        ("table.xlsx", b"PK", "the ending '.xlsx'"), ("empty.csv", b"", "empty.csv"), ("odd.npz", b"no", "odd.npz"),
        ("wide.csv", ",".join(f"c{n}" for n in range(501)).encode() + b"\n" + b"1," * 500 + b"1\n", "501 columns"),
        ("name.csv", b"t,u" + b"x" * 200 + b"\n1,2\n", "shorten it"),
    ):  # fmt: skip
        code, told = client.upload(name, body)
        assert code == 400
        assert said.lower() in told["problem"].lower()
        assert str(client.application.workspace.folder) not in told["problem"]
    assert len(client.get("/api/home")["analyses"]) == before


def test_what_is_typed_is_answered_and_kept(client):
    analysis = client.upload("decay.csv")[1]["analysis"]
    told = client.get(f"/api/analysis/{analysis}")
    assert {column["column"]: column["role"] for column in told["draft"]["columns"]} == {
        "t": "coordinate", "u": "field", "note": "unused",
    }  # fmt: skip
    assert len(told["charts"][0]["figure"]["data"][0]["x"]) == 5
    draft = {**told["draft"], "equations": ["u_t = -k*u +"]}
    wrong = client.send(f"/api/draft/{analysis}", {"draft": draft, "revision": told["revision"]})[1]
    assert "cannot be read" in wrong["feedback"]["equations"][0]["problem"]
    assert not wrong["feedback"]["ready"]
    draft["equations"] = ["u_t = -k*u"]
    right = client.send(f"/api/draft/{analysis}", {"draft": draft, "revision": wrong["revision"]})[1]
    assert right["feedback"]["ready"]
    assert "<math" in right["feedback"]["equations"][0]["math"]
    assert [(name["name"], name["kind"]) for name in right["draft"]["names"]] == [("k", "unknown")]
    code, told = client.send(f"/api/draft/{analysis}", {"draft": draft, "revision": wrong["revision"]})
    assert (code, "another tab" in told["problem"]) == (409, True)
    assert client.get(f"/api/analysis/{analysis}")["draft"]["equations"] == ["u_t = -k*u"]
    checked = client.send(f"/api/check/{analysis}")[1]
    assert checked["summary"].startswith("5 readings of u")
    assert client.send(f"/api/delete/{analysis}")[0] == 200
    with logged(client):
        assert client.send(f"/api/check/{analysis}")[0] == 404
