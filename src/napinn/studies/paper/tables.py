"""Tables of a study in Markdown: ours, its standard deviation over seeds, and after a slash the paper's number."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from napinn.studies.benchmarks.names import BENCHMARKS

Column = tuple[str, float, str]
"""Benchmark, outlier ratio, and the noise law where a study has several."""
KEYS = ["row", "benchmark", "ratio", "law"]
TITLES = {"allen_cahn": "Allen–Cahn", "burgers": "Burgers", "reaction_diffusion": "λ–ω"}
CLEAN_ROW = "clean"
OURS = "na_pinn"
ENGINES = ("law_pinn", "splines")
"""napinn's own engines: rows below the paper's methods, with which they are not ranked."""
_FAMILIES = {
    "robustness": "main", "fields": "main", "gate_parameters": "", "noise_density": "",
    "estimator_densities": "estimators",
}  # fmt: skip
"""Studies whose numbers the paper prints under another study, or not at all."""
_METRICS = {"rmse": "rMSE", "rmae": "rMAE"}


@cache
def paper() -> Mapping[tuple[str, str, str, float, str], float]:
    """Every number of the paper's tables by study, label, benchmark, outlier ratio and quantity."""
    table = pd.read_csv(Path(__file__).with_name("paper.csv"))
    keys = zip(table["study"], table["label"], table["benchmark"], table["ratio"], table["quantity"], strict=True)
    return dict(zip(keys, table["value"], strict=True))


def seeds_run(rows: pd.DataFrame) -> str:
    """How many seeds stand behind a number; where cells differ, the fewest and the most."""
    counts = rows.groupby(["label", "benchmark", "ratio"])["seed"].nunique()
    fewest, most = int(counts.min()), int(counts.max())
    which = ", ".join(str(seed) for seed in sorted(rows["seed"].unique()))
    if fewest < most:
        return f"{fewest} to {most} seeds a number (of seeds {which})"
    return f"one seed ({which})" if most == 1 else f"{most} seeds ({which})"


def errors(rows: pd.DataFrame, study: str) -> str:
    """rMSE and rMAE by label and by benchmark and ratio: means over seeds, best in bold, second best underlined."""
    parts = []
    for quantity, title in _METRICS.items():
        parts += [f"### {title}", "", *_pivot(rows, study, quantity)]
    return "\n".join(parts)


def against_rivals(rows: pd.DataFrame, study: str) -> str:
    """As `errors`, with the relative improvement of naPINN over the best of the others, and napinn's own engines."""
    parts = []
    if rows["label"].isin(ENGINES).any():
        parts += [
            "The rows below *improvement* are napinn's own two engines in their own setting, not ranked. By default "
            "napinn fits Allen–Cahn with splines, and the others, which splines do not resolve, with `law_pinn`.",
            "",
        ]
    for quantity, title in _METRICS.items():
        parts += [f"### {title}", "", *_pivot(rows, study, quantity, improvement=True)]
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
            f"| {label} | {benchmark} | {len(group)} | {spread(group['rmse'], 4)} | {spread(group['rmae'], 4)} | "
            f"{unknowns} | {found} | {alarms} | {group['seconds'].mean():.0f} |"
        )
    return "\n".join([*lines, ""])


def coefficients(rows: pd.DataFrame, study: str) -> str:
    """The estimated coefficient, and how far it is from the true one."""
    name = next(iter(rows["unknowns"].iloc[0]))
    estimate = pd.Series([unknowns[name] for unknowns in rows["unknowns"]], rows.index)
    true = BENCHMARKS[rows["benchmark"].iloc[0]]().unknowns[name]
    away = f"{name}_error"
    table = rows.assign(**{name: estimate, away: (estimate - true).abs()})
    parts = [f"### Estimate of {name}, truth {true:g}", "", *_pivot(table, study, name, ranked=away, digits=4)]
    parts += [f"### |estimate - {true:g}|, mean over seeds", "", *_pivot(table, study, away, digits=4)]
    return "\n".join(parts)


def step_times(rows: pd.DataFrame, study: str) -> str:
    """Milliseconds of a step of the plain PINN and of naPINN, timed in turn, and those of the paper's GPU."""
    lines = [
        "| benchmark | PINN, ms | naPINN, ms | naPINN over PINN (quartiles) | paper: PINN, ms | naPINN, ms | ratio |",
        "|---" * 7 + "|",
    ]
    for _, row in rows.iterrows():
        printed = {name: 1e3 * paper()[study, name, row["benchmark"], 0.15, "seconds"] for name in ("pinn", OURS)}
        times = f"{row['times']:.3f} ({row['times_low']:.3f}–{row['times_high']:.3f})"
        cells = [_title(row["benchmark"]), f"{row['pinn_ms']:.1f}", f"{row['na_pinn_ms']:.1f}", times]
        cells += [f"{each:.1f}" for each in printed.values()] + [f"{printed[OURS] / printed['pinn']:.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    busy = ", ".join(f"{cores:g}" for cores in rows["other_cores"].dropna())
    note = (
        f"Medians of {rows['rounds'].iloc[0]} rounds; a round times {rows['chunk'].iloc[0]} steps of each method in "
        "turn, so that other load affects both alike. The steps are those of the last phase, in which naPINN learns "
        "law and gate with the field. The paper's are of an RTX A6000."
    )
    if busy:
        note += f" Cores kept busy by other processes meanwhile: {busy}."
    return "\n".join([*lines, "", note, ""])


def confusion(rows: pd.DataFrame, study: str) -> str:
    first = rows.iloc[0]
    lines = ["| true label | rejected | accepted |", "|---|---|---|"]
    for label, counts in confused(first).iterrows():
        place = (study, OURS, first["benchmark"], float(first["ratio"]))
        printed = {end: paper().get((*place, f"{label}_{end}")) for end in counts.index}
        beside = {end: "" if number is None else f" / {number:,.0f}" for end, number in printed.items()}
        lines.append(f"| {label} | " + " | ".join(f"{counts[end]:,}{beside[end]}" for end in beside) + " |")
    return "\n".join([*lines, "", f"Seed {first['seed']}.", ""])


def confused(row: pd.Series) -> pd.DataFrame:
    """How many readings were what, and how many of them were rejected and accepted."""
    rejected = pd.Series({"outlier": row["outliers_flagged"], "normal": row["good_flagged"]})
    every = pd.Series({"outlier": row["outliers"], "normal": row["good_readings"]})
    return pd.DataFrame({"rejected": rejected, "accepted": every - rejected})


def spread(values: pd.Series, digits: int = 3) -> str:
    """Mean, and in brackets the standard deviation where there are at least two; empty where there is none."""
    if values.empty:
        return ""
    mean = values.mean()
    form = f".{digits}g" if 0 < abs(mean) < 10.0**-digits else f".{digits}f"
    return f"{mean:{form}}" if len(values) < 2 else f"{mean:{form}} ({values.std():{form}})"


def _pivot(
    rows: pd.DataFrame,
    study: str,
    quantity: str,
    *,
    ranked: str | None = None,
    digits: int = 3,
    improvement: bool = False,
) -> list[str]:
    """Tables with a row a label: one a benchmark where there are several ratios, otherwise one with all benchmarks.

    The smallest and second smallest of a column, by `ranked` or the quantity itself and before rounding, are marked."""
    named = rows["label"].str.partition("@")
    table = rows.assign(row=named[0], law=named[2])
    noisy = table[table["row"] != CLEAN_ROW]
    lines: list[str] = []
    columns: list[Column] = list(dict.fromkeys(zip(noisy["benchmark"], noisy["ratio"], noisy["law"], strict=True)))
    by_benchmark = {name: [column for column in columns if column[0] == name] for name, *_ in columns}
    several = max((len(group) for group in by_benchmark.values()), default=0) > 1
    for group in by_benchmark.values() if several else [columns] * bool(columns):
        lines += [*_table(noisy, study, group, quantity, ranked or quantity, digits, improvement), ""]
    clean = table[table["row"] == CLEAN_ROW]
    if not clean.empty:
        lines += [_clean(clean, study, quantity, digits), ""]
    return lines


def _table(
    rows: pd.DataFrame,
    study: str,
    columns: Sequence[Column],
    quantity: str,
    ranked: str,
    digits: int,
    improvement: bool,
) -> list[str]:
    groups = dict(iter(rows.groupby(KEYS)))
    mine = rows[[key in columns for key in zip(rows["benchmark"], rows["ratio"], rows["law"], strict=True)]]
    labels = list(dict.fromkeys(mine["row"]))
    rank = rows[~rows["row"].isin(ENGINES)].groupby(KEYS)[ranked].mean()
    lines = ["| | " + " | ".join(_head(column) for column in columns) + " |", "|---" * (len(columns) + 1) + "|"]

    def line_of(label: str) -> str:
        cells = []
        for column in columns:
            found = groups.get((label, *column))
            shown = "" if found is None else _marked(spread(found[quantity], digits), label, column, rank)
            cells.append(_beside(shown, _printed(study, label, column, quantity), digits))
        return f"| {label} | " + " | ".join(cells) + " |"

    lines += [line_of(label) for label in labels if label not in ENGINES]
    if improvement and OURS in labels:
        cells = [_improvement(study, column, rank, quantity) for column in columns]
        lines.append("| *improvement* | " + " | ".join(cells) + " |")
    return lines + [line_of(label) for label in ENGINES if label in labels]


def _head(column: Column) -> str:
    benchmark, ratio, law = column
    return ", ".join(part for part in (_title(benchmark), law, f"{100 * ratio:g} %") if part)


def _title(benchmark: str) -> str:
    return TITLES.get(benchmark, benchmark)


def _of_column(rank: pd.Series, column: Column) -> pd.Series:
    """The numbers of one column by label, smallest first."""
    keys: list[tuple[str, str, float, str]] = rank.index.tolist()
    found = {label: value for (label, *place), value in zip(keys, rank, strict=True) if tuple(place) == column}
    return pd.Series(found, dtype=float).sort_values()


def _marked(shown: str, label: str, column: Column, rank: pd.Series) -> str:
    order = list(_of_column(rank, column).index)
    if len(order) < 2 or label not in order[:2]:
        return shown
    number, bracket, rest = shown.partition(" (")
    return (f"**{number}**" if label == order[0] else f"<u>{number}</u>") + bracket + rest


def _printed(study: str, label: str, column: Column, quantity: str) -> float | None:
    benchmark, ratio, law = column
    name = f"{label}@{law}" if law else label
    return paper().get((_FAMILIES.get(study, study), name, benchmark, ratio, quantity))


def _beside(shown: str, printed: float | None, digits: int) -> str:
    return shown if printed is None else f"{shown or '–'} / {printed:.{digits}f}"


def _improvement(study: str, column: Column, rank: pd.Series, quantity: str) -> str:
    """How much smaller naPINN's error is than that of the best other method, ours and by the paper's numbers."""
    ours = _of_column(rank, column)
    printed = {label: _printed(study, label, column, quantity) for label in ours.index}
    theirs = pd.Series({label: value for label, value in printed.items() if value is not None}, dtype=float)
    shares = [
        f"{100 * (1 - found[OURS] / found.drop(OURS).min()):.1f} %" if OURS in found.index and len(found) > 1 else ""
        for found in (ours, theirs)
    ]
    return " / ".join(share for share in shares if share)


def _clean(rows: pd.DataFrame, study: str, quantity: str, digits: int) -> str:
    cells = []
    for benchmark, group in rows.groupby("benchmark", sort=False):
        column = (str(benchmark), float(group["ratio"].iloc[0]), "")
        printed = _printed(study, CLEAN_ROW, column, quantity)
        cells.append(f"{_title(str(benchmark))} {_beside(spread(group[quantity], digits), printed, digits)}")
    return "PINN on clean readings: " + ", ".join(cells) + "."
