"""Pages and their parts from the templates of this folder. Every value is escaped, unless it is a part itself."""

import functools
from collections.abc import Iterable
from typing import Any

import jinja2
from markupsafe import Markup


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("napinn.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )


def render(template: str, **values: Any) -> Markup:
    """A part of a page.

    :param template: The name of its file in `templates`, without the ending.
    :param values: What the template names; text is escaped, and a part stays as it is."""
    return Markup(_environment().get_template(f"{template}.html").render(**values))


def part(name: str, *values: Any) -> Markup:
    """One of the small parts in `templates/parts.html`.

    :param name: Of the macro.
    :param values: Its arguments."""
    return getattr(_environment().get_template("parts.html").module, name)(*values)


def joined(parts: Iterable[str]) -> Markup:
    """Parts one after another; what is plain text is escaped."""
    return Markup("").join(parts)


__all__ = ["Markup", "joined", "part", "render"]
