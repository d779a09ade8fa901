"""How much work a study does: `smoke` for seconds, `quick` for a desktop, `paper` as printed.

Everything else is the paper's setting: raw coordinates, collocation on its grid, one rejection cost. A preset sets
batch sizes and the numbers of steps and seeds. `quick` also leaves out some rejection costs, and `smoke` runs one
benchmark at one outlier ratio with tiny networks; `napinn reproduce` lists what."""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from napinn.engines.catalogue import BACKBONES
from napinn.engines.network.methods import as_printed, b_pinn
from napinn.engines.network.training import FixedCost, Method
from napinn.field.backbones import Backbone
from napinn.studies.benchmarks.names import BENCHMARKS, PAPER

RATIOS = (0.05, 0.1, 0.15)


@functools.cache
def _printed_rejection(benchmark: str) -> FixedCost:
    """The paper's rejection cost; kept, because making a benchmark parses its equations and a study has hundreds."""
    return FixedCost(BENCHMARKS[benchmark]().paper_rejection)


@dataclass(frozen=True)
class Preset:
    name: str
    steps: int
    collocation_batch: int
    reading_batch: int
    seeds: int
    about: str
    """What it is for, and how it differs from the paper."""
    seconds: float
    """Of a usual fit on one core: the median of those in `benchmarks/results`."""
    width: int = 80
    depth: int = 5
    benchmarks: tuple[str, ...] = PAPER
    ratios: tuple[float, ...] = RATIOS

    def backbone(self, name: str) -> Backbone:
        extra = {"embedding": self.width} if name == "piratenet" else {}
        return BACKBONES[name].make(width=self.width, depth=self.depth, **extra)

    def own(self, make: Any, **parts: Any) -> Method:
        """A recipe in napinn's own setting, scaled, at this preset's size."""
        sizes = {"collocation_batch": self.collocation_batch, "reading_batch": self.reading_batch}
        return make(self.steps, backbone=self.backbone("mlp"), **sizes, **parts)

    def method(self, benchmark: str, make: Any, backbone: str = "mlp", **parts: Any) -> Method:
        """A recipe in the paper's setting at this preset's size."""
        name = "bayesian" if make is b_pinn else backbone
        method = as_printed(make(self.steps, backbone=self.backbone(name), **parts))
        if method.gating is not None and "rejection" not in parts:
            method = dataclasses.replace(method, rejection=_printed_rejection(benchmark))
        return dataclasses.replace(method, collocation_batch=self.collocation_batch, reading_batch=self.reading_batch)


PRESETS: Mapping[str, Preset] = {
    "smoke": Preset(
        "smoke", 60, 64, 64, 1, "a test of the programs: 60 steps of tiny networks on Allen–Cahn at 15 % outliers", 4.0,
        width=8, depth=1, benchmarks=("allen_cahn",), ratios=(0.15,),
    ),
    "quick": Preset(
        "quick", 10_000, 1024, 1024, 1,
        "for a desktop: a third of the paper's steps with smaller batches, one seed, and fewer rejection costs (last "
        "column)", 160.0,
    ),
    "paper": Preset("paper", 30_000, 4000, 1000, 10, "as printed: 30,000 steps, ten seeds, every case", 1570.0),
}  # fmt: skip
