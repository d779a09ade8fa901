"""Settings to and from plain JSON values, without naming a class that was not listed.

Settings are frozen dataclasses of numbers, texts, tuples and other settings. Each is written with the name of its
class; reading takes the table of classes that may appear, so a file can build nothing else."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from napinn.errors import InputError

CLASSES: Mapping[str, str] = {
    "ConstantRate": "Constant",
    "CosineRate": "Cosine",
    "PhaseKind": "Kind",
    "RunExtras": "Wishes",
}
"""By the name of a class today, its name in files. Files and the keys of finished jobs hold names, so a class that is
renamed keeps its name there."""
ENTRIES: Mapping[str, Mapping[str, str]] = {
    "Method": {"wavenumbers": "crowding"},
    "Phase": {"equation_factors": "stiffness"},
}
"""By the name of a class and of its entry today, the name of the entry in files."""


def encode(value: Any, brief: bool = False) -> Any:
    """Plain values; `brief` leaves out entries that have their default, so that a setting added later changes
    nothing that was written before."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        defaults = {field.name: field.default for field in dataclasses.fields(value)} if brief else {}
        kept = {name: entry for name, entry in entries.items() if name not in defaults or entry != defaults[name]}
        names = ENTRIES.get(type(value).__name__, {})
        return {
            "type": file_name(type(value)),
            **{names.get(name, name): encode(each, brief) for name, each in kept.items()},
        }
    if isinstance(value, enum.Enum):
        return {"type": file_name(type(value)), "value": value.value}
    if isinstance(value, tuple | list):
        return [encode(item, brief) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item, brief) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} cannot be written to a settings file")


def file_name(cls: type) -> str:
    """The name of a class of settings in files."""
    return CLASSES.get(cls.__name__, cls.__name__)


def decode(value: Any, classes: Mapping[str, type]) -> Any:
    if isinstance(value, list):
        return tuple(decode(item, classes) for item in value)
    if isinstance(value, dict) and value.get("type") in classes:
        cls = classes[value["type"]]
        if issubclass(cls, enum.Enum):
            return cls(value["value"])
        known = {field.name: field for field in dataclasses.fields(cls)}
        today = {name: entry for entry, name in ENTRIES.get(cls.__name__, {}).items()}
        fields: dict[str, Any] = {
            today.get(str(name), str(name)): decode(item, classes) for name, item in value.items() if name != "type"
        }
        unknown = set(fields) - set(known)
        if unknown:
            raise InputError(f"settings of '{value['type']}' hold an unknown entry '{sorted(unknown)[0]}'.")
        for name, entry in fields.items():
            if isinstance(entry, dict) and not _is_table(known[name].type):
                raise InputError(f"settings of '{value['type']}' hold no type for their entry '{name}'.")
        return cls(**fields)
    if isinstance(value, dict):
        if "type" in value:
            raise InputError(f"settings name an unknown type '{value['type']}'.")
        return {key: decode(item, classes) for key, item in value.items()}
    return value


def _is_table(annotation: Any) -> bool:
    """Whether names with entries belong there, rather than settings of some type."""
    return any(get_origin(part) in (dict, Mapping) for part in (annotation, *get_args(annotation)))
