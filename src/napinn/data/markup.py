"""What a notebook shows of a value: a few lines of HTML with parts that open and close.

Colours come from the page, so that the same text is readable in light and dark themes. Whatever the user has named is
escaped here and nowhere else."""

import html
from collections.abc import Sequence

STYLE = (
    "<style>.napinn{font-size:.95em;line-height:1.45}.napinn table{border-collapse:collapse;margin:.2em 0 .6em 1.2em}"
    ".napinn th,.napinn td{text-align:left;padding:.1em .9em .1em 0;background:none;border:0}"
    ".napinn th{font-weight:600;opacity:.75}.napinn summary{cursor:pointer}"
    ".napinn .head{font-weight:600;border-bottom:1px solid currentColor;padding-bottom:.2em;margin-bottom:.3em}"
    ".napinn .maths{font-family:serif;font-size:1.1em;margin:.2em 0 .4em 1.2em}.napinn p{margin:.2em 0}</style>"
)


def block(title: str, parts: Sequence[str]) -> str:
    """A value in a notebook.

    :param title: Its kind and name, as plain text.
    :param parts: Its content, as HTML; empty parts are left out."""
    return (
        f'{STYLE}<div class="napinn"><div class="head">{html.escape(title)}</div>{"".join(filter(None, parts))}</div>'
    )


def line(text: str) -> str:
    """One sentence, given as plain text."""
    return f"<p>{html.escape(text)}</p>"


def formulas(lines: Sequence[str]) -> str:
    """Equations, one a line, given as plain text."""
    return f'<div class="maths">{"<br>".join(html.escape(each) for each in lines)}</div>' if lines else ""


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of plain values; empty text without rows."""
    if not rows:
        return ""
    top = "".join(f"<th>{html.escape(each)}</th>" for each in head)
    cells = ("".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def fold(title: str, content: str, opened: bool = False) -> str:
    """A part that opens and closes; empty text without content.

    :param title: Its summary, as plain text.
    :param content: HTML.
    :param opened: Whether it is open at first."""
    if not content:
        return ""
    return f"<details{' open' * opened}><summary>{html.escape(title)}</summary>{content}</details>"
