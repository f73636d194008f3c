"""The table of layers, and the imports of the source: read from the syntax, whether they run or not."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import codecairn

PACKAGE = Path(codecairn.__file__).parent
TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent.parent / "layers.toml").read_text(encoding="utf-8"))
RANKS = {member: rank for rank, layer in enumerate(TABLE["layer"]) for member in layer["members"]}


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for path in sources()}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(node: ast.AST) -> Iterator[str]:
    """The modules of ours that a statement imports: `from codecairn import x` is the module x where there is one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules())
    elif isinstance(node, ast.ImportFrom) and node.module in modules():
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if inner in modules() else node.module or ""


@cache
def imports() -> dict[str, set[str]]:
    """Of each module, the modules that it imports: at its top, inside functions, and for a type checker alone."""
    return {
        module: {name for node in ast.walk(tree(path)) for name in imported(node)} - {module}
        for module, path in modules().items()
    }


def member_of(module: str) -> str | None:
    """The member of the table that a module belongs to: the longest name that covers it."""
    name = module.removeprefix("codecairn.")
    while name and name not in RANKS:
        name = name.rpartition(".")[0]
    return name or None


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The largest groups in which each reaches each other; the order of names, so that a failure reads the same."""
    reach = {each: _reachable(graph, each) for each in graph}
    groups = {tuple(sorted(other for other in reach[each] if each in reach[other])) for each in graph}
    return sorted(list(group) for group in groups if group)


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Itself only where it lies on a circle."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        further = graph.get(waiting.pop(), set()) - found
        found |= further
        waiting += further
    return found
