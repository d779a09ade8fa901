"""Small problems that are fitted with splines in several tests."""

import numpy as np
import pandas as pd

from napinn import Problem, Unknown, fit, read_table
from napinn.engines.splines.method import bsplines

DECAY = 0.8


def fitted(problem, table, columns=None, **options):
    """A fit of a table with splines."""
    return fit(problem, read_table(table, tuple(problem.coordinates), problem.fields, columns), bsplines(), **options)


def decaying(count, noise, seed=0, rate=DECAY):
    """Noisy readings of exp(-rate t)."""
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0.0, 3.0, count))
    return pd.DataFrame({"t": times, "u": np.exp(-rate * times) + random.normal(0.0, noise, count)})


def small_decay():
    return Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3, low=0.0)})
