"""How well the readings determine the unknowns: profiles of the likelihood, and correlations."""

import html

import numpy as np

from napinn.problem.equations import symbol
from napinn.report.charts import Chart, Json, axes, dotted
from napinn.report.columns import packed
from napinn.report.labels import label
from napinn.results.profiles import THRESHOLD, Profile
from napinn.results.result import FitResult

HIGHEST = 2.5
"""Times the threshold to which the axis of a profile reaches."""
PAIR = 2
"""Unknowns whose only correlation is said in a sentence; more of them are drawn."""
CAPTION = "Near 1 or -1 the readings determine two coefficients only together."


def identifiability_charts(result: FitResult) -> list[Chart]:
    """A profile for every unknown that has one, and the correlations of unknowns where there are three or more."""
    charts = [_profile(result, name, profile) for name, profile in result.profiles.items()]
    correlation = _known_correlation(result)
    if correlation is not None and len(correlation) > PAIR:
        charts.append(_correlation(result, correlation))
    return charts


def correlation_sentence(result: FitResult) -> str:
    """The correlation of two unknowns in words; empty where there are more or fewer."""
    correlation = _known_correlation(result)
    if correlation is None or len(correlation) != PAIR:
        return ""
    first, second = (symbol(name) for name in result.problem.unknowns)
    return f"The correlation of {first} and {second} is {correlation[0, 1]:.2f}. {CAPTION}"


def _known_correlation(result: FitResult) -> np.ndarray | None:
    """Correlations of all unknowns, where they are known and there are at least two."""
    found = None if result.uncertainty is None else result.uncertainty.correlation
    return None if found is None or len(found) < PAIR or not np.isfinite(found).all() else found


def _profile(result: FitResult, name: str, profile: Profile) -> Chart:
    data: list[Json] = [
        {"type": "scatter", "mode": "lines+markers", "x": packed(profile.values, "f8"), "y": packed(profile.rises),
         "line": {"color": "@ink", "width": 1.8}, "marker": {"size": 5}, "showlegend": False,
         "hovertemplate": "%{x:.5g}<br>%{y:.3g} nats worse"}
    ]  # fmt: skip
    layout = axes(label(result.problem, name), "loss of log-likelihood [nats]", showlegend=False)
    layout["yaxis"]["range"] = [-0.1, HIGHEST * THRESHOLD]
    ends = [end for end in (profile.low, profile.high) if np.isfinite(end)]
    layout["shapes"] = [dotted(y=THRESHOLD), *(dotted(x=end) for end in ends)]
    caption = f"{profile.kind.value.capitalize()}; 95 % interval: {profile.interval}. Dotted: the 95 % threshold."
    return Chart(f"profile-{name}", f"Profile likelihood of {symbol(name)}", caption, data, layout)


def _correlation(result: FitResult, correlation: np.ndarray) -> Chart:
    names = [html.escape(symbol(name)) for name in result.problem.unknowns]
    shown = [[f"{value:.2f}" for value in row] for row in correlation]
    data: list[Json] = [
        {"type": "heatmap", "x": names, "y": names, "z": np.round(correlation, 4).tolist(), "zmin": -1, "zmax": 1,
         "colorscale": [[0.0, "@flagged"], [0.5, "@card"], [1.0, "@good"]], "text": shown, "texttemplate": "%{text}",
         "colorbar": {"title": {"text": "correlation (-1 to 1)", "side": "right"}, "thickness": 12},
         "hovertemplate": "%{x} and %{y}: %{z:.3f}"}
    ]  # fmt: skip
    layout = axes("unknown", "unknown")
    layout["xaxis"]["type"] = layout["yaxis"]["type"] = "category"
    layout["yaxis"]["autorange"] = "reversed"
    return Chart("correlation", "Correlation of the unknowns", CAPTION, data, layout)
