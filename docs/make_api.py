"""Write `docs/api.md` from the docstrings of the public names, so that the page cannot drift from the code."""

import enum
import inspect
import textwrap
from pathlib import Path

import napinn

PAGE = Path(__file__).with_name("api.md")


def api_page() -> str:
    """Every public name with its signature and docstring."""
    parts = ["# API", "", "Made by `make docs` from the docstrings.", ""]
    for name in napinn.PUBLIC:
        thing = getattr(napinn, name)
        plain = inspect.isclass(thing) and issubclass(thing, enum.Enum | Exception)
        # Python 3.13 names the module in which it keeps Path.
        shown = "" if plain else str(inspect.signature(thing)).replace("pathlib._local.", "pathlib.")
        parts += [
            f"## napinn.{name}",
            "",
            "```python",
            _wrapped(f"{name}{shown}"),
            "```",
            "",
            inspect.getdoc(thing) or "",
            "",
        ]
        if inspect.isclass(thing):
            for method, value in vars(thing).items():
                documented = not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
                if documented and inspect.getdoc(value):
                    parts += [f"- **`{method}`**: {' '.join((inspect.getdoc(value) or '').split())}"]
            parts += [""]
    return "\n".join(parts).replace("\n\n\n", "\n\n").rstrip() + "\n"


def _wrapped(signature: str) -> str:
    return "\n".join(textwrap.wrap(signature, 110, subsequent_indent="    ", break_long_words=False))


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
