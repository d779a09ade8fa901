"""The tutorials run from top to bottom, and git holds none of their outputs."""

import json
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[dict]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_outputs_are_not_kept(path):
    for cell in cells(path, "code"):
        assert not cell["outputs"]
        assert cell["execution_count"] is None


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = tmp_path / f"{path.stem}.py"
    program.write_text("\n\n".join("".join(cell["source"]) for cell in cells(path, "code")), encoding="utf-8")
    found = runpy.run_path(str(program))
    plt.close("all")
    assert found["result"].status.trusted, found["result"].notes


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_on_the_site(path):
    assert path.stem in (ROOT / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
