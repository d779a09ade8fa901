"""Types of arguments and results checked at run time, in all of napinn, while tests run.

Modules that annotate shapes are instrumented by jaxtyping. Its wrapper binds the arguments of each call and is made
anew each time that a nested function is, which made a small spline fit seven times as slow. All other modules have
beartype alone, on their classes and on functions that are not nested."""

import ast
import functools
import importlib.util
import re
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any
from unittest.mock import patch

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

# An int may stand where a float is asked for, as Python's typing has it.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
"""The decorator of functions and classes without shapes."""
CHECKER = "runtime_types.checked"
UNCHECKED = ("napinn.problem.equations.gradient",)
"""Called for every node of an expression at every step of a spline fit, of which checks were half the time. Its one
public function is called by `Problem`, whose arguments are checked, and its numbers are compared with those of JAX."""


def _check(node: ast.AST) -> ast.expr:
    call = ast.parse(f"__import__({__name__!r}).checked", mode="eval").body
    for part in ast.walk(call):
        ast.copy_location(part, node)
    return call


class _Checks(ast.NodeTransformer):
    """Decorates functions and classes of a module; beartype finds the methods of a class by itself."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        # Last, that is first of all: other decorators, such as `contextmanager`, change what a call gives back.
        node.decorator_list.append(_check(node))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        # First, so that the `__init__` that `dataclass` makes is there.
        node.decorator_list.insert(0, _check(node))
        return node


def _without_unknown_names(tree: ast.Module) -> ast.Module:
    """With `object` for annotations that name what only a static checker imports."""
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [part for node in guarded if not node.orelse for part in node.body if isinstance(part, ast.ImportFrom)]
    unknown = {alias.asname or alias.name for part in imports for alias in part.names}

    def known(annotation: ast.expr) -> ast.expr:
        named = set(re.findall(r"\w+", ast.unparse(annotation)))
        return ast.copy_location(ast.Name("object", ast.Load()), annotation) if named & unknown else annotation

    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            node.annotation = known(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns:
            node.returns = known(node.returns)
    return tree


class _CheckedLoader(SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        tree = _Checks().visit(_without_unknown_names(ast.parse(data, path)))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname: str) -> Any:
        # The compiled files need a name of their own, or napinn itself would load them. Not while the module runs: all
        # that it imports would take the name too, and each package that napinn needs would be compiled again.
        named = functools.partial(importlib.util.cache_from_source, optimization="beartyped3")
        with patch("importlib._bootstrap_external.cache_from_source", named):
            return super().get_code(fullname)


class _CheckedFinder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "napinn" or fullname in UNCHECKED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _CheckedLoader(spec.loader.name, spec.loader.path)
        return spec


def with_shapes() -> list[str]:
    """The modules of napinn that annotate shapes."""
    root = Path(__file__).parents[1] / "src"
    using = (path for path in root.rglob("*.py") if "from jaxtyping" in path.read_text(encoding="utf-8"))
    return sorted(".".join(path.relative_to(root).with_suffix("").parts) for path in using)


def install() -> None:
    """Instrument what is imported from now on."""
    sys.meta_path.insert(0, _CheckedFinder())
    install_import_hook(with_shapes(), CHECKER)
