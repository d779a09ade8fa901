"""One sentence for what pydantic or the YAML reader found wrong with a problem file."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import pydantic

from napinn.errors import nearest
from napinn.problem.file.entries import (
    ArrayEntry,
    ColumnEntry,
    ColumnsEntry,
    CoordinateEntry,
    FlagsEntry,
    NoiseEntry,
    TableEntry,
    UnknownEntry,
)
from napinn.problem.file.problem_file import ProblemFile

OWNERS: Mapping[str, type[pydantic.BaseModel]] = {
    "columns": ColumnsEntry,
    "unknowns": UnknownEntry,
    "coordinates": CoordinateEntry,
    "tables": TableEntry,
    "arrays": ArrayEntry,
    "noise": NoiseEntry,
    "flags": FlagsEntry,
    "constants": ColumnEntry,
}


def first_reason(error: pydantic.ValidationError) -> str:
    """One sentence for the first thing that is wrong."""
    errors = error.errors(include_url=False)
    # Of an entry that may be written in several ways, the way that was tried fails deepest inside.
    alike = [other for other in errors if other["loc"][:2] == errors[0]["loc"][:2]]
    first = max(alike, key=lambda other: len(other["loc"]))
    if first["type"] == "missing":
        # What is missing may be there under a misspelt name, and that is the better sentence.
        *owner, name = first["loc"]
        beside = [each for each in errors if each["type"] == "extra_forbidden" and [*each["loc"][:-1]] == owner]
        first = next((each for each in beside if get_close_matches(str(each["loc"][-1]), [str(name)])), first)
    path = _path(first["loc"])
    where = ".".join(path) or "the file"
    match first["type"]:
        case "missing":
            return f"the entry '{where}' is missing; add it."
        case "extra_forbidden":
            known = ProblemFile.model_fields if len(path) == 1 else OWNERS[path[0]].model_fields
            return f"'{where}' is not an entry of a problem file; {nearest(path[-1], known)}"
        case "dict_type" | "model_type" | "model_attributes_type" | "dataclass_type":
            return f"entry '{where}' must hold names and values, as 'name: value'{_found(first)}."
        case "list_type" | "tuple_type":
            return f"entry '{where}' must be a list, as '[first, second]'{_found(first)}."
        case "too_short" | "too_long":
            return f"entry '{where}' must be a pair of numbers, '[low, high]'{_found(first)}."
        case _:
            return f"entry '{where}': {first['msg'][0].lower()}{first['msg'][1:]}{_found(first)}."


def _found(reason: Mapping[str, Any]) -> str:
    given = reason.get("input")
    return "" if isinstance(given, dict | list) else f" (found {str(given)[:40]!r})"


_UNION_MEMBERS = frozenset(
    {
        "float",
        "constrained-float",
        "str",
        "int",
        "date",
        "datetime",
        "nullable",
        *(owner.__name__ for owner in OWNERS.values()),
    }
)


def _path(location: tuple[str | int, ...]) -> list[str]:
    """Pydantic puts the way of writing that it tried into the path, which means nothing to the reader.

    The first part is always the reader's own word, which may be `date` as well."""
    first, rest = map(str, location[:1]), map(str, location[1:])
    return [*first, *(part for part in rest if not _is_union_member(part))]


def _is_union_member(part: str) -> bool:
    return part in _UNION_MEMBERS or part.startswith(("list[", "dict[", "tuple["))


def yaml_reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it cannot be parsed"
    return f"{problem}, line {mark.line + 1}" if mark is not None else str(problem)
