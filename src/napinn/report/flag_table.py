"""Quality flags that came with the readings beside what the fit says of them, as a table of the report."""

import numpy as np

from napinn.data.flags import SCHEMES, Quality
from napinn.report.templating import Markup, render
from napinn.results.quality import assess_readings
from napinn.results.result import FitResult

ORDER = (Quality.GOOD, Quality.UNKNOWN, Quality.SUSPECT, Quality.BAD, Quality.MISSING)
OURS = ORDER[:-1]


def flag_counts(result: FitResult) -> np.ndarray | None:
    """(qualities, qualities): how many cells have one quality by their own flags and another by the fit.

    :param result: A finished fit.
    :return: None where the readings came without flags. Cells that take no part count as missing on the fit's side."""
    flags, readings = result.readings.flags, result.readings
    if flags is None:
        return None
    ours = np.full(flags.qualities.shape, Quality.MISSING, np.int8)
    ours[readings.rows, readings.label_index] = assess_readings(result).quality
    counts = np.zeros((len(Quality), len(Quality)), int)
    np.add.at(counts, (flags.qualities.ravel(), ours.ravel()), 1)
    return counts


def flags_table(result: FitResult) -> Markup:
    """One row for each flag of the input, one column for each of napinn's; empty text for readings without flags."""
    counts, flags = flag_counts(result), result.readings.flags
    if counts is None or flags is None:
        return Markup("")
    scheme = SCHEMES[flags.scheme]
    columns = (*OURS, Quality.MISSING)
    titles = [*(quality.word for quality in OURS), "takes no part"]
    rows = [
        (f"{scheme.codes[theirs]} {theirs.word}", *(f"{counts[theirs, ours]:,}" for ours in columns))
        for theirs in ORDER
        if counts[theirs].any()
    ]
    heads = ["their flag", *(f"napinn: {title}" for title in titles)]
    return render("flags", scheme=scheme.title, heads=heads, rows=rows)
