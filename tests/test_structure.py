"""The owners of dangerous verbs, and what starting up may cost: read from the source."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codecairn.parse.language import languages
from tests.support.layers import PACKAGE, module_of, sources, tree

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
                "database",
                "layers",
                "ref_writer",
                "vector_segments",
                "integrity",
                "tallies",
                "view",
                "writer",
                "documents",
                "portable",
            )
        },
        r"\bsqlite3\b",
    ),
    "speak to PostgreSQL": ({"team/database.py", "team/notebook.py"}, r"\bpsycopg\b"),
    "catch everything": (
        {"tools/__init__.py", "serve/mcp.py", "serve/plain_session.py", "store/lexical.py", "team/service.py"},
        r"except\s*:|except\s+\(?(Base)?Exception\b",
    ),
    "evaluate text": (set(), r"\b(eval|exec)\(|\bpickle\b|\bmarshal\b"),
}

HEAVY = {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "rich", "numpy", "anyio", "httpx2", "asyncio"}
"""What only a server needs: together they take longer to import than a command takes to answer."""


def code_of(path: Path) -> str:
    """The source without its strings and comments, so that speaking of a verb is not using it."""
    return ast.unparse(_Silent().visit(ast.parse(path.read_text(encoding="utf-8"))))


class _Silent(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node


@pytest.mark.parametrize("verb", OWNERS)
def test_each_dangerous_verb_has_its_owners(verb: str) -> None:
    owners, spelling = OWNERS[verb]
    speaking = [path for path in sources() if re.search(spelling, path.read_text(encoding="utf-8"))]
    using = {path.relative_to(PACKAGE).as_posix() for path in speaking if re.search(spelling, code_of(path))}
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
    "diff/symbol_tokens.py:_is_atomic": "the kinds of nodes that the grammars have",
    "embed/choice.py:default_encoder": "one",
    "embed/choice.py:_encoder_asked_for": "one a choice of settings",
    "files/re2_scan.py:_compile": "one expression, up to 64 MB; only where there is neither ripgrep nor git",
    "page/highlight.py:_class_of": "the kinds of nodes that the grammars have",
    "page/highlight.py:_defines": "the kinds of nodes that the grammars have",
    "page/highlight.py:_is_atomic": "the kinds of nodes that the grammars have",
    "page/rendering.py:_environment": "one environment with its twenty-five templates",
    "page/rendering.py:static_address": "one a static file",
    "parse/definitions.py:_role": "the sets of captures that the languages' queries name",
    "parse/formats.py:documents": "one table of the formats",
    "parse/formats.py:formats": "one table of the formats",
    "parse/language.py:_texts": "the files of the languages",
    "parse/language.py:_table": "the files of the languages, taken apart",
    "parse/language.py:_language": "the languages",
    "parse/language.py:_by": "one table of the languages",
    "file_roles.py:_test_names": "one expression of the languages' names",
    "file_roles.py:_entry_names": "one expression of the languages' names",
    "file_roles.py:_entry_paths": "one expression of the languages' names",
    "parse/language.py:_by_text": "one table of the languages",
    "parse/reference_sites.py:_path_characters": "one a language",
    "parse/reference_sites.py:_backwards": "one a language",
    "parse/version.py:_installed_version": "one a grammar",
    "parse/version.py:extractor_version": "one a language",
    "paths.py:_patterns": "one a choice of settings, sixty-four at most",
    "redact.py:_shapes": "one expression",
    "resolve/generation.py:about_generations": "one function a cache",
    "resolve/rules.py:rules_of": "one a language",
    "source/process.py:_running": "the children that run now",
    "team/offered_tools.py:_declared": "the tool that a team server adds",
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


SPELLED_LIKE_A_LANGUAGE = {
    "context/build_files.py": {"python"},  # Poetry's name for the interpreter, among dependencies
    "cli/completion.py": {"bash"},  # a shell
    "index/working_tree.py": {"go"},  # a directive of go.mod
    "resolve/source.py": {"go"},  # a word that may stand before a call
}


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_no_module_names_a_language(path: Path) -> None:
    """All that is said of a language is in its file in parse/languages."""
    constants = (node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant))
    named = {value for value in constants if isinstance(value, str) and value in languages()}
    assert named <= SPELLED_LIKE_A_LANGUAGE.get(path.relative_to(PACKAGE).as_posix(), set())
