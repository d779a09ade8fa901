"""Readings of the pumping test at Oude Korendijk: drawdown in two piezometers, 30 m and 90 m from the well.

    python make_readings.py [FOLDER]      # writes readings.csv; FOLDER holds piezometer_h30.txt and piezometer_h90.txt

The measurements are those of Kruseman & de Ridder, Analysis and Evaluation of Pumping Test Data (1970), as shipped
with TTim; they are not part of napinn. Without them a twin is simulated by Theis's formula
s = Q/(4πT) E₁(r² S/(4 T t)) with T = 400 m²/d and S = 1.7e-4.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import exp1

DISTANCES = (30.0, 90.0)
PUMPED, TRANSMISSIVITY, STORAGE = 788.0, 400.0, 1.7e-4
MINUTES_A_DAY = 1440.0


def measured(folder: Path, distance: float) -> pd.DataFrame:
    minutes, head = np.loadtxt(folder / f"piezometer_h{distance:.0f}.txt", unpack=True)
    return _table(distance, minutes / MINUTES_A_DAY, -head)


def drawdown(distance: float, days: np.ndarray) -> np.ndarray:
    argument = distance**2 * STORAGE / (4.0 * TRANSMISSIVITY * days)
    return PUMPED / (4.0 * np.pi * TRANSMISSIVITY) * exp1(argument)


def simulated(distance: float, seed: int = 0) -> pd.DataFrame:
    days = np.geomspace(0.1 * (distance / 30.0) ** 2, 840.0, 34) / MINUTES_A_DAY
    noise = 0.01 * np.random.default_rng([seed, int(distance)]).standard_normal(days.size)
    return _table(distance, days, drawdown(distance, days) + noise)


def _table(distance: float, days: np.ndarray, drop: np.ndarray) -> pd.DataFrame:
    sensor = f"piezometer {distance:.0f} m"
    return pd.DataFrame({"sensor": sensor, "w": np.log(days / distance**2), "s": drop})


def readings(folder: Path | None = None, seed: int = 0) -> pd.DataFrame:
    parts = [simulated(each, seed) if folder is None else measured(folder, each) for each in DISTANCES]
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if given is not None and not given.exists():
        sys.exit(f"{given} is not there; correct the path, or leave it out for simulated readings.")
    sys.stdout.write("simulated readings\n" if given is None else f"measured readings, from {given}\n")
    readings(given).to_csv(Path(__file__).with_name("readings.csv"), index=False)
