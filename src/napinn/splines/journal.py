"""What a fit has finished, so that one that was stopped ends with the same numbers.

A fit is a row of stages: the descents from each start, the tolerances of the last descent. What a stage hands to the
next is a `Level`: the mesh, the numbers on it, and what was known there. Nothing else crosses from one stage to the
next, so a stage that was read from disk and one that was just computed lead to the same end."""

import contextlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from napinn.checkpoints import Checkpoints, found
from napinn.splines.axis import Axis
from napinn.splines.cost import Meter
from napinn.splines.laws import Cauchy, Law
from napinn.splines.learned import Mixture
from napinn.splines.space import Space
from napinn.splines.system import State, System
from napinn.splines.task import Task

ROWS, RUN = "rows", "run"


@dataclass(frozen=True, eq=False)
class Level:
    """A point of a descent without its factorisation."""

    system: System
    state: State
    tolerance: float
    price: float
    parameters: float
    share: float
    errors: np.ndarray
    """Standard errors of the unknowns."""

    def arrays(self) -> dict[str, np.ndarray]:
        space, state = self.system.space, self.state
        breaks = {f"breaks.{number}": axis.breaks for number, axis in enumerate(space.axes)}
        law = state.law
        shape = np.stack([law.weights, law.means, law.widths]) if isinstance(law, Mixture) else np.zeros((3, 0))
        return {
            **breaks,
            "degrees": np.array([axis.degree for axis in space.axes]),
            "points": np.array(self.system.points),
            "used": self.system.used,
            "coefficients": state.coefficients,
            "unknowns": state.unknowns,
            "offsets": state.offsets,
            "sigma": state.sigma,
            "law": shape,
            "tail": np.array(law.tail if isinstance(law, Mixture) else 0.0),
            "numbers": np.array([self.tolerance, self.price, self.parameters, self.share]),
            "errors": self.errors,
        }


def level_of(task: Task, meter: Meter, arrays: dict[str, np.ndarray]) -> Level:
    """The level whose arrays were kept."""
    axes = tuple(Axis(arrays[f"breaks.{number}"], int(arrays["degrees"][number])) for number in range(task.dimensions))
    fast = frozenset(task.axis_of[name] for name in task.problem.periodic)
    system = System(task, Space(axes, task.fields, fast), int(arrays["points"]), arrays["used"], meter)
    shape = arrays["law"]
    law: Law = Mixture(shape[0], shape[1], shape[2], float(arrays["tail"])) if shape.shape[1] else Cauchy()
    state = State(arrays["coefficients"], arrays["unknowns"], arrays["offsets"], arrays["sigma"], law)
    tolerance, price, parameters, share = map(float, arrays["numbers"])
    return Level(system, state, tolerance, price, parameters, share, arrays["errors"])


@dataclass
class Journal:
    """Arrays of finished stages by name, and the file that they are kept in."""

    run: str = ""
    """The digest of the request, so that stages of another fit are not taken."""
    checkpoints: Checkpoints | None = None
    stages: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    rows: Callable[[], list[dict[str, Any]]] = list

    def keep(self, stage: str, arrays: dict[str, np.ndarray]) -> None:
        """Note a finished stage; the file is written when it is time for it."""
        self.stages[stage] = arrays
        if self.checkpoints is not None and self.checkpoints.due:
            self.write()

    def write(self) -> None:
        if self.checkpoints is not None and self.stages:
            self.checkpoints.keep(self._content)

    def _content(self) -> bytes:
        arrays: dict[str, Any] = {
            f"{stage}|{name}": array for stage, kept in self.stages.items() for name, array in kept.items()
        }
        arrays[RUN] = _text(self.run)
        arrays[ROWS] = _text(json.dumps(self.rows()))
        content = io.BytesIO()
        np.savez(content, **arrays)
        return content.getvalue()


def recalled(journal: Journal, stage: str, task: Task, meter: Meter) -> Level | None:
    """The level that a stage was kept with; None where there is none, or none that fits the task."""
    arrays = journal.stages.get(stage)
    if arrays is None:
        return None
    with contextlib.suppress(KeyError, ValueError, IndexError, TypeError):
        level = level_of(task, meter, arrays)
        sizes = (len(level.state.coefficients), len(level.state.unknowns), len(level.state.sigma))
        if sizes == (level.system.space.size, len(task.unknowns), task.measured):
            return level
    del journal.stages[stage]
    return None


def newest_stages(folder: Path, run: str) -> tuple[dict[str, dict[str, np.ndarray]], list[dict[str, Any]]]:
    """The stages and rows of the newest checkpoint of this run that can be read; none where there is none."""
    for path in found(folder):
        try:
            with np.load(path, allow_pickle=False) as archive:
                if _words(archive[RUN]) != run:
                    continue
                stages: dict[str, dict[str, np.ndarray]] = {}
                for name in archive.files:
                    stage, bar, part = name.rpartition("|")
                    if bar:
                        stages.setdefault(stage, {})[part] = archive[name]
                return stages, json.loads(_words(archive[ROWS]))
        except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error):
            # A torn or foreign file: the one before it may be whole.
            continue
    return {}, []


def _text(words: str) -> np.ndarray:
    return np.frombuffer(words.encode(), np.uint8)


def _words(array: np.ndarray) -> str:
    return array.astype(np.uint8).tobytes().decode()
