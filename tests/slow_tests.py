"""Which tests are slow: `make slow-tests` runs tests under this plugin and writes what it finds to `slow_tests.txt`.

A test or fixture is slow if it takes more than `LIMIT` seconds of processor time, its child processes included. Wall
time would depend on what else the machine does. The list has the seconds of each, of all its parameters together.
`make slow-tests TESTS=tests/test_fit.py` renews the entries of one file and keeps the others. Slow tests are not cut
short: an exception from a signal inside a compiled program ends the process."""

import resource
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 0.5
"""Such tests were two thirds of the time of those below one second, and a twentieth of their number."""
SHOWN = 15
"""Files that are printed."""
LIST = Path(__file__).with_name("slow_tests.txt")
_slow: set[str] = set()
_seconds: Counter[str] = Counter()


def listed() -> dict[str, float]:
    """Seconds of processor time of slow tests and fixtures, by name."""
    rows = (line.split() for line in LIST.read_text(encoding="utf-8").splitlines())
    return {name: float(seconds) for name, seconds in rows}


def fixture_name(definition: Any) -> str:
    """Its place and name; those of `shared_fixtures.py` have no place of their own."""
    return f"{definition.baseid or 'tests'}::{definition.argname}"


def _file(name: str) -> str:
    return name.partition("::")[0]


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
        _seconds[name] += taken
        if taken > LIMIT:
            _slow.add(name)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    """Fixtures count for themselves, because only the first test of those that share one would pay for it."""
    return (yield from _timed(fixture_name(fixturedef)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _timed(item.nodeid.partition("[")[0]))


def pytest_sessionfinish() -> None:
    measured = {_file(name) for name in _seconds}
    found = {name: seconds for name, seconds in listed().items() if _file(name) not in measured}
    found |= {name: _seconds[name] for name in _slow}
    LIST.write_text("".join(f"{name} {found[name]:.1f}\n" for name in sorted(found)), encoding="utf-8")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    of_file: Counter[str] = Counter()
    for name, taken in _seconds.items():
        of_file[_file(name)] += taken
    terminalreporter.write_line(f"{sum(_seconds.values()):.0f} s of processor time in tests and fixtures")
    for name, taken in of_file.most_common(SHOWN):
        terminalreporter.write_line(f"{taken:8.1f} s  {name}")
