"""The benchmarks by name."""

from collections.abc import Callable, Mapping

from napinn.studies.benchmarks.allen_cahn import allen_cahn, allen_cahn_si
from napinn.studies.benchmarks.base import Benchmark


def burgers() -> Benchmark:
    # Its reference solver takes JAX, and so does the next one's.
    from napinn.studies.benchmarks.burgers import burgers as made

    return made()


def reaction_diffusion() -> Benchmark:
    from napinn.studies.benchmarks.reaction_diffusion import reaction_diffusion as made

    return made()


BENCHMARKS: Mapping[str, Callable[[], Benchmark]] = {
    "allen_cahn": allen_cahn,
    "burgers": burgers,
    "reaction_diffusion": reaction_diffusion,
    "allen_cahn_si": allen_cahn_si,
}
PAPER = ("allen_cahn", "burgers", "reaction_diffusion")
"""The three of the paper."""
