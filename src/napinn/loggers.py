"""Where the progress of a fit can be written while it runs: objects to pass as `fit(…, progress=…)`.

Each is called with a `Snapshot` after every chunk of steps, and closed when the fit is over."""

import abc
import contextlib
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from napinn.errors import InputError
from napinn.training import Snapshot

LIVE_FILES = ("history.csv", "progress.json")
"""What a run folder holds while the fit is still running."""


class Logger(abc.ABC):
    @abc.abstractmethod
    def __call__(self, snapshot: Snapshot) -> None: ...

    @abc.abstractmethod
    def close(self) -> None: ...


class HistoryFile(Logger):
    """`history.csv` and `progress.json` in a folder, for `napinn watch` and for whoever wants to look."""

    def __init__(self, folder: Path, seconds_between: float = 1.0):
        self.folder, self.seconds_between = folder, seconds_between
        self.rows: list[dict[str, float | str]] = []
        self.last = -seconds_between

    def __call__(self, snapshot: Snapshot) -> None:
        self.rows.append(snapshot.row())
        now = time.monotonic()
        if now - self.last < self.seconds_between and snapshot.done < snapshot.total:
            return
        self.last = now
        state = {
            "phase": snapshot.phase,
            "done": snapshot.done,
            "total": snapshot.total,
            "steps_a_second": round(snapshot.steps_a_second, 1),
            "unknowns": list(snapshot.unknowns),
        }
        # The record is a convenience: a full disk must not cost the fit.
        with contextlib.suppress(OSError):
            _replace(self.folder / "history.csv", pd.DataFrame(self.rows).to_csv(index=False))
            _replace(self.folder / "progress.json", json.dumps(state))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            (self.folder / "progress.json").unlink(missing_ok=True)


def _replace(path: Path, text: str) -> None:
    """Whole or not at all, so that a reader never meets half a file."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


class TensorBoard(Logger):
    """Scalars for TensorBoard, in a folder."""

    def __init__(self, folder: Path):
        self.writer = _library("tensorboardX", "tensorboard").SummaryWriter(str(folder))

    def __call__(self, snapshot: Snapshot) -> None:
        for name, value in numbers(snapshot).items():
            self.writer.add_scalar(name, value, snapshot.done)

    def close(self) -> None:
        self.writer.close()


class MLflow(Logger):
    """Metrics of one MLflow run, in whatever store MLflow is set up for."""

    def __init__(self, name: str):
        self.mlflow = _library("mlflow", "mlflow")
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


def _library(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"logging to {extra} needs the library {module}; add it with: pip install 'napinn[{extra}]'"
        ) from None


LOGGERS: Mapping[str, Callable[[Path], Logger]] = {
    "tensorboard": lambda run: TensorBoard(run / "tensorboard"),
    "mlflow": lambda run: MLflow(run.name),
}


@contextlib.contextmanager
def together(loggers: Sequence[Logger], *others: Callable[[Snapshot], None]) -> Iterator[Callable[[Snapshot], None]]:
    """One callback for several; the loggers are closed whatever happens."""

    def call(snapshot: Snapshot) -> None:
        for each in (*loggers, *others):
            each(snapshot)

    try:
        yield call
    finally:
        for logger in loggers:
            logger.close()
