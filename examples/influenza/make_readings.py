"""The readings of the influenza example: boys in bed in an English boarding school, 22 January to 4 February 1978.

    python make_readings.py            # writes readings.csv
    python make_readings.py --gross    # writes readings_gross.csv, three of the fourteen days wrong

The series was published as a figure: "Influenza in a boarding school", British Medical Journal 1 (1978), page 587.
The decimals are those of reading it off that figure.
"""

import sys
from pathlib import Path

import pandas as pd

IN_BED = (3.4, 9.6, 28.8, 75.5, 222.5, 292.3, 257.6, 236.4, 191.2, 125.7, 69.7, 28.8, 13.4, 5.7)
GROSS = {1: 400.0, 7: 30.0, 12: 310.0}
"""Days after the first reading on which a clerk writes something else."""


def readings(gross: bool = False) -> pd.DataFrame:
    table = pd.DataFrame({"t": [float(day) for day in range(1, 15)], "I": IN_BED})
    for row, value in (GROSS if gross else {}).items():
        table.loc[row, "I"] = value
    return table


if __name__ == "__main__":
    wrong = "--gross" in sys.argv[1:]
    name = "readings_gross.csv" if wrong else "readings.csv"
    readings(wrong).to_csv(Path(__file__).with_name(name), index=False)
