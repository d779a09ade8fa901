"""Pictures of a study, drawn from its rows and the small curves that each fit leaves."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from scipy.special import expit

from napinn.experiments.cases import unpacked
from napinn.experiments.tables import confused
from napinn.gate import FLAG_BELOW
from napinn.report.figures import FIELD_MAP, FLAGGED, GOOD, LINE, new_figure

STYLES = ("o-", "s--", "^:", "D-.", "v-", "P--", "X:")
SHADES = ("#1f2937", "#3b6ea5", "#c2410c", "#6b7280", "#0f766e", "#7c3aed", "#a16207")


def by_ratio(rows: pd.DataFrame) -> Figure:
    """rMSE over the outlier ratio, one panel a benchmark, one line a label, bars over seeds.

    Fits to clean readings are drawn only while there is nothing else."""
    noisy = rows[rows["label"] != "clean"]
    rows = rows if noisy.empty else noisy
    names = list(dict.fromkeys(rows["benchmark"]))
    figure, panels = new_figure(4.2 * len(names), 3.4, len(names))
    for axes, name in zip(panels, names, strict=True):
        chosen = rows[rows["benchmark"] == name]
        for number, label in enumerate(dict.fromkeys(chosen["label"])):
            group = chosen[chosen["label"] == label].groupby("ratio")["rmse"]
            mean, spread = group.mean(), group.std().fillna(0.0)
            axes.errorbar(
                100 * mean.index,
                mean,
                spread,
                fmt=STYLES[number % 7],
                color=SHADES[number % 7],
                label=label,
                markersize=4,
            )
        _label(axes, str(name), "outliers, %", "rMSE")
        axes.set_yscale("log")
        for part in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            part("{x:g}")
    panels[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def bars(rows: pd.DataFrame) -> Figure:
    """rMSE of each label as a bar, one panel a benchmark."""
    names = list(dict.fromkeys(rows["benchmark"]))
    labels = list(dict.fromkeys(rows["label"]))
    figure, panels = new_figure(3.0 + 3.5 * len(names), 0.35 * len(labels) + 1.2, len(names))
    places = np.arange(len(labels))
    for axes, name in zip(panels, names, strict=True):
        mean = rows[rows["benchmark"] == name].groupby("label")["rmse"].mean().reindex(labels)
        axes.barh(places, mean, color=[LINE if _is_ours(str(label)) else GOOD for label in labels])
        axes.set_yticks(places, [str(label) for label in labels] if axes is panels[0] else [""] * len(labels))
        axes.invert_yaxis()
        _label(axes, str(name), "rMSE", "")
    return figure


def _is_ours(label: str) -> bool:
    return "na_pinn" in label or label == "staged" or label.startswith("default")


def by_label(rows: pd.DataFrame) -> Figure:
    """rMSE and rMAE over a label that is a number."""
    figure, (axes,) = new_figure(6.0, 3.4)
    for number, (ratio, group) in enumerate(rows.groupby("ratio")):
        mean = group.assign(at=group["label"].astype(float)).groupby("at")[["rmse", "rmae"]].mean()
        axes.plot(
            mean.index, mean["rmse"], STYLES[number % 7], color=LINE, label=f"rMSE, {100 * float(str(ratio)):g} %"
        )
        axes.plot(
            mean.index, mean["rmae"], STYLES[number % 7], color=GOOD, label=f"rMAE, {100 * float(str(ratio)):g} %"
        )
    _label(axes, "Allen–Cahn", "rejection cost", "relative error")
    axes.legend()
    return figure


def coefficients(rows: pd.DataFrame) -> Figure:
    """The estimated coefficient over the outlier ratio."""
    name = next(iter(rows["unknowns"].iloc[0]))
    figure, (axes,) = new_figure(5.5, 3.2)
    for number, label in enumerate(dict.fromkeys(rows["label"])):
        chosen = rows[rows["label"] == label]
        values = [unknowns[name] for unknowns in chosen["unknowns"]]
        axes.plot(100 * chosen["ratio"], values, STYLES[number], color=SHADES[number], label=label)
    axes.axhline(0.3, color="grey", linewidth=0.8, label="truth")
    _label(axes, "Allen–Cahn", "outliers, %", f"estimate of {name}")
    axes.legend()
    return figure


def seconds(rows: pd.DataFrame) -> Figure:
    mean = rows.groupby(["benchmark", "label"], sort=False)["seconds"].mean().unstack()
    figure, (axes,) = new_figure(6.0, 3.2)
    places = np.arange(len(mean))
    for number, label in enumerate(mean.columns):
        axes.bar(places + 0.35 * number, mean[label], 0.33, color=(GOOD, LINE)[number % 2], label=str(label))
    axes.set_xticks(places + 0.17, [str(name) for name in mean.index])
    _label(axes, "Whole fits", "", "seconds")
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
    right.scatter(across, weight, s=8, c=list(np.where(weight < FLAG_BELOW, FLAGGED, GOOD)), linewidths=0, zorder=2)
    right.axhline(FLAG_BELOW, color="grey", linewidth=0.8, linestyle=":")
    _label(right, "Reliability gate", "standardised log-density", "reliability")
    return figure


def laws(rows: pd.DataFrame) -> Figure:
    """Learned noise laws, one line a label."""
    figure, (axes,) = new_figure(6.0, 3.4)
    truth = rows["extras"].iloc[0]["law"]
    axes.fill_between(truth["misfit"], truth.get("injected", truth.get("true")), color="#d1d5db", label="injected")
    for number, (_, row) in enumerate(rows.drop_duplicates("label").iterrows()):
        law = row["extras"]["law"]
        axes.plot(law["misfit"], law["density"], STYLES[number][1:], color=SHADES[number], label=row["label"])
    _label(axes, str(rows["benchmark"].iloc[0]), "misfit", "density")
    axes.legend()
    return figure


def gate_history(rows: pd.DataFrame) -> Figure:
    """Steepness and cutoff over training."""
    figure, (left, right) = new_figure(9.0, 3.2, 2)
    for number, (_, row) in enumerate(rows.drop_duplicates("label").iterrows()):
        trace = row["extras"]["gate"]
        left.plot(trace["step"], trace["steepness"], STYLES[number][1:], color=SHADES[number], label=row["label"])
        right.plot(trace["step"], trace["cutoff"], STYLES[number][1:], color=SHADES[number], label=row["label"])
    _label(left, "Steepness a", "step", "a")
    _label(right, "Cutoff τ", "step", "τ")
    right.legend()
    return figure


def maps(rows: pd.DataFrame) -> Figure:
    """Truth, each label's field, and its absolute error, at the later instant, one row a benchmark.

    Where a label has no fit of a benchmark yet, its place stays empty."""
    names = list(dict.fromkeys(rows["benchmark"]))
    labels = list(dict.fromkeys(rows["label"]))
    figure = Figure(figsize=(2.3 * (1 + 2 * len(labels)), 2.2 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 1 + 2 * len(labels), squeeze=False)
    for line, name in zip(panels, names, strict=True):
        chosen = rows[rows["benchmark"] == name].drop_duplicates("label").set_index("label")["extras"]
        last = {label: chosen[label]["slices"][-1] for label in labels if label in chosen}
        truth = unpacked(next(iter(last.values()))["true"])
        low, high = truth.min(), truth.max()
        field_image(figure, line[0], truth, f"{name}, truth", low, high)
        worst = max(float(np.abs(unpacked(cut["fitted"]) - truth).max()) for cut in last.values())
        for label, left, right in zip(labels, line[1::2], line[2::2], strict=True):
            if label not in last:
                left.set_axis_off()
                right.set_axis_off()
                continue
            fitted = unpacked(last[label]["fitted"])
            field_image(figure, left, fitted, label, low, high)
            field_image(figure, right, np.abs(fitted - truth), "|error|", 0.0, worst)
    return figure


def field_image(figure: Figure, axes: Axes, values: np.ndarray, title: str, low: float, high: float) -> AxesImage:
    image = axes.imshow(values.T, origin="lower", cmap=FIELD_MAP, vmin=low, vmax=high, interpolation="bilinear")
    figure.colorbar(image, ax=axes, shrink=0.8)
    axes.set_title(title, fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    return image


def _label(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
