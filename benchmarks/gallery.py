"""What `napinn fit` finds in every case of the gallery, with its defaults and one seed.

    python benchmarks/gallery.py                    # all cases that are not in the result file yet
    python benchmarks/gallery.py kdv van_der_pol    # these, again

Each case is run as its README says: the maker, then the command, and its picture is drawn from the run. The measured
readings of two cases are not part of napinn: `--scratch-assay CellDensity_16.csv` and `--pumping-test FOLDER` say where
they are, and without them a simulated twin takes their place (`simulated` in the row says so). Writes
`benchmarks/results/gallery.json`."""

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from napinn.experiments.provenance import provenance
from napinn.run_folder import load

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "gallery.json"
SEED = 0


@dataclass(frozen=True)
class Case:
    """A fit, and between which numbers each unknown should end."""

    folder: str
    wanted: dict[str, tuple[float, float]]
    gross: bool = False
    picture: str = "field"


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
    "van_der_pol": Case("van_der_pol", {"mu": around(1.0, 0.01)}),
    "burgers_shock": Case("burgers_shock", {"l1": around(1.0, 0.02), "l2": around(0.01 / np.pi, 0.1)}),
    "kdv": Case("kdv", {"a": around(6.0, 0.05), "b": around(1.0, 0.05)}),
    "scratch_assay": Case("scratch_assay", {"D": (310.0 * 0.85, 979.0 * 1.15), "r": (0.044 * 0.85, 0.065 * 1.15)}),
    "hidden_grazers": Case("hidden_grazers", {}),
    "heat_rod_faults": Case("heat_rod_faults", {"D": around(0.1, 0.03)}),
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


def judged(row: dict[str, Any], case: Case) -> dict[str, Any]:
    """The row with what was wanted and whether it was found, as the case says now."""
    inside = {key: bool(low <= row["found"][key] <= high) for key, (low, high) in case.wanted.items()}
    return {
        **row,
        "wanted": {key: [float(f"{end:.4g}") for end in ends] for key, ends in case.wanted.items()},
        "inside": inside,
    }


def _beyond_numbers(folder: Path, case: Case, result: Any) -> dict[str, Any]:
    """Which gross errors were flagged; how far a hidden field is from the truth."""
    module = maker(folder)
    if case.gross:
        clean, wrong = module.readings(), module.readings(gross=True)
        fields = list(result.readings.fields)
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
    return {}


def _draw(folder: Path, out: str, case: Case) -> None:
    if not case.gross:
        picture = ["plot", out, "--what", case.picture, "-o", f"{case.picture}.png"]
        subprocess.run([_napinn(), *picture], cwd=folder, check=True, capture_output=True)


def _napinn() -> str:
    return shutil.which("napinn", path=str(Path(sys.executable).parent)) or "napinn"


def main(names: list[str], steps: int | None, measured: Mapping[str, Path | None]) -> None:
    rows: dict[str, Any] = json.loads(RESULT.read_text())["cases"] if RESULT.exists() else {}
    for name in names or [name for name in CASES if name not in rows]:
        rows[name] = run(name, CASES[name], steps, measured.get(name))
        print(name, json.dumps(rows[name], ensure_ascii=False), flush=True)  # noqa: T201
        ordered = {key: judged(rows[key], CASES[key]) for key in CASES if key in rows}
        content = {"made_by": "python benchmarks/gallery.py", **provenance(), "cases": ordered}
        RESULT.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], help="cases; default those not run yet")
    parser.add_argument("--steps", type=int, default=None, help="default the method's own")
    parser.add_argument("--scratch-assay", type=Path, metavar="FILE", help="its measured readings; default a twin")
    parser.add_argument("--pumping-test", type=Path, metavar="FOLDER", help="its measured readings; default a twin")
    given = parser.parse_args()
    files = {"scratch_assay": given.scratch_assay, "pumping_test": given.pumping_test}
    main(list(given.names), given.steps, files)
