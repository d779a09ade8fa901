"""Put what was measured into `docs/performance.md`: the tables between its two marks, from `benchmarks/results/*.json`.

python docs/make_performance.py"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("performance.md")
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->\n"
TITLES = {"allen_cahn": "Allen–Cahn", "burgers": "Burgers"}
Json = dict[str, Any]


def peers(found: Json) -> Iterator[str]:
    yield "### Beside its peers"
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
    yield "### Steps of the methods, over a plain step timed beside them"
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
    yield "### Time to accuracy"
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
    yield f"### {found['rows']:,} readings from Parquet"
    yield ""
    for name in ("check", "fit", "report"):
        yield f"- `napinn {name}`: {found[name]['seconds']:.0f} s, at most {found[name]['gigabytes']} GB"
    yield ""
    yield _made(found)


PARTS: dict[str, Callable[[Json], Iterator[str]]] = {
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
    return "\n".join(parts)


if __name__ == "__main__":
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + measured() + END + rest.split(END)[1])
