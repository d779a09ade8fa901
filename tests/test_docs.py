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
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
    ROOT / "examples" / "README.md",
    *ROOT.glob("examples/*/README.md"),
]


def test_the_api_page_is_current():
    module = script("make_api")
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


def test_every_page_is_in_a_table_of_contents():
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).with_suffix("") for page in PAGES if docs in page.parents}
    listed = {Path("index")}
    for page in pages:
        text = (docs / page).with_suffix(".md").read_text(encoding="utf-8")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.S):
            listed |= {page.parent / line for line in block.split("\n") if line and not line.startswith(":")}
    assert pages <= listed


def script(name: str):
    """A script of the docs folder as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_are_what_the_result_files_say():
    """To the digit; `python docs/make_tables.py` and `python docs/make_performance.py` write them."""
    tables, measured = script("make_tables"), script("make_performance")
    named = set()
    for page in tables.PAGES:
        text = page.read_text(encoding="utf-8")
        assert tables.filled(text) == text, page.name
        named |= {mark[2] for mark in tables.MARKED.finditer(text)}
    assert named == set(tables.TABLES)
    assert measured.BEGIN + measured.measured() + measured.END in measured.PAGE.read_text(encoding="utf-8")


def test_sentences_state_the_numbers_of_their_result_files():
    """`python docs/stated_numbers.py` prints the sentences that a page lacks."""
    stated = script("stated_numbers")
    for page in stated.SENTENCES:
        assert not stated.lacking(page), page


def test_a_sentence_with_another_number_is_missed(monkeypatch):
    stated = script("stated_numbers")
    monkeypatch.setattr(
        stated, "SENTENCES", {"accuracy.md": (lambda: iter(["Eight trusted intervals miss the truth"]),)}
    )
    assert stated.lacking("accuracy.md") == ["Eight trusted intervals miss the truth"]


MEASURED = re.compile(r"\|\s*[*−-]*\d+\.\d+[*]*(\s*\([^)|]*\))?\s*(%|K|s|ms)?\s*(?=\|)")
"""A cell that is a decimal number and nothing else, but for marks, a bracket and a unit."""


@pytest.mark.parametrize("page", [page for page in PAGES if "examples" not in page.parts], ids=lambda page: page.name)
def test_no_measured_table_is_written_by_hand(page):
    """A table of decimal numbers in a section that names a result file stands between the marks of a script."""
    made = script("make_tables").MARKED.sub("", page.read_text(encoding="utf-8"))
    made = re.sub(r"<!-- measured -->.*?<!-- /measured -->", "", made, flags=re.S)
    for section in re.split(r"^#+ ", made, flags=re.M):
        tables = [line for line in section.splitlines() if line.startswith("|")]
        assert "benchmarks/results/" not in section or not MEASURED.search("\n".join(tables)), section.splitlines()[0]


def test_a_table_of_numbers_is_known_from_one_of_words():
    for line in ("| mlp | 0.054 |", "| default | **0.0108** (0.0011) |", "| skewed | −0.21 |", "| a | 3.5 % |"):
        assert MEASURED.search(line), line
    for line in ("| cost | default: 0.1 on squares |", "| 5 | 30,000 |", "| gate | τ = 2.0, a = 5.0 |"):
        assert not MEASURED.search(line), line
