"""Charts of the course of a fit: losses, each coefficient, gate and share flagged over its steps."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from napinn.problem.equations import symbol
from napinn.report.charts import Chart, Json, axes, dotted
from napinn.report.columns import packed
from napinn.report.labels import label
from napinn.results.result import FitResult

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def history_charts(result: FitResult) -> list[Chart]:
    history = result.history
    if history.empty:
        return []
    losses = [name for name in ("total", "equation", "data") if name in history]
    course = _history(result, "losses", "Losses", "loss (dimensionless)", losses, log=True)
    caption = "Misfit of the readings (data), residual of the equations, and their sum, which the fit minimises."
    names = [f"{number} {phase}" for number, phase in enumerate(_phases(result), 1)]
    numbered = f" Numbers: {', '.join(names)}." if len(names) > 1 else ""
    charts = [dataclasses.replace(course, caption=caption + numbered)]
    charts += [_coefficient(result, name) for name in result.unknowns]
    if {"steepness", "cutoff"} <= set(history):
        charts.append(
            _history(result, "gate-history", "Gate", "steepness, cutoff (dimensionless)", ["steepness", "cutoff"])
        )
    if "rejected" in history and (history["rejected"] > 0).any():
        charts.append(_history(result, "flagged-history", "Share flagged", "share of readings (0 to 1)", ["rejected"]))
    return charts


def _history(result: FitResult, name: str, title: str, up: str, lines: Sequence[str], log: bool = False) -> Chart:
    history = result.history
    steps = packed(history["step"].to_numpy(float))
    data = []
    for dash, line in zip(DASHES * len(lines), lines, strict=False):
        values = history[line].to_numpy(float)
        if log:
            values = np.where(values > 0, values, np.nan)
        data.append(
            {"type": "scatter", "mode": "lines", "name": symbol(line), "x": steps, "y": packed(values, "f8"),
             "line": {"color": "@ink" if dash == "solid" else "@good" if dash == "dash" else "@flagged", "dash": dash,
                      "width": 1.8}, "hovertemplate": "step %{x}<br>%{y:.5g}"}
        )  # fmt: skip
    layout = axes("step of the fit", up)
    if log:
        layout["yaxis"] |= {"type": "log", "exponentformat": "power", "dtick": 1}
    layout |= _phase_marks(result)
    return Chart(name, title, "", data, layout)


def _coefficient(result: FitResult, name: str) -> Chart:
    """One coefficient on a scale of its own, because coefficients may differ by orders of magnitude, with its
    interval."""
    chart = _history(result, f"unknown-{name}", f"Coefficient {symbol(name)}", label(result.problem, name), [name])
    interval = None if result.uncertainty is None else result.uncertainty.intervals.get(name)
    if interval is None or not interval.bounded:
        return chart
    layout = {**chart.layout, "shapes": [*chart.layout["shapes"], dotted(y=interval.low), dotted(y=interval.high)]}
    return dataclasses.replace(chart, layout=layout, caption="Dotted: the ends of its 95 % interval.")


def _phases(result: FitResult) -> dict[str, float]:
    """The first step of every start or phase, in their order."""
    starts = result.history.groupby("phase", sort=False)["step"].min()
    return {str(phase): float(step) for phase, step in starts.items()}


def _phase_marks(result: FitResult) -> Json:
    """An upright line where a start or phase begins, with its number: names would lie over the curves."""
    steps = list(_phases(result).values())
    if len(steps) < 2:
        return {"shapes": []}
    names = [
        {"x": step, "xanchor": "left", "y": 1.0, "yref": "paper", "yanchor": "top", "showarrow": False,
         "text": str(number), "font": {"size": 12, "color": "@soft"}}
        for number, step in enumerate(steps, 1)
    ]  # fmt: skip
    return {"shapes": [dotted(x=step) for step in steps[1:]], "annotations": names}
