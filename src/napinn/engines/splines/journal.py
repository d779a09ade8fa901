"""What a fit has finished, so that one that was stopped ends with the same numbers.

A fit is a row of stages: the descents from each start, the tolerances of the last descent. What a stage hands to the
next is a `Level`: the mesh, the numbers on it, and what was known there. Nothing else crosses from one stage to the
next, so a stage that was read from disk and one that was just computed lead to the same end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from napinn.engines.splines.cost import Meter
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.field.splines.axis import axis_between
from napinn.field.splines.space import Space
from napinn.noise.laws import Law
from napinn.noise.mixture import Mixture, mixture_of, names_in_files
from napinn.storage.checkpoints import Checkpoints, newest, packed, reading, unpacked

STAGES = "stages"
"""The header's list of stages, by which a checkpoint of splines is known from one of a network."""
LOOP = "loop"
LOOP_NUMBERS = 6
"""Numbers of the loop's state in a checkpoint."""


@dataclass(frozen=True, eq=False)
class Level:
    """A point of a descent without its factorisation."""

    system: System
    state: State
    tolerance: float
    equation_cost: float
    parameters: float
    share: float
    errors: np.ndarray
    """Standard errors of the unknowns."""

    def arrays(self) -> dict[str, np.ndarray]:
        state = self.state
        return {
            **{f"breaks.{number}": axis.breaks for number, axis in enumerate(self.system.space.axes)},
            "points": np.array(self.system.points),
            "used": self.system.used,
            "coefficients": state.coefficients,
            "unknowns": state.unknowns,
            "offsets": state.offsets,
            "sigma": state.sigma,
            **{name: array for number, law in enumerate(state.laws) for name, array in _law_arrays(law, number)},
            "numbers": np.array([self.tolerance, self.equation_cost, self.parameters, self.share]),
            "spent": np.array(self.system.meter.spent),
            "errors": self.errors,
            "roughness_weight": state.roughness_weight,
        }


def _law_arrays(law: Law, number: int) -> list[tuple[str, np.ndarray]]:
    learned = (law.shape, law.tail) if isinstance(law, Mixture) else (np.zeros((3, 0)), 0.0)
    return list(zip(names_in_files(number), map(np.array, learned), strict=True))


def space_of(task: Task, arrays: Mapping[str, np.ndarray]) -> Space:
    """The mesh of a level that was kept."""
    ends = zip(task.problem.lows, task.problem.highs, task.degrees, strict=True)
    axes = tuple(axis_between(arrays[f"breaks.{number}"], *end) for number, end in enumerate(ends))
    return Space(axes, task.fields, frozenset(task.axis_of[name] for name in task.problem.periodic))


def laws_of(task: Task, arrays: Mapping[str, np.ndarray]) -> tuple[Law, ...]:
    """The laws of a level that was kept; a working law has no numbers."""
    kept = [(arrays[shape], float(arrays[tail])) for shape, tail in map(names_in_files, range(task.groups))]
    return tuple(mixture_of(shape, tail) if shape.shape[1] else task.working_law for shape, tail in kept)


def level_of(task: Task, meter: Meter, arrays: Mapping[str, np.ndarray]) -> Level:
    """The level whose arrays were kept. The meter stands as it stood there, so that a budget ends at the same step."""
    meter.spent = float(arrays["spent"])
    system = System(task, space_of(task, arrays), int(arrays["points"]), arrays["used"], meter)
    laws = laws_of(task, arrays)
    coefficients, unknowns, offsets, sigma = (arrays[name] for name in ("coefficients", "unknowns", "offsets", "sigma"))
    state = State(coefficients, unknowns, offsets, sigma, laws, arrays["roughness_weight"])
    tolerance, equation_cost, parameters, share = map(float, arrays["numbers"])
    return Level(system, state, tolerance, equation_cost, parameters, share, arrays["errors"])


def check_stage(task: Task, arrays: Mapping[str, np.ndarray]) -> None:
    """Raises `ValueError` or `KeyError` where arrays are not those of a level of this task."""
    unknowns, scales = len(task.unknowns), len(task.scatters.names)
    shapes: dict[str, tuple[int, ...]] = {
        "points": (), "used": (len(task.readings),), "coefficients": (space_of(task, arrays).size,),
        "unknowns": (unknowns,), "offsets": (scales,), "sigma": (scales,),
        "numbers": (4,), "spent": (), "errors": (unknowns,),
        "roughness_weight": (sum(len(curve.rows) for curve in task.curves),),
    }  # fmt: skip
    for shape, tail in map(names_in_files, range(task.groups)):
        shapes |= {shape: (3, arrays[shape].shape[-1]), tail: ()}
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
    laws_of(task, arrays)


Stages = dict[str, dict[str, np.ndarray]]
JournalRows = list[dict[str, Any]]


@dataclass
class Journal:
    """Arrays of finished stages by name, and the file that they are kept in."""

    run: str = ""
    """The digest of the request, so that stages of another fit are not taken."""
    checkpoints: Checkpoints | None = None
    stages: Stages = field(default_factory=dict)
    newest: str = ""
    """The stage that was kept last."""
    recorded: Callable[[], tuple[JournalRows, float]] = lambda: ([], 0.0)
    """Gives the rows of the history so far and the seconds of the fit."""
    _then: tuple[JournalRows, float] = ([], 0.0)
    """What was reported when the newest stage was kept: rows after it are written again by a fit that resumes."""

    def keep(self, stage: str, arrays: dict[str, np.ndarray]) -> None:
        """Note a finished stage; the file is written when it is time for it."""
        self.stages[stage], self.newest = arrays, stage
        rows, seconds = self.recorded()
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

    def restore(self, task: Task) -> tuple[JournalRows, float]:
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


def read_stages(path: Path, run: str, task: Task) -> tuple[Stages, str, JournalRows, float]:
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
