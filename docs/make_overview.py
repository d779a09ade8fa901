"""The diagram of the framework, `docs/images/overview.png`: `python docs/make_overview.py`."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

TARGET = Path(__file__).with_name("images") / "overview.png"
INK, PALE, BLUE, RUST = "#1f2937", "#f3f4f6", "#3b6ea5", "#c2410c"
WIDTH, HEIGHT = 2.3, 0.95
BOXES = {
    "readings": (0.0, 0.0, "readings\n$y_i$ at $(x_i, t_i)$", PALE),
    "points": (0.0, 2.6, "collocation\npoints", PALE),
    "network": (3.1, 1.3, "network $\\hat u_\\theta$\nunknowns $\\lambda$", "#dbeafe"),
    "equation": (6.2, 2.6, "residual of\nthe equation", PALE),
    "misfit": (6.2, 0.0, "misfit\n$r_i = y_i - \\hat u_\\theta$", PALE),
    "law": (6.2, -2.3, "noise law $p_\\phi$\nEBM, GMM or KDE", "#ffedd5"),
    "gate": (9.6, -2.3, "gate $g_i = \\sigma(a(\\tau - z_i))$", "#ffedd5"),
    "data": (9.6, 0.0, "$\\frac{1}{N}\\sum_i g_i\\, r_i^2$", PALE),
    "physics": (9.6, 2.6, "$\\frac{1}{M}\\sum_j \\mathcal{N}[\\hat u_\\theta]_j^2$", PALE),
    "total": (12.9, 1.3, "loss, with cost\n$\\lambda_{rej}\\, \\overline{1 - g_i}$", "#dbeafe"),
}
"""Left end, middle, words and colour of each box."""
ARROWS = (
    ("readings", "misfit", ""),
    ("points", "equation", ""),
    ("network", "equation", ""),
    ("network", "misfit", ""),
    ("misfit", "data", ""),
    ("misfit", "law", "÷ running std"),
    ("law", "gate", "score $z_i$"),
    ("gate", "data", "weight $g_i$"),
    ("data", "total", ""),
    ("equation", "physics", ""),
    ("physics", "total", ""),
)


def overview() -> Figure:
    figure = Figure(figsize=(12.0, 5.4), layout="constrained")
    axes = figure.subplots()
    axes.set_xlim(-0.2, 15.5)
    axes.set_ylim(-4.6, 4.1)
    axes.set_axis_off()
    for left, middle, words, colour in BOXES.values():
        shape = FancyBboxPatch(
            (left, middle - HEIGHT / 2), WIDTH, HEIGHT, boxstyle="round,pad=0.08", facecolor=colour, edgecolor=INK
        )
        axes.add_patch(shape)
        axes.text(left + WIDTH / 2, middle, words, ha="center", va="center", fontsize=11, color=INK)
    for start, end, words in ARROWS:
        _arrow(axes, start, end, words)
    _way_back(axes)
    _insets(axes)
    stages = ("1  warm-up: every $g_i = 1$", "2  the law alone, on the misfits", "3  network, unknowns, law and gate")
    axes.text(7.65, -4.45, (6 * " ").join(stages), ha="center", fontsize=11, color=INK)
    return figure


def _arrow(axes: Axes, start: str, end: str, words: str) -> None:
    """From the side of one box to the facing side of another."""
    (x0, y0, *_), (x1, y1, *_) = BOXES[start], BOXES[end]
    upright = x0 == x1
    tail = (x0 + WIDTH / 2, y0 + np.sign(y1 - y0) * (HEIGHT / 2 + 0.1)) if upright else (x0 + WIDTH + 0.1, y0)
    head = (x1 + WIDTH / 2, y1 - np.sign(y1 - y0) * (HEIGHT / 2 + 0.1)) if upright else (x1 - 0.1, y1)
    axes.annotate("", head, tail, arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0})
    if words and upright:
        axes.text(tail[0] + 0.12, (tail[1] + head[1]) / 2, words, fontsize=9, color=INK, va="center")
    elif words:
        axes.text((tail[0] + head[0]) / 2, tail[1] + 0.12, words, fontsize=9, color=INK, ha="center")


def _way_back(axes: Axes) -> None:
    """The gradient from the loss to what it trains."""
    (x0, y0, *_), (x1, y1, *_) = BOXES["total"], BOXES["network"]
    start, end, top = x0 + WIDTH / 2, x1 + WIDTH / 2, 3.5
    axes.plot([start, start, end], [y0 + HEIGHT / 2 + 0.1, top, top], color=BLUE, linestyle="--", linewidth=1.2)
    down = {"arrowstyle": "-|>", "color": BLUE, "linestyle": "--", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (end, y1 + HEIGHT / 2 + 0.1), (end, top), arrowprops=down)
    words = "gradient: network $\\theta$, unknowns $\\lambda$, gate $a$, $\\tau$"
    axes.text((start + end) / 2, top + 0.12, words, fontsize=10, color=BLUE, ha="center")


def _insets(axes: Axes) -> None:
    """A law with four modes below the estimator, and the curve of a gate below the gate."""
    misfit = np.linspace(-2.0, 4.0, 300)
    modes = ((-1.0, 0.25), (0.0, 0.45), (0.35, 0.08), (0.95, 0.12))
    density = sum(np.exp(-(((misfit - mean) / width) ** 2) / 2) / width for mean, width in modes)
    law = axes.inset_axes((6.2, -3.95, WIDTH, 0.95), transform=axes.transData)
    law.fill_between(misfit, density, color="#fed7aa")
    law.plot(misfit, density, color=RUST, linewidth=1.0)
    gate = axes.inset_axes((9.6, -3.95, WIDTH, 0.95), transform=axes.transData)
    score = np.linspace(-2.0, 4.0, 200)
    gate.plot(score, 1.0 / (1.0 + np.exp(5.0 * (score - 1.5))), color=RUST)
    for inset in (law, gate):
        inset.set_xticks([])
        inset.set_yticks([])
        for side in ("top", "right"):
            inset.spines[side].set_visible(False)


if __name__ == "__main__":
    overview().savefig(TARGET, dpi=100)
