"""The readings of the theophylline example: concentrations in the blood of six subjects after a dose by mouth.

    python make_readings.py            # writes readings.csv
    python make_readings.py --gross    # writes readings_gross.csv, three of the sixty-six concentrations wrong

Doses in mg per kg of body weight, times in hours, concentrations in mg/l: the first six of twelve subjects of a study
by R. Upton, in Boeckmann, Sheiner and Beal, NONMEM Users Guide, Part V (1994), also known as the data set `Theoph`.
"""

import sys
from pathlib import Path

import pandas as pd

DOSES = (4.02, 4.40, 4.53, 4.40, 5.86, 4.00)
TIMES = (
    (0.0, 0.25, 0.57, 1.12, 2.02, 3.82, 5.10, 7.03, 9.05, 12.12, 24.37),
    (0.0, 0.27, 0.52, 1.00, 1.92, 3.50, 5.02, 7.03, 9.00, 12.00, 24.30),
    (0.0, 0.27, 0.58, 1.02, 2.02, 3.62, 5.08, 7.07, 9.00, 12.15, 24.17),
    (0.0, 0.35, 0.60, 1.07, 2.13, 3.50, 5.02, 7.02, 9.02, 11.98, 24.65),
    (0.0, 0.30, 0.52, 1.00, 2.02, 3.50, 5.02, 7.02, 9.10, 12.00, 24.35),
    (0.0, 0.27, 0.58, 1.15, 2.03, 3.57, 5.00, 7.00, 9.22, 12.10, 23.85),
)
CONCENTRATIONS = (
    (0.74, 2.84, 6.57, 10.50, 9.66, 8.58, 8.36, 7.47, 6.89, 5.94, 3.28),
    (0.00, 1.72, 7.91, 8.31, 8.33, 6.85, 6.08, 5.40, 4.55, 3.01, 0.90),
    (0.00, 4.40, 6.90, 8.20, 7.80, 7.50, 6.20, 5.30, 4.90, 3.70, 1.05),
    (0.00, 1.89, 4.60, 8.60, 8.38, 7.54, 6.88, 5.78, 5.33, 4.19, 1.15),
    (0.00, 2.02, 5.63, 11.40, 9.33, 8.74, 7.56, 7.09, 5.90, 4.37, 1.57),
    (0.00, 1.29, 3.08, 6.44, 6.32, 5.53, 4.94, 4.02, 3.46, 2.78, 0.92),
)
GROSS = {(2, 6): 20.0, (4, 9): 0.4, (6, 5): 14.0}
"""Subject and number of the sample that are read wrong."""


def readings(gross: bool = False) -> pd.DataFrame:
    rows = zip(DOSES, TIMES, CONCENTRATIONS, strict=True)
    table = pd.concat(
        [
            pd.DataFrame({"subject": number, "dose": dose, "t": times, "conc": levels})
            for number, (dose, times, levels) in enumerate(rows, start=1)
        ],
        ignore_index=True,
    )
    for (subject, sample), value in (GROSS if gross else {}).items():
        table.loc[(subject - 1) * len(TIMES[0]) + sample, "conc"] = value
    return table


if __name__ == "__main__":
    wrong = "--gross" in sys.argv[1:]
    name = "readings_gross.csv" if wrong else "readings.csv"
    readings(wrong).to_csv(Path(__file__).with_name(name), index=False)
