"""Every command that the docs show is run, or its page or block says that it is not; options of all of them exist."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer.main

from napinn.cli.main import app, run

ROOT = Path(__file__).parent.parent
RUN = [ROOT / "docs" / "recipes.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
"""Pages whose commands are run, page by page, in a folder with the files that they name."""
OTHERS = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("examples/*/README.md")))
    if page not in RUN
]
NOT_RUN = "<!-- not run"
BLOCK = re.compile(r"(<!-- not run[^>]*-->\n)?```(?:sh|console|text)\n(.*?)```", re.S)
GROUP = typer.main.get_command(app)


def commands(page: Path, all_of_them: bool = True) -> list[list[str]]:
    """The command lines of a page as words; only those of blocks that are run, if not all of them."""
    found = []
    for mark, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if mark and not all_of_them:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if line.startswith("napinn ") and "…" not in line:
                found.append(shlex.split(line, comments=True)[1:])
    return found


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """The files that the pages name: five thermometers in a cooling bath."""
    rng, t = np.random.default_rng(0), np.linspace(0.0, 3.0, 24)
    parts = [pd.DataFrame({"sensor": f"T{number}", "t": t, "T": np.exp(-0.8 * t)}) for number in range(5)]
    table = pd.concat(parts, ignore_index=True)
    table["T"] += 0.01 * rng.standard_normal(len(table))
    flags = np.ones(len(table), int)
    flags[:3] = 4, 9, 2
    problem = "coordinates: {t: [0, 3]}\nfields: [T]\nunknowns: {a: 0.3}\nequations: ['T_t = -a*T']\n"
    return {
        "readings.csv": table.to_csv(index=False),
        "flagged.csv": table.assign(T_qc=flags).to_csv(index=False),
        "points.csv": "t\n0.5\n1.5\n",
        "problem.yaml": problem,
    }


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_commands_of_a_page_run(page, shown, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for name, content in shown.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    lines = commands(page, all_of_them=False)
    if page.stem == "install":
        lines = [shlex.split("fit readings.csv -p problem.yaml --out runs/first --quiet"), *lines]
    for words in lines:
        monkeypatch.setattr(sys, "argv", ["napinn", *words])
        with pytest.raises(SystemExit) as stop:
            run()
        # 3 is a fit that is finished and not to be trusted, such as one of twenty steps.
        expected = (0, 3) if words[0] in ("fit", "compare", "verify") else (0,)
        assert stop.value.code in expected, (words, capfd.readouterr())


@pytest.mark.parametrize("page", [*RUN, *OTHERS], ids=lambda page: str(page.relative_to(ROOT)))
def test_options_of_every_command_exist(page):
    for name, *words in commands(page):
        if name.startswith("-") or set(words) & {"-h", "--help"}:
            continue
        GROUP.commands[name].make_context(name, list(words))  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_whose_commands_are_not_run_says_so(page):
    assert not commands(page, all_of_them=False) or NOT_RUN in page.read_text(encoding="utf-8")
