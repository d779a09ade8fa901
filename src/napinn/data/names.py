"""One spelling for names that look alike: `µ` has two code points, and `é` may be one character or two.

Python's own reader brings the names in an equation to the form NFKC, so everything that they are compared with has to
be in that form too."""

import unicodedata
from collections.abc import Iterable

import pandas as pd


def normal(name: str) -> str:
    """The name in the form NFKC."""
    return unicodedata.normalize("NFKC", name)


def encodable(text: str) -> str:
    """The text with the bytes of a file name that is not UTF-8 written out: no file format takes them as they are."""
    return text.encode("utf-8", "backslashreplace").decode()


def respelled(table: pd.DataFrame, wanted: Iterable[str]) -> pd.DataFrame:
    """The table with the columns that are wanted under the name that is asked for, where only code points differ.

    Other columns keep their names, and so does a column beside one that has the name already."""
    held = {str(column) for column in table.columns}
    missing = {normal(name): name for name in wanted if name not in held}
    found: dict[str, str] = {}
    for column in table.columns:
        name = missing.pop(normal(str(column)), None)
        if name is not None:
            found[column] = name
    return table.rename(columns=found) if found else table
