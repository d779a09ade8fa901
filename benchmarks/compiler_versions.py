"""Whether a version of jaxlib changes what napinn computes: short fits of every benchmark, and one set of intervals.

python benchmarks/compiler_versions.py

adds the numbers of the jaxlib that runs it to `benchmarks/results/compiler_versions.json`; run it once in an
environment of each version. jaxlib 0.10.2 computes wrong sums in some programs
(`napinn.engines.network.compiler_check`), and the
results that are committed were made with it; this says whether any of napinn's own programs is among them. Its last
fit takes SOAP, whose bases amplify rounding from the first steps on: two versions that are both right differ there as
well."""

import dataclasses
import json
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from napinn.data.readings import read_table
from napinn.engines import fitting
from napinn.engines.network import backend as network_backend
from napinn.engines.network.methods import law_pinn, na_pinn
from napinn.engines.network.training import Adam, Method
from napinn.evaluation.intervals import estimate_uncertainty
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.benchmarks.names import BENCHMARKS, PAPER
from napinn.studies.benchmarks.scores import score
from napinn.studies.paper.presets import PRESETS
from napinn.studies.paper.provenance import provenance

TARGET = Path(__file__).parent / "results" / "compiler_versions.json"
STEPS = {"quick": 300, "paper": 60}
RATIO, SEED = 0.15, 0


def fits() -> Iterator[tuple[str, str, Method]]:
    """Name, benchmark and method of each."""
    small = {name: dataclasses.replace(PRESETS[name], steps=steps) for name, steps in STEPS.items()}
    for benchmark in PAPER:
        for name, preset in small.items():
            yield f"{benchmark}, na_pinn, batches of {name}", benchmark, preset.method(benchmark, na_pinn)
    quick = small["quick"]
    yield "allen_cahn, default with Adam", "allen_cahn", quick.own(law_pinn, optimiser=Adam(1e-3), law_steps=50)
    yield "allen_cahn, default", "allen_cahn", quick.own(law_pinn, law_steps=50)


def run(name: str, method: Method) -> dict[str, Any]:
    benchmark = BENCHMARKS[name]()
    corrupted = corrupt(benchmark, RATIO, SEED)
    problem = benchmark.problem
    readings = read_table(corrupted.table, tuple(problem.coordinates), problem.fields)
    result = fitting.fit(problem, readings, method, seed=SEED)
    found = score(result, benchmark, corrupted)
    row: dict[str, Any] = {"rmse": found.rmse, "unknowns": result.unknowns, "flagged": int(result.flagged.sum())}
    if method.name == "law_pinn" and isinstance(method.optimiser, Adam):
        interval = estimate_uncertainty(result).intervals["eps"]
        row["interval"] = [interval.low, interval.high]
    return row


def main() -> None:
    # The point is to see what a refused version would have computed.
    network_backend.check_compiler = lambda: None
    flags = os.environ.get("XLA_FLAGS", "")
    version = " ".join(filter(None, (metadata.version("jaxlib"), flags)))
    rows = {name: run(benchmark, method) for name, benchmark, method in fits()}
    kept: dict[str, Any] = json.loads(TARGET.read_text()) if TARGET.exists() else {"versions": {}}
    kept["made_by"] = "python benchmarks/compiler_versions.py"
    kept["versions"][version] = {**provenance(), "rows": rows}
    TARGET.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
