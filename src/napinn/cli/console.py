"""What every command prints through, and streams that cannot take what is printed.

Names come from the user's files and may hold escape sequences, so only printable characters reach the terminal.
Elsewhere than on a terminal nothing is cut to a width, because a program or a file has none."""

import codecs
import contextlib
import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import rich.console
from rich.table import Column, Table
from rich.text import Text

from napinn.errors import printable

WIDE = 10_000
"""Columns, where the output is not a terminal: wider than any table."""
IN_ASCII = {
    "∂": "d", "−": "-", "–": "-", "…": "...", "·": "*", "×": "x", "∞": "inf", "²": "^2", "³": "^3", "⁻": "^-",
    "°": "deg",
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
}  # fmt: skip


class Console(rich.console.Console):
    """A console that shows printable characters only, and as wide as it takes where it is not a terminal."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False):
        super().__init__(stderr=stderr, quiet=quiet)
        # Colours may be asked for where there is no terminal, and such output has no width either.
        if not (self.is_terminal and self.file.isatty()):
            self.width = WIDE

    def print_whole(self, table: Table) -> None:
        """Print a table of numbers in full, also where a terminal is narrower: a number that is cut is a wrong one."""
        before = self._width
        self.width = WIDE
        try:
            self.print(table, crop=False)
        finally:
            self._width = before

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def prose(*titles: str) -> list[Column]:
    """Columns of a table of words, which a narrow terminal breaks and never cuts."""
    return [Column(title, overflow="fold") for title in titles]


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Characters that a stream cannot encode, in others that say the same, or as question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    marks = error.object[error.start : error.end]
    return "".join(_nearest_ascii(mark) for mark in marks), error.end


def _nearest_ascii(mark: str) -> str:
    plain = unicodedata.normalize("NFKD", mark).encode("ascii", "ignore").decode()
    return IN_ASCII.get(mark) or plain or "?"


class _Forgiving:
    """Standard error that loses a line it cannot write: a full disk there must not end a fit."""

    def __init__(self, stream: Any):
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self.stream.flush()


@contextlib.contextmanager
def safe_streams() -> Iterator[None]:
    """Let standard output and error take any text, whatever the locale, and let standard error fail in silence."""
    codecs.register_error("napinn", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="napinn")
    before = sys.stderr
    if before is not None:
        sys.stderr = _Forgiving(before)
    try:
        yield
    finally:
        sys.stderr = before


def flushed() -> str | None:
    """Write out what standard output still holds; why that failed, or None.

    After a failure the rest goes nowhere, so that Python does not complain of it once more at its end."""
    stream = sys.stdout
    if stream is None:
        return None
    try:
        stream.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return str(error.strerror or error)
    return None
