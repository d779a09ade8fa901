"""What there is to repeat: every study with its place in the paper, its fits, and what a preset leaves out of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from napinn.engines.network.training import Method
from napinn.studies.jobs.store import finished
from napinn.studies.paper.cases import Case
from napinn.studies.paper.presets import PRESETS, Preset
from napinn.studies.paper.studies import REPEATS, STUDIES, Study
from napinn.studies.paper.tables import TITLES

TIMES_AS_LONG = {"KAN": 9.0, "PirateNet": 4.5, "QRes": 1.7}
"""Seconds of a fit with another network, in those of a usual one: measured with the preset `quick`."""
OF_SPLINES = 45.0
"""Seconds of a fit by splines (`benchmarks/results/allen_cahn.json`), whatever the preset."""
OF_STEPS = 40.0
"""Seconds in which steps of two methods are compiled and timed."""


@dataclass(frozen=True)
class StudyEntry:
    """One line of the list."""

    study: str
    title: str
    repeats: str
    fits: int
    done: int
    """Fits that the folder holds already."""
    seconds: float
    """Of one core, for the fits that are left."""
    left_out: str
    """What the preset leaves out of the paper's study."""


def catalogue(preset: Preset, folder: Path) -> list[StudyEntry]:
    return [_listed(study, preset, folder) for study in STUDIES.values()]


def _listed(study: Study, preset: Preset, folder: Path) -> StudyEntry:
    jobs = {job.name: (case, job) for case in study.cases(preset) for job in (case.job(),)}
    left = [case for case, job in jobs.values() if finished(job, folder / "fits") is None]
    seconds = sum(_seconds(case, preset) for case in left)
    done = len(jobs) - len(left)
    place = REPEATS.get(study.name, "napinn's own")
    return StudyEntry(study.name, study.title, place, len(jobs), done, seconds, left_out(study, preset))


def _seconds(case: Case, preset: Preset) -> float:
    if case.timed:
        return OF_STEPS
    if not isinstance(case.method, Method):
        return OF_SPLINES
    return preset.seconds * TIMES_AS_LONG.get(type(case.method.backbone).__name__, 1.0)


def left_out(study: Study, preset: Preset) -> str:
    """Benchmarks, outlier ratios and labels of the study as printed that the preset does not run."""
    whole, some = list(study.cases(PRESETS["paper"])), list(study.cases(preset))
    views: tuple[Callable[[Case], str], ...] = (
        lambda case: TITLES.get(case.benchmark, case.benchmark),
        lambda case: f"{100 * case.ratio:g} %",
        lambda case: case.label,
    )
    return "; ".join(filter(None, (_missing(map(view, whole), map(view, some)) for view in views)))


def _missing(whole: Iterable[str], some: Iterable[str]) -> str:
    kept = set(some)
    return ", ".join(name for name in dict.fromkeys(whole) if name not in kept)
