"""A release is consistent: one version, its heading in the changelog, the citation, and files that carry no secrets."""

import re
from pathlib import Path

import pytest
import yaml

import napinn

ROOT = Path(__file__).parent.parent


def test_the_version_has_one_source():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == napinn.__version__
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert napinn.__version__ in headings
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in project
    assert (ROOT / "src" / "napinn" / "py.typed").exists()


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_workflows_are_read_only_but_where_they_publish(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        # Publishing takes the identity of the workflow and no secret.
        assert set(job.get("permissions", {})) <= {"id-token", "pages"}
    assert "secrets." not in path.read_text(encoding="utf-8")


def test_every_supported_python_is_tested():
    supported = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == supported
