"""The field in motion: a map, or in one dimension a profile, through time."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.axes import Axes

from napinn.errors import InputError
from napinn.problem.equations import symbol
from napinn.report.figures import FIELD_MAP, FLAGGED, GOOD, LINE, STYLE, new_figure
from napinn.report.labels import label, with_unit
from napinn.report.view import View, ViewKind, time_of, view_of
from napinn.results.result import FitResult

FRAMES_A_SECOND = 10
DOTS_AN_INCH = 90


def animate(result: FitResult, path: Path, field: str) -> int:
    """Write a GIF or an MP4, by the name of the file; gives back how many frames it has."""
    time = time_of(result.readings)
    if time is None or len(result.problem.coordinates) < 2:
        raise InputError("an animation needs a field over space and time; this problem has none (name the time 't').")
    writer = _writer(path)
    view = view_of(result.problem, result.readings)
    figure, (axes,) = new_figure(5.2, 4.0)
    draw = _profile(result, view, field, axes) if view.kind is ViewKind.SPACE_TIME else _map(result, view, field, axes)
    instants = view.axes[time]
    with matplotlib.rc_context(STYLE), writer.saving(figure, str(path), DOTS_AN_INCH):
        for step, instant in enumerate(instants):
            draw(step)
            axes.set_title(f"{symbol(time)} = {with_unit(result.problem, time, float(instant), 3)}", loc="left")
            writer.grab_frame()
    return len(instants)


def _writer(path: Path) -> AbstractMovieWriter:
    match path.suffix.lower():
        case ".gif":
            return PillowWriter(fps=FRAMES_A_SECOND)
        case ".mp4":
            if shutil.which("ffmpeg") is None:
                raise InputError(
                    "an MP4 needs the program ffmpeg, which is not here; install it (apt install ffmpeg, or brew "
                    "install ffmpeg) or name a file that ends in .gif."
                )
            return FFMpegWriter(fps=FRAMES_A_SECOND)
        case _:
            raise InputError(f"{path} is neither a GIF nor an MP4; name a file that ends in .gif or .mp4.")


def _values(result: FitResult, view: View, field: str) -> np.ndarray:
    values = view.values(result.field, tuple(result.problem.coordinates))[result.problem.outputs.index(field)]
    values = result.in_range(field, values, view.places())
    if view.kind is ViewKind.SPACE_TIME:
        return values
    # Sliders other than time, the first, stand in the middle.
    for _ in view.sliders[1:]:
        values = values[:, values.shape[1] // 2]
    return values


def _readings_at(result: FitResult, view: View, field: str, time: str) -> list[np.ndarray]:
    """Reading numbers of the field, by step of time."""
    coordinates = result.readings.coordinates
    steps = view.step_of(time, result.readings.points[:, coordinates.index(time)])
    of_field = result.readings.field_index == result.problem.outputs.index(field)
    return [np.flatnonzero(of_field & (steps == step)) for step in range(len(view.axes[time]))]


def _map(result: FitResult, view: View, field: str, axes: Axes) -> Callable[[int], None]:
    assert view.up is not None
    values = _values(result, view, field)
    across, up = view.axes[view.across], view.axes[view.up]
    image = axes.imshow(
        values[0], origin="lower", extent=(across[0], across[-1], up[0], up[-1]), aspect="auto", cmap=FIELD_MAP,
        vmin=float(np.nanmin(values)), vmax=float(np.nanmax(values)), interpolation="bilinear",
    )  # fmt: skip
    axes.figure.colorbar(image, ax=axes, label=label(result.problem, field))
    axes.set_xlabel(label(result.problem, view.across))
    axes.set_ylabel(label(result.problem, view.up))
    place = _placer(result, view, field, (view.across, view.up), axes)

    def draw(step: int) -> None:
        image.set_data(values[step])
        place(step)

    return draw


def _profile(result: FitResult, view: View, field: str, axes: Axes) -> Callable[[int], None]:
    assert view.up is not None
    values = _values(result, view, field)
    (line,) = axes.plot(view.axes[view.up], values[:, 0], color=LINE)
    axes.set_xlabel(label(result.problem, view.up))
    axes.set_ylabel(label(result.problem, field))
    readings = result.readings.values[result.readings.field_index == result.problem.outputs.index(field)]
    low, high = np.nanmin(values), np.nanmax(values)
    axes.set_ylim(min(low, readings.min(initial=np.inf)), max(high, readings.max(initial=-np.inf)))
    place = _placer(result, view, field, (view.up, None), axes)

    def draw(step: int) -> None:
        line.set_ydata(values[:, step])
        place(step)

    return draw


def _placer(
    result: FitResult, view: View, field: str, where: tuple[str, str | None], axes: Axes
) -> Callable[[int], None]:
    """A function that moves the marks of good and flagged readings to a step of time."""
    time = time_of(result.readings)
    assert time is not None
    chosen = _readings_at(result, view, field, time)
    coordinates = result.readings.coordinates
    columns = [
        result.readings.values if name is None else result.readings.points[:, coordinates.index(name)] for name in where
    ]
    styles: list[tuple[bool, dict[str, Any]]] = [
        (False, {"s": 10, "color": GOOD if where[1] is None else "white", "edgecolors": "black", "linewidths": 0.3}),
        (True, {"s": 28, "color": FLAGGED, "marker": "x", "linewidths": 1.2}),
    ]
    marks = [(flagged, axes.scatter([], [], **style)) for flagged, style in styles]

    def place(step: int) -> None:
        for flagged, mark in marks:
            some = chosen[step][result.flagged[chosen[step]] == flagged]
            mark.set_offsets(np.stack([column[some] for column in columns], axis=1))

    return place
