"""The list of slow tests names what there is: a test that was renamed would otherwise be taken for a quick one."""

from pathlib import Path

import pytest

from conftest import SLOW

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted(SLOW))
def test_listed_test_or_fixture_exists(name):
    place, *_, function = name.split("::")
    file = ROOT / place / "shared_fixtures.py" if (ROOT / place).is_dir() else ROOT / place
    assert f"def {function}(" in file.read_text(encoding="utf-8")


def test_long_fits_are_slow_and_closed_forms_are_not():
    assert "tests/test_experiments.py::smoke" in SLOW
    assert not any("test_losses" in name for name in SLOW)
