"""Put what was measured into `docs/measurements.md`: the tables between its two marks, from `benchmarks/results`, and
the chart of both engines.

python docs/make_performance.py"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

PAGE = Path(__file__).with_name("measurements.md")
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
SPLINES_BY_DEFAULT = ("heat_rod_units", "rod_of_two_metals")
"""Cases of the gallery that were added when splines were the default already."""
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->\n"
TITLES = {"allen_cahn": "Allen–Cahn", "burgers": "Burgers"}
Json = dict[str, Any]


def peers(found: Json) -> Iterator[str]:
    yield "## Beside its peers"
    yield ""
    yield "![milliseconds a step of each](images/speed.png)"
    yield ""
    names = list(found["peers"])
    yield (
        "| a plain step of | " + " | ".join(f"{TITLES[name]}, ms | times napinn's (quartiles)" for name in names) + " |"
    )
    yield "|---|" + "---:|---:|" * len(names)
    for peer in found["peers"][names[0]]["steps"]:
        cells = []
        for name in names:
            step = found["peers"][name]["steps"].get(peer)
            low, high = step["ratio_quartiles"] if step else (0.0, 0.0)
            cells += [f"{step['ms']:.1f}", f"{step['ratio']:.2f} ({low:.2f}–{high:.2f})"] if step else ["–", "–"]
        yield f"| {found['peers'][names[0]]['steps'][peer]['title']} | " + " | ".join(cells) + " |"
    yield ""
    busy = ", ".join(f"{found['peers'][name]['other_processes_cores']}" for name in names)
    rates = {name: found["peers"][name]["products_gflops"] for name in names}
    ours = " and ".join(f"{rates[name]['napinn']} ({TITLES[name]})" for name in names)
    theirs = " and ".join(f"{rates[name]['torch_eager']}" for name in names)
    yield f"Matrix products alone, best of five, in Gflop/s: {ours} by XLA, on which napinn rests,"
    yield f"{theirs} by PyTorch, which brings Intel's library."
    yield f"Cores kept busy by other processes meanwhile: {busy}. {_made(found)}"


def speed(found: Json) -> Iterator[str]:
    yield "## Steps of the methods, over a plain step timed beside them"
    yield ""
    batches = list(found["steps"]["allen_cahn"])
    columns = [(name, batch) for name in found["steps"] for batch in batches]
    yield "| | " + " | ".join(f"{TITLES[name]}, {batch}" for name, batch in columns) + " |"
    yield "|---|" + "---:|" * len(columns)
    for method in found["steps"]["allen_cahn"][batches[0]]:
        steps = [found["steps"][name][batch][method] for name, batch in columns]
        yield f"| `{method}` | " + " | ".join(f"{step['ratio']:.3f} ({step['ms']:.1f} ms)" for step in steps) + " |"
    yield ""
    for name, limit in found["limit"].items():
        yield (
            f"- A step of {TITLES[name]} reaches **{100 * limit['share']:.0f} %** of the median rate of its matrix "
            f"products alone, timed in turn with it ({limit['machine_gflops']:.0f} Gflop/s)."
        )
    growth, start = found["growth"], found["start_up"]
    yield f"- Twice the readings: a step takes {growth['twice_the_readings']['ratio']:.3f} times as long."
    yield f"- Twice the collocation points: {growth['twice_the_points']['ratio']:.2f} times."
    yield f"- The field at {found['field']['points']:,} points: {found['field']['seconds']:.2f} s."
    yield (
        f"- `napinn --help`: {start['help']} s. Between the call of `fit` and its first steps: "
        f"{start['first_fit']['call_to_training']} s, and {start['second_fit']['call_to_training']} s for a second "
        f"process with a fit of the same shape ({start['second_fit']['process_to_training']} s with its start and "
        "imports)."
    )
    yield f"- Peak memory of `napinn demo --full`: {found['demo_memory']['gigabytes']} GB."
    yield ""
    yield _made(found)


def accuracy(found: Json) -> Iterator[str]:
    yield "## Time to accuracy"
    yield ""
    yield f"Until rMSE {found['accuracy']} on Allen–Cahn with 15 % outliers, on the same readings:"
    yield ""
    sides = {
        "napinn": "napinn's default, compiling",
        "napinn_again": "the same in a new process, compiled before",
        "recipe_torch": "the paper's recipe in PyTorch",
    }
    for name, title in sides.items():
        side = found[name]
        reached = "" if side["reached"] else f", and had come to {side['rmse']:.3f} only"
        yield f"- {title}: {side['seconds']:.0f} s, {side['step']:,} steps{reached}"
    yield ""
    least = "" if found["recipe_torch"]["reached"] else "at least "
    ratios = f"**{found['ratio']}**, and **{found['ratio_again']}** when compiled before"
    yield f"A factor of {least}{ratios}. {_made(found)}"


def large(found: Json) -> Iterator[str]:
    yield f"## {found['rows']:,} readings from Parquet"
    yield ""
    for name in ("check", "fit", "report"):
        yield f"- `napinn {name}`: {found[name]['seconds']:.0f} s, at most {found[name]['gigabytes']} GB"
    yield ""
    yield _made(found)


def network_seconds(found: Json) -> dict[str, float]:
    """Wall time of the cases that a network was timed on, when it was the default."""
    return {name: row["seconds"] for name, row in found["cases"].items() if name not in SPLINES_BY_DEFAULT}


def gallery(found: Json) -> Iterator[str]:
    """Both engines on the cases of the gallery."""
    yield "## Seconds a case"
    yield ""
    yield "![seconds of each case with splines, with a network, and with a forward solver](images/engines.png)"
    yield ""
    yield "From the command to the report; draws are of the noise, where readings are drawn. The network's seconds are"
    yield "wall time, measured when it was the default, with phases for few readings that it no longer has."
    yield ""
    yield "| case | readings | splines, processor s | draws within the limits | draws trusted | network, s |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, rows in found["engines"]["splines"].items():
        within = sum(row["holds"]["numbers"] for row in rows.values())
        trusted = sum(row["status"] == "CONVERGED" for row in rows.values())
        first, network = rows["0"], network_seconds(found).get(name)
        yield (
            f"| {name.replace('_', ' ')} | {first['readings']:,} | {first['processor_seconds']:.1f} | "
            f"{within} of {len(rows)} | {trusted} of {len(rows)} | {'–' if network is None else f'{network:.0f}'} |"
        )
    yield ""
    yield f"(`python benchmarks/gallery.py --method splines --seeds 5`, {found['date']}, {found['machine']}.)"


def ode_seconds() -> pd.DataFrame:
    """Median seconds of a fit by system and method of the ODE suite."""
    rows = pd.read_csv(RESULTS / "ode_suite.csv")
    rows = rows[rows["method"].isin(["splines", "cauchy"])]
    return rows.pivot_table(index="system", columns="method", values="seconds", aggfunc="median", sort=False)


def odes() -> Iterator[str]:
    """Splines beside a forward solver, which knows how to solve the equations and is given the same starts."""
    yield "## Beside a forward solver"
    yield ""
    yield "Median processor seconds of a fit in the ODE suite, all noise levels and shares of gross errors; the rival"
    yield "is `scipy.optimize.least_squares` with Cauchy's loss on LSODA, from the same starts (– : not run)."
    yield ""
    yield "| system | splines | forward solver |"
    yield "|---|---:|---:|"
    for system, row in ode_seconds().iterrows():
        cells = ["–" if pd.isna(row[method]) else f"{row[method]:.2f}" for method in ("splines", "cauchy")]
        yield f"| {str(system).replace('_', ' ')} | {cells[0]} | {cells[1]} |"
    yield ""
    file = "[its file](../benchmarks/results/ode_suite.csv)"
    yield f"(`python benchmarks/ode_suite.py`; each row of {file} names its commit.)"


def draw_engines() -> None:
    """The chart of seconds, from the same files."""
    found = json.loads((RESULTS / "gallery.json").read_text())
    splines = {name: rows["0"]["processor_seconds"] for name, rows in found["engines"]["splines"].items()}
    network = {name: seconds for name, seconds in network_seconds(found).items() if name in splines}
    names, odes_of = list(splines), ode_seconds()
    plt.switch_backend("Agg")
    figure, axes = plt.subplots(figsize=(8.0, 6.5), layout="constrained")
    place = {name: number for number, name in enumerate([*names, *odes_of.index])}
    axes.scatter(list(splines.values()), [place[name] for name in names], label="splines", color="#1f77b4", zorder=3)
    axes.scatter(odes_of["splines"], [place[name] for name in odes_of.index], color="#1f77b4", zorder=3)
    axes.scatter(
        list(network.values()), [place[name] for name in network], label="network", color="#ff7f0e", marker="s"
    )
    axes.scatter(
        odes_of["cauchy"], [place[name] for name in odes_of.index], label="forward solver", color="#2ca02c", marker="D"
    )
    axes.set_yticks(list(place.values()), [name.replace("_", " ") for name in place])
    axes.axhline(len(names) - 0.5, color="grey", linewidth=0.8)
    axes.set(xscale="log", xlabel="seconds (above the line: from the command to the report; below: the fit alone)")
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.legend()
    figure.savefig(PAGE.parent / "images" / "engines.png", dpi=120)
    plt.close(figure)


PARTS: dict[str, Callable[[Json], Iterator[str]]] = {
    "gallery": gallery,
    "peers": peers,
    "time_to_accuracy": accuracy,
    "speed": speed,
    "large": large,
}


def _made(found: Json) -> str:
    return f"(`{found['made_by']}`, commit {found['commit']}, {found['date']}, {found['machine']}.)"


def measured() -> str:
    """What there are results of, in Markdown."""
    parts = []
    for name, write in PARTS.items():
        path = RESULTS / f"{name}.json"
        if path.exists():
            parts += [*write(json.loads(path.read_text())), ""]
            parts += [*odes(), ""] if name == "gallery" else []
    return "\n".join(parts)


if __name__ == "__main__":
    draw_engines()
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + measured() + END + rest.split(END)[1])
