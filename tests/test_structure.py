"""The order of the layers, the owners of dangerous verbs, and what starting up may cost: read from the source."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import codecairn

PACKAGE = Path(codecairn.__file__).parent

LAYERS: list[set[str]] = [
    {
        "codecairn",
        "cache",
        "allocator",
        "types",
        "errors",
        "config",
        "paths",
        "text",
        "words",
        "nearness",
        "beside",
        "cancel",
        "clients",
        "redact",
        "metrics",
        "connection",
        "logs",
    },
    {"reading"},
    {"source"},
    {"embed"},
    {"history", "store", "catalog", "parse", "files"},
    {"index", "worker", "diff"},
    {"rank"},
    {"resolve"},
    {"context"},
    {"project", "links", "memory"},
    {"tools"},
    {"notes"},
    {"resources", "prompts"},
    {"serve", "setup"},
    {"doctor"},
    {"cli", "__main__"},
]
"""From the bottom up; a module imports from its own layer and from those below."""

OWNERS = {
    "run a program": (
        {"source/process.py"},
        r"\bsubprocess\b|\bos\.(system|popen|exec|spawn|posix_spawn|fork)|\bpty\b",
    ),
    "read the environment": ({"config.py"}, r"\bos\.(environ|getenv|putenv)|\benviron\b"),
    "speak SQL": (
        {
            f"store/{name}.py"
            for name in (
                "memory",
                "index",
                "layers",
                "overlays",
                "segments",
                "soundness",
                "view",
                "writer",
                "differences",
                "standins",
                "documents",
                "committed",
            )
        },
        r"\bsqlite3\b",
    ),
    "catch everything": (
        {"tools/__init__.py", "serve/mcp.py", "store/lexical.py"},
        r"except\s*:|except\s+\(?(Base)?Exception\b",
    ),
    "evaluate text": (set(), r"\b(eval|exec)\(|\bpickle\b|\bmarshal\b"),
}

HEAVY = {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "rich", "numpy", "anyio", "httpx", "asyncio"}
"""What only a server needs: together they take longer to import than a command takes to answer."""


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> frozenset[str]:
    return frozenset(module_of(path) for path in sources())


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(node: ast.AST) -> Iterator[str]:
    """The modules of ours that a statement imports: `from codecairn import x` is the module x where there is one."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [name for name in inner if name in modules()] or [node.module]
    yield from (name for name in names if name.split(".")[0] == "codecairn")


def layer(module: str) -> int:
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else "codecairn"
    return next((rank for rank, names in enumerate(LAYERS) if name in names), -1)


def test_every_module_stands_in_a_layer() -> None:
    assert sorted(module for module in modules() if layer(module) < 0) == []


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_nothing_imports_upward(path: Path) -> None:
    here = module_of(path)
    upward = [name for node in ast.walk(tree(path)) for name in imported(node) if layer(name) > layer(here)]
    assert upward == []


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_imports_name_the_module_they_mean(path: Path) -> None:
    relative = [node.lineno for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom) and node.level]
    assert relative == []


def at_import(path: Path) -> set[str]:
    """What importing the module imports of ours: its top level, without what only a type checker sees."""
    statements = [node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name for node in statements for name in imported(node)} - {module_of(path)}


def test_no_imports_run_in_a_circle() -> None:
    waiting = {module_of(path): at_import(path) for path in sources()}
    while free := [module for module, needs in waiting.items() if not needs & waiting.keys()]:
        for module in free:
            del waiting[module]
    assert waiting == {}


def code_of(path: Path) -> str:
    """The source without its strings and comments, so that speaking of a verb is not using it."""
    return ast.unparse(_Silent().visit(ast.parse(path.read_text(encoding="utf-8"))))


class _Silent(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node


@pytest.mark.parametrize("verb", OWNERS)
def test_each_dangerous_verb_has_its_owners(verb: str) -> None:
    owners, spelling = OWNERS[verb]
    using = {path.relative_to(PACKAGE).as_posix() for path in sources() if re.search(spelling, code_of(path))}
    assert using <= owners, verb


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_no_module_is_over_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def imports_of(*arguments: str, folder: Path) -> set[str]:
    """The top-level packages that a command imports, as the interpreter itself tells."""
    command = [sys.executable, "-X", "importtime", "-m", "codecairn", *arguments]
    ran = subprocess.run(command, cwd=folder, env={**os.environ}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in ran.stderr.splitlines() if line.count("|") == 2}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["call", "health_check"], ["schemas"]], ids=" ".join)
def test_a_command_imports_nothing_that_only_a_server_needs(arguments: list[str], tmp_path: Path) -> None:
    seen = imports_of(*arguments, folder=tmp_path)
    assert "codecairn" in seen
    assert seen & HEAVY == set()


KEPT_FOR_GOOD = {
    "cache.py:_caches": "the caches themselves, by weak references",
    "clients.py:known_clients": "one table of clients a system",
    "diff/reading.py:_is_atomic": "the kinds of nodes that the grammars have",
    "embed/choice.py:shipped": "one",
    "embed/choice.py:_asked": "one a choice of settings",
    "files/scan.py:_compiled": "one expression, up to 64 MB; only where there is neither ripgrep nor git",
    "parse/language.py:languages": "one table of the languages",
    "parse/language.py:_by_ending": "one table of the languages",
    "parse/language.py:_by_name": "one table of the languages",
    "parse/language.py:_by_shebang": "one table of the languages",
    "parse/language.py:_by_text": "one table of the languages",
    "parse/sites.py:_path_characters": "one a language",
    "parse/sites.py:_backwards": "one a language",
    "parse/version.py:_installed": "one a grammar",
    "parse/version.py:extractor_version": "one a language",
    "paths.py:_blocked_patterns": "one a choice of settings, sixty-four at most",
    "resolve/rules.py:rules_of": "one a language",
    "source/process.py:_running": "the children that run now",
    "tools/__init__.py:_declared": "the tools",
}
"""What a module holds on to, and why content cannot stretch it. What content can stretch is a Cache or a Memo."""

_CONTAINERS = {"dict", "list", "set", "OrderedDict", "deque", "Counter", "defaultdict", "WeakValueDictionary"}


def held_by(path: Path) -> Iterator[str]:
    """Functions that remember their answers, and containers that begin empty, of a module or of a class."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            called = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
            if called & {"cache", "lru_cache"}:
                yield node.name
    classes = [each.body for each in tree(path).body if isinstance(each, ast.ClassDef)]
    for body in (tree(path).body, *classes):
        for node in body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and is_empty(node.value):
                yield ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)


def is_empty(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return not value.args and ast.unparse(value.func).partition("[")[0] in _CONTAINERS
    return (isinstance(value, ast.Dict) and not value.keys) or (isinstance(value, ast.List) and not value.elts)


def test_what_a_module_holds_on_to_is_a_bounded_cache_or_said_to_be_small() -> None:
    held = {f"{path.relative_to(PACKAGE).as_posix()}:{name}" for path in sources() for name in held_by(path)}
    defaults = {each for each in held if is_a_field_of_a_value(each)}
    assert held - defaults == KEPT_FOR_GOOD.keys()


def is_a_field_of_a_value(held: str) -> bool:
    """Whether a list that a class names is the default of a struct's field, of which each value has its own."""
    path, _, name = held.partition(":")
    return any(
        ast.unparse(node.target) == name
        for each in tree(PACKAGE / path).body
        if isinstance(each, ast.ClassDef) and each.bases
        for node in each.body
        if isinstance(node, ast.AnnAssign)
    )
