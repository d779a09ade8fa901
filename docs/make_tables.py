"""Put measured numbers into the docs: every table between two marks is made here from `benchmarks/results`.

python docs/make_tables.py

A page holds `<!-- table: NAME -->` and `<!-- /table -->`, and between them the lines of the function NAME. A test
compares them with the files, so that a page cannot keep numbers that the files no longer have."""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from napinn.studies.paper.tables import ENGINES, OURS, TITLES, confused, paper, spread

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARKED = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- /table -->)", re.S)
COEFFICIENTS = {"allen_cahn": ("ε", "eps", 0.3), "burgers": ("ν", "nu", 0.01), "reaction_diffusion": ("β", "beta", 1.0)}


def rows(preset: str, study: str, **chosen: Any) -> pd.DataFrame:
    """Fits of a study that have these values; none where the study was not run."""
    path = RESULTS / preset / f"{study}.csv"
    if not path.exists():
        return pd.DataFrame(columns=["label", "rmse", "rmae", "unknowns"])
    table = pd.read_csv(path)
    # A label that is a number is read as one.
    table["label"] = [label if isinstance(label, str) else f"{label:g}" for label in table["label"]]
    for name, value in chosen.items():
        table = table[table[name] == value]
    return table


def number(preset: str, study: str, label: str, benchmark: str, ratio: float, **chosen: Any) -> str:
    """Mean rMSE over seeds, with its deviation where there are several; a dash where there is none."""
    found = rows(preset, study, label=label, benchmark=benchmark, ratio=ratio, **chosen)
    return spread(found["rmse"]) or "–"


def unknown(found: pd.DataFrame, name: str) -> float:
    return float(pd.Series([json.loads(text)[name] for text in found["unknowns"]]).mean())


def summary() -> Iterator[str]:
    heads = ("paper: PINN", "paper: naPINN", "ours: PINN", "ours: naPINN", "napinn's network", "its coefficient")
    yield "| rMSE, 15 % outliers | " + " | ".join((*heads, "napinn's splines", "their coefficient")) + " |"
    yield "|---|---|---|---|---|---|---|---|---|"
    draws = json.loads((RESULTS / "allen_cahn.json").read_text(encoding="utf-8"))["rows"].values()
    splines = {"allen_cahn": pd.DataFrame(draws)}
    for benchmark, title in TITLES.items():
        own = rows("quick", "default", label="default", benchmark=benchmark)
        sign, name, true = COEFFICIENTS[benchmark]
        cells = [title]
        cells += [f"{paper()['main', label, benchmark, 0.15, 'rmse']:.3f}" for label in ("pinn", OURS)]
        cells += [number("paper", "fields", label, benchmark, 0.15) for label in ("pinn", OURS)]
        cells += [
            f"{own['rmse'].mean():.4f} ({own['rmse'].std():.4f})",
            f"{sign} {unknown(own, name):.4f} ({true:g})",
        ]
        found = splines.get(benchmark)
        cells += (
            ["–", "–"]
            if found is None
            else [
                f"{found['rmse'].mean():.4f} ({found['rmse'].std():.4f})",
                f"{sign} {found[name].mean():.4f} ({true:g})",
            ]
        )
        yield "| " + " | ".join(cells) + " |"


def main_at_three_ratios() -> Iterator[str]:
    """naPINN and the best other method of the main study."""
    table = rows("quick", "main")
    table = table[~table["label"].isin(("clean", *ENGINES))]
    yield "| rMSE | naPINN | best other | paper: naPINN | paper: best other |"
    yield "|---|---|---|---|---|"
    for benchmark, title in TITLES.items():
        for ratio in (0.05, 0.1, 0.15):
            found = table[(table["benchmark"] == benchmark) & (table["ratio"] == ratio)].groupby("label")["rmse"]
            mean, shown = found.mean(), {str(label): spread(values) for label, values in found}
            theirs = {
                label: value
                for (study, label, name, at, quantity), value in paper().items()
                if (study, name, at, quantity) == ("main", benchmark, ratio, "rmse") and label != OURS
            }
            best, printed = str(mean.drop(OURS).idxmin()), min(theirs, key=lambda label: theirs[label])
            yield (
                f"| {title}, {100 * ratio:g} % | {shown[OURS]} | {shown[best]}, {best} | "
                f"{paper()['main', OURS, benchmark, ratio, 'rmse']:.3f} | {theirs[printed]:.3f}, {printed} |"
            )


PARTS = (("staged", "unstaged", "na_pinn, no stages"), ("scale", "per_batch", "na_pinn, scale of each batch"))
"""Of naPINN, which two studies change: the study, its label, and a title."""


def full_budget() -> Iterator[str]:
    """Every method of the main study that was run with all of the paper's steps."""
    found = rows("paper", "main", ratio=0.15)
    found = found[~found["label"].isin(ENGINES)]
    named = [name for name in TITLES if (found["benchmark"] == name).any()]
    yield "| rMSE, 30,000 steps | " + " | ".join(f"{TITLES[name]} | paper" for name in named) + " |"
    yield "|---" * (2 * len(named) + 1) + "|"
    shown = [("main", label, label) for label in dict.fromkeys(found["label"])]
    for study, label, title in (*shown, *PARTS):
        cells = []
        for name in named:
            printed = paper().get((study, label, name, 0.15, "rmse"))
            cells += [number("paper", study, label, name, 0.15), "–" if printed is None else f"{printed:.3f}"]
        yield f"| {title} | " + " | ".join(cells) + " |"


def instants() -> Iterator[str]:
    """Errors of Allen–Cahn by either measure, of the fits that have both."""
    table = rows("quick", "main", benchmark="allen_cahn").dropna(subset=["rmse_instants"])
    yield "| Allen–Cahn, rMSE | of the whole record | mean of three instants | paper |"
    yield "|---|---|---|---|"
    shown = table[table["label"].isin(("clean", "pinn", OURS))]
    for (label, ratio), found in shown.groupby(["label", "ratio"], sort=False):
        printed = paper().get(("main", str(label), "allen_cahn", float(str(ratio)), "rmse"))
        cells = [spread(found["rmse"]), spread(found["rmse_instants"]), f"{printed:.3f}" if printed else "–"]
        yield f"| {label}, {100 * float(str(ratio)):g} % | " + " | ".join(cells) + " |"


VARIANTS = (
    ("--law-scale 0.594", "noise_laws"), ("--law-scale 0.847", "noise_laws"), ("--posterior-start 0.0067", "main"),
)  # fmt: skip
"""Options of `napinn reproduce` that the paper leaves open, and the study that was run with each."""


def options() -> Iterator[str]:
    """What each choice that the paper leaves open would explain."""
    yield "| option | what | paper | usual | with the option |"
    yield "|---|---|---|---|---|"
    missed, alarms = (
        f"{paper()['confusion', OURS, 'allen_cahn', 0.1, key]:.0f}" for key in ("outlier_accepted", "normal_rejected")
    )
    cells = []
    for preset in ("quick", "quick-outliers-additive"):
        counts = confused(rows(preset, "confusion").iloc[0])
        cells.append(f"{counts['accepted']['outlier']}; {counts['rejected']['normal']}")
    what = "Allen–Cahn, 10 %: outliers missed; false alarms"
    yield f"| `--outliers additive` | {what} | {missed}; {alarms} | " + " | ".join(cells) + " |"
    for option, study in VARIANTS:
        folder = "quick-" + option.removeprefix("--").replace(" ", "-")
        for _, row in rows(folder, study).iterrows():
            label, place = row["label"], (row["benchmark"], row["ratio"])
            printed = paper()[study, label, *place, "rmse"]
            pair = [number(preset, study, label, *place, seed=row["seed"]) for preset in ("quick", folder)]
            what = f"{TITLES[place[0]]}, {100 * place[1]:g} %: rMSE of {label.replace('@', ', ')}"
            yield f"| `{option}` | {what} | {printed:.3f} | " + " | ".join(pair) + " |"


def training_cost() -> Iterator[str]:
    """Milliseconds of a step at both batch sizes, and the paper's ratio."""
    yield "| a step of | points | PINN, ms | naPINN, ms | ratio (quartiles) | paper: ratio |"
    yield "|---|---|---|---|---|---|"
    for preset, points in (("paper", "4,000 + 1,000"), ("quick", "1,024 + 1,024")):
        for _, row in pd.read_csv(RESULTS / preset / "cost.csv").iterrows():
            printed = [paper()["cost", name, row["benchmark"], 0.15, "seconds"] for name in ("pinn", OURS)]
            times = f"{row['times']:.3f} ({row['times_low']:.3f}–{row['times_high']:.3f})"
            cells = [points, f"{row['pinn_ms']:.1f}", f"{row['na_pinn_ms']:.1f}", times]
            cells += [f"{printed[1] / printed[0]:.3f}" if preset == "paper" else "–"]
            yield f"| {TITLES[row['benchmark']]} | " + " | ".join(cells) + " |"


def rejection_cost() -> Iterator[str]:
    table = rows("quick", "rejection_cost")
    costs = sorted(table["label"].unique(), key=float)
    yield "| rMSE, rejection cost | " + " | ".join(costs) + " |"
    yield "|---" * (len(costs) + 1) + "|"
    for ratio in sorted(table["ratio"].unique()):
        cells = [number("quick", "rejection_cost", cost, "allen_cahn", ratio) for cost in costs]
        yield f"| {100 * ratio:g} % outliers | " + " | ".join(cells) + " |"


def confusion() -> Iterator[str]:
    yield "| | outliers rejected | accepted | good readings rejected | accepted |"
    yield "|---|---|---|---|---|"
    printed = [
        paper()["confusion", OURS, "allen_cahn", 0.1, f"{label}_{end}"]
        for label in ("outlier", "normal")
        for end in ("rejected", "accepted")
    ]
    yield "| paper | " + " | ".join(f"{value:,.0f}" for value in printed) + " |"
    for preset, title in (("paper", "naPINN, 30,000 steps"), ("quick", "naPINN, 10,000 steps")):
        found = rows(preset, "confusion")
        if not found.empty:
            counts = confused(found.iloc[0]).to_numpy().reshape(-1)
            yield f"| {title} | " + " | ".join(f"{value:,}" for value in counts) + " |"


def ablation() -> Iterator[str]:
    yield "| | Allen–Cahn: rMSE | ε | false alarms | λ–ω: rMSE | β | false alarms |"
    yield "|---|---|---|---|---|---|---|"
    table = rows("quick", "ablation")
    for label in dict.fromkeys(table["label"]):
        cells = []
        for benchmark in ("allen_cahn", "reaction_diffusion"):
            found = table[(table["label"] == label) & (table["benchmark"] == benchmark)]
            alarms = 100 * found["good_flagged"].sum() / found["good_readings"].sum()
            name = COEFFICIENTS[benchmark][1]
            cells += [f"{found['rmse'].mean():.4f}", f"{unknown(found, name):.5g}", f"{alarms:.2f} %"]
        yield f"| {label} | " + " | ".join(cells) + " |"


def heat_offset() -> Iterator[str]:
    yield "| noise | | median misfit of good readings | diffusivity off by | rMSE at the unseen place |"
    yield "|---|---|---|---|---|"
    noises = {"gaussian": "Gaussian", "skewed": "skewed, median zero"}
    methods = {"law_pinn": "default", "lad_like_default": "absolute misfits"}
    for row in json.loads((RESULTS / "heat_offset.json").read_text())["rows"]:
        misfit = f"{row['median_misfit_of_good_in_noise_scales']:.2f}".replace("-", "−")
        off, unseen = f"{row['D_error_percent']:.1f} %", f"{row['unseen_rmse']:.3f} K"
        yield f"| {noises[row['noise']]} | {methods[row['method']]} | {misfit} deviations | {off} | {unseen} |"


def methods() -> Iterator[str]:
    """Every method on Allen–Cahn at 15 % outliers, and naPINN with other estimators."""
    yield "| method | rMSE | rMAE | ε (truth 0.3) | outliers found | false alarms |"
    yield "|---|---|---|---|---|---|"
    place = {"benchmark": "allen_cahn", "ratio": 0.15}
    others = rows("quick", "estimators", **place)
    others = others[others["label"] != "ebm"].assign(label=lambda found: "na_pinn, " + found["label"])
    table = rows("quick", "main", **place)
    own = table["label"].isin(ENGINES)
    table = pd.concat([table[~own], others, table[own]])
    for label, found in table.groupby("label", sort=False):
        counts = found[["outliers_flagged", "outliers", "good_flagged", "good_readings"]].mean().round().astype(int)
        cells = [spread(found["rmse"]), spread(found["rmae"]), f"{unknown(found, 'eps'):.4f}"]
        cells += [f"{counts.iloc[0]} of {counts.iloc[1]}", f"{counts.iloc[2]} of {counts.iloc[3]}"]
        yield f"| `{label}` | " + " | ".join(cells) + " |"


def backbones() -> Iterator[str]:
    uses = {
        "mlp": "smooth fields",
        "fls": "oscillating fields",
        "qres": "strongly nonlinear responses with a small network",
        "piratenet": "multi-scale fields, deep networks",
        "kan": "few inputs, local structure",
        "bayesian": "only with `b_pinn`",
    }
    steps = json.loads((RESULTS / "backbone_cost.json").read_text())["steps"]
    yield "| backbone | when | cost of a step over `mlp` | naPINN's rMSE on Allen–Cahn | with 30,000 steps |"
    yield "|---|---|---|---|---|"
    for name, use in uses.items():
        errors = (number(preset, "backbones", f"{name}/na_pinn", "allen_cahn", 0.1) for preset in ("quick", "paper"))
        default = " (default)" if name == "mlp" else ""
        yield f"| `{name}`{default} | {use} | {steps[name]['ratio']:.1f} | " + " | ".join(errors) + " |"


def compiler_versions() -> Iterator[str]:
    """How far short fits by other versions of jaxlib are from those by the first."""
    versions = json.loads((RESULTS / "compiler_versions.json").read_text())["versions"]
    first, *others = versions
    yield f"| relative difference of rMSE to {first}; flagged readings more or fewer | " + " | ".join(others) + " |"
    yield "|---" * (len(others) + 1) + "|"
    for name, row in versions[first]["rows"].items():
        cells = []
        for other in others:
            theirs = versions[other]["rows"][name]
            off = abs(theirs["rmse"] / row["rmse"] - 1)
            cells.append(f"{off:.0e}; {abs(theirs['flagged'] - row['flagged'])} of {row['flagged']:,}")
        yield f"| {name} | " + " | ".join(cells) + " |"


FAULTS = ("step", "drifting", "gain", "offset", "stuck", "noisy", "burst")


def sensor_faults() -> Iterator[str]:
    """How often each fault was named rightly, and how often healthy sensors were accused."""
    study = json.loads((RESULTS / "sensor_faults.json").read_text(encoding="utf-8"))["rates"]
    alarms = f"false alarms of {study['draws_of_healthy']}"
    heads = (
        "noise law",
        "gross errors",
        "sensors × readings",
        "field error",
        alarms,
        *(f"`{name}`" for name in FAULTS),
    )
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    for case in study["cases"]:
        cells = [
            case["law"], f"{100 * case['gross_errors']:g} %", f"{case['sensors']} × {case['readings']}",
            f"{case['field_error']:g}", str(case["healthy"]["fits_with_a_false_alarm"]),
            *(str(case[name]["named"]) for name in FAULTS),
        ]  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def demo() -> Iterator[str]:
    """Of `napinn demo --json | python -m json.tool > benchmarks/results/demo.json`."""
    yield "| method | rMSE | ε (truth 0.3) | outliers found | false alarms | processor seconds |"
    yield "|---|---|---|---|---|---|"
    for name, row in json.loads((RESULTS / "demo.json").read_text()).items():
        found = f"{row['outliers_flagged']} of {row['outliers']}"
        alarms = f"{row['good_flagged']} of {row['good_readings']}"
        eps, seconds = row["unknowns"]["eps"], row["processor_seconds"]
        yield f"| `{name}` | {row['rmse']:.4f} | {eps:.4f} | {found} | {alarms} | {seconds:.0f} |"


def unseen() -> Iterator[str]:
    """Errors, coverage and status by kind of problem, of problems that shaped no rule."""
    rows = json.loads((RESULTS / "unseen.json").read_text(encoding="utf-8"))["rows"]["splines"]
    fits = [row for seeds in rows.values() for row in seeds.values()]
    heads = ("kind", "fits", "median error", "intervals that hold the truth", "of trusted fits", "trusted")
    yield "| " + " | ".join((*heads, "trusted and wrong")) + " |"
    yield "|---" * (len(heads) + 1) + "|"
    for kind in [*dict.fromkeys(row["kind"] for row in fits), "all"]:
        mine = [row for row in fits if kind in (row["kind"], "all")]
        trusted = [row for row in mine if row["trusted"]]
        off = pd.Series([abs(one["off_percent"]) for row in mine for one in row["unknowns"].values()])
        wrong = sum(any(one["plainly_wrong"] for one in row["unknowns"].values()) for row in trusted)
        cells = [
            kind, str(len(mine)), f"{off.median():.1f} %", _held(mine), _held(trusted), str(len(trusted)), str(wrong),
        ]  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def _held(fits: list[dict[str, Any]]) -> str:
    held = [one["held"] for row in fits for one in row["unknowns"].values()]
    return f"{sum(held)} of {len(held)}" + (f" ({100 * sum(held) / len(held):.0f} %)" if held else "")


def coverage() -> Iterator[str]:
    """How many intervals hold the truth, by kind of problem, in the cases that shaped a rule and in fresh ones."""
    content = json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))
    rows = [(int(case) >= 12, row) for cases in content["rows"].values() for case, row in cases.items()]
    yield "| kind | cases 0 to 11 | cases from 12 on | of these trusted | all cases, by noise alone |"
    yield "|---|---|---|---|---|"
    for kind in [*dict.fromkeys(row["kind"] for _, row in rows), "all"]:
        mine = [(new, row) for new, row in rows if kind in (row["kind"], "all")]
        seen, fresh = [row for new, row in mine if not new], [row for new, row in mine if new]
        trusted, narrow = [row for row in fresh if row["trusted"]], [_by_noise_alone(row) for _, row in mine]
        yield f"| {kind} | {_held(seen)} | {_held(fresh)} | {_held(trusted)} | {_held(narrow)} |"


def _by_noise_alone(row: dict[str, Any]) -> dict[str, Any]:
    """The row with intervals of 1.96 standard errors: without drift and without what residuals may move."""
    unknowns = {
        name: {**one, "held": abs(one["found"] - one["truth"]) <= 1.96 * one["error"]}
        for name, one in row["unknowns"].items()
    }
    return {**row, "unknowns": unknowns}


def faults_of_fits() -> Iterator[str]:
    """How often each of five faults was named rightly, with the field nearly known and with fitted fields."""
    study = json.loads((RESULTS / "sensor_faults.json").read_text(encoding="utf-8"))
    parts = {"nearly true field": "field nearly known", "splines": "fitted with splines"}
    named = list(study["splines"]["seeds_named_rightly"])
    yield "| | " + " | ".join(f"`{name}`" for name in named) + " | no healthy one accused | good readings kept |"
    yield "|---" * (len(named) + 3) + "|"
    for part, title in parts.items():
        found = study[part]
        cells = [f"{found['seeds_named_rightly'][name]} of {found['seeds']}" for name in named]
        cells += [f"{found['seeds_without_accusation']} of {found['seeds']}", f"{100 * found['good_kept']:.1f} %"]
        yield f"| {title} | " + " | ".join(cells) + " |"


def pulse() -> Iterator[str]:
    """A pulse that few readings see."""
    content = json.loads((RESULTS / "pulse.json").read_text(encoding="utf-8"))["rows"]["splines"]
    yield "| case | seed | velocities off by | dispersion off by | pulse flagged | processor s | status |"
    yield "|---|---|---|---|---|---|---|"
    for name, rows in content.items():
        for seed, row in rows.items():
            off = row["off_percent"]
            moved = ", ".join(f"{off[key]:+.1f} %" for key in ("v", "vx", "vy") if key in off)
            cells = [name, seed, moved, f"{off['D']:+.1f} %", f"{row['pulse_flagged_percent']:.1f} %"]
            cells += [f"{row['seconds']:.0f}", "trusted" if row["trusted"] else "doubted"]
            yield "| " + " | ".join(cells) + " |"


DISCOVERED = {
    "van_der_pol": "Van der Pol",
    "lorenz": "Lorenz",
    "lotka_volterra": "Lotka–Volterra",
    "fitzhugh_nagumo": "FitzHugh–Nagumo",
    "pure_noise": "pure noise",
    "kdv": "KdV",
    "kuramoto_sivashinsky": "Kuramoto–Sivashinsky",
    "porous_medium": "porous medium",
    "lambda_omega": "λ–ω",
    "duffing": "Duffing",
    "epidemic": "epidemic (SIR)",
    "brusselator": "Brusselator",
    "roessler": "Rössler",
    "linear_oscillator": "linear oscillator",
    "burgers": "Burgers",
    "heat": "heat",
    "fisher_kpp": "Fisher–KPP",
    "allen_cahn": "Allen–Cahn",
    "wave": "wave (u_tt)",
}


def discovered(layout: str, method: str = "napinn") -> pd.DataFrame:
    table = pd.read_csv(RESULTS / "discovery.csv")
    return table[(table["layout"] == layout) & (table["method"] == method)]


def discovery_series() -> Iterator[str]:
    yield from _discovery_seeds("series")


def discovery_unseen() -> Iterator[str]:
    yield from _discovery_seeds("unseen")


def _discovery_seeds(layout: str) -> Iterator[str]:
    yield "| equation | right | seeds | largest error | s |"
    yield "|---|--:|--:|--:|--:|"
    found = discovered(layout)
    for name, title in DISCOVERED.items():
        part = found[found["equation"] == name]
        if not len(part):
            continue
        errors = part[part["right"]]["error"].dropna()
        worst = f"{100 * errors.max():.1f} %" if len(errors) else "–"
        yield f"| {title} | {int(part['right'].sum())} | {len(part)} | {worst} | {part['seconds'].mean():.1f} |"


def _discovery_rows(found: pd.DataFrame) -> Iterator[str]:
    noises, outliers = (0.01, 0.1, 0.2, 0.5), (0.0, 0.05, 0.15)
    yield "| equation | outliers | " + " | ".join(f"{100 * noise:g} % noise" for noise in noises) + " | s |"
    yield "|---|--:|" + "--:|" * (len(noises) + 1)
    for name, title in DISCOVERED.items():
        for share in outliers:
            part = found[(found["equation"] == name) & (found["outliers"] == share)]
            if not len(part):
                continue
            cells = [_discovery_cell(part[part["noise"] == noise]) for noise in noises]
            yield f"| {title} | {100 * share:g} % | " + " | ".join(cells) + f" | {part['seconds'].mean():.1f} |"


def _discovery_cell(part: pd.DataFrame) -> str:
    """The error, a root mean square over seeds; or the share of right terms where some are wrong."""
    if not len(part):
        return "–"
    if part["right"].all():
        return f"{100 * (part['error'] ** 2).mean() ** 0.5:.2f} %"
    return f"({part['true_positivity'].mean():.2f})"


def discovery_outliers() -> Iterator[str]:
    """The error with gross errors over that without, over several seeds."""
    yield "| equation | seeds | right | error, no outliers | error, 15 % outliers | ratio |"
    yield "|---|--:|--:|--:|--:|--:|"
    found = discovered("grid")
    for name, title in DISCOVERED.items():
        part = found[(found["equation"] == name) & (found["noise"] == 0.1)]
        pair = [part[part["outliers"] == share] for share in (0.0, 0.15)]
        if min(map(len, pair)) < 2:
            continue
        errors = [float((each["error"] ** 2).mean() ** 0.5) for each in pair]
        right = sum(int(each["right"].sum()) for each in pair)
        cells = " | ".join(f"{100 * error:.2f} %" for error in errors)
        counts = f"{len(pair[0])} | {right} of {sum(map(len, pair))}"
        yield f"| {title} | {counts} | {cells} | {errors[1] / errors[0]:.2f} |"


def discovery_grid() -> Iterator[str]:
    yield from _discovery_rows(discovered("grid"))


def discovery_sensors() -> Iterator[str]:
    yield from _discovery_rows(discovered("225 sensors"))


def discovery_peer() -> Iterator[str]:
    noises = (0.01, 0.1, 0.2, 0.5)
    yield "| equation | outliers | method | " + " | ".join(f"{100 * noise:g} % noise" for noise in noises) + " |"
    yield "|---|--:|---|" + "--:|" * len(noises)
    for (name, title), share in itertools.product(DISCOVERED.items(), (0.0, 0.05, 0.15)):
        for method in ("pysindy", "pysindy_trimmed"):
            found = discovered("grid", method)
            part = found[(found["equation"] == name) & (found["outliers"] == share)]
            if len(part):
                cells = [_discovery_cell(part[part["noise"] == noise]) for noise in noises]
                yield f"| {title} | {100 * share:g} % | {method} | " + " | ".join(cells) + " |"


def experiments() -> Iterator[str]:
    """Several experiments and observables beside what was demanded of them; draws of one case share a row."""
    cases = json.loads((RESULTS / "experiments.json").read_text(encoding="utf-8"))["cases"]
    yield "| case | readings | unknown | off by | demanded | 95 % interval holds the truth | processor s |"
    yield "|---|---|---|---|---|---|---|"
    grouped: dict[str, list[Any]] = {}
    for case, row in cases.items():
        grouped.setdefault(case.partition(", draw")[0], []).append(row)
    for case, draws in grouped.items():
        for name, most in draws[0]["demand"].items():
            found = [row["unknowns"][name] for row in draws]
            errors = ", ".join(f"{each['off_percent']:+.1f} %" for each in found)
            held = [each["held"] for each in found]
            said = f"{sum(held)} of {len(held)}" if len(held) > 1 else "yes" if held[0] else "no"
            seconds = sum(row["seconds"] for row in draws) / len(draws)
            yield f"| {case} | {draws[0]['readings']} | {name} | {errors} | {most:g} % | {said} | {seconds:.0f} |"


def experiments_together() -> Iterator[str]:
    """What is demanded of several fits of `experiments` together."""
    found = json.loads((RESULTS / "experiments.json").read_text(encoding="utf-8"))["summary"]
    ratios = ", ".join(f"{each:.2f}" for each in found["rods: interval of both over the narrower alone, by draw"])
    yield "| what | found | demanded |"
    yield "|---|---|---|"
    yield f"| width of the interval from both rods over that of the narrower one alone, by draw | {ratios} | below 1 |"
    error = found["noise groups: error over that with known sigmas"]
    groups = "two noise groups whose deviations differ tenfold: root mean square error over twelve draws"
    yield f"| {groups}, over that of a fit that knows every sigma | {error:.2f} | 1.2 |"


def splines_allen_cahn() -> Iterator[str]:
    """The default on the paper's Allen–Cahn benchmark."""
    yield "| draw | processor s | peak memory, GB | rMSE | ε (0.3) | outliers flagged | good readings flagged |"
    yield "|---|---|---|---|---|---|---|"
    for seed, row in json.loads((RESULTS / "allen_cahn.json").read_text(encoding="utf-8"))["rows"].items():
        cells = [seed, row["processor_seconds"], row["peak_gb"], row["rmse"], row["eps"], row["outliers_flagged"]]
        yield "| " + " | ".join(map(str, cells)) + f" | {row['good_flagged_percent']} % |"


def handover() -> Iterator[str]:
    """Networks of few steps from their own start and from that of splines."""
    heads = ("benchmark", "splines, processor s", "rMSE, own start", "from splines", "coefficient")
    yield "| " + " | ".join((*heads, "own start", "from splines")) + " |"
    yield "|---|---|---|---|---|---|---|"
    for name, seeds in json.loads((RESULTS / "handover.json").read_text(encoding="utf-8"))["rows"].items():
        sign, key, true = COEFFICIENTS[name]
        for row in seeds.values():
            own, taught = row["own"], row["splines"]
            cells = [TITLES[name], row["splines_seconds"], own["rmse"], taught["rmse"], f"{sign} = {true:g}"]
            cells += [own["unknowns"][key], taught["unknowns"][key]]
            yield "| " + " | ".join(map(str, cells)) + " |"


def rods_bound() -> Iterator[str]:
    """The least error of the diffusivity of the two rods beside that of the fits."""
    found = json.loads((RESULTS / "rods_bound.json").read_text(encoding="utf-8"))
    yield "| rods | least standard error | with known modes | of the fits | demanded | draws within it at best |"
    yield "|---|---|---|---|---|---|"
    for name, row in found["rods"].items():
        errors = ("least_error_percent", "least_error_percent_modes_known", "error_of_the_fit_percent")
        cells = [*(f"{row[key]:.1f} %" for key in errors), f"{row['demanded_percent']:g} %"]
        yield f"| {name} | " + " | ".join(cells) + f" | {100 * row['share_within_demand']:.0f} % |"


def discrepancy() -> Iterator[str]:
    """How often right and wrong equations are called wrong, by kind of problem."""
    kinds = json.loads((RESULTS / "discrepancy.json").read_text(encoding="utf-8"))["summary"]
    yield "| kind | shaped the rule | wrong equation called wrong | doubted before | right one called wrong |"
    yield "|---|---|---|---|---|"
    for kind in kinds.values():
        asked = (("wrong", "called_wrong"), ("wrong", "doubted_before"), ("right", "called_wrong"))
        counts = [f"{kind[each][what]} of {kind[each]['seeds']}" if each in kind else "–" for each, what in asked]
        yield f"| {kind['told']} | {'yes' if kind['shaped_the_rule'] else 'no'} | " + " | ".join(counts) + " |"


def unknowns() -> Iterator[str]:
    found = json.loads((RESULTS / "unknowns.json").read_text(encoding="utf-8"))
    rods, switches, profiles, priors = (
        found[part] for part in ("varying_rod", "switched_source", "profile_intervals", "priors")
    )
    yield "| case | found | demanded |"
    yield "|---|---|---|"
    worst, least = max(each["error"] for each in rods), min(each["inside_band"] for each in rods)
    held = f"{100 * least:.0f} % of places or more inside the band"
    said = f"relative error {100 * worst:.1f} % or less, {held} ({len(rods)} seeds)"
    yield f"| conductivity with a factor of four, 20 sensors, 10 % gross errors | {said} | 10 %, 90 % |"
    maps = found["varying_source"]
    off = ", ".join(f"{100 * each['error']:.1f} %" for each in maps)
    inside = ", ".join(f"{100 * each['inside_band']:.0f} %" for each in maps)
    said = f"relative error {off}; {inside} of places inside the band (two seeds)"
    yield f"| source of place and time, 15 sensors, 10 % gross errors | {said} | –, 90 % |"
    away = max(each["share_of_record"] for each in switches)
    within = f"within {100 * away:.1f} % of the record ({len(switches)} seeds)"
    yield f"| time of a source that is switched on | {within} | 2 % |"
    cases = ", ".join(f"{name}: {each['held']} of {each['of']}" for name, each in profiles.items())
    yield f"| 95 % profile intervals that hold the truth | {cases} | 46 to 50 of 50 |"
    none, much = priors["no_information"], priors["much_information"]
    yield (
        f"| prior normal(0.3, 0.05), readings that say nothing | {none['found']:.3f} ({none['low']:.3f} … "
        f"{none['high']:.3f}) | 0.300 (0.202 … 0.398) |"
    )
    yield f"| prior beside many readings | moves by {much['moved_share_of_interval']:.3f} of the interval | below 0.1 |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    make.__name__: make
    for make in (
        demo,
        summary,
        main_at_three_ratios,
        full_budget,
        instants,
        options,
        training_cost,
        rejection_cost,
        confusion,
        ablation,
        heat_offset,
        methods,
        backbones,
        compiler_versions,
        sensor_faults,
        unseen,
        coverage,
        faults_of_fits,
        experiments,
        experiments_together,
        pulse,
        discovery_series,
        discovery_unseen,
        discovery_grid,
        discovery_outliers,
        discovery_sensors,
        discovery_peer,
        splines_allen_cahn,
        handover,
        unknowns,
        discrepancy,
        rods_bound,
    )
}


def filled(text: str) -> str:
    """A page with all of its tables made from the files."""

    def fill(mark: re.Match[str]) -> str:
        return mark[1] + "\n".join(TABLES[mark[2]]()) + "\n" + mark[4]

    return MARKED.sub(fill, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
