"""Where entries hold: scopes of the tools' own formats, the rules of a file, and hostile scopes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from codecairn.catalog.entries import CheckedEntry, parse
from codecairn.catalog.front_matter import split_front_matter
from codecairn.catalog.rule_files import rule_file, scope_of
from codecairn.catalog.scope import ScopeTable, Subject
from codecairn.source.json_folder import FileReading
from tests.catalog.catalogue import Catalogue, Client, entry
from tests.catalog.test_entries import problems
from tests.catalog.test_import import entries, imported, said, source

TYPESCRIPT = "---\nglobs: *.ts\n---\nRule.\n"

CURSOR = [
    ("alwaysApply: true", "any/file.py", True),
    ("globs: *.ts\nalwaysApply: true", "any/file.py", True),
    ("globs: *.ts", "a/b/c.ts", True),
    ("globs: *.ts", "c.ts", True),
    ("globs: *.ts", "c.tsx", False),
    ("globs: *.ts, *.tsx", "a/c.tsx", True),
    ('globs: ["src/**/*.ts", "lib/*.js"]', "lib/a.js", True),
    ('globs: ["src/**/*.ts", "lib/*.js"]', "lib/sub/a.js", False),
    ("globs: src/components/**/*.{ts,tsx}", "src/components/a/b.tsx", True),
    ("globs: src/components/**/*.{ts,tsx}", "src/components/b.css", False),
    ("globs:\n  - docs/**\n  - '*.md'", "a/README.md", True),
    ("description: When migrating", "a.ts", False),
    ("description:\nglobs:\nalwaysApply: false", "a.ts", False),
    ("alwaysApply: false", "a.ts", False),
]
COPILOT = [
    ('applyTo: "**"', "a/b.py", True),
    ('applyTo: "**/*"', "a/b.py", True),
    ('applyTo: "*"', "b.py", True),
    ('applyTo: "*"', "a/b.py", False),
    ('applyTo: "*.py"', "b.py", True),
    ('applyTo: "*.py"', "a/b.py", False),
    ('applyTo: "**/*.py"', "a/b.py", True),
    ('applyTo: "**/*.py"', "b.py", True),
    ('applyTo: "src/*.py"', "src/b.py", True),
    ('applyTo: "src/*.py"', "src/a/b.py", False),
    ('applyTo: "src/**/*.py"', "src/a/b.py", True),
    ('applyTo: "**/subdir/**/*.py"', "x/subdir/y/b.py", True),
    ('applyTo: "**/subdir/**/*.py"', "subdir/b.py", True),
    ('applyTo: "**/subdir/**/*.py"', "other/b.py", False),
    ('applyTo: "**/*.ts,**/*.tsx"', "a/b.tsx", True),
    ("description: no applyTo", "a/b.tsx", False),
]
CLAUDE = [
    ("", "any/thing.c", True),
    ('paths:\n  - "**/*.ts"', "a/b.ts", True),
    ('paths:\n  - "src/**/*"', "src/a/b.c", True),
    ('paths:\n  - "src/**/*"', "lib/b.c", False),
    ('paths:\n  - "*.md"', "README.md", True),
    ('paths:\n  - "*.md"', "docs/a.md", False),
    ('paths:\n  - "src/components/*.tsx"', "src/components/a.tsx", True),
    ('paths:\n  - "src/components/*.tsx"', "src/components/x/a.tsx", False),
    ("paths: src/**/*.{ts,tsx}", "src/a/b.tsx", True),
    ('paths:\n  - "{src,lib}/**/*.ts"\n  - "tests/**/*.test.ts"', "lib/x.ts", True),
    ('paths:\n  - "{src,lib}/**/*.ts"\n  - "tests/**/*.test.ts"', "tests/a/b.test.ts", True),
    ('paths:\n  - "{src,lib}/**/*.ts"\n  - "tests/**/*.test.ts"', "tests/a/b.ts", False),
]
FOLDERS = [
    ("AGENTS.md", "packages/api/x.ts", True),
    ("packages/api/AGENTS.md", "packages/api/src/x.ts", True),
    ("packages/api/AGENTS.md", "packages/web/x.ts", False),
    ("packages/api/CLAUDE.md", "packages/api/x.ts", True),
    ("packages/api/CLAUDE.md", "x.ts", False),
    (".claude/CLAUDE.md", "x.ts", True),
    ("packages/api/.claude/CLAUDE.md", "packages/api/x.ts", True),
    ("packages/api/.claude/CLAUDE.md", "packages/x.ts", False),
    ("core/GEMINI.md", "core/a/b.c", True),
    ("core/GEMINI.md", "corex/b.c", False),
    (".github/copilot-instructions.md", "a/b.c", True),
]


def holds(path: str, head: str, file: str) -> bool:
    """Whether a rule file with such a head holds for a file, as the catalogue answers it."""
    found = rule_file(path)
    assert found is not None
    scope = scope_of(found, split_front_matter(f"---\n{head}\n---\nRule.\n" if head else "Rule.\n")[0])
    fields = entry("a", **({"appliesTo": msgspec.to_builtins(scope)} if scope is not None else {}))
    checked = parse("instructions/a.json", FileReading((), msgspec.json.encode(fields)))
    assert isinstance(checked, CheckedEntry), checked
    return bool(ScopeTable.of([checked]).holding(Subject(file)))


@pytest.mark.requirement("003/scope/cursor-format")
@pytest.mark.parametrize(("head", "file", "expected"), CURSOR)
def test_cursor_rules_hold_where_cursor_applies_them(head: str, file: str, expected: bool) -> None:
    assert holds(".cursor/rules/web.mdc", head, file) is expected


@pytest.mark.requirement("003/scope/copilot-format")
@pytest.mark.parametrize(("head", "file", "expected"), COPILOT)
def test_copilot_instructions_hold_where_copilot_applies_them(head: str, file: str, expected: bool) -> None:
    assert holds(".github/instructions/web.instructions.md", head, file) is expected


@pytest.mark.requirement("003/scope/claude-format")
@pytest.mark.parametrize(("head", "file", "expected"), CLAUDE)
def test_claude_rules_hold_where_claude_applies_them(head: str, file: str, expected: bool) -> None:
    assert holds(".claude/rules/web.md", head, file) is expected


@pytest.mark.requirement("003/scope/folder-format")
@pytest.mark.parametrize(("path", "file", "expected"), FOLDERS)
def test_the_file_of_a_folder_holds_below_it(path: str, file: str, expected: bool) -> None:
    assert holds(path, "", file) is expected


def test_a_cursor_rule_of_a_package_holds_for_nothing_outside_it() -> None:
    assert holds("packages/api/.cursor/rules/ts.mdc", "globs: *.ts", "packages/api/src/a.ts")
    assert not holds("packages/api/.cursor/rules/ts.mdc", "globs: *.ts", "packages/web/a.ts")


@pytest.mark.requirement("003/scope/import-keeps-it")
def test_imports_keep_the_scope(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, ".cursor/rules/web.mdc", TYPESCRIPT)
    source(catalogue, "packages/api/AGENTS.md", "# Api\n\nBe quick.\n")
    source(catalogue, ".github/instructions/py.instructions.md", '---\napplyTo: "src/**/*.py"\n---\nType it.\n')
    source(catalogue, ".claude/rules/sub/go.md", '---\npaths: ["cmd/**"]\n---\nHandle errors.\n')
    source(catalogue, ".cursor/rules/asked.mdc", "---\ndescription: On migrations\n---\nUndo.\n")
    source(catalogue, "AGENTS.md", "# All\n\nTest.\n")
    imported(catalogue)
    found = {identity: item.get("appliesTo") for identity, item in entries(client).items()}
    assert found == {
        "agents-all": None,
        "cursor-web": {"globs": ["*.ts"]},
        "packages-api-agents-api": {"globs": ["packages/api/**"]},
        "copilot-py": {"globs": ["/src/**/*.py"]},
        "claude-sub-go": {"globs": ["/cmd/**"]},
        "cursor-asked": {"onRequest": True},
    }
    assert set(said(imported(catalogue)).values()) == {"unchanged"}
    source(catalogue, ".cursor/rules/web.mdc", TYPESCRIPT.replace("*.ts", "*.js"))
    assert said(imported(catalogue))["cursor-web"] == "updated"
    assert entries(client)["cursor-web"]["appliesTo"] == {"globs": ["*.js"]}


def test_a_scope_that_cannot_be_read_never_becomes_everybodys(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, ".cursor/rules/web.mdc", "---\nglobs: src/[*.ts\n---\nRule.\n")
    assert "not read" in said(imported(catalogue)).values()
    assert entries(client) == {}


@pytest.mark.requirement("003/scope/path-argument", "003/scope/nearest-first")
def test_the_rules_of_a_file_come_nearest_first(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("all", priority=1)
    catalogue.add("python", appliesTo={"languages": ["python"]})
    catalogue.add("glob", appliesTo={"globs": ["**/*.py"]})
    catalogue.add("folder", appliesTo={"globs": ["src/app/**"]})
    catalogue.add("file", appliesTo={"globs": ["src/app/main.py"]})
    catalogue.add("module", appliesTo={"modules": ["app"]})
    catalogue.add("elsewhere", appliesTo={"globs": ["docs/**"]})
    catalogue.add("asked", appliesTo={"onRequest": True})
    listed = any_client.ask("instructions/list", path="src/app/main.py")
    assert [each["id"] for each in listed["items"]] == ["file", "folder", "glob", "module", "python", "all"]
    other = any_client.ask("instructions/list", path="docs/a.md")
    assert [each["id"] for each in other["items"]] == ["elsewhere", "all"]
    found = any_client.ask("instructions/search", q="body of", path="src/app/main.py", fields=["appliesTo"])
    assert [each["id"] for each in found["items"]][:2] == ["file", "folder"]
    assert len(any_client.ask("instructions/list")["items"]) == 8


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "", "a\0b"])
def test_a_path_outside_the_project_is_refused(client: Client, catalogue: Catalogue, path: str) -> None:
    catalogue.add("a")
    assert client.refused("instructions/list", path=path)["code"] == -32602


@pytest.mark.requirement("003/scope/strict")
@pytest.mark.parametrize(
    "scope",
    [{}, {"globs": []}, {"glob": ["x"]}, {"globs": ["a/[b"]}, {"globs": ["a{b"]}, {"globs": ["x" * 501]},
     {"globs": [""]}, {"globs": ["a"] * 201}, {"globs": "a"}],
)  # fmt: skip
def test_a_scope_that_means_nothing_is_a_bad_file(client: Client, catalogue: Catalogue, scope: Any) -> None:
    catalogue.add("a", appliesTo=scope)
    catalogue.add("b")
    assert [each["id"] for each in client.ask("instructions/list")["items"]] == ["b"]
    assert len(problems(client)) == 1


@pytest.mark.requirement("003/scope/linear")
def test_globs_that_would_explode_take_linear_time(
    open_client: Callable[..., Client], catalogue: Catalogue
) -> None:  # fmt: skip
    braces = "{a,b}" * 60
    catalogue.add("braces", appliesTo={"globs": [f"src/{braces}/*.py"]})
    catalogue.add("stars", appliesTo={"globs": ["a*" * 60 + "b"]})
    catalogue.add("crossing", appliesTo={"globs": ["**/" * 60 + "x"]})
    client = open_client(catalogue)
    began = time.process_time()
    found = client.ask("instructions/list", path=f"src/{'ab' * 30}/x.py")
    assert [each["id"] for each in found["items"]] == ["braces"]
    assert client.ask("instructions/list", path="a" * 200)["items"] == []
    assert time.process_time() - began < 5
    assert problems(client) == []
