"""Readings of the scratch assay: cell densities across a wound that closes, five times in two days, three replicates.

    python make_readings.py [CellDensity_16.csv]      # writes readings.csv

The measurements are those of Jin et al., Reproducibility of scratch assays is affected by the initial degree of
confluence, Journal of Theoretical Biology 390 (2016), 16,000 cells; they are not part of napinn. Without the file a
twin is simulated: u_t = D u_xx + r u (1 - u/K) from the same first profile, seen with the same noise, with
D = 600 μm²/h and r = 0.055 1/h.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

MOTILITY, GROWTH, CAPACITY, WIDTH = 600.0, 0.055, 1.7e-3, 1900.0
PLACES, TIMES = np.arange(25.0, WIDTH, 50.0), np.arange(0.0, 49.0, 12.0)
NOISE, REPLICATES = 1.0e-4, 3


def measured(path: Path) -> pd.DataFrame:
    """A row for each of the three counts at each place and time; empty cells are no readings."""
    table = pd.read_csv(path, encoding="utf-8-sig")
    parts = [
        pd.DataFrame({"sensor": f"replicate {n}", "x": table["Position"], "t": table["Time"], "u": table[f"Dens{n}"]})
        for n in range(1, REPLICATES + 1)
    ]
    return pd.concat(parts, ignore_index=True).dropna()


def density() -> np.ndarray:
    """The twin's field, a row a place and a column a time."""
    centres = np.arange(5.0, WIDTH, 10.0)

    def slope(_: float, u: np.ndarray) -> np.ndarray:
        flux = np.concatenate([[0.0], np.diff(u) / 10.0, [0.0]])
        return MOTILITY * np.diff(flux) / 10.0 + GROWTH * u * (1.0 - u / CAPACITY)

    wound = 0.5 * (np.tanh((centres - 650.0) / 60.0) - np.tanh((centres - 1250.0) / 60.0))
    path = solve_ivp(slope, (0.0, TIMES[-1]), 7.5e-4 * (1.0 - wound), "BDF", TIMES, rtol=1e-6, atol=1e-10).y
    return np.stack([np.interp(PLACES, centres, column) for column in path.T], axis=1)


def simulated(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, t = (axis.reshape(-1) for axis in np.meshgrid(PLACES, TIMES, indexing="ij"))
    truth = density().reshape(-1)
    parts = []
    for n in range(1, REPLICATES + 1):
        seen = truth + NOISE * rng.standard_normal(truth.size)
        parts.append(pd.DataFrame({"sensor": f"replicate {n}", "x": x, "t": t, "u": np.maximum(seen, 0.0)}))
    return pd.concat(parts, ignore_index=True)


def readings(path: Path | None = None, seed: int = 0) -> pd.DataFrame:
    return simulated(seed) if path is None else measured(path)


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if given is not None and not given.exists():
        sys.exit(f"{given} is not there; correct the path, or leave it out for simulated readings.")
    sys.stdout.write("simulated readings\n" if given is None else f"measured readings, from {given}\n")
    readings(given).to_csv(Path(__file__).with_name("readings.csv"), index=False)
