"""Which tests are slow: `make slow-tests` runs all of them under this plugin and writes `slow_tests.txt`.

A test or fixture is slow if it takes more than `LIMIT` seconds of processor time, its child processes included. Wall
time would depend on what else the machine does. Slow tests are not cut short: an exception from a signal inside a
compiled program ends the process. The slowest files are printed at the end."""

import resource
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 1.0
SHOWN = 15
"""Files that are printed."""
LIST = Path(__file__).with_name("slow_tests.txt")
_slow: set[str] = set()
_of_file: Counter[str] = Counter()


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def _timed(name: str) -> Generator[None, Any, Any]:
    """Note the name if what is done meanwhile takes too long."""
    before = _spent()
    try:
        return (yield)
    finally:
        taken = _spent() - before
        _of_file[name.partition("::")[0]] += taken
        if taken > LIMIT:
            _slow.add(name)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    """Fixtures count for themselves, because only the first test of those that share one would pay for it."""
    return (yield from _timed(f"{fixturedef.baseid}::{fixturedef.argname}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _timed(item.nodeid.partition("[")[0]))


def pytest_sessionfinish() -> None:
    LIST.write_text("".join(f"{name}\n" for name in sorted(_slow)), encoding="utf-8")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"{sum(_of_file.values()):.0f} s of processor time in tests and fixtures")
    for name, taken in _of_file.most_common(SHOWN):
        terminalreporter.write_line(f"{taken:8.1f} s  {name}")
