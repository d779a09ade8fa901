"""`napinn compare`: methods on the user's own readings, or finished runs, side by side."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from napinn.cli.choice import Choice
from napinn.cli.console import Console
from napinn.cli.exit_codes import EXIT_INTERRUPTED
from napinn.cli.progress import progress_display
from napinn.data.formats import csv_text
from napinn.engines.snapshot import Snapshot
from napinn.errors import InputError, storing
from napinn.evaluation.comparison import ScoredFit, compare, ranked, score, table
from napinn.problem.file import Inputs
from napinn.report.labels import label, misfit_label
from napinn.results.result import FitStatus
from napinn.runs.folder import load, prepare
from napinn.runs.pipeline import save_with_report
from napinn.storage.atomic import write_atomic
from napinn.storage.folders import COMPARISON
from napinn.storage.lock import held


def compare_command(
    paths: Sequence[Path], found: Inputs | None, choices: Mapping[str, Choice], seed: int, out: Path, overwrite: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Compare methods on the problem and readings that were found, or the runs in `paths` where there are none."""
    fitted = found is not None
    if fitted:
        scored, how = _methods(found, choices, seed, out, overwrite)
    else:
        scored, how = _runs(paths)
        prepare(out, overwrite, COMPARISON, paths)
    # Matplotlib takes a second to import, which a refusal should not wait for.
    from napinn.report.figures import save as save_figure
    from napinn.report.side_by_side import draw_comparison

    with storing(f"the comparison could not be written to {out}"):
        write_atomic(out / COMPARISON, csv_text(table(scored)))
        save_figure(draw_comparison(scored), out / "comparison.png")
    if as_json:
        print(json.dumps({"how": how, "folder": str(out), "rows": [each.row() for each in scored]}))  # noqa: T201
    else:
        _show(scored, how, out, Console())
    stopped = fitted and scored[-1].result.status is FitStatus.INTERRUPTED
    return EXIT_INTERRUPTED if stopped else 0


def _methods(
    found: Inputs, choices: Mapping[str, Choice], seed: int, out: Path, overwrite: bool
) -> tuple[list[ScoredFit], str]:
    recipes = {name: choice.make() for name, choice in choices.items()}
    prepare(out, overwrite, COMPARISON, found.files)
    with held(out), ExitStack() as displays:

        def progress(name: str) -> Callable[[Snapshot], None]:
            displays.close()
            return displays.enter_context(progress_display(name, Console(stderr=True)))

        parts, scored = compare(found.problem, found.readings, recipes, seed, progress)
        for each in scored:
            save_with_report(each.result, out / each.name)
    return scored, parts.sentence()


def _runs(paths: Sequence[Path]) -> tuple[list[ScoredFit], str]:
    if len(paths) < 2:
        raise InputError("one run cannot be compared; name two or more run folders.")
    results = [load(path) for path in paths]
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    kinds = [(result.problem.fields, tuple(result.problem.unknowns)) for result in results]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise InputError(f"{path} is of another problem than {paths[0]}: fields or unknowns differ.")
    scored = ranked([score(name, result, result.readings) for name, result in zip(names, results, strict=True)])
    return scored, "judged on the readings that each run was fitted to"


def _show(scored: Sequence[ScoredFit], how: str, out: Path, console: Console) -> None:
    problem = scored[0].result.problem
    names = list(problem.unknowns)
    with_law = any(each.log_density is not None for each in scored)
    shown = Table(
        "name", *(escape(misfit_label(problem, name)) for name in scored[0].median_misfits),
        *(["log-density"] if with_law else []), *(escape(label(problem, name)) for name in names), "flagged", "seconds",
        "status", box=None, pad_edge=False,
    )  # fmt: skip
    for each in scored:
        density = "–" if each.log_density is None else f"{each.log_density:.3f}"
        shown.add_row(
            escape(each.name), *(f"{value:.4g}" for value in each.median_misfits.values()),
            *([density] if with_law else []), *(f"{each.result.unknowns[name]:.5g}" for name in names),
            f"{100 * each.result.flagged.mean():.1f} %", f"{each.result.seconds:.0f}", each.result.status.name.lower(),
        )  # fmt: skip
    console.print_whole(shown)
    console.print(escape(f"misfit and log-density: medians; {how}"), soft_wrap=True, highlight=False)
    console.print(
        escape(f"table {out / COMPARISON}, picture {out / 'comparison.png'}"), soft_wrap=True, highlight=False
    )
