"""Which tests are slow: `make slow-tests` runs all of them under this plugin and writes `slow_tests.txt`.

A test or fixture is slow if it takes more than `LIMIT` seconds of processor time, its child processes included. It is
cut off there, so that the measurement takes minutes. Wall time would depend on what else the machine does."""

import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMIT = 1.0
LIST = Path(__file__).with_name("slow_tests.txt")
_slow: set[str] = set()


class TooSlow(BaseException):
    """Ends a test that has taken its limit; no `except Exception` of the code under test may hold it up."""


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def _end(*_: object) -> None:
    raise TooSlow


def _timed(name: str) -> Iterator[None]:
    """Note the name if what is done meanwhile takes too long, and end it."""
    before = _spent()
    signal.signal(signal.SIGPROF, _end)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return (yield)
    except TooSlow:
        _slow.add(name)  # The timer may be early by a tick of the clock.
        pytest.fail(f"{name} is slow")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if _spent() - before > LIMIT:
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
