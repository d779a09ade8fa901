"""Tables of a study in Markdown: ours, and the paper's number in brackets where it has one."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd

_FAMILIES = {"robustness": "main", "gate_parameters": "", "noise_density": "", "estimator_densities": "estimators"}
"""Studies whose numbers the paper prints under another study, or not at all."""


@cache
def paper() -> Mapping[tuple[str, str, str, float, str], float]:
    table = pd.read_csv(Path(__file__).with_name("paper.csv"))
    keys = zip(table["study"], table["label"], table["benchmark"], table["ratio"], table["quantity"], strict=True)
    return dict(zip(keys, table["value"], strict=True))


def errors(rows: pd.DataFrame, study: str) -> str:
    """rMSE and rMAE by label and by benchmark and ratio, means over seeds."""
    parts = []
    for quantity in ("rmse", "rmae"):
        title = {"rmse": "rMSE", "rmae": "rMAE"}[quantity]
        parts += [f"### {title}", "", _pivot(rows, study, quantity), ""]
    return "\n".join(parts)


def recovered(rows: pd.DataFrame, study: str) -> str:
    """One line a label and benchmark: errors, every unknown, and what was flagged; means over seeds."""
    lines = [
        "| | benchmark | seeds | rMSE | rMAE | unknowns | outliers found | false alarms | seconds |",
        "|---" * 9 + "|",
    ]
    for (label, benchmark), group in rows.groupby(["label", "benchmark"], sort=False):
        each = pd.DataFrame(list(group["unknowns"]))
        unknowns = ", ".join(f"{name} {each[name].mean():.5g}" for name in each)
        found = f"{group['outliers_flagged'].mean():.0f} of {group['outliers'].mean():.0f}"
        alarms = f"{100 * group['good_flagged'].sum() / group['good_readings'].sum():.2f} %"
        lines.append(
            f"| {label} | {benchmark} | {len(group)} | {group['rmse'].mean():.4f} | {group['rmae'].mean():.4f} | "
            f"{unknowns} | {found} | {alarms} | {group['seconds'].mean():.0f} |"
        )
    return "\n".join([*lines, ""])


def coefficients(rows: pd.DataFrame, study: str) -> str:
    name = next(iter(rows["unknowns"].iloc[0]))
    table = rows.assign(**{name: [unknowns[name] for unknowns in rows["unknowns"]]})
    return "\n".join([f"### Estimate of {name}", "", _pivot(table, study, name), ""])


def seconds(rows: pd.DataFrame, study: str) -> str:
    mean = rows.groupby(["benchmark", "label"], sort=False)["seconds"].mean().unstack()
    # Of a study that is not finished, one method may have no fit yet.
    mean = mean.reindex(columns=["pinn", "na_pinn"])
    lines = ["| benchmark | PINN, s | naPINN, s | ratio (paper, on a GPU) |", "|---|---|---|---|"]
    for benchmark, row in mean.iterrows():
        printed = paper().get((study, "na_pinn/pinn", str(benchmark), 0.15, "ratio"))
        beside = f" ({printed:.3f})" if printed else ""
        plain, ours, ratio = (
            "" if pd.isna(value) else f"{value:.{digits}f}"
            for value, digits in ((row["pinn"], 1), (row["na_pinn"], 1), (row["na_pinn"] / row["pinn"], 3))
        )
        lines.append(f"| {benchmark} | {plain} | {ours} | {ratio}{beside} |")
    lines += [
        "",
        "Whole fits, the estimator's own phase included; `benchmarks/speed.py` compares single steps side by side.",
        "",
    ]
    return "\n".join(lines)


def confusion(rows: pd.DataFrame, study: str) -> str:
    first = rows.iloc[0]
    lines = ["| true label | rejected | accepted |", "|---|---|---|"]
    for label, counts in confused(first).iterrows():
        beside = {end: paper()[study, "na_pinn", "allen_cahn", 0.1, f"{label}_{end}"] for end in counts.index}
        lines.append(f"| {label} | " + " | ".join(f"{counts[end]:,} ({beside[end]:,.0f})" for end in beside) + " |")
    return "\n".join([*lines, "", f"Seed {first['seed']}; the paper's numbers in brackets.", ""])


def confused(row: pd.Series) -> pd.DataFrame:
    """How many readings were what, and how many of them were rejected and accepted."""
    rejected = pd.Series({"outlier": row["outliers_flagged"], "normal": row["good_flagged"]})
    every = pd.Series({"outlier": row["outliers"], "normal": row["good_readings"]})
    return pd.DataFrame({"rejected": rejected, "accepted": every - rejected})


def _pivot(rows: pd.DataFrame, study: str, quantity: str) -> str:
    family = _FAMILIES.get(study, study)
    columns = list(dict.fromkeys(zip(rows["benchmark"], rows["ratio"], strict=True)))
    labels = list(dict.fromkeys(rows["label"]))
    mean = rows.groupby(["label", "benchmark", "ratio"])[quantity].mean()
    head = " | ".join(f"{benchmark} {100 * ratio:g} %" for benchmark, ratio in columns)
    lines = [f"| | {head} |", "|---" * (len(columns) + 1) + "|"]
    for label in labels:
        cells = [
            _cell(mean.get((label, *column)), paper().get((family, label, *column, quantity))) for column in columns
        ]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(ours: float | None, printed: float | None) -> str:
    shown = "" if ours is None else f"{ours:.4g}" if ours < 1e-3 else f"{ours:.3f}"
    return shown if printed is None else f"{shown} ({printed:g})"
