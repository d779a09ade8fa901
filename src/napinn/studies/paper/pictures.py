"""Pictures of a study, drawn from its rows and the small curves that each fit leaves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import LogLocator, NullFormatter
from scipy.special import expit

from napinn.noise.law import FLAG_BELOW
from napinn.report.figures import FIELD_MAP, FLAGGED, GOOD, LINE, new_figure
from napinn.studies.benchmarks.names import BENCHMARKS
from napinn.studies.paper.cases import injected_density, unpacked
from napinn.studies.paper.tables import TITLES, confused

STYLES = ("o-", "s--", "^:", "D-.", "v-", "P--", "X:")
LOG_FROM = 5.0
"""Ratio of the largest to the smallest error from which a logarithmic axis has at least two labels, at 1, 2 and 5."""
SHADES = ("#1f2937", "#3b6ea5", "#c2410c", "#6b7280", "#0f766e", "#7c3aed", "#a16207")


def by_ratio(rows: pd.DataFrame) -> Figure:
    """rMSE over the outlier ratio, one panel a benchmark, one line a label, bars over seeds.

    Fits to clean readings are drawn only while there is nothing else."""
    noisy = rows[rows["label"] != "clean"]
    rows = rows if noisy.empty else noisy
    names, labels = (list(dict.fromkeys(rows[column])) for column in ("benchmark", "label"))
    figure, panels = new_figure(4.2 * len(names), 3.4, len(names))
    for axes, name in zip(panels, names, strict=True):
        chosen = rows[rows["benchmark"] == name]
        for number, label in enumerate(labels):
            group = chosen[chosen["label"] == label].groupby("ratio")["rmse"]
            mean, spread = group.mean(), group.std().fillna(0.0)
            if mean.empty:
                continue
            axes.errorbar(
                100 * mean.index,
                mean,
                spread,
                fmt=STYLES[number % 7],
                color=SHADES[number % 7],
                label=label,
                markersize=4,
            )
        _label(axes, _title(name), "outliers, %", "rMSE")
        axes.set_xticks(100 * np.unique(chosen["ratio"]))
        if chosen["rmse"].max() > LOG_FROM * chosen["rmse"].min():
            axes.set_yscale("log")
            _label_decades(axes.yaxis)
        else:
            axes.set_ylim(bottom=0.0)
    _legend_beside(panels)
    return figure


def _legend_beside(panels: Sequence[Axes]) -> None:
    """One legend of all panels, right of the last: a label may be in some of them only."""
    shown = {label: mark for axes in panels for mark, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    panels[-1].legend(shown.values(), shown.keys(), fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def methods_by_ratio(rows: pd.DataFrame) -> Figure:
    """rMSE of each method as dots, one mark an outlier ratio, one panel a benchmark; bars over seeds.

    A dotted line is the fit to readings without noise, where there is one."""
    noisy, clean = rows[rows["label"] != "clean"], rows[rows["label"] == "clean"]
    noisy = rows if noisy.empty else noisy
    names, labels, ratios = (list(dict.fromkeys(noisy[column])) for column in ("benchmark", "label", "ratio"))
    figure, panels = new_figure(1.5 + 3.2 * len(names), 0.4 * len(labels) + 1.4, len(names))
    places = np.arange(len(labels))
    for axes, name in zip(panels, names, strict=True):
        for number, ratio in enumerate(sorted(ratios)):
            chosen = noisy[(noisy["benchmark"] == name) & (noisy["ratio"] == ratio)].groupby("label")["rmse"]
            mean, spread = chosen.mean().reindex(labels), chosen.std().reindex(labels)
            axes.errorbar(
                mean,
                places + 0.16 * (number - (len(ratios) - 1) / 2),
                xerr=None if spread.isna().all() else spread.fillna(0.0),
                fmt=STYLES[number % 7][0],
                color=SHADES[number % 7],
                label=f"{100 * float(ratio):g} % outliers",
                markersize=5,
            )
        without_noise = clean.loc[clean["benchmark"] == name, "rmse"]
        if len(without_noise):
            axes.axvline(without_noise.mean(), color="grey", linewidth=1.0, linestyle=":", label="no noise, plain PINN")
        axes.set_xscale("log")
        _label_decades(axes.xaxis)
        axes.set_yticks(places, [str(label) for label in labels] if axes is panels[0] else [""] * len(labels))
        axes.invert_yaxis()
        axes.grid(axis="y", linewidth=0.3)
        _label(axes, _title(name), "rMSE", "")
    _legend_beside(panels)
    return figure


def _label_decades(axis: Axis) -> None:
    """Plain numbers at 1, 2 and 5 of each decade of a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def bars(rows: pd.DataFrame) -> Figure:
    """rMSE of each label as a bar with its standard deviation over seeds, one panel a benchmark."""
    names = list(dict.fromkeys(rows["benchmark"]))
    labels = list(dict.fromkeys(rows["label"]))
    figure, panels = new_figure(3.0 + 3.5 * len(names), 0.35 * len(labels) + 1.2, len(names))
    places = np.arange(len(labels))
    for axes, name in zip(panels, names, strict=True):
        group = rows[rows["benchmark"] == name].groupby("label")["rmse"]
        mean, spread = group.mean().reindex(labels), group.std().reindex(labels).fillna(0.0)
        axes.barh(places, mean, xerr=spread, color=[LINE if _is_ours(str(label)) else GOOD for label in labels])
        axes.set_yticks(places, [str(label) for label in labels] if axes is panels[0] else [""] * len(labels))
        axes.invert_yaxis()
        _label(axes, _title(name), "rMSE", "")
    return figure


def _is_ours(label: str) -> bool:
    return "na_pinn" in label or label == "staged" or label.startswith("default")


def by_label(rows: pd.DataFrame) -> Figure:
    """rMSE and rMAE over a label that is a number, one panel an outlier ratio."""
    ratios = sorted(rows["ratio"].unique())
    figure, panels = new_figure(3.6 * len(ratios) + 0.8, 3.2, len(ratios))
    top = 1.1 * rows[["rmse", "rmae"]].to_numpy(float).max()
    for axes, ratio in zip(panels, ratios, strict=True):
        chosen = rows[rows["ratio"] == ratio]
        group = chosen.assign(at=chosen["label"].astype(float)).groupby("at")[["rmse", "rmae"]]
        mean, spread = group.mean(), group.std().fillna(0.0)
        for quantity, style, shade, title in (("rmse", "o-", LINE, "rMSE"), ("rmae", "s--", GOOD, "rMAE")):
            axes.errorbar(
                mean.index, mean[quantity], spread[quantity], fmt=style, color=shade, label=title, markersize=4
            )
        axes.set_xlim(-0.05, 1.05)
        axes.set_ylim(0.0, top)
        _label(
            axes, f"{100 * float(ratio):g} % outliers", "rejection cost", "relative error" if ratio == ratios[0] else ""
        )
    panels[0].legend()
    return figure


def coefficients(rows: pd.DataFrame) -> Figure:
    """The estimated coefficient over the outlier ratio, with its standard deviation over seeds."""
    name = next(iter(rows["unknowns"].iloc[0]))
    true = BENCHMARKS[rows["benchmark"].iloc[0]]().unknowns[name]
    table = rows.assign(estimate=[unknowns[name] for unknowns in rows["unknowns"]])
    figure, (axes,) = new_figure(5.5, 3.2)
    for number, label in enumerate(dict.fromkeys(table["label"])):
        group = table[table["label"] == label].groupby("ratio")["estimate"]
        mean, spread = group.mean(), group.std().fillna(0.0)
        style, shade = STYLES[number % 7], SHADES[number % 7]
        axes.errorbar(100 * mean.index, mean, spread, fmt=style, color=shade, label=label, markersize=4)
    axes.axhline(true, color="grey", linewidth=0.8, label="truth")
    axes.set_xticks(100 * np.unique(table["ratio"]))
    _label(axes, _title(rows["benchmark"].iloc[0]), "outliers, %", f"estimate of {name}")
    axes.legend()
    return figure


def step_times(rows: pd.DataFrame) -> Figure:
    """Milliseconds of a step of either method, one pair of bars a benchmark."""
    figure, (axes,) = new_figure(6.0, 3.2)
    places = np.arange(len(rows))
    for number, (column, label) in enumerate((("pinn_ms", "pinn"), ("na_pinn_ms", "na_pinn"))):
        axes.bar(places + 0.35 * number, rows[column], 0.33, color=(GOOD, LINE)[number], label=label)
    axes.set_xticks(places + 0.17, [_title(name) for name in rows["benchmark"]])
    _label(axes, "A step of training", "", "milliseconds")
    axes.legend()
    return figure


def confusion(rows: pd.DataFrame) -> Figure:
    """How many outliers and good readings were rejected, and the trained gate's curve with readings on it."""
    first = rows.iloc[0]
    figure, (left, right) = new_figure(8.5, 3.2, 2)
    matrix = confused(first)
    left.imshow(matrix.div(matrix.sum(axis=1), axis=0), cmap="Greys", vmin=0.0, vmax=3.0, aspect="auto")
    for (line, column), count in np.ndenumerate(matrix.to_numpy()):
        left.text(column, line, f"{count:,}", ha="center", va="center", fontsize=12)
    left.set_xticks([0, 1], list(matrix.columns))
    left.set_yticks([0, 1], list(matrix.index))
    _label(left, "Readings", "", "")
    scores, trace = first["extras"]["score"], first["extras"]["gate"]
    across, weight = np.array(scores["score"]), np.array(scores["reliability"])
    along = np.linspace(across.min(), across.max(), 200)
    right.plot(along, expit(trace["steepness"][-1] * (along + trace["cutoff"][-1])), color=LINE, linewidth=1.0)
    # Fits from before true labels were kept are drawn in one colour.
    outlier = np.array(scores["outlier"], bool) if "outlier" in scores else np.zeros(len(across), bool)
    for chosen, mark, shade, title in ((~outlier, "o", GOOD, "normal"), (outlier, "x", FLAGGED, "outlier")):
        if chosen.any():
            label = f"{title} (true label)" if "outlier" in scores else "readings"
            right.scatter(
                across[chosen], weight[chosen], s=14, c=shade, marker=mark, linewidths=0.8, label=label, zorder=2
            )
    right.legend(loc="lower right")
    right.axhline(FLAG_BELOW, color="grey", linewidth=0.8, linestyle=":")
    _label(right, "Reliability gate", "standardised log-density", "reliability")
    return figure


def laws(rows: pd.DataFrame) -> Figure:
    """Learned noise laws over the density of the injected noise without the outliers, one panel a benchmark, one line a
    label."""
    names = list(dict.fromkeys(rows["benchmark"]))
    figure, panels = new_figure(1.5 + 4.5 * len(names), 3.4, len(names))
    for axes, name in zip(panels, names, strict=True):
        _laws_of(axes, rows[rows["benchmark"] == name].drop_duplicates("label"))
        _label(axes, _title(name), "misfit", "density" if axes is panels[0] else "")
    _legend_beside(panels)
    return figure


def _laws_of(axes: Axes, rows: pd.DataFrame) -> None:
    """Of one fit a label."""
    first = rows.iloc[0]
    injected = injected_density({str(name): value for name, value in first.items()})
    axes.fill_between(first["extras"]["law"]["misfit"], injected, color="#d1d5db", label="injected noise")
    for number, (_, row) in enumerate(rows.iterrows()):
        law = row["extras"]["law"]
        axes.plot(law["misfit"], law["density"], STYLES[number][1:], color=SHADES[number], label=row["label"])


def gate_history(rows: pd.DataFrame) -> Figure:
    """Steepness and cutoff over the steps of the network; those of the estimator alone are not among them."""
    figure, (left, right) = new_figure(9.0, 3.2, 2)
    for number, (_, row) in enumerate(rows.drop_duplicates("label").iterrows()):
        trace = pd.DataFrame(row["extras"]["gate"])
        begin, end = row["law_phase"]
        trace = trace[(trace["step"] <= begin) | (trace["step"] > end)]
        steps = trace["step"] - np.where(trace["step"] > end, end - begin, 0)
        for axes, name in ((left, "steepness"), (right, "cutoff")):
            axes.plot(steps, trace[name], STYLES[number][1:], color=SHADES[number], label=row["label"])
    _label(left, "Steepness a", "step of the network", "a")
    _label(right, "Cutoff τ", "step of the network", "τ")
    right.legend()
    return figure


def maps(rows: pd.DataFrame) -> Figure:
    """Truth, each label's field, and its absolute error, two instants a benchmark.

    Where a label has no fit of a benchmark yet, its place stays empty. Fits of earlier versions kept one instant, so
    that only the instants that all labels have are drawn."""
    kept = rows[[bool(extras.get("slices")) for extras in rows["extras"]]]
    labels = list(dict.fromkeys(kept["label"]))
    found = {str(name): _snapshots(group) for name, group in kept.groupby("benchmark", sort=False)}
    lines = [(name, t) for name, by_label in found.items() for t in _two(_shared(by_label))]
    if not lines:
        return _no_snapshot()
    figure = Figure(figsize=(2.3 * (1 + 2 * len(labels)), 2.1 * len(lines)), layout="constrained")
    panels = figure.subplots(len(lines), 1 + 2 * len(labels), squeeze=False)
    for axes, (name, t) in zip(panels, lines, strict=True):
        _map_row(figure, list(axes), name, labels, {label: cuts[t] for label, cuts in found[name].items()})
    return figure


def _no_snapshot() -> Figure:
    """Only fits of seed 0 keep snapshots, and that fit may be missing."""
    figure = Figure(figsize=(4.0, 1.0))
    figure.text(0.5, 0.5, "No fit with snapshots is finished.", ha="center", va="center")
    return figure


def _snapshots(rows: pd.DataFrame) -> dict[str, dict[float, Mapping[str, Any]]]:
    """Of the first fit of each label, by instant."""
    first = rows.drop_duplicates("label")
    return {
        label: {cut["t"]: cut for cut in extras["slices"]}
        for label, extras in zip(first["label"], first["extras"], strict=True)
    }


def _shared(by_label: Mapping[str, Mapping[float, Any]]) -> list[float]:
    return sorted(set.intersection(*(set(cuts) for cuts in by_label.values())))


def _two(instants: list[float]) -> list[float]:
    """An earlier and a later one."""
    count = len(instants)
    return [instants[count // 4], instants[3 * count // 4]] if count > 2 else instants


def _map_row(
    figure: Figure, axes: list[Axes], name: str, labels: list[str], cuts: Mapping[str, Mapping[str, Any]]
) -> None:
    first = next(iter(cuts.values()))
    truth = unpacked(first["true"])
    low, high = truth.min(), truth.max()
    field_image(figure, axes[0], truth, f"{_title(name)}, truth, t = {first['t']:.3g}", low, high)
    fields = {label: unpacked(cut["fitted"]) for label, cut in cuts.items()}
    errors = {label: np.abs(fitted - unpacked(cuts[label]["true"])) for label, fitted in fields.items()}
    worst = max(float(error.max()) for error in errors.values())
    for label, left, right in zip(labels, axes[1::2], axes[2::2], strict=True):
        if label not in cuts:
            left.set_axis_off()
            right.set_axis_off()
            continue
        field_image(figure, left, fields[label], label, low, high)
        field_image(figure, right, errors[label], "|error|", 0.0, worst)


def field_image(figure: Figure, axes: Axes, values: np.ndarray, title: str, low: float, high: float) -> AxesImage:
    image = axes.imshow(values.T, origin="lower", cmap=FIELD_MAP, vmin=low, vmax=high, interpolation="bilinear")
    figure.colorbar(image, ax=axes, shrink=0.8)
    axes.set_title(title, fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    return image


def _title(benchmark: Any) -> str:
    return TITLES.get(benchmark, str(benchmark))


def _label(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
