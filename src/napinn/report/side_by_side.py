"""Several fits in one picture: how far each is from the readings, and which coefficients it found."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from napinn.evaluation.comparison import ScoredFit
from napinn.problem.equations import symbol
from napinn.report.figures import new_figure
from napinn.report.labels import label

DASHES = ("-", "--", ":", "-.")
SHADES = ("#1f2937", "#3b6ea5", "#c2410c", "#6b7280", "#7c5cbf", "#2f6f4f")
MARKS = "osD^vP"


def draw_comparison(scored: Sequence[ScoredFit]) -> tuple[Axes, ...]:
    """The share of readings within a given misfit, one panel a field, then one panel a coefficient."""
    problem = scored[0].result.problem
    unknowns = list(problem.unknowns)
    _, panels = new_figure(3.6 * (len(problem.fields) + len(unknowns)), 3.4, len(problem.fields) + len(unknowns))
    for index, (name, axes) in enumerate(zip(problem.fields, panels, strict=False)):
        for number, each in enumerate(scored):
            sizes = np.sort(np.abs(each.misfits[each.field_index == index]))
            share = 100 * np.arange(1, len(sizes) + 1) / max(len(sizes), 1)
            axes.plot(sizes, share, DASHES[number % 4], color=SHADES[number % 6], label=each.name)
        axes.set_xscale("log")
        axes.set_xlabel(f"|misfit| of {label(problem, name)}")
        axes.set_ylabel("readings within it, %")
        axes.legend()
    for name, axes in zip(unknowns, panels[len(problem.fields) :], strict=True):
        for number, each in enumerate(scored):
            axes.plot(number, each.result.unknowns[name], MARKS[number % 6], color=SHADES[number % 6])
        axes.set_xticks(range(len(scored)), [each.name for each in scored], rotation=30, ha="right")
        axes.margins(x=0.3)
        axes.set_ylabel(label(problem, name))
        axes.set_title(symbol(name), loc="left", fontweight="bold", fontsize=10)
    return tuple(panels)
