"""A whole HTML document around some content: the style sheet, plotly and the scripts of this folder, all inside it."""

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import plotly.offline

from napinn.report.templating import Markup, render


def page(title: str, body: Markup, scripts: Sequence[str], bundle: dict[str, Any] | None = None) -> str:
    """A whole document; the bundle cannot end its script element, because every `<` in it is written as an escape."""
    data = json.dumps(bundle, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    # Style, scripts and data are no text of a page: they are put in as they are.
    document = render(
        "document", title=title, body=body, style=Markup(resource("page.css")),
        plotly=Markup(plotly.offline.get_plotlyjs()), data=Markup(data),
        scripts=Markup("".join(resource(name) for name in scripts)),
    )  # fmt: skip
    return f"{document}\n"


def resource(name: str) -> str:
    return resources.files("napinn.report").joinpath(name).read_text(encoding="utf-8")
