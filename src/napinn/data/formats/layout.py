"""How a text file of readings is written: its encoding, the lines above its header, and what separates its cells.

All three are guessed, because spreadsheets and loggers do not say them. A tab, a semicolon, a bar or a comma separates
where every line holds as many as the header, and white space where the header has none of them."""

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from napinn.data.formats.header import header_of
from napinn.errors import InputError

SEPARATORS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma", r"\s+": "white space"}
"""Rarest in ordinary text first, because a comma also stands inside numbers and words."""
UTF_8, WINDOWS = "utf-8-sig", "cp1252"
"""With or without a byte order mark, and what spreadsheets on Windows write where nobody asks for UTF-8."""
SAMPLE = 65_536
COMPARED = 20
"""Lines whose cells are counted."""
FEWEST_LINES = 3
"""A header and two rows: fewer lines of one width below others could be chance."""
_CHUNK = 1 << 20
_HINT = re.compile(r"sep=(.)")
"""The line by which a spreadsheet is told the separator."""


@dataclass(frozen=True)
class Layout:
    """How one text file is written."""

    separator: str = ","
    above: int = 0
    """Lines above the header, which are no part of the table."""
    encoding: str = UTF_8
    below: int = 0
    """Rows between the header and the readings; the first of them holds units."""

    def notes(self) -> str:
        """What was guessed beside the separator, as the end of a sentence."""
        lines = "1 line" if self.above == 1 else f"{self.above} lines"
        above = f"; {lines} above the header, from which rows are counted" if self.above else ""
        below = "; units below the header, joined with it and not counted as rows" if self.below else ""
        return above + below + ("; encoding: Windows-1252" if self.encoding == WINDOWS else "")


def layout_of(path: Path) -> Layout:
    """How a file is written, from all of its bytes and the cells of its first lines.

    :param path: A text file.
    :raises InputError: if it is no text."""
    encoding = _encoding(path)
    with path.open(encoding=encoding, newline="") as stream:
        lines = stream.read(SAMPLE).splitlines()
    hint = _HINT.fullmatch(lines[0].strip()) if lines else None
    if hint is not None and hint[1] in SEPARATORS:
        return Layout(hint[1], 1, encoding)
    comments = next((number for number, line in enumerate(lines) if not line.startswith("#")), 0)
    separator = _separator([line for line in lines[comments : comments + COMPARED] if line.strip()])
    for tried in SEPARATORS if separator is None else (separator,):
        header = header_of(lines[comments:], tried)
        if header is not None:
            return Layout(tried, comments + header.above, encoding, header.below)
    if separator is not None:
        return Layout(separator, comments, encoding)
    separator, above = _below_other_lines(lines[comments : comments + 2 * COMPARED])
    return Layout(separator, comments + above, encoding)


def _encoding(path: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        with path.open("rb") as stream:
            head = stream.read(SAMPLE)
        if head.startswith(b"PK\x03\x04"):
            raise InputError(f"{path} is a workbook or another ZIP file, not text; save the sheet as CSV.") from None
        # No text in Windows-1252 has a zero byte, and every text in UTF-16 has.
        if b"\x00" in head or not _decodes(path, WINDOWS):
            raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8.") from None
        return WINDOWS
    return UTF_8


def _decodes(path: Path, encoding: str) -> bool:
    try:
        with path.open(encoding=encoding, newline="") as stream:
            while stream.read(_CHUNK):
                pass
    except UnicodeDecodeError:
        return False
    return True


def _separator(lines: Sequence[str]) -> str | None:
    """What divides every line into as many cells as the first; None where nothing does."""
    for separator in SEPARATORS:
        if separator == r"\s+" and lines and any(mark in lines[0] for mark in SEPARATORS):
            break
        counts = {cells(line, separator) for line in lines}
        if len(counts) == 1 and counts != {1}:
            return separator
    return None


def _below_other_lines(lines: Sequence[str]) -> tuple[str, int]:
    """The separator of a table below the lines that a logger writes about itself, and how many these are.

    Such lines hold fewer cells than the table, and the first of them is not divided at all. Otherwise the file is a
    table with an irregular row, which is refused by its number."""
    for separator in ("\t", ";", "|", ","):
        counts = [cells(line, separator) if line.strip() else 0 for line in lines]
        filled = [count for count in counts if count]
        width = filled[-1] if filled else 1
        begin = max((number + 1 for number, count in enumerate(counts) if count not in (0, width)), default=0)
        begin = next((number for number in range(begin, len(counts)) if counts[number]), begin)
        above, table = counts[:begin], filled[len([count for count in counts[:begin] if count]) :]
        if width > 1 and above and above[0] == 1 and max(above) < width and len(table) >= FEWEST_LINES:
            return separator, begin
    return ",", 0


def cells(line: str, separator: str) -> int:
    """How many cells a line holds.

    :param line: One line of the file.
    :param separator: One of `SEPARATORS`."""
    if separator == r"\s+":
        return len(line.split())
    try:
        return len(next(csv.reader([line], delimiter=separator), [""]))
    except csv.Error:
        return 1
