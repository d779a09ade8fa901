"""What napinn says when it cannot continue because of what it was given.

Every message is one sentence for the person at the keyboard: what is wrong, where, and what to do about it. The
command line prints it and exits with code 2; Python callers can catch `InputError`.
"""

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

Named = TypeVar("Named")


def printable(text: str, allowed: str = "\n\t") -> str:
    """The text with a replacement mark for every character that a terminal might obey, but for those `allowed`."""
    return "".join(mark if mark.isprintable() or mark in allowed else "�" for mark in text)


class InputError(Exception):
    """The problem, the readings, a file or an option is not usable as given; the message is one sentence with the
    remedy.

    >>> try:
    ...     napinn.Unknown(start=5.0, high=1.0)
    ... except napinn.InputError as error:
    ...     print(error)
    an unknown starts at 5, which is not strictly between -inf and 1.
    """

    def __str__(self) -> str:
        # Names and cells may come from a damaged file; a sentence has no control characters in it.
        return printable(str(self.args[0]), "")


class StorageError(Exception):
    """A file could not be written although nothing was wrong with what was asked: the disk is full, or a folder was
    removed or locked while a fit ran. The command line prints it and exits with code 1.

    >>> issubclass(napinn.StorageError, Exception)
    True
    """


@contextlib.contextmanager
def storing(failure: str) -> Iterator[None]:
    """For what is written once the work is done: the reason why a disk fails follows the words of `failure`."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{failure}: {str(error.strerror or error).removesuffix('.')}.") from None


MOST_COMPARED = 1000
"""Names that a mistyped one is compared with; each comparison takes a fraction of a millisecond."""


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names with commas between, the first few of them where there are many."""
    names = list(names)
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause that suggests the closest known name, or lists the known ones when nothing is close."""
    known = sorted(set(known))
    if len(known) > MOST_COMPARED:
        known = known[:MOST_COMPARED]
    same_letters = [match for match in known if match.lower() == name.lower()]
    # In a name of one or two letters a swapped letter is likelier than a dropped one.
    swapped = [match for match in known if len(match) == len(name) == 2 and match[1] == name[1]]
    close = same_letters or swapped or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known here: {listed(known)}." if known else "none are known here."


def named(name: str, table: Mapping[str, Named], kind: str) -> Named:
    """What a table holds under a name, or an `InputError` that suggests the nearest of its names.

    :param name: As the user wrote it.
    :param table: Everything that there is, by name.
    :param kind: What the message calls a thing of the table."""
    if name not in table:
        raise InputError(f"there is no {kind} '{name}'; {nearest(name, table)}")
    return table[name]
