"""The docs cannot drift: the API page is what the docstrings say, links lead somewhere, and named commands exist."""

import importlib.util
import re
from pathlib import Path

import pytest
import typer.main

from napinn.cli.main import app

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "examples" / "README.md",
    *ROOT.glob("examples/*/README.md"),
]


def test_the_api_page_is_current():
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.api_page() == module.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_and_commands_exist(page):
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        assert target.startswith("https:") or (page.parent / target).exists(), target
    commands = set(typer.main.get_command(app).commands)  # pyright: ignore[reportAttributeAccessIssue]
    for command in re.findall(r"(?:^|`)napinn ([a-z]+)\b", text, re.M):
        assert command in commands, command
