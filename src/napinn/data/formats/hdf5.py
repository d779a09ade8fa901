"""HDF5 files, which NetCDF 4 and MATLAB 7.3 are: what has to be looked at before the HDF5 library sees them.

Text and references of varying length lie in heaps, one object behind the other. Behind one that is free and of no
length the library looks for the next at the same place, for ever, and nothing can interrupt it."""

import mmap
import struct
from pathlib import Path

from napinn.errors import InputError

SIGNATURE = b"GCOL"
HEAD = struct.Struct("<4sB3xQ")
"""Of a heap: signature, version, and its size with all that is in it."""
OBJECT = struct.Struct("<HH4xQ")
"""Of an object: its number (0 for what is free), how often it is used, and its size; that of a free one counts this
head too."""


def check_heaps(path: Path) -> None:
    """Refuse a file with a heap that has no end."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = content.find(SIGNATURE)
        while at >= 0:
            if _endless(content, at):
                raise InputError(f"{path} is damaged: a heap in it has no end.")
            at = content.find(SIGNATURE, at + 1)


def _endless(content: mmap.mmap, at: int) -> bool:
    if at + HEAD.size > len(content):
        return False
    _, version, size = HEAD.unpack_from(content, at)
    place, end = at + HEAD.size, min(at + size, len(content))
    if version != 1:
        return False
    while place + OBJECT.size <= end:
        number, _, length = OBJECT.unpack_from(content, place)
        if number == 0 and length == 0:
            return True
        place += length if number == 0 else OBJECT.size + -(-length // 8) * 8
    return False
