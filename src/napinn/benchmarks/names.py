"""The benchmarks by name."""

from collections.abc import Callable, Mapping

from napinn.benchmarks.allen_cahn import allen_cahn, allen_cahn_si
from napinn.benchmarks.base import Benchmark
from napinn.benchmarks.burgers import burgers
from napinn.benchmarks.reaction_diffusion import reaction_diffusion

BENCHMARKS: Mapping[str, Callable[[], Benchmark]] = {
    "allen_cahn": allen_cahn,
    "burgers": burgers,
    "reaction_diffusion": reaction_diffusion,
    "allen_cahn_si": allen_cahn_si,
}
PAPER = ("allen_cahn", "burgers", "reaction_diffusion")
"""The three of the paper."""
