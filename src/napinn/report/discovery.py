"""The discovery section of a report: equations with intervals, rivals by number of terms, inclusion of every term."""

import html
from collections.abc import Mapping
from typing import Any

from napinn.report.charts import Chart, axes
from napinn.report.templating import Markup, render
from napinn.results.intervals import formatted_ends

Json = Mapping[str, Any]
SECTION = "Discovery"


def discovery_charts(found: Json) -> list[Chart]:
    """One chart of inclusion probabilities an equation; `found` is what `discovery.json` holds."""
    return [_inclusion(number, equation) for number, equation in enumerate(found["equations"])]


def discovery_tables(found: Json) -> Markup:
    """Equations, coefficients, rivals and sentences as HTML."""
    equations = [(each["shown"], _terms(each), _rivals(each)) for each in found["equations"]]
    return render("discovery", sentences=found["sentences"], equations=equations)


def _terms(equation: Json) -> list[tuple[str, ...]]:
    return [
        (
            term["shown"],
            f"{term['coefficient']:.5g}",
            " … ".join(formatted_ends(term["low"], term["high"])),
            term.get("shown_inclusion", f"{term['inclusion']:.2f}"),
        )
        for term in equation["terms"]
    ]


def _rivals(equation: Json) -> list[tuple[str, ...]]:
    """The score is 1 where only noise is left, so a row from which on it no longer falls has all terms."""
    return [
        (
            str(rival["size"]),
            (", ".join(rival["terms"]) or "0") + (" (chosen)" if rival["chosen"] else ""),
            f"{rival['score']:.4g}",
        )
        for rival in equation["rivals"]
    ]


def _inclusion(number: int, equation: Json) -> Chart:
    inside = {term["text"] for term in equation["terms"]}
    names = sorted(equation["inclusion"], key=lambda name: equation["inclusion"][name])
    data = [
        {
            "type": "bar", "orientation": "h", "name": title,
            "y": [html.escape(name) for name in chosen], "x": [equation["inclusion"][name] for name in chosen],
            "marker": {"color": colour}, "hovertemplate": "%{y}: %{x:.2f}",
        }
        for title, colour, chosen in (
            ("in the equation", "@good", [name for name in names if name in inside]),
            ("not in the equation", "@flagged", [name for name in names if name not in inside]),
        )
    ]  # fmt: skip
    caption = "The share of draws, each without a quarter of the sensors, in which the best equation holds a term."
    layout = axes("inclusion probability", "", barmode="stack")
    return Chart(f"inclusion-{number}", f"Terms of {equation['left']}", caption, data, layout)
