"""The role of a file, by its path: on paths of real repositories."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

import pytest

from codecairn.file_roles import NameGlobs, Role, is_product, is_vendored, role_of
from codecairn.parse.language import globs_of, languages
from codecairn.source.file_content import classify

ROLES: dict[Role, list[str]] = {
    "test": [
        "tests/helper.py", "pkg/test/Foo.java", "src/test/java/A.java", "web/__tests__/a.js", "spec/models/user.rb",
        "testdata/a.json", "tests/fixtures/b.yaml", "App/AppTests/Case.swift", "src/Shop.Tests/Base.cs",
        "Tests/Util.swift", "app/src/androidTest/A.kt", "conftest.py", "pkg/test_a.py", "a_test.py", "tests.py",
        "x/a_test.go", "a.test.ts", "a.spec.tsx", "app.e2e-spec.ts", "user_spec.rb", "user_test.rb", "FooTest.java",
        "FooIT.java", "TestFoo.java", "FooTests.cs", "FooTest.php", "AppTests.swift", "FooSpec.scala",
        "FooSuite.scala", "FooSpec.hs", "FooTest.kt", "a_unittest.cc", "test-utils.js", "run.bats", "a_test.exs",
        "cypress/support/commands.js", "lists_SUITE.erl", "numpy/testing/utils.py", "packages/vite/fixtures/a.ts",
        "tests/data/countries.csv", "vendor/github.com/spf13/cobra/command_test.go", "src/LoginTest.ts",
        "django/test/client.py", "examples/shop/tests/test_cart.py",
    ],
    "vendored": [
        "vendor/github.com/spf13/cobra/command.go", "third_party/zlib/inflate.c", "src/third_party/b.c",
        "ios/Pods/AFNetworking/A.m", "node_modules/a/b.js", ".venv/lib/a.py", "bower_components/x.js",
        "deps/jemalloc/src/arena.c", "deps/v8/README.md", "external/lua/lua.h", "pip/_vendor/rich/text.py",
        "django/contrib/admin/static/admin/js/vendor/jquery/jquery.js", "VTK/ThirdParty/png/png.c",
    ],
    "document": [
        "README.md", "LICENSE", "COPYING", "CHANGELOG.rst", "docs/ref/settings.txt", "docs/conf.py",
        "Documentation/admin-guide/README.rst", "docs/test_plan.md", "NEWS", "doc/vim9.txt", "AUTHORS",
        "src/latest_spec_notes.txt", "docs/_ext/djangodocs.py", "LICENSE-MIT",
    ],
    "example": ["examples/todo/server.py", "samples/README.md", "demo/index.html", "tutorials/a.ipynb"],
    "benchmark": ["benchmarks/search.py", "asv_bench/io.py", "bench/a.go"],
    "legacy": ["src/legacy/parser.py", "deprecated/api.js"],
    "data": [
        "package-lock.json", "Cargo.lock", "go.sum", "locale/de/LC_MESSAGES/django.po", "logo.svg", "data/points.csv",
        "web/bundle.js.map", "pnpm-lock.yaml",
    ],
    "generated": ["api/user_pb2.py", "api/user.pb.go", "lib/user.g.dart", "pkg/zz_generated.deepcopy.go"],
    "configuration": [
        "package.json", ".github/workflows/ci.yml", "Dockerfile", "vite.config.ts", "pyproject.toml", "setup.py",
        "requirements-dev.txt", "CMakeLists.txt", "build.rs", ".eslintrc", "go.mod", "src/shop/settings.py",
    ],
    "entry": [
        "cmd/app/main.go", "src/index.ts", "src/lib.rs", "pkg/__main__.py", "manage.py", "src/main/java/Main.java",
        "Program.cs", "src/bin/tool.rs", "bin/cairn", "packages/ui/src/index.ts", "httpie/cli.py", "app.py",
        "src/main/java/org/shop/ShopApplication.java",
    ],
    "source": [
        "lib/bats-core/test_functions.bash",
        "src/latest/a.py", "contest.py", "attest/b.go", "Contest/a.cs", "protest.ts", "inspector.rb", "KeySpec.java",
        "greatest.java", "src/testable.py", "Submit.java", "unit.php", "inspect/a.rb", "src/ui/index.ts",
        "vendors/a.py", "pkg/pods/list.go", "my_vendor/a.py", "src/vendor.ts", "app/api/deps/session.py",
        "django/contrib/auth/models.py", "src/license_check.go", "lib/authors.py", "src/docs.ts", "test", "build.spec",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("path", "role"), [(path, role) for role, paths in ROLES.items() for path in paths])
def test_a_path_has_one_role(path: str, role: Role) -> None:
    assert role_of(path) == role


def test_a_text_in_no_programming_language_is_a_document() -> None:
    assert role_of("web/page.html") == "source"
    assert role_of("web/page.html", "text") == "document"
    assert not is_product("pyproject.toml", "text")
    assert is_product("src/shop/settings.py", "python")


def test_a_test_in_vendored_code_is_vendored_too() -> None:
    assert is_vendored("vendor/github.com/spf13/cobra/command_test.go")
    assert not is_vendored("vendor")


PARAGRAPH = "Every setting has a default, and the defaults are listed here.\nSome must be set in production.\n\n"


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("docs/ref/settings.txt", PARAGRAPH, None),
        ("notes/history.txt", PARAGRAPH, None),
        ("docs/releases/security.txt", "* :cve:`2020-1`\n", None),
        ("words/english.txt", "abacus\n", "data"),
        ("raster.txt", "1.5 2.5 3.5 4.5 5.5\n\n", "data"),
    ],
)
def test_a_document_is_one_whatever_its_size(path: str, line: str, reason: str | None) -> None:
    assert classify(path, (line * (100_000 // len(line))).encode()) == reason


@pytest.mark.parametrize("key", ["test_files", "entry_files"])
def test_what_is_read_of_the_languages_alone_is_what_they_say(key: Literal["test_files", "entry_files"]) -> None:
    said = {glob for each in languages().values() for glob in getattr(each.data, key)}
    assert set(globs_of(key)) == said
    assert said


_NAME_PIECES = (
    "",
    "a",
    "A",
    "Test",
    "Tests",
    "TestCase",
    "_test",
    "test_",
    "IT",
    "Spec",
    "_unittest",
    "app",
    "index",
    ".",
)
_NAME_ENDS = (
    "",
    ".c",
    ".cc",
    ".kt",
    ".kts",
    ".java",
    ".cjs",
    ".mjs",
    ".js",
    ".ts",
    ".py",
    ".spec.ts",
    ".e2e.x",
    ".cy.",
)


@pytest.mark.parametrize("key", ["test_files", "entry_files"])
def test_names_match_as_their_globs_are_written(key: Literal["test_files", "entry_files"]) -> None:
    names = [f"{one}{two}{end}" for one in _NAME_PIECES for two in _NAME_PIECES for end in _NAME_ENDS]
    for glob in {*globs_of(key), "a*b*c", "?*b*c", "x[ab]*y*", "*a*a", "[ab]*[cd]"}:
        globs = NameGlobs([glob])
        for name in [*names, "abc", "abbc", "bc", "xaay", "xby", "aa", "a", "aaa", "ac", "bd"]:
            assert globs.matches(name) == fnmatchcase(name, glob), (glob, name)
