"""Where the progress of a fit can be written while it runs: objects to pass as `fit(…, progress=…)`.

Each is called with a `Snapshot` after every chunk of steps, and closed when the fit is over."""

import abc
import contextlib
import importlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from napinn.engines.snapshot import Snapshot
from napinn.errors import InputError, named
from napinn.storage.atomic import write_atomic

PROGRESS = "progress.json"
"""Stands in a run folder from the first steps until the result is saved."""
LOG = "log.txt"
LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LIVE_FILES = frozenset({PROGRESS, "history.csv", "tensorboard"})
"""What is written here while a fit is still running."""
log = logging.getLogger(__name__)


class Logger(abc.ABC):
    @abc.abstractmethod
    def __call__(self, snapshot: Snapshot) -> None: ...

    @abc.abstractmethod
    def close(self) -> None: ...


class HistoryFile(Logger):
    """`history.csv` and `progress.json` in a folder, for `napinn watch` and for other tools."""

    def __init__(self, folder: Path, seconds_between: float = 1.0):
        self.folder, self.seconds_between = folder, seconds_between
        self.rows = _earlier(folder / "history.csv")
        self.last = -seconds_between

    def __call__(self, snapshot: Snapshot) -> None:
        # Steps that are taken again, after a kill or a number that is not finite, replace the earlier rows.
        self.rows = [row for row in self.rows if row["step"] < snapshot.done] + [snapshot.row()]
        now = time.monotonic()
        if now - self.last < self.seconds_between and snapshot.done < snapshot.total:
            return
        self.last = now
        state = {
            "phase": snapshot.phase,
            "done": snapshot.done,
            "total": snapshot.total,
            "steps_a_second": round(snapshot.steps_a_second, 1),
            "seconds_left": None if snapshot.seconds_left is None else round(snapshot.seconds_left, 1),
            "unknowns": list(snapshot.unknowns),
        }
        # The record is a convenience: a full disk must not cost the fit.
        with contextlib.suppress(OSError):
            write_atomic(self.folder / "history.csv", pd.DataFrame(self.rows).to_csv(index=False), durable=False)
            write_atomic(self.folder / PROGRESS, json.dumps(state), durable=False)

    def close(self) -> None:
        """The files stay: saving the result removes the sign that a fit is running."""


def _earlier(path: Path) -> list[dict[Any, Any]]:
    """What a resumed fit has written before."""
    try:
        found = pd.read_csv(path)
    except (OSError, ValueError):
        return []
    return found.to_dict("records") if "step" in found.columns else []


class TensorBoard(Logger):
    """Scalars for TensorBoard, in a folder."""

    def __init__(self, folder: Path):
        self.writer = _library("tensorboard").SummaryWriter(str(folder))

    def __call__(self, snapshot: Snapshot) -> None:
        for name, value in numbers(snapshot).items():
            self.writer.add_scalar(name, value, snapshot.done)

    def close(self) -> None:
        self.writer.close()


class MLflow(Logger):
    """Metrics of one MLflow run, in whatever store MLflow is set up for."""

    def __init__(self, name: str):
        self.mlflow = _library("mlflow")
        self.mlflow.start_run(run_name=name)

    def __call__(self, snapshot: Snapshot) -> None:
        self.mlflow.log_metrics(numbers(snapshot), step=snapshot.done)

    def close(self) -> None:
        self.mlflow.end_run()


def numbers(snapshot: Snapshot) -> dict[str, float]:
    """Losses, coefficients and gate by name."""
    return {
        **{f"loss/{name}": value for name, value in snapshot.losses.items()},
        **{f"unknown/{name}": value for name, value in snapshot.unknowns.items()},
        **{f"gate/{name}": value for name, value in snapshot.gate.items()},
    }


LOGGERS: Mapping[str, Callable[[Path], Logger]] = {
    "tensorboard": lambda run: TensorBoard(run / "tensorboard"),
    "mlflow": lambda run: MLflow(run.name),
}
LIBRARIES = {"tensorboard": "tensorboardX", "mlflow": "mlflow"}


def check_loggers(names: Sequence[str]) -> None:
    """Refuse an unknown name or a missing library before anything is made or trained."""
    for name in names:
        named(name, LOGGERS, "logger")
        _library(name)


def opened(folder: Path, names: Sequence[str]) -> list[Logger]:
    """The history file of a run, and the loggers of these names; one that does not open is logged and left out."""
    check_loggers(names)
    loggers: list[Logger] = [HistoryFile(folder)]
    for name in names:
        try:
            loggers.append(LOGGERS[name](folder))
        except Exception as error:
            # Libraries that reach out to a server fail in as many ways as there are servers.
            log.warning("%s could not be opened: %s; the fit continues without it.", name, error)
    return loggers


def _library(name: str) -> Any:
    try:
        return importlib.import_module(LIBRARIES[name])
    except ImportError:
        raise InputError(
            f"logging to {name} needs the library {LIBRARIES[name]}; add it with: pip install 'napinn[{name}]'"
        ) from None


@contextlib.contextmanager
def together(loggers: Sequence[Logger], *others: Callable[[Snapshot], None]) -> Iterator[Callable[[Snapshot], None]]:
    """One callback for several; the loggers are closed whatever happens.

    A logger that fails, such as a server that does not answer, must not end the fit: it is logged once."""
    failed: set[Logger] = set()

    def attempt(logger: Logger, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            if logger not in failed:
                log.warning("%s could not log: %s; the fit continues.", type(logger).__name__, error)
            failed.add(logger)

    def call(snapshot: Snapshot) -> None:
        for logger in loggers:
            attempt(logger, lambda logger=logger: logger(snapshot))
        for each in others:
            each(snapshot)

    try:
        yield call
    finally:
        for logger in loggers:
            attempt(logger, logger.close)


@contextlib.contextmanager
def log_file(folder: Path) -> Iterator[None]:
    """Everything that napinn logs goes to the run folder."""
    root = logging.getLogger("napinn")
    with contextlib.ExitStack() as stack:
        # The log is a convenience: a disk that fails must not cost the fit.
        with contextlib.suppress(OSError):
            handler = _LogFile(folder / LOG, encoding="utf-8", errors="backslashreplace")
            handler.setFormatter(logging.Formatter(LINE))
            root.addHandler(handler)
            stack.callback(handler.close)
            stack.callback(root.removeHandler, handler)
        stack.callback(root.setLevel, root.level)
        root.setLevel(logging.DEBUG)
        yield


class _LogFile(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """A line that cannot be written is lost, and nothing else is."""
