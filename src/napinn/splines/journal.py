"""What a fit has finished, so that one that was stopped ends with the same numbers.

A fit is a row of stages: the descents from each start, the tolerances of the last descent. What a stage hands to the
next is a `Level`: the mesh, the numbers on it, and what was known there. Nothing else crosses from one stage to the
next, so a stage that was read from disk and one that was just computed lead to the same end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from napinn.checkpoints import Checkpoints, newest, packed, reading, unpacked
from napinn.splines.axis import axis_between
from napinn.splines.cost import Meter
from napinn.splines.laws import Law
from napinn.splines.learned import Mixture, mixture_of
from napinn.splines.space import Space
from napinn.splines.system import State, System
from napinn.splines.task import Task

STAGES = "stages"
"""The header's list of stages, by which a checkpoint of splines is known from one of a network."""
LOOP = "loop"
LOOP_NUMBERS = 6


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
        state, law = self.state, self.state.law
        shape = np.stack([law.weights, law.means, law.widths]) if isinstance(law, Mixture) else np.zeros((3, 0))
        return {
            **{f"breaks.{number}": axis.breaks for number, axis in enumerate(self.system.space.axes)},
            "points": np.array(self.system.points),
            "used": self.system.used,
            "coefficients": state.coefficients,
            "unknowns": state.unknowns,
            "offsets": state.offsets,
            "sigma": state.sigma,
            "law": shape,
            "tail": np.array(law.tail if isinstance(law, Mixture) else 0.0),
            "numbers": np.array([self.tolerance, self.price, self.parameters, self.share]),
            "spent": np.array(self.system.meter.spent),
            "errors": self.errors,
        }


def space_of(task: Task, arrays: Mapping[str, np.ndarray]) -> Space:
    """The mesh of a level that was kept."""
    ends = zip(task.problem.lows, task.problem.highs, task.degrees, strict=True)
    axes = tuple(axis_between(arrays[f"breaks.{number}"], *end) for number, end in enumerate(ends))
    return Space(axes, task.fields, frozenset(task.axis_of[name] for name in task.problem.periodic))


def law_of(arrays: Mapping[str, np.ndarray]) -> Law | None:
    """The law of a level that was kept; None for the working law, which has no numbers."""
    return mixture_of(arrays["law"], float(arrays["tail"])) if arrays["law"].shape[1] else None


def level_of(task: Task, meter: Meter, arrays: Mapping[str, np.ndarray]) -> Level:
    """The level whose arrays were kept. The meter stands as it stood there, so that a budget ends at the same step."""
    meter.spent = float(arrays["spent"])
    system = System(task, space_of(task, arrays), int(arrays["points"]), arrays["used"], meter)
    law = law_of(arrays) or task.working_law
    state = State(arrays["coefficients"], arrays["unknowns"], arrays["offsets"], arrays["sigma"], law)
    tolerance, price, parameters, share = map(float, arrays["numbers"])
    return Level(system, state, tolerance, price, parameters, share, arrays["errors"])


def check_stage(task: Task, arrays: Mapping[str, np.ndarray]) -> None:
    """Raises `ValueError` or `KeyError` where arrays are not those of a level of this task."""
    unknowns, measured = len(task.unknowns), task.measured
    shapes: dict[str, tuple[int, ...]] = {
        "points": (), "used": (len(task.readings),), "coefficients": (space_of(task, arrays).size,),
        "unknowns": (unknowns,), "offsets": (measured,), "sigma": (measured,), "law": (3, arrays["law"].shape[-1]),
        "tail": (), "numbers": (4,), "spent": (), "errors": (unknowns,),
    }  # fmt: skip
    shapes |= {LOOP: (LOOP_NUMBERS,)} if LOOP in arrays else {}
    kinds = {"points": "i", "used": "b"}
    if any(
        arrays[name].shape != shape or arrays[name].dtype.kind != kinds.get(name, "f") for name, shape in shapes.items()
    ):
        raise ValueError("another shape or type")
    finite = ("coefficients", "unknowns", "offsets", "sigma", "spent")
    sound = all(np.all(np.isfinite(arrays[name])) for name in finite) and np.all(arrays["sigma"] > 0.0)
    if not (sound and int(arrays["points"]) in (2, 3) and arrays["used"].any() and arrays["numbers"][0] > 0.0):
        raise ValueError("numbers that no level has")
    law_of(arrays)


Stages = dict[str, dict[str, np.ndarray]]
Rows = list[dict[str, Any]]


@dataclass
class Journal:
    """Arrays of finished stages by name, and the file that they are kept in."""

    run: str = ""
    """The digest of the request, so that stages of another fit are not taken."""
    checkpoints: Checkpoints | None = None
    stages: Stages = field(default_factory=dict)
    newest: str = ""
    """The stage that was kept last."""
    told: Callable[[], tuple[Rows, float]] = lambda: ([], 0.0)
    """Gives the rows of the history so far and the seconds of the fit."""
    _then: tuple[Rows, float] = ([], 0.0)
    """What was told when the newest stage was kept: rows after it are written again by a fit that continues there."""

    def keep(self, stage: str, arrays: dict[str, np.ndarray]) -> None:
        """Note a finished stage; the file is written when it is time for it."""
        self.stages[stage], self.newest = arrays, stage
        rows, seconds = self.told()
        self._then = list(rows), seconds
        if self.checkpoints is not None and self.checkpoints.due:
            self.write()

    def write(self) -> None:
        if self.checkpoints is not None and self.newest:
            self.checkpoints.keep(self._content)

    def _content(self) -> bytes:
        rows, seconds = self._then
        arrays = {f"{stage}|{name}": array for stage, kept in self.stages.items() for name, array in kept.items()}
        header = {"run": self.run, STAGES: list(self.stages), "newest": self.newest, "rows": rows, "seconds": seconds}
        return packed(header, arrays)

    def take_up(self, task: Task) -> tuple[Rows, float]:
        """Continue from the newest checkpoint of the folder, if there is one: its rows and its seconds."""
        assert self.checkpoints is not None
        found = newest(Path(self.checkpoints.folder), lambda path: read_stages(path, self.run, task))
        if found is not None:
            self.stages, self.newest, self._then = found[0], found[1], found[2:]
        rows, seconds = self._then
        return list(rows), seconds


def recalled(journal: Journal, stage: str, task: Task, meter: Meter) -> Level | None:
    """The level that a stage was kept with; None where there is none."""
    arrays = journal.stages.get(stage)
    return None if arrays is None else level_of(task, meter, arrays)


def read_stages(path: Path, run: str, task: Task) -> tuple[Stages, str, Rows, float]:
    """The stages in a file, the newest of them, the rows of the history and the seconds of the fit; an `InputError` if
    the file is damaged, of another kind or of another run."""
    header, arrays = unpacked(path, run)
    with reading(path):
        stages: Stages = {str(stage): {} for stage in header[STAGES]}
        for name, array in arrays.items():
            stage, _, part = name.rpartition("|")
            # The array is a view of the file's bytes, which no step could write to.
            stages[stage][part] = array.copy()
        for kept in stages.values():
            check_stage(task, kept)
        rows = [dict(row) for row in header["rows"]]
        if header["newest"] not in stages:
            raise ValueError("no such stage")
        return stages, header["newest"], rows, float(header["seconds"])
