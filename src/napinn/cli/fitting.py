"""`napinn fit`."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from napinn.cli.choice import Choice
from napinn.cli.running import OutputOptions, display, print_result
from napinn.engines.catalogue import METHODS
from napinn.engines.network_limits import check_network
from napinn.engines.request import Request
from napinn.problem.file import Inputs
from napinn.problem.file.joined import run_name
from napinn.runs.pipeline import PipelineOptions, check_extras, run_request


def fit_command(
    found: Inputs, readings: Sequence[Path], choice: Choice, seed: int, out: Path | None, options: PipelineOptions,
    output: OutputOptions,
) -> int:  # fmt: skip
    """Fit what `check_readings` has accepted. The rest is refused before the method is made, which may load JAX."""
    options = replace(options, inputs=found.files)
    check_extras(options)
    if METHODS[choice.name].steps:
        check_network(found.problem, found.readings)
    folder = out or Path("runs") / run_name(readings)

    def request() -> Request:
        return Request(found.problem, found.readings, choice.make(), seed)

    finished = run_request(request, folder, options, functools.partial(display, output))
    return print_result(finished.result, folder, output, finished.complete)
