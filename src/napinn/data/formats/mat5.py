"""MATLAB files of version 5 to 7: the arrays of plain numbers in them, and nothing else.

A file is a header and a row of elements, each a tag (kind and length) and its bytes; an array is an element that holds
others: flags, shape, name and numbers. Every length is held against the bytes that are there before any is read, and a
compressed array is unpacked when it is asked for, as far as its shape says. SciPy's reader takes lengths as they come,
and a file that was damaged on its way can end the whole process."""

import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

HEADER = 128
NUMBERS: Mapping[int, str] = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
"""How the numbers of an element are stored."""
MATRIX, COMPRESSED = 14, 15
CLASSES: Mapping[int, str] = {
    6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
"""What the numbers of an array are to the user; classes that are not here (text, cells, structures) are left out."""
COMPLEX = 0x0800
LONGEST_HEAD = 4096
"""Bytes in which flags, shape and name of an array end."""


class DamagedError(ValueError):
    """The bytes are not those of a MATLAB file."""


@dataclass(frozen=True)
class MatlabArray:
    name: str
    shape: tuple[int, ...]
    kind: str
    order: str
    body: memoryview
    packed: bool
    start: int
    """Where in the unpacked body the element of its numbers begins."""

    @property
    def values(self) -> np.ndarray:
        count = math.prod(self.shape)
        tag, body, _ = _element(
            _unpacked(self.body, self.packed, self.start + 16 + 8 * count)[self.start :], self.order
        )
        if tag not in NUMBERS:
            raise DamagedError("numbers of no known kind")
        stored = np.dtype(self.order + NUMBERS[tag])
        if count * stored.itemsize > len(body):
            raise DamagedError("fewer numbers than its shape says")
        return np.frombuffer(body, stored, count).astype(self.kind).reshape(self.shape, order="F")


def matlab_arrays(content: bytes) -> dict[str, MatlabArray]:
    """The arrays of real numbers in a file, by name."""
    if len(content) < HEADER or content[126:128] not in (b"IM", b"MI"):
        raise DamagedError("no header of a MATLAB file")
    order = "<" if content[126:128] == b"IM" else ">"
    rest, found = memoryview(content)[HEADER:], {}
    while len(rest) >= 8:
        tag, body, rest = _element(rest, order, padded=False)
        array = _array(body, order, tag == COMPRESSED) if tag in (MATRIX, COMPRESSED) else None
        if array is not None:
            found[array.name] = array
    return found


def _unpacked(body: memoryview, packed: bool, most: int) -> memoryview:
    return memoryview(zlib.decompressobj().decompress(body, most)) if packed else body


def _element(content: memoryview, order: str, padded: bool = True) -> tuple[int, memoryview, memoryview]:
    """The kind and the bytes of the first element, and what comes behind it."""
    if len(content) < 8:
        raise DamagedError("an element is cut short")
    tag, length = struct.unpack_from(order + "II", content)
    if tag >> 16:
        # Up to four bytes stand in the tag itself.
        if tag >> 16 > 4:
            raise DamagedError("a short element is too long")
        return tag & 0xFFFF, content[4 : 4 + (tag >> 16)], content[8:]
    if length > len(content) - 8:
        raise DamagedError("an element is longer than the file")
    end = 8 + length
    return tag, content[8:end], content[end + (-length % 8 if padded else 0) :]


def _array(body: memoryview, order: str, packed: bool) -> MatlabArray | None:
    """An array from the elements that it holds; None for one of another class than real numbers."""
    head = _unpacked(body, packed, LONGEST_HEAD)[:LONGEST_HEAD]
    # What was compressed is the element with its tag.
    whole = head[8:] if packed else head
    _, flags, rest = _element(whole, order)
    _, sizes, rest = _element(rest, order)
    _, name, rest = _element(rest, order)
    if len(flags) < 8 or len(sizes) % 4 or len(sizes) > 4 * 32:
        raise DamagedError("an array without flags or shape")
    (first,) = struct.unpack_from(order + "I", flags)
    kind = CLASSES.get(first & 0xFF)
    if kind is None or first & COMPLEX:
        return None
    shape = tuple(int(size) for size in np.frombuffer(sizes, order + "i4"))
    if any(size < 0 for size in shape):
        raise DamagedError("a negative size")
    title = bytes(name).decode("latin-1").rstrip("\0")
    return MatlabArray(title, shape, kind, order, body, packed, len(head) - len(rest))
