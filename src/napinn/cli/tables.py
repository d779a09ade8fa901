"""`napinn methods` and `napinn backbones`: tables of what there is."""

import json
from collections.abc import Mapping
from typing import Any

from rich.table import Table

from napinn.cli.console import Console, prose
from napinn.engines.catalogue import BACKBONES, DENSITIES, LOSSES, METHODS, SPLINE_DENSITIES, CatalogueEntry


def methods_command(as_json: bool) -> None:
    tables = {
        "methods": METHODS, "densities of splines": SPLINE_DENSITIES, "densities": DENSITIES, "losses": LOSSES,
    }  # fmt: skip
    if as_json:
        described = {title: {name: _described(e) for name, e in table.items()} for title, table in tables.items()}
        print(json.dumps(described))  # noqa: T201
        return
    for title, table in tables.items():
        _show(title, table, {})


def backbones_command(as_json: bool) -> None:
    # Counting takes the networks themselves.
    from napinn.engines.network.methods import parameters

    counts = {name: parameters(entry.make()) for name, entry in BACKBONES.items()}
    if as_json:
        print(json.dumps({name: {"parameters": counts[name], **_described(e)} for name, e in BACKBONES.items()}))  # noqa: T201
        return
    _show("backbones", BACKBONES, counts)


def _described(entry: CatalogueEntry) -> dict[str, Any]:
    return {"summary": entry.summary, "source": entry.source}


def _show(title: str, entries: Mapping[str, CatalogueEntry], counts: dict[str, int]) -> None:
    columns = [title, *(["parameters"] if counts else []), "what it is", "from"]
    table = Table(*prose(*columns), box=None, pad_edge=False)
    for name, entry in entries.items():
        table.add_row(name, *([f"{counts[name]:,}"] if counts else []), entry.summary, entry.source)
    Console().print(table, "")
