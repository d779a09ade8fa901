"""Well-known equations in the names of a table, to begin with."""

import re
from collections.abc import Sequence

from napinn.data.readings import time_axis
from napinn.problem.file.proposal import partial_text


def templates(coordinates: Sequence[str], fields: Sequence[str]) -> list[dict[str, object]]:
    """Equations that suit such coordinates and fields, each with a title; none where no usual one does.

    :param coordinates: Names of coordinates.
    :param fields: Names of measured fields."""
    axis = time_axis(coordinates, ())
    if not coordinates or not fields:
        return []
    time = None if axis is None else coordinates[axis]
    places = [name for name in coordinates if name != time]
    if time is None:
        found = _steady(places, fields[0])
    elif places:
        found = _spreading(time, places, fields[0])
    else:
        found = _in_time(time, fields)
    taken = {*coordinates, *fields}
    return [{"title": title, "equations": [_free(text, taken) for text in texts]} for title, texts in found]


def _free(text: str, taken: set[str]) -> str:
    """The text with its coefficients, which are in braces, under names that no column has."""
    return re.sub(r"\{(\w+)\}", lambda found: found[1] + "0" * (found[1] in taken), text)


def _in_time(time: str, fields: Sequence[str]) -> list[tuple[str, list[str]]]:
    u = fields[0]
    rate = partial_text(u, time)
    if len(fields) > 1:
        v = fields[1]
        other = partial_text(v, time)
        return [
            (
                "Predator and prey (Lotka–Volterra)",
                [f"{rate} = {{a}}*{u} - {{b}}*{u}*{v}", f"{other} = {{c}}*{u}*{v} - {{m}}*{v}"],
            ),
            (
                "Exchange between two compartments",
                [f"{rate} = -{{k1}}*{u} + {{k2}}*{v}", f"{other} = {{k1}}*{u} - {{k2}}*{v}"],
            ),
        ]
    return [
        ("Decay", [f"{rate} = -{{k}}*{u}"]),
        ("Logistic growth", [f"{rate} = {{r}}*{u}*(1 - {u}/{{K}})"]),
        ("Approach to a level (cooling, charging)", [f"{rate} = {{k}}*({{L}} - {u})"]),
        ("Damped oscillation", [f"{partial_text(u, time, time)} = -{{w2}}*{u} - {{c}}*{rate}"]),
    ]


def _spreading(time: str, places: Sequence[str], field: str) -> list[tuple[str, list[str]]]:
    rate, first = partial_text(field, time), partial_text(field, places[0])
    bends = " + ".join(partial_text(field, place, place) for place in places)
    spread = bends if len(places) == 1 else f"({bends})"
    return [
        ("Diffusion, conduction of heat", [f"{rate} = {{D}}*{spread}"]),
        ("Diffusion with loss", [f"{rate} = {{D}}*{spread} - {{k}}*{field}"]),
        ("Transport by a flow, with dispersion", [f"{rate} = {{D}}*{spread} - {{v}}*{first}"]),
        ("Growth that spreads (Fisher–KPP)", [f"{rate} = {{D}}*{spread} + {{r}}*{field}*(1 - {field}/{{K}})"]),
        ("Waves", [f"{partial_text(field, time, time)} = {{c2}}*{spread}"]),
    ]


def _steady(places: Sequence[str], field: str) -> list[tuple[str, list[str]]]:
    bends = " + ".join(partial_text(field, place, place) for place in places)
    return [("Constant source", [f"{bends} = -{{q}}"]), ("Loss in proportion", [f"{bends} = {{k}}*{field}"])]
