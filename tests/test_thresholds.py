"""Every number by which napinn judges has its reason beside it."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src/napinn"
JUDGES = ("diagnostics", "discovery", "engines/splines", "evaluation", "noise")
MODULES = sorted(path for room in JUDGES for path in (PACKAGE / room).rglob("*.py"))


def unexplained(source: str) -> list[str]:
    """Names of the numeric constants of a module that no docstring follows."""
    body, found = ast.parse(source).body, []
    for statement, after in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float()) | ast.UnaryOp()):
                explained = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                found += [name] if name.isupper() and not explained else []
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_threshold_has_a_reason(path: Path):
    assert unexplained(path.read_text(encoding="utf-8")) == []


def test_a_threshold_without_a_reason_is_found():
    assert unexplained('MOST = 3\nLEAST = -1.0\n"""A reason."""\nNAME = "text"\n') == ["MOST"]
