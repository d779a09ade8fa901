"""A problem as a notebook shows it."""

from typing import TYPE_CHECKING

from napinn.data import markup
from napinn.data.readings import distinct_digits

if TYPE_CHECKING:
    from napinn.problem.problem import Problem


def as_html(problem: "Problem") -> str:
    """The equations, and tables of what they are about.

    :param problem: The problem to show."""
    axes = [(name, *distinct_digits(*span), problem.units.get(name, "")) for name, span in problem.coordinates.items()]
    kinds = [*((name, "measured") for name in problem.fields), *((name, "hidden") for name in problem.hidden)]
    fields = [(name, kind, problem.units.get(name, "")) for name, kind in kinds]
    bounds = [
        (
            name,
            *("" if each is None else f"{each:g}" for each in (one.start, one.low, one.high)),
            problem.unit_of(name) or "",
        )
        for name, one in problem.unknowns.items()
    ]
    known = [(name, f"{value:g}") for name, value in problem.constants.items()]
    return markup.block(
        f"Problem: {problem.name}",
        [
            markup.formulas(problem.show().splitlines()),
            markup.table(("unknown", "start", "low", "high", "unit"), bounds),
            markup.fold("Coordinates", markup.table(("name", "from", "to", "unit"), axes)),
            markup.fold("Fields", markup.table(("name", "kind", "unit"), fields)),
            markup.fold("Constants", markup.table(("name", "value"), known)),
        ],
    )
