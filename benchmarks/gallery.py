"""What `napinn fit` finds in every case of the gallery, with its defaults or with a method of your choice.

    python benchmarks/gallery.py                             # all cases that are not in the result file yet
    python benchmarks/gallery.py kdv van_der_pol             # these, again
    python benchmarks/gallery.py --method splines --seeds 5  # this method, five draws of the noise, those not there yet

Without a method each case is run as its README says: the maker, then the command, and its picture is drawn from the run
(`cases` in the result file). With one, the command runs in a folder of its own, once for each draw of the noise where
readings are drawn, and the row holds the processor time from the command to the report beside the demands on that
method (`engines`). The measured readings of two cases are not part of napinn: `--scratch-assay CellDensity_16.csv` and
`--pumping-test FOLDER` say where they are, and without them a simulated twin takes their place (`simulated` in the row
says so). Writes `benchmarks/results/gallery.json`."""

import argparse
import importlib.util
import inspect
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from napinn.problem.experiment import plain
from napinn.runs.folder import load
from napinn.studies.paper.provenance import provenance

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "gallery.json"
SEED = 0
TWINS = ("scratch_assay", "pumping_test")
"""Cases whose measured readings are not part of napinn."""


@dataclass(frozen=True)
class Case:
    """A fit, and between which numbers each unknown should end."""

    folder: str
    wanted: dict[str, tuple[float, float]]
    gross: bool = False
    picture: str = "field"
    demanded: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Closer limits, for a method that is named."""
    seconds: float = 10.0
    """Processor time that a named method may take, from the command to the report."""


def around(truth: float, share: float) -> tuple[float, float]:
    return truth * (1.0 - share), truth * (1.0 + share)


# b is published as 1.66 to 1.76, in two decimals.
INFLUENZA = {"b": (1.655, 1.765), "g": around(0.455, 0.05)}
LYNX = {"a": around(0.54, 0.15), "b": around(0.027, 0.15), "g": around(0.80, 0.15), "c": around(0.024, 0.15)}
CASES = {
    "influenza": Case("influenza", INFLUENZA),
    "influenza_gross": Case("influenza", INFLUENZA, gross=True),
    "lynx_hare": Case("lynx_hare", LYNX),
    "lynx_hare_gross": Case("lynx_hare", LYNX, gross=True),
    # Robust least squares on the exact solutions.
    "theophylline": Case("theophylline", {"ke": around(0.081, 0.05)}),
    "theophylline_gross": Case("theophylline", {"ke": around(0.081, 0.05)}, gross=True),
    "van_der_pol": Case("van_der_pol", {"mu": around(1.0, 0.01)}, demanded={"mu": around(1.0, 0.005)}, seconds=20.0),
    "burgers_shock": Case(
        "burgers_shock",
        {"l1": around(1.0, 0.02), "l2": around(0.01 / np.pi, 0.1)},
        demanded={"l1": around(1.0, 0.01), "l2": around(0.01 / np.pi, 0.08)},
        seconds=20.0,
    ),
    "kdv": Case(
        "kdv",
        {"a": around(6.0, 0.05), "b": around(1.0, 0.05)},
        demanded={"a": around(6.0, 0.02), "b": around(1.0, 0.02)},
        seconds=30.0,
    ),
    "scratch_assay": Case("scratch_assay", {"D": (310.0 * 0.85, 979.0 * 1.15), "r": (0.044 * 0.85, 0.065 * 1.15)}),
    "hidden_grazers": Case("hidden_grazers", {}),
    "heat_rod": Case("heat_rod", {"D": around(0.05, 0.05), "h": around(0.8, 0.05)}),
    "heat_rod_faults": Case("heat_rod_faults", {"D": around(0.1, 0.03)}),
    "heat_rod_units": Case("heat_rod_units", {"D": around(0.05e6 / 3600, 0.05), "h": around(0.8, 0.05)}),
    "rod_of_two_metals": Case("rod_of_two_metals", {}, picture="unknowns"),
    "pumping_test": Case("pumping_test", {"T": (390.0, 463.0), "sigma": around(1.7, 0.1)}),
}


def maker(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_readings", folder / "make_readings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, case: Case, steps: int | None, measured: Path | None) -> dict[str, Any]:
    folder = ROOT / "examples" / case.folder
    told = ["--gross"] if case.gross else [] if measured is None else [str(measured.resolve())]
    made = [sys.executable, "make_readings.py", *told]
    said = subprocess.run(made, cwd=folder, check=True, capture_output=True, text=True).stdout
    readings, out = ("readings_gross.csv", "run_gross") if case.gross else ("readings.csv", "run")
    words = ["fit", readings, "--problem", "problem.yaml", "--out", out, "--overwrite", "--seed", str(SEED)]
    words += [] if steps is None else ["--steps", str(steps)]
    done = subprocess.run([_napinn(), *words, "--json"], cwd=folder, capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(f"{name}: {done.stderr}")
    _draw(folder, out, case)
    result = load(folder / out)
    return {
        "command": f"napinn {' '.join(words)}",
        "commit": provenance()["commit"],
        "seed": SEED,
        "steps": result.method.steps,
        "seconds": round(result.seconds, 1),
        "readings": len(result.readings),
        "simulated": "simulated" in said,
        "found": {key: float(f"{value:.6g}") for key, value in result.unknowns.items()},
        "flagged": int(result.flagged.sum()),
        "status": result.status.name,
        **_beyond_numbers(folder, case, result),
    }


def run_method(case: Case, method: str, steps: int | None, seed: int, measured: Path | None) -> dict[str, Any]:
    """The command with a named method, on readings whose noise is drawn with `seed`, in a folder that is removed."""
    example = ROOT / "examples" / case.folder
    module = maker(example)
    table = _readings(module, case, seed, measured)
    words = [
        "fit",
        "readings.csv",
        "--problem",
        "problem.yaml",
        "--out",
        "run",
        "--seed",
        str(seed),
        "--method",
        method,
    ]
    words += [] if steps is None else ["--steps", str(steps)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(example / "problem.yaml", folder)
        table.to_csv(folder / "readings.csv", index=False)
        begun, wall = _children_seconds(), time.perf_counter()
        done = subprocess.run([_napinn(), *words, "--json"], cwd=folder, capture_output=True, text=True)
        processor, wall = _children_seconds() - begun, time.perf_counter() - wall
        if not (folder / "run" / "report.html").exists():
            raise RuntimeError(f"{case.folder}, method {method}: {done.stderr}")
        result = load(folder / "run")
    return {
        "command": f"napinn {' '.join(words)}",
        "commit": provenance()["commit"],
        "processor_seconds": round(processor, 1),
        "wall_seconds": round(wall, 1),
        "readings": len(result.readings),
        "simulated": case.folder in TWINS and measured is None,
        "found": {key: float(f"{value:.6g}") for key, value in result.unknowns.items()},
        "flagged": int(result.flagged.sum()),
        "status": result.status.name,
        **_beyond_numbers(example, case, result),
    }


def _readings(module: ModuleType, case: Case, seed: int, measured: Path | None) -> pd.DataFrame:
    if case.gross:
        return module.readings(gross=True)
    if measured is not None:
        return module.readings(measured)
    return module.readings(seed=seed) if draws(case, measured) else module.readings()


def draws(case: Case, measured: Path | None) -> bool:
    """Whether the noise of its readings is drawn, so that several seeds tell more than one."""
    taken = inspect.signature(maker(ROOT / "examples" / case.folder).readings).parameters
    return measured is None and "seed" in taken


def _children_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def held(row: dict[str, Any], case: Case) -> dict[str, Any]:
    """The row of a named method with what is demanded of it, and whether all of that holds."""
    demanded = {**case.wanted, **case.demanded}
    near = all(low <= row["found"][key] <= high for key, (low, high) in demanded.items())
    return {
        **row,
        "demanded": {key: [float(f"{end:.4g}") for end in ends] for key, ends in demanded.items()},
        "demanded_seconds": case.seconds,
        "holds": {"numbers": near, "seconds": bool(row["processor_seconds"] <= case.seconds)},
    }


def judged(row: dict[str, Any], case: Case) -> dict[str, Any]:
    """The row with what was wanted and whether it was found, as the case says now."""
    inside = {key: bool(low <= row["found"][key] <= high) for key, (low, high) in case.wanted.items()}
    return {
        **row,
        "wanted": {key: [float(f"{end:.4g}") for end in ends] for key, ends in case.wanted.items()},
        "inside": inside,
    }


def _beyond_numbers(folder: Path, case: Case, result: Any) -> dict[str, Any]:
    """Which gross errors were flagged; how far a hidden field or a coefficient that varies is from the truth."""
    module = maker(folder)
    if case.gross:
        clean, wrong = module.readings(), module.readings(gross=True)
        # Of several experiments, the fields of each stand in the same columns.
        fields = [plain(name) for name in result.readings.fields]
        changed = (clean[fields].to_numpy() != wrong[fields].to_numpy())[
            result.readings.rows, result.readings.field_index
        ]
        hit = int((changed & result.flagged).sum())
        return {"gross": int(changed.sum()), "gross_flagged": hit}
    if case.folder == "hidden_grazers":
        x, t = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 10, 101)))
        truth, found = module.grazers(x, t), np.asarray(result.field.at(x=x, t=t)["v"])
        error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
        return {"hidden_error": float(f"{error:.4g}")}
    if case.folder == "rod_of_two_metals":
        x = np.linspace(0.0, 1.0, 201)
        truth, found = module.diffusivity(x), result.functions["k"](x[:, None])
        low, high = result.functions["k"].band(x[:, None])
        error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
        inside = float(np.mean((low <= truth) & (truth <= high)))
        return {"function_error": float(f"{error:.4g}"), "inside_band": float(f"{inside:.3g}")}
    return {}


def _draw(folder: Path, out: str, case: Case) -> None:
    if not case.gross:
        picture = ["plot", out, "--what", case.picture, "-o", f"{case.picture}.png", "--overwrite"]
        subprocess.run([_napinn(), *picture], cwd=folder, check=True, capture_output=True)


def _napinn() -> str:
    return shutil.which("napinn", path=str(Path(sys.executable).parent)) or "napinn"


def main(names: list[str], steps: int | None, measured: Mapping[str, Path | None]) -> None:
    content = kept()
    rows: dict[str, Any] = content["cases"]
    for name in names or [name for name in CASES if name not in rows]:
        rows[name] = run(name, CASES[name], steps, measured.get(name))
        print(name, json.dumps(rows[name], ensure_ascii=False), flush=True)  # noqa: T201
        write(content)


def main_method(
    names: list[str], method: str, seeds: int, steps: int | None, measured: Mapping[str, Path | None]
) -> None:
    """Rows of a named method; all seeds of the named cases again, or those that are missing."""
    content = kept()
    rows: dict[str, Any] = content["engines"].setdefault(method, {})
    for name in names or CASES:
        case, given = CASES[name], measured.get(CASES[name].folder)
        for seed in range(seeds if draws(case, given) else 1):
            if not names and str(seed) in rows.get(name, {}):
                continue
            row = run_method(case, method, steps, seed, given)
            rows.setdefault(name, {})[str(seed)] = row
            write(content)
    print(shown(content["engines"][method]))  # noqa: T201


def shown(rows: dict[str, Any]) -> str:
    """One line a fit: what was found, what is demanded, and the seconds."""
    lines = []
    for name in [name for name in CASES if name in rows]:
        for seed, row in rows[name].items():
            row = held(row, CASES[name])
            numbers = (
                f"{key} {row['found'][key]:.5g} ({low:.5g} … {high:.5g})"
                for key, (low, high) in row["demanded"].items()
            )
            verdict = "holds" if all(row["holds"].values()) else "FAILS"
            seconds = f"{row['processor_seconds']} s (at most {CASES[name].seconds:g})"
            lines.append(f"{verdict}  {name} {seed}  {', '.join(numbers)}  {seconds}  {row['status']}")
    return "\n".join(lines)


def kept() -> dict[str, Any]:
    """The rows of the result file: `cases` by name, `engines` by method, case and seed."""
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    return {"cases": found.get("cases", {}), "engines": found.get("engines", {})}


def write(content: dict[str, Any]) -> None:
    cases = {key: judged(content["cases"][key], CASES[key]) for key in CASES if key in content["cases"]}
    engines = {
        method: {
            key: {seed: held(row, CASES[key]) for seed, row in rows[key].items()} for key in CASES if key in rows
        }
        for method, rows in content["engines"].items()
    }  # fmt: skip
    made = {"made_by": "python benchmarks/gallery.py", **provenance(), "cases": cases, "engines": engines}
    RESULT.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], help="cases; default those not run yet")
    parser.add_argument("--method", help="a method by its name; default what `napinn fit` takes")
    parser.add_argument("--seeds", type=int, default=1, help="draws of the noise for a named method")
    parser.add_argument("--steps", type=int, default=None, help="default the method's own")
    parser.add_argument("--scratch-assay", type=Path, metavar="FILE", help="its measured readings; default a twin")
    parser.add_argument("--pumping-test", type=Path, metavar="FOLDER", help="its measured readings; default a twin")
    given = parser.parse_args()
    files = {"scratch_assay": given.scratch_assay, "pumping_test": given.pumping_test}
    if given.method is None:
        main(list(given.names), given.steps, files)
    else:
        main_method(list(given.names), given.method, given.seeds, given.steps, files)
