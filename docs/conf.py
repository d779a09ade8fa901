"""How Sphinx makes the site from the Markdown of this folder: `make docs`."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent

project = "napinn"
author = "The napinn developers"
_version = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/napinn/__init__.py").read_text(encoding="utf-8"))
assert _version is not None
release = _version[1]

extensions = ["myst_nb"]
exclude_patterns = ["_build", "requirements.lock"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Notebooks in git hold no outputs; these are made when the site is built.
nb_execution_mode = "off" if os.environ.get("NAPINN_DOCS_QUICK") else "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_merge_streams = True
os.environ.setdefault("JAX_PLATFORMS", "cpu")

html_theme = "pydata_sphinx_theme"
html_title = "napinn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sourcelink_suffix = ""
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "show_nav_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

LINK_OUT = re.compile(r"\[([^\]]+)\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")
IN_SITE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
"""Pages of the repository that the site has under another name."""


def link_within_the_site(_app: object, docname: str, source: list[str]) -> None:
    """Files of the repository that are no part of the site are named and not linked; data files become downloads.

    A link to something that does not exist is left alone, so that the build complains of it."""
    folder = (ROOT / "docs" / docname).parent

    def replaced(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = (folder / target).resolve()
        if path.parent == ROOT and path.name in IN_SITE:
            return f"[{text}]({'../' * docname.count('/')}{IN_SITE[path.name]}{anchor})"
        outside = path.exists() and not path.is_relative_to(ROOT / "docs")
        if outside and (path.is_dir() or path.suffix in (".md", ".py")):
            return f"{text} (`{path.relative_to(ROOT)}`)"
        return match[0]

    if source:
        source[0] = LINK_OUT.sub(replaced, source[0])


def setup(app: object) -> None:
    from pygments.lexers.special import TextLexer

    app.connect("source-read", link_within_the_site)  # pyright: ignore[reportAttributeAccessIssue]
    app.add_lexer("csv", TextLexer)  # pyright: ignore[reportAttributeAccessIssue]
