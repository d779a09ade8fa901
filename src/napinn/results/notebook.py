"""A finished fit in a Jupyter notebook: its report in a frame, and its figures.

Report and figures are drawn by rooms that read results and stand above them, so they are found by name when they are
asked for."""

import html
import importlib
import io
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from napinn.results.result import FitResult

RESOLUTION = 110
"""Dots an inch of a figure in a notebook."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and hasattr(found, "kernel")


@dataclass(frozen=True, eq=False)
class ReportFrame:
    """The report of a fit, shown in a notebook in a frame of its own."""

    page: str
    """The whole HTML document."""
    height: int

    def _repr_html_(self) -> str:
        """The report inside the notebook; it holds about 5 MB of scripts, which the notebook file then does too."""
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:{self.height}px;border:0" '
            'title="napinn report"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<napinn report, {len(self.page) / 1e6:.1f} MB; a notebook shows it, napinn.write_report saves it>"


@dataclass(frozen=True, eq=False)
class Plots:
    """The figures of a fit; each function gives back the matplotlib axes that it drew on, and a notebook shows them."""

    result: "FitResult"

    def field(self, name: str | None = None) -> "tuple[Axes, ...]":
        """The field with its readings: a curve in one coordinate, a map in two, three slices in more.

        :param name: A field, measured or hidden; the default is the first."""
        return self._drawn("field", name)

    def noise(self, name: str | None = None) -> "tuple[Axes, ...]":
        """The learned noise law over the histogram of misfits.

        :param name: A measured field; the default is the first."""
        return self._drawn("noise", name)

    def gate(self) -> "tuple[Axes, ...]":
        """The gate's curve with the readings on it; reliability over misfits for a method without a gate."""
        return self._drawn("gate", None)

    def sensors(self) -> "tuple[Axes, ...]":
        """The share of flagged readings by sensor, on a map where that is possible."""
        return self._drawn("sensors", None)

    def history(self) -> "tuple[Axes, ...]":
        """Losses while the fit ran, and the gate for a method that weighs readings."""
        return self._drawn("history", None)

    def parameters(self) -> "tuple[Axes, ...]":
        """The unknowns while the fit ran."""
        return self._drawn("parameters", None)

    def _drawn(self, what: str, name: str | None) -> Any:
        axes = importlib.import_module("napinn.report.plot").FIGURES[what](self.result, name)
        if in_notebook():
            _show(axes[0].figure)
        return axes


def report_frame(result: "FitResult", height: int) -> ReportFrame:
    """The report of a fit in a frame."""
    return ReportFrame(importlib.import_module("napinn.report.html").report_html(result), height)


def _show(figure: Any) -> None:
    """The figure as an image: it belongs to no window system, so no notebook shows it by itself."""
    from IPython.display import Image, display  # pyright: ignore[reportMissingImports]

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=RESOLUTION)
    display(Image(drawn.getvalue()))
