"""The rooms of the package: few, each in the import contract and in the table of `docs/architecture.md`, in one order.
What the tables of the documentation name exists."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "napinn"
MOST = 16
"""Rooms that a newcomer can take in at a glance."""


def rooms() -> set[str]:
    names = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    return names - {"__init__", "__pycache__"}


def layers() -> list[list[str]]:
    """From the lowest to the highest."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (found,) = [contract for contract in contracts if contract["type"] == "layers"]
    assert found["exhaustive"]
    return [layer.split(" | ") for layer in reversed(found["layers"])]


def table_rows() -> list[tuple[str, str]]:
    """Room, and what to look at first."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)(?:/|\.py)` \|.*\|(.*)\|$", text, re.M)


def test_there_are_few_rooms():
    assert len(rooms()) <= MOST


def test_the_contract_has_every_room_once():
    named = [room for layer in layers() for room in layer]
    assert sorted(named) == sorted(rooms())


def test_the_table_of_the_architecture_is_in_the_order_of_the_layers():
    place = {room: number for number, layer in enumerate(layers()) for room in layer}
    named = [room for room, _ in table_rows()]
    assert sorted(named) == sorted(rooms())
    assert [place[room] for room in named] == sorted(place.values())


@pytest.mark.parametrize(("room", "first"), table_rows(), ids=lambda value: value.strip("` "))
def test_what_to_look_at_first_exists(room, first):
    for path in re.findall(r"`([^`]+)`", first):
        assert (PACKAGE / room / path).exists()


def test_what_the_table_of_additions_names_exists():
    """Files and folders, and the names in capitals that a row says to extend."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## To add something")[2]
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text))
    assert len(named) > 15
    for path in named:
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for name in re.findall(r"`([A-Z]{4,})`", text):
        assert re.search(rf"^{name}\b", source, re.M), name
