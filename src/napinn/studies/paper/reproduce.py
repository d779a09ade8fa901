"""Run a study and write what it found: a CSV with a row a fit, a Markdown table beside the paper's, and a picture."""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure

from napinn.engines.network.training import Method
from napinn.errors import InputError, nearest, storing
from napinn.field.backbones import BayesianMLP
from napinn.studies.benchmarks.corruption import OUTLIER_STYLES
from napinn.studies.jobs import Job, JobOutcome, run_jobs
from napinn.studies.jobs.store import finished, pack_finished
from napinn.studies.paper.cases import AS_PRINTED, TIMED, Case, unpacked
from napinn.studies.paper.catalogue import left_out
from napinn.studies.paper.names import check_preset
from napinn.studies.paper.pictures import field_image
from napinn.studies.paper.presets import PRESETS, Preset
from napinn.studies.paper.studies import REPEATS, STUDIES, Study
from napinn.studies.paper.tables import seeds_run


@dataclass(frozen=True)
class Reproduced:
    """What a study wrote, and what went wrong in it."""

    study: str
    files: tuple[Path, ...]
    fits: int
    expected: int
    """How many fits the study is made of; fewer are in the table while it is not finished."""
    failed: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """What the paper leaves open and a study may choose otherwise; the defaults are what napinn's results use."""

    outliers: str = AS_PRINTED
    """A name in `OUTLIER_STYLES`: "one_sided" replaces the noise by a gross error, as printed; "additive" adds it."""
    law_scale: float = 1.0
    """Standard deviation of Gaussian and Laplace noise, in parts of the mixture's; the paper does not print it."""
    posterior_start: float | None = None
    """Standard deviation with which B-PINN's posteriors begin; None for napinn's own, 0.049. The paper does not print
    it."""
    error: str = "whole"
    """A name in `ERRORS`: relative errors of the whole record, or the mean of those at three instants."""

    def __post_init__(self) -> None:
        if self.outliers not in OUTLIER_STYLES:
            raise InputError(f"there is no outlier style '{self.outliers}'; {nearest(self.outliers, OUTLIER_STYLES)}")
        if self.error not in ERRORS:
            raise InputError(f"there is no error '{self.error}'; {nearest(self.error, ERRORS)}")
        if not 0.0 < self.law_scale < float("inf"):
            raise InputError(f"the scale of the noise laws is {self.law_scale:g}; it must be positive.")
        if self.posterior_start is not None and not 0.0 < self.posterior_start < float("inf"):
            raise InputError(f"B-PINN's deviation starts at {self.posterior_start:g}; it must be positive.")

    @property
    def options(self) -> list[str]:
        """Those of the command line that give this setting."""
        usual, chosen = (dataclasses.asdict(setting) for setting in (Setting(), self))
        differing = {name: value for name, value in chosen.items() if value != usual[name]}
        words = {name: value if isinstance(value, str) else f"{value:g}" for name, value in differing.items()}
        return [f"--{name.replace('_', '-')} {word}" for name, word in words.items()]

    def stem(self, study: str) -> str:
        """The name of a study's files: errors of another kind are of the same fits, in files beside the usual ones."""
        return study + ERRORS[self.error].replace("_", "-")

    def of(self, case: Case) -> Case:
        case = dataclasses.replace(case, outliers=self.outliers, law_scale=self.law_scale)
        method = case.method
        if self.posterior_start is None or not isinstance(method, Method):
            return case
        if not isinstance(method.backbone, BayesianMLP):
            return case
        backbone = dataclasses.replace(method.backbone, raw_start=math.log(math.expm1(self.posterior_start)))
        return dataclasses.replace(case, method=dataclasses.replace(method, backbone=backbone))


READING = (
    "Ours, with the standard deviation over seeds in brackets where there are at least two; after a slash the paper's "
    "number (mean of 10 seeds; of 5 in its Table 8). Best in bold, second best underlined, before rounding."
)
"""How a table of errors is read."""
ERRORS = {"whole": "", "instants": "_instants"}
"""Which columns of a row are its errors: their names end so."""


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
    pack: bool = False,
    setting: Setting = Setting(),
) -> list[Reproduced]:
    """One study by name, or `all`; fits that were finished before, by any study, are not run again.

    `seeds` takes another number of seeds than the preset's. `matching` is a pattern of benchmark/label, such as
    "allen_cahn/fls/*", or of benchmark/label/percent of outliers, such as "allen_cahn/pinn/15": only such fits are run,
    and what is finished of the others is written beside them.
    `only_finished` runs nothing and writes what there is. `pack` then moves finished fits into one file.
    `setting` chooses what the paper leaves open."""
    size = preset_of(preset, seeds)
    if name != "all" and name not in STUDIES:
        raise InputError(f"there is no study '{name}'; {nearest(name, [*STUDIES, 'all'])}")
    studies = list(STUDIES.values()) if name == "all" else [STUDIES[name]]
    cases = {study.name: [setting.of(case) for case in study.cases(size)] for study in studies}
    named = [(_name(case), case.job()) for group in cases.values() for case in group]
    chosen = {} if only_finished else _chosen(named, matching)
    others = {job.name: job for _, job in named if job.name not in chosen}
    found = [finished(job, folder / "fits") for job in others.values()]
    outcomes = [outcome for outcome in found if outcome is not None]
    fits, timings = ([job for job in chosen.values() if (job.work == TIMED) is alone] for alone in (False, True))
    if fits:
        outcomes += run_jobs(fits, folder / "fits", workers=workers, cluster=cluster, progress=progress)
    if timings:
        # One after the other and after all fits, which would disturb them.
        outcomes += run_jobs(timings, folder / "fits", workers=1, progress=progress)
    by_name = {outcome.job.name: outcome for outcome in outcomes}
    written = [write_study(study, cases[study.name], by_name, size, folder, setting) for study in studies]
    if pack:
        pack_finished(folder / "fits")
    return written


def preset_of(name: str, seeds: int | None = None) -> Preset:
    """A preset by name, with another number of seeds where one is given."""
    check_preset(name)
    return PRESETS[name] if seeds is None else dataclasses.replace(PRESETS[name], seeds=seeds)


def _name(case: Case) -> str:
    return f"{case.benchmark}/{case.label}/{100 * case.ratio:g}"


def _chosen(named: Sequence[tuple[str, Job]], matching: str) -> dict[str, Job]:
    """The jobs that a pattern chooses, by name; a fit of several studies is one job."""
    chosen = {
        job.name: job
        for name, job in named
        if fnmatchcase(name, matching) or fnmatchcase(name.rpartition("/")[0], matching)
    }
    if not chosen:
        names = [name if matching.count("/") == name.count("/") else name.rpartition("/")[0] for name, _ in named]
        raise InputError(f"no fit here is called '{matching}'; {nearest(matching, names)}")
    return chosen


def write_study(
    study: Study,
    cases: list[Case],
    outcomes: dict[str, JobOutcome],
    preset: Preset,
    folder: Path,
    setting: Setting = Setting(),
) -> Reproduced:
    found = [(case, outcomes.get(case.job().name)) for case in cases]
    done = [(case, outcome) for case, outcome in found if outcome is not None]
    failed = tuple(f"{case.label}, {o.job.name}: {o.reason}" for case, o in done if o.row is None)
    rows = _rows([(case, o.row) for case, o in done if o.row is not None], setting)
    if rows.empty:
        return Reproduced(study.name, (), 0, len(cases), failed)
    files = [folder / f"{setting.stem(study.name)}{suffix}" for suffix in (".csv", ".md", ".png")]
    table = rows.drop(columns=["extras", "law_phase"])
    table["unknowns"] = [json.dumps(unknowns) for unknowns in rows["unknowns"]]
    with storing(f"the study '{study.name}' could not be written to {folder}"):
        table.to_csv(files[0], index=False)
        files[1].write_text(_page(study, rows, preset, len(cases), failed, setting), encoding="utf-8")
        study.picture(rows).savefig(files[2], dpi=110)
        if study.name == "video":
            files += [_animated(row, folder) for _, row in rows.iterrows()]
    return Reproduced(study.name, tuple(files), len(rows), len(cases), failed)


def _rows(done: list[tuple[Case, dict[str, Any]]], setting: Setting) -> pd.DataFrame:
    """The rows of all finished fits, with the chosen errors as `rmse` and `rmae`."""
    rows = pd.DataFrame([{"label": case.label, **row, "law_phase": case.law_phase} for case, row in done])
    ending = ERRORS[setting.error]
    if rows.empty or not ending or "rmse" not in rows:
        return rows
    if "rmse" + ending not in rows:
        raise InputError("these fits were made before errors of single instants were kept; run them in a new folder.")
    return rows.assign(**{name: rows[name + ending] for name in ("rmse", "rmae")}).dropna(subset=["rmse"])


def _animated(row: pd.Series, folder: Path) -> Path:
    path = folder / f"video_{row['benchmark']}.gif"
    animate(row["extras"]["slices"], path)
    return path


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


def _page(
    study: Study, rows: pd.DataFrame, preset: Preset, expected: int, failed: tuple[str, ...], setting: Setting
) -> str:
    most = rows["seed"].nunique()
    options = [f"--seeds {most}"] * (most > 1) + setting.options
    command = " ".join([f"napinn reproduce {study.name} --preset {preset.name}", *options])
    versions = [str(v) for v in dict.fromkeys(rows["jaxlib"].dropna())] if "jaxlib" in rows else []
    place = f"{REPEATS[study.name]} of the paper." if study.name in REPEATS else "napinn's own."
    points = f"{preset.collocation_batch:,} + {preset.reading_batch:,} points"
    size = (
        f"{preset.steps:,} steps of {points}, {seeds_run(rows)}. {READING}" if "rmse" in rows else f"steps of {points}."
    )
    about = (
        f"{place} Preset `{preset.name}`: {size} Made at {', '.join(dict.fromkeys(rows['commit']))} "
        f"on {', '.join(dict.fromkeys(rows['machine']))}"
        + (f", jaxlib {', '.join(versions)} where it was recorded." if versions else ".")
    )
    parts = [f"# {study.title}", "", f"`{command}`", "", about, ""]
    missing = left_out(study, preset)
    if missing:
        parts += [f"The preset leaves out: {missing}.", ""]
    if len(rows) < expected:
        parts += [f"**Not finished**: {len(rows)} of {expected} fits are in this table.", ""]
    parts += [study.table(rows, study.name), f"![{study.title}]({setting.stem(study.name)}.png)", ""]
    if failed:
        parts += ["Failed fits:", "", *(f"- {line}" for line in failed), ""]
    return "\n".join(parts)
