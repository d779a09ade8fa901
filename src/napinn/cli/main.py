"""`napinn`: the entry point. Whatever a command raises becomes one sentence and an exit code."""

import sys
from typing import Annotated

import typer

from napinn.cli import look_commands, start_commands, study_commands, trust_commands
from napinn.cli.commands import app
from napinn.cli.console import Console, flushed, safe_streams
from napinn.cli.exit_codes import EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_NOT_WRITTEN
from napinn.errors import InputError, StorageError
from napinn.storage.cache import keep_compiled

REGISTERED = (start_commands, look_commands, trust_commands, study_commands)
"""The modules that register the commands when they are imported."""


def _show_version(wanted: bool) -> bool:
    if wanted:
        from napinn import __version__

        print(f"napinn {__version__}")  # noqa: T201
        raise typer.Exit
    return wanted


@app.callback()
def napinn(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Field, coefficients, noise law and a reliability for every reading, from bad sensors and an equation."""


def run() -> None:
    """The entry point: bad input is one sentence and exit code 2, a disk that fails one and exit code 1; neither is a
    traceback."""
    keep_compiled()
    with safe_streams():
        code = _exit_code()
        failure = flushed()
        if failure is not None:
            Console(stderr=True).print(f"napinn: standard output could not be written: {failure}.", markup=False)
    sys.exit(code if failure is None else EXIT_NOT_WRITTEN)


def _exit_code() -> int:
    """Run the command, and say what it raises in one sentence."""
    try:
        code = app(standalone_mode=False)
    except typer.Exit as stop:
        code = stop.exit_code
    except InputError as error:
        code = _failed(str(error), EXIT_BAD_INPUT)
    except StorageError as error:
        code = _failed(str(error), EXIT_NOT_WRITTEN)
    except (KeyboardInterrupt, typer.Abort):
        Console(stderr=True).print("napinn: interrupted before there was a result to save.")
        code = EXIT_INTERRUPTED
    except MemoryError:
        code = _failed("not enough memory; use fewer readings or nodes.", EXIT_NOT_WRITTEN)
    except OSError as error:
        # Whatever a command expects of its files it has answered itself: this is the output, or a failing disk.
        place = "standard output could not be" if error.filename is None else f"{error.filename} could not be read or"
        code = _failed(f"{place} written: {error.strerror or error}.", EXIT_NOT_WRITTEN)
    except Exception as error:
        code = _usage(error)
    return int(code or 0)


def _failed(sentence: str, code: int) -> int:
    """Print why the command failed, and return its exit code."""
    from rich.markup import escape

    Console(stderr=True).print(f"[red]napinn:[/red] {escape(sentence)}", soft_wrap=True, highlight=False)
    return code


def _usage(error: Exception) -> int:
    """Show Typer's own messages about options; anything else is a defect and is raised."""
    show = getattr(error, "show", None)
    if show is None:
        raise error
    show()
    return int(getattr(error, "exit_code", EXIT_BAD_INPUT))
