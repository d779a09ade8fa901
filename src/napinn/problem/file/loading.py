"""A problem file on disk to its entries."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic
import yaml

from napinn.data.formats.sizes import check_file
from napinn.data.names import normal
from napinn.errors import InputError
from napinn.problem.file.problem_file import ProblemFile
from napinn.problem.file.sentences import first_reason, yaml_reason

LARGEST_FILE = 1_000_000
DEEPEST = 12
"""Levels of YAML; the deepest entry of a problem file has four."""
LONGEST_ENTRY = 20_000
"""Characters of one entry: those of the longest equation. YAML reads `1:1:1…` as one number, in quadratic time."""
SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C reads a large file ten times as fast; it recurses on the stack, so the depth is checked before."""
BOOL = "tag:yaml.org,2002:bool"


class Checked(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """YAML without two traps: `NO` is a name and not false, and an entry that is written twice is refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                problem = f"the entry '{name[:40]}' is written twice"
                raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


Checked.yaml_implicit_resolvers = {
    first: [each for each in known if each[0] != BOOL]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Checked.add_implicit_resolver(BOOL, re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


class Loader(Checked, SAFE):
    """The reader of problem files."""


OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


def load_problem_file(path: Path) -> ProblemFile:
    check_file(path, "problem")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path} is larger than {LARGEST_FILE // 1_000_000} MB, the limit for a problem file.")
        text = path.read_text(encoding="utf-8")
        _check_tokens(text, path)
        content = yaml.load(text, Loader)  # noqa: S506 (made of a safe one)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{path} is not valid YAML: {yaml_reason(error)}.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no problem; it needs the entries coordinates, fields and equations.")
    return parse_problem(content, str(path), path.parent)


def _check_tokens(text: str, path: Path) -> None:
    """Refuse what would take for ever to read; tokens come one by one, so that a refusal is quick."""
    depth = 0
    for token in yaml.scan(text, SAFE):
        if isinstance(token, yaml.AliasToken):
            # Aliases can make a few lines stand for billions of entries, and no problem needs them.
            raise InputError(f"{path} uses a YAML alias (*name); write the entry out.")
        if isinstance(token, yaml.TagToken):
            # The constructors of some tags fail on wrong text with exceptions of any kind.
            line = token.start_mark.line + 1
            raise InputError(
                f"{path} is not valid YAML for a problem: line {line} has a tag (!name); write the value alone."
            )
        depth += isinstance(token, OPENING) - isinstance(token, CLOSING)
        if depth > DEEPEST:
            raise InputError(f"{path} nests entries more than {DEEPEST} levels deep, the limit for a problem file.")
        if isinstance(token, yaml.ScalarToken) and len(token.value) > LONGEST_ENTRY:
            raise InputError(
                f"{path} has an entry of more than {LONGEST_ENTRY} characters, the limit for a problem file."
            )


def parse_problem(content: Mapping[Any, Any], source: str, folder: Path = Path()) -> ProblemFile:
    if "equations" not in content and ({"left", "terms"} & set(content)):
        # The equations are what is to be discovered.
        content = {**content, "equations": []}
    try:
        file = ProblemFile.model_validate(_normalised(content, source))
    except pydantic.ValidationError as error:
        raise InputError(f"{source}: {first_reason(error)}") from None
    file._folder = folder
    return file


def _normalised(content: Mapping[Any, Any], source: str) -> dict[Any, Any]:
    """The content with one spelling for the names of coordinates, fields, unknowns and their like."""
    found = dict(content)
    for entry in ("coordinates", "unknowns", "constants", "tables", "units", "arrays", "hidden", "observables"):
        given = found.get(entry)
        if isinstance(given, dict):
            found[entry] = {_spelled(name): value for name, value in given.items()}
            if len(found[entry]) < len(given):
                raise InputError(f"{source}: two names under '{entry}' only look different; remove one.")
    for entry in ("fields", "hidden", "periodic"):
        if isinstance(found.get(entry), list):
            found[entry] = [_spelled(name) for name in found[entry]]
    for owner, entry in (("tables", "coordinates"), ("arrays", "axes"), ("unknowns", "of")):
        if isinstance(found.get(owner), dict):
            found[owner] = {name: _listed(each, entry) for name, each in found[owner].items()}
    if isinstance(found.get("sensors"), dict):
        found["sensors"] = {name: _keyed(place) for name, place in found["sensors"].items()}
    if isinstance(found.get("columns"), dict):
        found["columns"] = {name: _keyed(entry) for name, entry in found["columns"].items()}
    return found


def _spelled(name: Any) -> Any:
    return normal(name) if isinstance(name, str) else name


def _keyed(entries: Any) -> Any:
    return {_spelled(name): each for name, each in entries.items()} if isinstance(entries, dict) else entries


def _listed(owner: Any, entry: str) -> Any:
    if not isinstance(owner, dict) or not isinstance(owner.get(entry), list):
        return owner
    return {**owner, entry: [_spelled(name) for name in owner[entry]]}


def without_bad(file: ProblemFile) -> ProblemFile:
    """The same problem, with readings left out that the flags of the table call bad."""
    return file.model_copy(update={"flags": file.flags.model_copy(update={"leave_out_bad": True})})
