"""Sentences of the docs that state measured numbers, each made from the result file that it is about.

A test looks for every sentence on its page, so that a page cannot keep a number that its file no longer has. Run as a
script, this prints the sentences that a page lacks:

python docs/stated_numbers.py"""

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

DOCS = Path(__file__).parent
BENCHMARKS = DOCS.parent / "benchmarks"
RESULTS = BENCHMARKS / "results"
NUMERALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def content(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def study(preset: str, name: str) -> pd.DataFrame:
    return pd.read_csv(RESULTS / preset / f"{name}.csv")


def script(path: Path) -> ModuleType:
    """A script of this repository as a module; scripts import others of their folder."""
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def unseen() -> Iterator[str]:
    fits = [row for seeds in content("unseen")["rows"]["splines"].values() for row in seeds.values()]
    missed = sum(not one["held"] for row in fits if row["trusted"] for one in row["unknowns"].values())
    yield f"{NUMERALS[missed].capitalize()} trusted intervals miss the truth"


def coverage() -> Iterator[str]:
    spread = {
        row["problems"].removeprefix("1D, noise: "): row["rms of error over standard error"]
        for row in content("coverage")["table"]
        if row["problems"].startswith("1D, noise: ")
    }
    others = [each for law, each in spread.items() if law != "gaussian"]
    yield f"{spread['gaussian']:.1f} with Gaussian noise and {min(others):.1f} to {max(others):.1f} with other laws"


def ode_suite() -> Iterator[str]:
    suite = script(BENCHMARKS / "ode_suite.py")
    rows = suite.table(suite.RESULT)
    rows["off"] = suite.relative(rows)
    rows["right"] = [bool((off <= suite.RIGHT).all()) for off in rows["off"]]
    mine = rows[rows["method"] == "splines"]
    both = mine.merge(rows[rows["method"] == "cauchy"], on=suite.KEYS[:-1], suffixes=("", "_rival"))
    right = f"splines are right in {both['right'].sum()} and the forward solver with Cauchy's loss in"
    yield f"Of {len(both)} fits that both have, {right} {both['right_rival'].sum()}."
    held, asked, wrong = suite._intervals(mine)
    yield f"Intervals of trusted fits hold the truth in {100 * held / asked:.1f} % ({held} of {asked}), and"
    yield f"{NUMERALS[wrong]} trusted fit is plainly wrong"
    errors = suite.accuracy(rows, "splines").set_index("system")
    bound = errors["/ bound"]
    yield f"Splines are at {bound.min():.1f} to {bound.max():.1f} of this bound on every system."
    assert bound.idxmax() == "lotka_volterra"
    from_truth = bound["lotka_volterra"] / errors["/ rival"]["lotka_volterra"]
    yield f"Lotka–Volterra is at {bound.max():.2f}, and the forward solver from the truth at {from_truth:.1f}."
    gross = errors["15 % / 0 %"].sort_values()
    assert gross.index[-1] == "goodwin"
    within = NUMERALS[int((gross <= suite.NEAR_CLEAN).sum())]
    yield f"{within} of the nine systems keep within 1.5 times their errors without; Goodwin's is at"
    yield f"Goodwin's is at {gross.iloc[-1]:.2f}."


def handover() -> Iterator[str]:
    seconds = [row["splines_seconds"] for name in ("burgers", "reaction_diffusion")
               for row in content("handover")["rows"][name].values()]  # fmt: skip
    yield "machine it is " + " and ".join(f"{each:.0f}" for each in seconds) + " s"


def large_splines() -> Iterator[str]:
    found = content("large_splines")["rows"]["reaction_diffusion 0"]
    stages = found["stages"]
    last = list(stages.values())[-1]
    yield (
        f"fits λ–ω ({found['readings']:,} readings, 15 % outliers, seed 0) to an rMSE of {last['rmse']} and "
        f"β = {last['unknowns']['beta']} in {last['processor_seconds']:.0f} s of processor time and "
        f"{found['peak_gb']:.1f} GB on a machine with much other work, in {found['steps']} steps with "
        f"{found['iterations']:,} iterations and {found['factorisations']} factorisations"
    )
    before, learned, fine = (stages[name] for name in ("tolerance 0.1", "noise law", "bisected again"))
    coarse_cells, fine_cells = (" × ".join(map(str, each["cells"])) for each in (learned, fine))
    yield (
        f"The rMSE is {before['rmse']} before the noise law is learned, {learned['rmse']} with it on {coarse_cells} "
        f"cells and {fine['rmse']} on {fine_cells}"
    )


def allen_cahn() -> Iterator[str]:
    rows = content("allen_cahn")["rows"]
    late = [draw for draw, row in rows.items() if row["processor_seconds"] > 30.0]
    wrong = [draw for draw, row in rows.items() if row["rmse"] > 0.010]
    missed = f"draws {' and '.join(wrong)} miss the rMSE."
    yield f"{NUMERALS[len(late)].capitalize()} of the four draws miss the time, and {missed}"
    yield f"about its mean the field is right to about {max(row['rmse_about_mean'] for row in rows.values()):.3f}"


def clean_readings() -> Iterator[str]:
    table = study("quick", "default")
    own, plain = (
        [f"{table[(table['label'] == label) & (table['benchmark'] == name)]['rmse'].mean():.3f}"
         for name in ("burgers", "reaction_diffusion")]
        for label in ("default@clean", "pinn+SOAP@clean")
    )  # fmt: skip
    yield f"the rMSE is {own[0]} and {own[1]}; a plain PINN with the same optimiser reaches {plain[0]} and {plain[1]}"


def optimiser() -> Iterator[str]:
    ratios = {
        name: sorted(100 * (batch["pinn_soap"]["ratio"] - 1) for batch in batches.values())
        for name, batches in content("speed")["steps"].items()
    }
    low, high = (f"{each:.0f}" for each in ratios["allen_cahn"])
    assert low == high
    burgers = " to ".join(f"{each:.0f}" for each in ratios["burgers"])
    yield f"It adds {low} % to a plain step on Allen–Cahn and {burgers} % on Burgers"


def van_der_pol() -> Iterator[str]:
    yield f"the network finds μ as {content('gallery')['cases']['van_der_pol']['found']['mu']:.4f} (truth 1)"


def ablation() -> Iterator[str]:
    error = study("quick", "ablation").groupby(["benchmark", "label"])["rmse"].mean()
    plane, spiral = error["allen_cahn"], error["reaction_diffusion"]
    times = [each["gated squares"] / each["default"] for each in (plane, spiral)]
    yield f"The likelihood in place of gated squares divides the error by {times[0]:.1f} and {times[1]:.1f}."
    yield f"Adam has not found the spiral after 10,000 steps ({spiral['Adam']:.3f})"
    default = study("quick", "default")
    seeds = default[(default["label"] == "default") & (default["benchmark"] == "allen_cahn")]["rmse"]
    yield f"Seeds of the default range from {seeds.min():.4f} to {seeds.max():.4f} on Allen–Cahn"
    gmm, kde = (sorted(each[f"law: {law}"] / each["default"] for each in (plane, spiral)) for law in ("GMM", "KDE"))
    yield f"has {gmm[0]:.1f} to {gmm[1]:.1f} times the error of the energy model."
    yield f"A *kernel density* has {kde[0]:.1f} to {kde[1]:.1f} times"


def faulty_sensors() -> Iterator[str]:
    found = content("faulty_sensors")["seeds"]["0"]
    named, kept = found["default"], found["no sensor left out"]
    numbers = [f"{each['diffusivity']:.4f}" for each in (named, kept)]
    yield f"A network of 10,000 steps found {numbers[0]}, and {numbers[1]} where no sensor was left out"
    yield f"It predicted an unseen thermometer to {named['unseen_rmse']:.3f} and {kept['unseen_rmse']:.3f} K"


def bad_fits() -> Iterator[str]:
    found = content("bad_fits")
    assert found["bad_doubted"] == found["bad_doubted_by_the_fit"] == found["bad"]
    assert found["good_doubted"] == found["good_doubted_by_the_fit"]
    sound = f"{NUMERALS[found['good_doubted']]} of the {found['good']} sound ones"
    yield f"`verify` doubts all {found['bad']} bad ones and {sound}, and so does the status of the fits themselves"


def kills() -> Iterator[str]:
    networks, splines = content("kill_and_resume"), content("kill_and_resume_splines")
    assert networks["all_the_same"]
    assert splines["all_the_same"]
    after = [sum(fit["resumed_from_a_checkpoint"] for fit in each["fits"]) for each in (networks, splines)]
    yield f"{after[0]} of the {networks['kills']} kills came after a first checkpoint"
    yield f"with {after[1]} of {splines['kills']} kills after a checkpoint"


def hostile() -> Iterator[str]:
    yield f"runs {content('hostile')['commands']:,} hostile or silly commands"


def seeds_at_once() -> Iterator[str]:
    small, middle = (content("seeds_at_once")["rows"][size] for size in ("small", "middle"))
    times = [f"{row['together_ms']:.2f} ms in place of {row['in_turn_ms']:.2f}" for row in (small, middle)]
    yield f"a step of one seed took {times[0]} with a small network and {times[1]} with a middle one"
    yield (
        f"compiling took {small['together_compile_cpu_s']} s of processor time in place of "
        f"{small['in_turn_compile_cpu_s']}, and {middle['together_compile_cpu_s']} in place of"
    )


def discovery() -> Iterator[str]:
    table = pd.read_csv(RESULTS / "discovery.csv")
    ours = table[table["method"] == "napinn"]
    spikes = ours[(ours["layout"] == "unseen") & (ours["equation"] == "roessler")]
    yield f"Rössler is right in {NUMERALS[int(spikes['right'].sum())]} of {NUMERALS[len(spikes)]} seeds"
    at = ours[(ours["layout"] == "grid") & (ours["equation"] == "porous_medium") & (ours["noise"] == 0.2)]
    errors = [100 * at[at["outliers"] == share]["error"].mean() for share in (0.15, 0.0)]
    yield f"{errors[0]:.2f} against {errors[1]:.2f} %"


SENTENCES: dict[str, tuple[Callable[[], Iterator[str]], ...]] = {
    "accuracy.md": (unseen, coverage, ode_suite),
    "performance.md": (handover, large_splines, allen_cahn),
    "method.md": (clean_readings, optimiser, van_der_pol, ablation),
    "faulty-sensors.md": (faulty_sensors,),
    "trust.md": (bad_fits, hostile, kills),
    "decisions.md": (seeds_at_once,),
    "discovery.md": (discovery,),
}
"""By page, what makes its sentences."""


def lacking(page: str) -> list[str]:
    """The sentences that a page should have and does not; line breaks do not matter."""
    text = _one_line((DOCS / page).read_text(encoding="utf-8"))
    return [sentence for make in SENTENCES[page] for sentence in make() if _one_line(sentence) not in text]


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


if __name__ == "__main__":
    for page in SENTENCES:
        for sentence in lacking(page):
            print(f"{page}: {sentence}")  # noqa: T201
