"""Write `docs/api.md` from the docstrings of the public names, so that the page cannot drift from the code."""

import enum
import inspect
import re
import textwrap
from pathlib import Path

import napinn

PAGE = Path(__file__).with_name("api.md")
GROUPS = {
    "Ask": ("Problem", "Unknown", "Prior", "Table", "with_experiments", "Experiment", "VaryingUnknown", "read_problem"),
    "Read": ("read_readings", "read_table", "Readings", "Columns", "Clock", "Conversion"),
    "Fit": ("fit", "run", "fit_seeds", "SeedFits", "discover", "Discovery", "compare", "resume", "Checkpoints"),
    "Methods": (
        "automatic", "bsplines", "law_pinn", "na_pinn", "pinn", "lad_pinn", "or_pinn", "mad_pinn", "b_pinn",
        "as_printed",
    ),
    "Results": ("FitResult", "FitStatus", "predict", "plot", "write_report", "Truth", "save", "load"),
    "Discover": ("discover", "Discovery"),
    "Trust": ("verify", "Verification", "estimate_uncertainty", "Uncertainty", "Interval", "judge_seeds"),
    "Errors": ("InputError", "StorageError"),
}  # fmt: skip
"""The public names by subject; one that is in none of them comes last."""
INTRODUCTION = """\
# API

Every public name, made by `make docs` from the docstrings. Examples are run by the tests. They have `napinn`, `np`,
`pd` and `Path` at hand, and these:

```python
problem = napinn.Problem({"t": (0, 3)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(0.5)})
readings = napinn.read_readings(table, problem)   # 160 readings of exp(-0.8 t) by four sensors
result = napinn.fit(problem, readings, napinn.bsplines())
```
"""
MODULES = re.compile(r"\b(?:napinn|collections\.abc|pandas|xarray|numpy|typing|pathlib)(?:\.\w+)*\.(?=[A-Za-z])")
FORWARD = re.compile(r"ForwardRef\('(?:\w+\.)*(\w+)'\)")
UNION = re.compile(r"\bUnion\[([^\[\]]*)\]")
"""A union that holds a forward reference, which has no other way to be written."""
ENTRY = re.compile(r":(param|return|raises)\s*(\w*):\s*")


def api_page() -> str:
    """The page."""
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in napinn.__all__ if name not in grouped)
    parts = [INTRODUCTION]
    for group, names in {**GROUPS, **({"Other": others} if others else {})}.items():
        parts += [f"## {group}", ""]
        for name in names:
            parts += _entry(name)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _entry(name: str) -> list[str]:
    """One name with its signature, its docstring, and one line for each of its methods."""
    thing = getattr(napinn, name)
    parts = [f"### napinn.{name}", ""]
    if not inspect.ismodule(thing) and not (inspect.isclass(thing) and issubclass(thing, enum.Enum | Exception)):
        parts += ["```python", _wrapped(f"{name}{inspect.signature(thing)}"), "```", ""]
    parts += [markdown(inspect.getdoc(thing) or ""), ""]
    if inspect.isclass(thing):
        for method, value in vars(thing).items():
            documented = not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
            if documented and inspect.getdoc(value):
                first = (inspect.getdoc(value) or "").split("\n\n")[0]
                parts += [f"- **`{method}`**: {' '.join(first.split())}"]
    return [*parts, ""]


def markdown(text: str) -> str:
    """A docstring with arguments as a list and examples as code."""
    found: list[str] = []
    inside = ""
    for line in text.splitlines():
        if inside == "code" and not line.strip():
            found.append("```")
            inside = ""
        if line.startswith(">>>") and inside != "code":
            found += ["", "```pycon"]
            inside = "code"
        if inside != "code" and (entry := ENTRY.match(line)):
            kind, name = entry[1], entry[2]
            lead = {"param": f"- `{name}`: ", "return": "- returns: ", "raises": f"- raises `{name}` "}[kind]
            if inside != "list" and found and found[-1]:
                found.append("")
            found.append(lead + line[entry.end() :])
            inside = "list"
            continue
        found.append(f"  {line.strip()}" if inside == "list" and line.strip() else line)
    return "\n".join([*found, "```"] if inside == "code" else found)


def _wrapped(signature: str) -> str:
    # Python 3.13 names the module in which it keeps Path.
    short = MODULES.sub("", signature.replace("pathlib._local.", "pathlib."))
    short = FORWARD.sub(r"\1", short)
    short = UNION.sub(lambda found: found[1].replace(", ", " | "), short)
    # A union is written as `typing` has first seen it, so its order depends on what was imported before.
    short = short.replace("str | Path", "Path | str")
    return "\n".join(textwrap.wrap(short, 78, subsequent_indent="    ", break_long_words=False))


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
