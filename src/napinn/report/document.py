"""A whole HTML document around some content: the style sheet, plotly and the scripts of this folder, all inside it."""

import html
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import plotly.offline


def page(title: str, body: str, scripts: Sequence[str], bundle: dict[str, Any] | None = None) -> str:
    """A whole document; the bundle cannot end its script element, because every `<` in it is written as an escape."""
    data = json.dumps(bundle, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title>\n<style>\n{resource('page.css')}</style></head>\n<body>{body}\n"
        f"<script>{plotly.offline.get_plotlyjs()}</script>\n"
        f'<script type="application/json" id="bundle">{data}</script>\n'
        f"<script>\n{''.join(resource(name) for name in scripts)}</script></body></html>\n"
    )


def resource(name: str) -> str:
    return resources.files("napinn.report").joinpath(name).read_text(encoding="utf-8")
