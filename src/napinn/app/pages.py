"""What the page asks for and does, as values of JSON; everything is read from the work folder at every request."""

import contextlib
import shlex
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from napinn.app.draft import read_draft
from napinn.app.examples import EXAMPLES
from napinn.app.feedback import bound
from napinn.app.fits import Fits, arguments
from napinn.app.preview import charts
from napinn.app.proposal import sample
from napinn.app.refusal import RefusedError
from napinn.app.trials import expected, verify
from napinn.app.workspace import PROBLEM, Analysis, Workspace
from napinn.data.readings import TIME_UNITS
from napinn.diagnostics.preflight import Weight, inspect_problem, inspect_readings
from napinn.errors import InputError
from napinn.report.serving import served

DOWNLOADS = {
    "report.html": "The report, one file that opens anywhere",
    "readings.csv": "Your rows, each with prediction, reliability and verdict",
    "sensors.csv": "The verdict on every sensor",
    "field.nc": "The field on a grid (NetCDF)",
    "result.json": "Coefficients, intervals and settings (JSON)",
}


class Pages:
    """The answers of one launch.

    :param workspace: Where everything is.
    :param fits: The fits that are running.
    :param ticket: What opens a file, by its name."""

    def __init__(self, workspace: Workspace, fits: Fits, ticket: Callable[[str], str]):
        self.workspace, self.fits, self.ticket = workspace, fits, ticket
        self.examples = frozenset(EXAMPLES)
        self._saving, self._verifying = threading.Lock(), threading.Lock()
        self.actions: dict[str, Callable[[Analysis, dict[str, Any]], dict[str, Any]]] = {
            "draft": self._draft,
            "check": self._check,
            "expect": self._expect,
            "start": self._start,
            "resume": self._resume,
            "stop": self._stop,
            "verify": self._verify,
            "delete": self._delete,
        }

    def home(self) -> dict[str, Any]:
        """Earlier analyses and examples."""
        return {
            "analyses": list(self._entries()),
            "examples": [{"key": key, "title": each.title, "about": each.about} for key, each in EXAMPLES.items()],
            "folder": str(self.workspace.folder),
        }

    def _entries(self) -> Iterator[dict[str, Any]]:
        """One damaged folder does not hide the others."""
        for analysis in self.workspace.listed():
            with contextlib.suppress(InputError, LookupError, TypeError):
                yield self._entry(analysis)

    def _entry(self, analysis: Analysis) -> dict[str, Any]:
        record = analysis.record()
        return {
            "id": analysis.identifier,
            "title": record["draft"]["title"],
            "file": record["file"],
            "created": record["created"],
            "state": self.fits.state(analysis)["state"],
        }

    def upload(self, name: str, write: Callable[[Path], None]) -> str:
        """A new analysis of a file.

        :param name: The name that the file had.
        :param write: Puts its content at a path."""
        return self.workspace.upload(name, write).identifier

    def example(self, key: str) -> str:
        """A new analysis of an example.

        :param key: One of `examples`."""
        return self.workspace.example(key).identifier

    def analysis(self, analysis: Analysis) -> dict[str, Any]:
        """All that a page shows of an analysis.

        :param analysis: One of the work folder."""
        record, table = analysis.record(), analysis.table()
        state = analysis.page_state(read_draft(record["draft"]), record)
        return {
            **state,
            "id": analysis.identifier,
            "file": record["file"],
            "rows": len(table),
            "sample": sample(table),
            "clocks": list(TIME_UNITS),
            "charts": self._charts(analysis),
            "fit": self.fit(analysis),
        }

    def _charts(self, analysis: Analysis) -> list[dict[str, Any]]:
        draft = analysis.draft()
        readings = analysis.columns(draft).readings
        units = {column.name: column.clock or column.unit for column in draft.columns}
        return [] if readings is None else charts(readings, units)

    def fit(self, analysis: Analysis) -> dict[str, Any]:
        """Where the newest fit stands, its files and what would do the same on a command line.

        :param analysis: One of the work folder."""
        state = self.fits.state(analysis)
        run = state.get("run") or "run-1"
        command_line = shlex.join(["napinn", *arguments(analysis, run)])
        found = next((path for path in analysis.runs() if path.name == run), None)
        ended = frozenset() if found is None or state["state"] in ("running", "stopping") else served(found)
        files = [self._file(analysis, run, name) for name in DOWNLOADS if name in ended]
        files += [self._file(analysis, analysis.identifier, PROBLEM)] if analysis.problem.is_file() else []
        return {
            **state,
            "revision": analysis.record()["revision"],
            "command": f"cd {shlex.quote(str(analysis.folder))}\n{command_line}",
            "files": files,
        }

    def _file(self, analysis: Analysis, folder: str, name: str) -> dict[str, str]:
        path = f"{analysis.identifier}/{folder}/{name}"
        within = analysis.folder if folder == analysis.identifier else analysis.folder / folder
        written = int((within / name).stat().st_mtime)
        about = DOWNLOADS.get(name, "The problem file, for the command line and Python")
        return {
            "name": name,
            "about": about,
            "address": f"files/{quote(path)}?ticket={self.ticket(path)}&written={written}",
        }

    def _draft(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        """Keep what was filled in; a page of an earlier revision is refused."""
        if content.keys() != {"draft", "revision"} or not isinstance(content["revision"], int):
            raise RefusedError(400, "The request must hold a draft and its revision, and nothing else.")
        before = analysis.draft()
        try:
            draft = read_draft(content["draft"])
        except InputError as error:
            raise RefusedError(400, f"The request holds no draft: {error}") from None
        if [column.column for column in draft.columns] != [column.column for column in before.columns]:
            raise RefusedError(400, "The columns of a draft must be those of its table.")
        with self._saving:
            state = analysis.save(draft, content["revision"])
        same = (draft.columns, draft.missing) == (before.columns, before.missing)
        return state if same else {**state, "charts": self._charts(analysis)}

    def _check(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        """The findings of `napinn check`, and what the fit will be of."""
        _nothing(content)
        draft = analysis.draft()
        _, problem, readings = bound(draft, analysis.table(), analysis.record()["file"])
        found = [*inspect_readings(problem, readings, True), *inspect_problem(problem, readings)]
        sensors = len(readings.numbered_sensors[1])
        by = f" by {sensors} sensors" if sensors > 1 else ""
        return {
            "findings": [{"weight": finding.weight.value, "text": finding.text} for finding in found],
            "blocked": any(finding.weight is Weight.OBSTACLE for finding in found),
            "summary": f"{len(readings)} readings of {', '.join(readings.fields)}{by}; to find: "
            f"{', '.join(problem.unknowns) or 'the field alone'}.",
        }

    def _expect(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        """Which method a fit will use and how long it will take, as `napinn check` tries it."""
        _nothing(content)
        return {"expected": "" if self.fits.running(analysis) else expected(analysis)}

    def _start(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        _nothing(content)
        record = analysis.record()
        found = analysis.page_state(read_draft(record["draft"]), record)["feedback"]
        wrong = (
            found["columns"] or found["equation"] or next((text for text in found["numbers"].values() if text), None)
        )
        if wrong:
            raise InputError(wrong)
        self.fits.start(analysis)
        return self.fit(analysis)

    def _resume(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        _nothing(content)
        self.fits.resume(analysis)
        return self.fit(analysis)

    def _stop(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        _nothing(content)
        self.fits.stop(analysis)
        return self.fit(analysis)

    def _verify(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        """Whether the newest fit can be trusted; one check at a time."""
        _nothing(content)
        run = self.fits.state(analysis).get("run")
        if run is None or self.fits.running(analysis):
            raise InputError("there is no finished fit to check.")
        with self._verifying:
            verify(analysis, run)
        return self.fit(analysis)

    def _delete(self, analysis: Analysis, content: dict[str, Any]) -> dict[str, Any]:
        _nothing(content)
        if self.fits.running(analysis):
            raise InputError("a fit of this analysis is running; stop it before you delete the analysis.")
        self.workspace.delete(analysis)
        return {}


def _nothing(content: dict[str, Any]) -> None:
    if content:
        raise RefusedError(400, "This request names an analysis and nothing else.")
