"""`report.html`: one self-contained file with the answer first; it opens from disk and asks nothing of the network."""

import base64
import html
import io
import json
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from napinn.equations import symbol
from napinn.report import figures
from napinn.result import FitResult
from napinn.run_folder import describe

WORST_SENSORS = 8
STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --soft: #4b5563; --paper: #ffffff; --line: #d1d5db; --card: #f3f4f6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e7eb; --soft: #b6bdc9; --paper: #111827; --line: #374151; --card: #1f2937; }
} body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; padding:
1.5rem;
  max-width: 60rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } .equation {
font-family: "STIX Two Math", "Cambria Math", serif; font-size: 1.15rem; overflow-x: auto; } .status { border-left:
.3rem solid #2f6f4f; padding: .4rem .8rem; background: var(--card); } .status.doubt { border-color: #c2410c; }
.answers { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1rem 0; } .answer { background: var(--card); padding:
.6rem 1rem; border-radius: .4rem; } .answer b { display: block; font-size: 1.4rem; } .answer span { color:
var(--soft); font-size: .85rem; } img { max-width: 100%; background: #ffffff; border-radius: .3rem; } .pair { display:
grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; } table { border-collapse: collapse; }
td, th { padding: .25rem .8rem; border-bottom: 1px solid var(--line); text-align: left; } pre { overflow-x: auto;
font-size: .8rem; } """


def write_report(result: FitResult, path: Path) -> None:
    path.write_text(report_html(result), encoding="utf-8")


def report_html(result: FitResult) -> str:
    title = f"napinn: {result.problem.name}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _equations(result),
        _status(result),
        _answers(result),
        "<h2>Field</h2>",
        *(_image(figures.draw_field(result, name), f"fitted field {name}") for name in result.problem.outputs),
        "<h2>Readings and noise</h2><div class=pair>",
        *(_panel(figures.draw_noise, result, name) for name in result.problem.fields),
        _panel(figures.draw_reliability, result),
        _panel(figures.draw_sensors, result),
        "</div>",
        _sensors(result),
        "<h2>Training</h2><div class=pair>",
        _panel(figures.draw_losses, result),
        _panel(figures.draw_unknowns, result) if result.unknowns else "",
        "</div>",
        _settings(result),
    ]
    head = (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>"
    )
    return f"{head}<body>{''.join(parts)}</body></html>\n"


def _equations(result: FitResult) -> str:
    lines = result.problem.show().splitlines()
    return "".join(f"<div class=equation>{html.escape(line)}</div>" for line in lines)


def _status(result: FitResult) -> str:
    doubt = "" if result.status.trusted else " doubt"
    return f"<p class='status{doubt}'>{html.escape(result.status.value)}</p>"


def _answers(result: FitResult) -> str:
    cards = [
        (symbol(name), f"{value:.5g} {result.problem.units.get(name, '')}", "found")
        for name, value in result.unknowns.items()
    ]
    flagged, total = int(result.flagged.sum()), len(result.readings)
    cards.append(("readings", f"{flagged} of {total}", "flagged as unreliable"))
    for name, noise in result.noise.items():
        cards.append((f"noise of {symbol(name)}", f"{noise.scale:.3g} {result.problem.units.get(name, '')}", "scale"))
    cells = "".join(
        f"<div class=answer><span>{html.escape(name)}</span>"
        f"<b>{html.escape(value)}</b><span>{html.escape(note)}</span></div>"
        for name, value, note in cards
    )
    return f"<div class=answers>{cells}</div>"


def _sensors(result: FitResult) -> str:
    table = result.sensors_table().sort_values("flagged_share", ascending=False).head(WORST_SENSORS)
    if not (table["flagged_share"] > 0).any():
        return "<p>No sensor has a flagged reading.</p>"
    rows = "".join(
        f"<tr><td>{html.escape(str(name))}</td><td>{100 * share:.1f} %</td><td>{count}</td></tr>"
        for name, share, count in zip(table.index, table["flagged_share"], table["readings"], strict=True)
    )
    return f"<h2>Sensors with most flagged readings</h2><table><tr><th>sensor<th>flagged<th>readings</tr>{rows}</table>"


def _settings(result: FitResult) -> str:
    text = json.dumps(describe(result), indent=2, ensure_ascii=False)
    return f"<details><summary>Settings and versions</summary><pre>{html.escape(text)}</pre></details>"


def _panel(draw: Callable[..., None], result: FitResult, *extra: str) -> str:
    figure, (axes,) = figures.new_figure(5.0, 3.4)
    draw(result, *extra, axes)
    return _image(figure, draw.__doc__.splitlines()[0] if draw.__doc__ else draw.__name__)


def _image(figure: Figure, description: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"<img alt='{html.escape(description, quote=True)}' src='data:image/png;base64,{data}'>"
