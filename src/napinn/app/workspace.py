"""The work folder: one folder an analysis, with everything that a page shows of it.

    analyses/20260314-7f3a9c1e/
        readings.csv     as it was given, under a name of ours
        analysis.json    the draft, how often it was changed, and the name that the file had
        problem.yaml     what the draft comes to
        run-1/ …         run folders of its fits

Names of folders and files are made here. No name that a page sends becomes part of a path."""

import datetime
import functools
import json
import re
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from napinn.app.draft import Draft, read_draft
from napinn.app.examples import EXAMPLES
from napinn.app.feedback import ColumnsFeedback, bind_columns, feedback, with_names
from napinn.app.proposal import first_draft
from napinn.data.formats import ENDINGS, csv_text, read_file
from napinn.errors import InputError, listed
from napinn.storage.atomic import write_atomic

RECORD, PROBLEM, READINGS = "analysis.json", "problem.yaml", "readings"
IDENTIFIER = re.compile(r"\d{8}-[0-9a-f]{8}")
RUN = re.compile(r"run-([1-9]\d{0,5})")
TABLES_KEPT = 4
"""Tables in memory; the page asks for the same one at every change."""


class ChangedElsewhereError(Exception):
    """The draft was changed in another tab since this one was shown."""


@dataclass(frozen=True)
class Analysis:
    """The folder of one analysis."""

    folder: Path

    @property
    def identifier(self) -> str:
        return self.folder.name

    @property
    def readings(self) -> Path:
        """The file of readings, in the form in which it was given."""
        found = [self.folder / f"{READINGS}{ending}" for ending in ENDINGS]
        return next((path for path in found if path.is_file()), found[0])

    @property
    def problem(self) -> Path:
        return self.folder / PROBLEM

    def record(self) -> dict[str, Any]:
        """What is on disk: draft, revision, name of the file."""
        try:
            return json.loads((self.folder / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(f"the analysis {self.identifier} is incomplete: its {RECORD} cannot be read.") from None

    def draft(self) -> Draft:
        return read_draft(self.record()["draft"])

    def table(self) -> pd.DataFrame:
        path = self.readings
        return _table(path, path.stat().st_mtime_ns)

    def columns(self, draft: Draft) -> ColumnsFeedback:
        """What the columns of a draft come to.

        :param draft: What was filled in."""
        roles = {"columns": [column.model_dump() for column in draft.columns], "missing": draft.missing}
        return _columns(self, self.readings.stat().st_mtime_ns, json.dumps(roles))

    def save(self, draft: Draft, revision: int) -> dict[str, Any]:
        """Keep a draft and its problem file, and say what the page shows of it.

        :param draft: What was filled in.
        :param revision: The one that the page had; another on disk means that another tab was quicker."""
        record = self.record()
        if record["revision"] != revision:
            raise ChangedElsewhereError
        draft = with_names(draft, self.table())
        record |= {"draft": draft.model_dump(mode="json"), "revision": revision + 1}
        write_atomic(self.folder / RECORD, json.dumps(record, ensure_ascii=False, indent=1))
        state = self.page_state(draft, record)
        if state["feedback"]["ready"]:
            write_atomic(self.problem, state["feedback"]["yaml"])
        else:
            self.problem.unlink(missing_ok=True)
        return state

    def page_state(self, draft: Draft, record: dict[str, Any]) -> dict[str, Any]:
        """The draft and the remarks on it.

        :param draft: What was filled in.
        :param record: What is on disk."""
        found = feedback(draft, self.table(), self.columns(draft))
        return {"draft": draft.model_dump(mode="json"), "revision": record["revision"], "feedback": found}

    def runs(self) -> list[Path]:
        """The run folders, oldest first."""
        found = [(int(match[1]), path) for path in self.folder.iterdir() if (match := RUN.fullmatch(path.name))]
        return [path for _, path in sorted(found)]


@functools.lru_cache(maxsize=TABLES_KEPT)
def _table(path: Path, written: int) -> pd.DataFrame:
    return read_file(path).table


@functools.lru_cache(maxsize=TABLES_KEPT)
def _columns(analysis: Analysis, written: int, roles: str) -> ColumnsFeedback:
    draft = read_draft(json.loads(roles))
    return bind_columns(draft, analysis.table(), analysis.record()["file"])


@dataclass(frozen=True)
class Workspace:
    """All analyses."""

    folder: Path

    @property
    def analyses(self) -> Path:
        return self.folder / "analyses"

    def listed(self) -> list[Analysis]:
        """The newest first."""
        found = [path for path in self.analyses.iterdir() if IDENTIFIER.fullmatch(path.name) and path.is_dir()]
        whole = [path for path in found if (path / RECORD).is_file() and not path.is_symlink()]
        whole.sort(key=lambda path: (path / RECORD).stat().st_mtime, reverse=True)
        return [Analysis(path) for path in whole]

    def find(self, identifier: str) -> Analysis | None:
        """The analysis of this name, from the list of those there are.

        :param identifier: As a page sends it."""
        return next((each for each in self.listed() if each.identifier == identifier), None)

    def upload(self, name: str, write: Callable[[Path], None]) -> Analysis:
        """A new analysis of a file; if it cannot be read, nothing is kept.

        :param name: The name that the file had, for titles and its ending.
        :param write: Puts the content at a path."""
        ending = Path(name).suffix.lower()
        if ending not in ENDINGS:
            raise InputError(f"{name}: files with the ending '{ending}' are not read; use {listed(ENDINGS)}.")
        return self._begin(name, ending, write, lambda draft: draft)

    def example(self, key: str) -> Analysis:
        """A new analysis of an example.

        :param key: Its name in `EXAMPLES`."""
        example = EXAMPLES[key]

        def write(path: Path) -> None:
            path.write_text(csv_text(example.readings()), encoding="utf-8")

        return self._begin(f"{example.title}.csv", ".csv", write, example.filled)

    def _begin(self, name: str, ending: str, write: Callable[[Path], None], fill: Callable[[Draft], Draft]) -> Analysis:
        now = datetime.datetime.now().astimezone()
        folder = self.analyses / f"{now:%Y%m%d}-{secrets.token_hex(4)}"
        folder.mkdir(parents=True)
        try:
            write(folder / f"{READINGS}{ending}")
            analysis = Analysis(folder)
            draft = fill(first_draft(_read(analysis, name), Path(name).stem[:200]))
            record = {"file": name, "created": now.isoformat(timespec="seconds"), "revision": 0}
            record["draft"] = draft.model_dump(mode="json")
            write_atomic(folder / RECORD, json.dumps(record, ensure_ascii=False, indent=1))
            analysis.save(draft, 0)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return analysis

    def delete(self, analysis: Analysis) -> None:
        """Remove an analysis with its runs.

        :param analysis: One of the list."""
        shutil.rmtree(analysis.folder)


def open_workspace(folder: Path) -> Workspace:
    """The work folder, made if it is not there.

    :param folder: Any folder that may be written to."""
    workspace = Workspace(folder)
    try:
        workspace.analyses.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be the work folder: {error.strerror}; name another with --folder.") from None
    return workspace


def _read(analysis: Analysis, name: str) -> pd.DataFrame:
    """The table of a new analysis; a sentence about it names the file as its owner knows it."""
    try:
        return analysis.table()
    except InputError as error:
        raise InputError(str(error).replace(str(analysis.readings), name)) from None
