"""Quality flags as operators of sensor networks write them: QARTOD, Argo and SaQC.

Each scheme is a table of codes. What napinn says of a reading is one of five qualities; a scheme writes each of them as
one code, and reads every code of its table as one of them. Sources: the primary flags of QARTOD (IOOS, as in the class
`QartodFlags` of `ioos_qc`), Argo reference table 2 (NERC vocabularies RR2 and RD2), and the flag levels of SaQC with
the words of its `DmpScheme`, whose columns are `quality_flag`, `quality_cause` and `quality_comment`."""

import enum
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from napinn.errors import InputError, named

FLAG, CAUSE, COMMENT = "quality_flag", "quality_cause", "quality_comment"


class Quality(enum.IntEnum):
    """The quality of a reading, from good to bad."""

    MISSING = 0
    UNKNOWN = 1
    GOOD = 2
    SUSPECT = 3
    BAD = 4

    @property
    def word(self) -> str:
        """The quality as reports print it."""
        return "not evaluated" if self is Quality.UNKNOWN else self.name.lower()


class Cause(enum.IntEnum):
    """Why a reading is suspect or bad."""

    NONE = 0
    SPIKE = 1
    FLAT_LINE = 2
    DRIFT = 3
    OFFSET = 4
    GAIN = 5
    NOISY = 6

    @property
    def word(self) -> str:
        """The cause as tables print it; empty text where there is none."""
        return "" if self is Cause.NONE else self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class FlagScheme:
    """One table of flags: how it is written and how it is read."""

    name: str
    title: str
    codes: Mapping[Quality, int | str]
    """What `quality_flag` says for each quality."""
    meanings: Mapping[float, str]
    """Every number of the table with its name, as `flag_values` and `flag_meanings` of a NetCDF file give them."""
    understood: Mapping[float, Quality]
    """What each number of the table means."""
    words: Mapping[str, Quality]
    """What each word means, in lower case."""
    numbers: Mapping[Quality, float]
    """The number of each quality in a NetCDF file."""
    causes: Mapping[Cause, str]
    """What `quality_cause` says for each cause."""
    json_comments: bool = False
    """Whether `quality_comment` is a JSON object with the entries `test` and `comment`."""

    @property
    def number_type(self) -> type[np.number]:
        """The type of the numbers in a NetCDF file."""
        return np.int8 if all(float(number).is_integer() and number < 128 for number in self.meanings) else np.float32

    def comment(self, cause: Cause, text: str) -> str:
        """The text of `quality_comment`."""
        if not (self.json_comments and text):
            return text
        return json.dumps({"test": f"napinn {cause.word}".strip(), "comment": text}, ensure_ascii=False)


def _words(*names: str) -> dict[Cause, str]:
    return dict(zip(Cause, names, strict=True))


_PLAIN_CAUSES = {cause: cause.word for cause in Cause}
_QARTOD = {
    Quality.GOOD: 1,
    Quality.UNKNOWN: 2,
    Quality.SUSPECT: 3,
    Quality.BAD: 4,
    Quality.MISSING: 9,
}
_ARGO = {
    Quality.UNKNOWN: 0,
    Quality.GOOD: 1,
    Quality.SUSPECT: 3,
    Quality.BAD: 4,
    Quality.MISSING: 9,
}
_SAQC = {
    Quality.UNKNOWN: "NIL",
    Quality.GOOD: "OK",
    Quality.SUSPECT: "DOUBTFUL",
    Quality.BAD: "BAD",
    Quality.MISSING: "NIL",
}

SCHEMES: Mapping[str, FlagScheme] = {
    "qartod": FlagScheme(
        name="qartod",
        title="QARTOD",
        codes=_QARTOD,
        meanings={1: "GOOD", 2: "UNKNOWN", 3: "SUSPECT", 4: "FAIL", 9: "MISSING"},
        understood={code: quality for quality, code in _QARTOD.items()},
        words={
            "good": Quality.GOOD,
            "pass": Quality.GOOD,
            "unknown": Quality.UNKNOWN,
            "not_evaluated": Quality.UNKNOWN,
            "suspect": Quality.SUSPECT,
            "fail": Quality.BAD,
            "missing": Quality.MISSING,
        },
        numbers=_QARTOD,
        causes=_PLAIN_CAUSES,
    ),
    "argo": FlagScheme(
        name="argo",
        title="Argo reference table 2",
        codes=_ARGO,
        meanings={
            0: "no_qc_performed",
            1: "good_data",
            2: "probably_good_data",
            3: "probably_bad_data",
            4: "bad_data",
            5: "value_changed",
            8: "estimated_value",
            9: "missing_value",
        },
        # A profile counts 1, 2, 5 and 8 as good (reference table 2a).
        understood={
            **{code: quality for quality, code in _ARGO.items()},
            2: Quality.GOOD,
            5: Quality.GOOD,
            8: Quality.GOOD,
        },
        words={},
        numbers=_ARGO,
        causes=_PLAIN_CAUSES,
    ),
    "saqc": FlagScheme(
        name="saqc",
        title="SaQC",
        codes=_SAQC,
        meanings={-math.inf: "UNFLAGGED", 0: "GOOD", 25: "DOUBTFUL", 255: "BAD"},
        understood={
            -math.inf: Quality.UNKNOWN,
            0: Quality.GOOD,
            25: Quality.SUSPECT,
            255: Quality.BAD,
        },
        words={
            "nil": Quality.UNKNOWN,
            "unflagged": Quality.UNKNOWN,
            "ok": Quality.GOOD,
            "good": Quality.GOOD,
            "doubtful": Quality.SUSPECT,
            "bad": Quality.BAD,
        },
        numbers={
            Quality.UNKNOWN: -math.inf,
            Quality.GOOD: 0,
            Quality.SUSPECT: 25,
            Quality.BAD: 255,
            Quality.MISSING: -math.inf,
        },
        # The scheme has a closed list of causes; the comment names the fault itself.
        causes=_words("", "ISOLATED_SPIKE", *["DEFECTIVE_SENSOR"] * 5),
        json_comments=True,
    ),
}
"""Every scheme by its name on the command line."""


@dataclass(frozen=True, eq=False)
class GivenFlags:
    """What the flags of a table say."""

    scheme: str
    """The name of the scheme that they are written in."""
    qualities: np.ndarray
    """(rows, labels) `Quality` of each cell, as numbers."""


def scheme_named(name: str) -> FlagScheme:
    """The scheme of a name, or an `InputError` that lists the names.

    :param name: `qartod`, `argo` or `saqc`."""
    return named(name, SCHEMES, "flag scheme")


def recognised(column: pd.Series, source: str) -> tuple[FlagScheme, np.ndarray]:
    """The scheme that a column of flags is written in, and the quality of each cell.

    The first scheme whose table holds every code of the column is taken, in the order QARTOD, Argo, SaQC. No code that
    says bad, suspect or missing in one of them says anything else in another, so the order decides only between good
    and not evaluated.

    :param column: Codes, as numbers or words; an empty cell is not evaluated.
    :param source: The file, for the sentence about a code that no scheme has."""
    for scheme in SCHEMES.values():
        found = understood(column, scheme)
        if (found >= 0).all():
            return scheme, found
    raise _unknown_code(column, tuple(SCHEMES.values()), source)


def qualities(column: pd.Series, scheme: FlagScheme, source: str) -> np.ndarray:
    """The quality of each cell of a column of flags, or an `InputError` that names the first code that is none.

    :param column: Codes, as numbers or words; an empty cell is not evaluated.
    :param scheme: The table that the codes are of.
    :param source: The file, for the sentence about a wrong code."""
    found = understood(column, scheme)
    if (found < 0).any():
        raise _unknown_code(column, (scheme,), source)
    return found


def understood(column: pd.Series, scheme: FlagScheme) -> np.ndarray:
    """The quality of each cell under a scheme, and -1 where the scheme has no such code."""
    codes, cells = pd.factorize(column, use_na_sentinel=False)
    meant = np.array([_quality_of(cell, scheme) for cell in cells], dtype=np.int8)
    return meant[codes]


def _quality_of(cell: object, scheme: FlagScheme) -> int:
    text = str(cell).strip().lower()
    if text in ("", "nan", "none", "<na>"):
        return Quality.UNKNOWN
    if text in scheme.words:
        return scheme.words[text]
    try:
        return scheme.understood.get(float(text), -1)
    except ValueError:
        return -1


def _unknown_code(column: pd.Series, schemes: Sequence[FlagScheme], source: str) -> InputError:
    """The sentence for the first cell that the nearest of the schemes cannot read."""
    nearest_scheme = max(schemes, key=lambda scheme: int((understood(column, scheme) >= 0).sum()))
    row = int(np.argmax(understood(column, nearest_scheme) < 0))
    known = ", ".join(f"{code:g}" for code in nearest_scheme.meanings)
    return InputError(
        f"{source}, row {row + 2}, column '{column.name}': '{str(column.iloc[row])[:40]}' is not a flag of "
        f"{nearest_scheme.title} ({known}); correct the cell, name the scheme under 'flags', or rename the column."
    )
