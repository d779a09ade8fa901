"""Run a study and write what it found: a CSV with a row a fit, a Markdown table beside the paper's, and a picture."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure

from napinn.engine import Job, Outcome, run_jobs
from napinn.engine.store import finished
from napinn.errors import InputError, nearest, storing
from napinn.experiments.cases import Case, unpacked
from napinn.experiments.pictures import field_image
from napinn.experiments.presets import PRESETS
from napinn.experiments.studies import STUDIES, Study


@dataclass(frozen=True)
class Reproduced:
    """What a study wrote, and what went wrong in it."""

    study: str
    files: tuple[Path, ...]
    fits: int
    asked: int
    """How many fits the study is made of; fewer are in the table while it is not finished."""
    failed: tuple[str, ...]


def reproduce(
    name: str,
    preset: str,
    folder: Path,
    *,
    seeds: int | None = None,
    workers: int | None = None,
    cluster: Any = None,
    progress: Callable[[Any], None] | None = None,
    matching: str = "*",
    only_finished: bool = False,
) -> list[Reproduced]:
    """One study by name, or `all`; fits that were finished before, by any study, are not run again.

    `seeds` takes another number of seeds than the preset's. `matching` is a pattern of benchmark/label, such as
    "allen_cahn/fls/*": only such fits are run, and what is finished of the others is written beside them.
    `only_finished` runs nothing and writes what there is."""
    if preset not in PRESETS:
        raise InputError(f"there is no preset '{preset}'; {nearest(preset, PRESETS)}")
    if name != "all" and name not in STUDIES:
        raise InputError(f"there is no study '{name}'; {nearest(name, [*STUDIES, 'all'])}")
    studies = list(STUDIES.values()) if name == "all" else [STUDIES[name]]
    size = PRESETS[preset] if seeds is None else dataclasses.replace(PRESETS[preset], seeds=seeds)
    cases = {study.name: list(study.cases(size)) for study in studies}
    named = [(f"{case.benchmark}/{case.label}", case.job()) for group in cases.values() for case in group]
    chosen = {} if only_finished else _chosen(named, matching)
    others = {job.name: job for _, job in named if job.name not in chosen}
    found = [finished(job, folder / "fits") for job in others.values()]
    outcomes = [outcome for outcome in found if outcome is not None]
    if chosen:
        outcomes += run_jobs(
            list(chosen.values()), folder / "fits", workers=workers, cluster=cluster, progress=progress
        )
    by_name = {outcome.job.name: outcome for outcome in outcomes}
    return [write_study(study, cases[study.name], by_name, preset, folder) for study in studies]


def _chosen(named: Sequence[tuple[str, Job]], matching: str) -> dict[str, Job]:
    """The jobs that a pattern chooses, by name; a fit of several studies is one job."""
    chosen = {job.name: job for name, job in named if fnmatchcase(name, matching)}
    if not chosen:
        raise InputError(f"no fit here is called '{matching}'; {nearest(matching, [name for name, _ in named])}")
    return chosen


def write_study(study: Study, cases: list[Case], outcomes: dict[str, Outcome], preset: str, folder: Path) -> Reproduced:
    found = [(case, outcomes.get(case.job().name)) for case in cases]
    done = [(case, outcome) for case, outcome in found if outcome is not None]
    failed = tuple(f"{case.label}, {o.job.name}: {o.reason}" for case, o in done if o.row is None)
    rows = pd.DataFrame([{"label": case.label, **o.row} for case, o in done if o.row is not None])
    if rows.empty:
        return Reproduced(study.name, (), 0, len(cases), failed)
    files = [folder / f"{study.name}{suffix}" for suffix in (".csv", ".md", ".png")]
    table = rows.drop(columns="extras").assign(unknowns=[json.dumps(unknowns) for unknowns in rows["unknowns"]])
    with storing(f"the study '{study.name}' could not be written to {folder}"):
        table.to_csv(files[0], index=False)
        files[1].write_text(_page(study, rows, preset, len(cases), failed), encoding="utf-8")
        study.picture(rows).savefig(files[2], dpi=110)
        if study.name == "video":
            files.append(folder / "video.gif")
            animate(rows.iloc[0]["extras"]["slices"], files[-1])
    return Reproduced(study.name, tuple(files), len(rows), len(cases), failed)


def animate(slices: list[dict[str, Any]], path: Path) -> None:
    """Truth, fit and error side by side, in motion."""
    stacks = {name: np.stack([unpacked(cut[name]) for cut in slices]) for name in ("true", "fitted")}
    stacks["|error|"] = np.abs(stacks["fitted"] - stacks["true"])
    span = (float(stacks["true"].min()), float(stacks["true"].max()))
    figure = Figure(figsize=(7.5, 2.8), layout="constrained")
    images = []
    for axes, (name, stack) in zip(figure.subplots(1, 3), stacks.items(), strict=True):
        low, high = span if name != "|error|" else (0.0, float(stack.max()) or 1.0)
        images.append(field_image(figure, axes, stack[0], name, low, high))

    def draw(frame: int) -> list[Any]:
        for image, stack in zip(images, stacks.values(), strict=True):
            image.set_data(stack[frame].T)
        figure.suptitle(f"t = {slices[frame]['t']:.3g}", fontsize=9)
        return images

    FuncAnimation(figure, draw, frames=len(slices)).save(path, writer=PillowWriter(fps=10), dpi=80)


def _page(study: Study, rows: pd.DataFrame, preset: str, asked: int, failed: tuple[str, ...]) -> str:
    size = PRESETS[preset]
    seeds = rows["seed"].nunique()
    about = (
        f"Preset `{preset}`: {size.steps:,} steps of {size.collocation_batch:,} + {size.reading_batch:,} points, "
        f"{seeds} seed{'s' if seeds > 1 else ''}. Ours first, the paper's number (mean of 10 seeds) in brackets. "
        f"Made at {', '.join(dict.fromkeys(rows['commit']))} on {', '.join(dict.fromkeys(rows['machine']))}."
    )
    parts = [f"# {study.title}", "", f"`napinn reproduce {study.name} --preset {preset}`", "", about, ""]
    if len(rows) < asked:
        parts += [f"**Not finished**: {len(rows)} of {asked} fits are in this table.", ""]
    parts += [study.table(rows, study.name), f"![{study.title}]({study.name}.png)", ""]
    if failed:
        parts += ["Failed fits:", "", *(f"- {line}" for line in failed), ""]
    return "\n".join(parts)
