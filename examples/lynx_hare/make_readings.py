"""The readings of the lynx and hare example: pelts taken in by the Hudson's Bay Company, in thousands a year.

    python make_readings.py            # writes readings.csv
    python make_readings.py --gross    # writes readings_gross.csv, three of the forty-two counts wrong

1900 to 1920, from Hewitt, The Conservation of the Wild Life of Canada (1921), as used in B. Carpenter's Stan case
study "Predator-Prey Population Dynamics: the Lotka-Volterra model in Stan" (2018). Counts err by a share of
themselves, so what is written is their natural logarithm.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

HARES = (30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1,
         40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7)  # fmt: skip
LYNX = (4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4,
        8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6)  # fmt: skip
GROSS = {("hares", 6): 181.0, ("lynx", 9): 91.0, ("hares", 18): 1.46}
"""Years after 1900 in which the clerk slips by a digit."""


def readings(gross: bool = False) -> pd.DataFrame:
    table = pd.DataFrame({"t": [float(year) for year in range(21)], "hares": HARES, "lynx": LYNX})
    for (column, row), value in (GROSS if gross else {}).items():
        table.loc[row, column] = value
    return table.assign(u=np.log(table["hares"]), v=np.log(table["lynx"]))


if __name__ == "__main__":
    wrong = "--gross" in sys.argv[1:]
    name = "readings_gross.csv" if wrong else "readings.csv"
    readings(wrong).to_csv(Path(__file__).with_name(name), index=False)
