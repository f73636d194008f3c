"""read_file: what it gives of a file, of what the file imports, and of a commit."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.file_roles import main_role
from codecairn.files.read import LARGEST
from codecairn.paths import module_name
from tests.support.doors import JSON_DOORS, Answer
from tests.support.files import Connect, refusal, value_of
from tests.support.repo import Repo
from tests.support.search import Asking, Built, Doors
from tests.support.soak import SOAK

Plain = Callable[..., Answer]
INDEX_FIELDS = {
    "cruxe_protocol_version", "freshness_status", "indexing_status", "result_completeness", "ref", "schema_status",
}  # fmt: skip

posix = pytest.mark.skipif(os.name == "nt", reason="needs links, pipes and modes")


# A file.


@pytest.mark.requirement("001/read_file/file-fields", "001/read_file/metadata-fields")
def test_a_file_comes_with_what_is_known_of_it(doors: Doors, door_name: str, shed: Built) -> None:
    answer = doors(door_name).call("read_file", {"path": "shed/wood.py"})
    read = value_of(answer)
    source = (shed.root / "shed/wood.py").read_text()
    assert read["file"] == {
        "path": "shed/wood.py", "content": source, "size": len(source), "lines": 3, "language": "python",
    }  # fmt: skip
    assert read["metadata"].keys() == {"module", "role", "lastModified"}
    assert (read["metadata"]["module"], read["metadata"]["role"]) == ("shed", "core")
    if door_name in JSON_DOORS:
        assert json.loads(answer.text) == read
    else:
        assert answer.text == f"shed/wood.py  python, 3 lines\n{source.rstrip()}"


@pytest.mark.requirement("001/read_file/path-required")
@pytest.mark.parametrize("arguments", [{}, {"path": ""}, {"path": "  "}, {"path": None}, {"path": 1}])
def test_a_call_without_a_path_is_refused(doors: Doors, door_name: str, arguments: dict[str, Any]) -> None:
    said = refusal(doors(door_name).call("read_file", arguments))
    assert said["error"] == "Invalid parameters"
    assert "path" in said["details"].lower()


@pytest.mark.requirement("001/read_file/size-and-lines-true")
@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"one", 1),
        (b"one\n", 1),
        (b"one\ntwo", 2),
        (b"a\r\nb\r\n", 2),
        ("é\n\u2028\n".encode(), 2),
    ],
)
def test_size_is_in_bytes_and_lines_are_counted(repo: Repo, plain: Plain, raw: bytes, lines: int) -> None:
    repo.write("a.txt", raw)
    file = value_of(plain("read_file", path="a.txt"))["file"]
    assert (file["size"], file["lines"]) == (len(raw), lines)
    assert file["content"].encode() == raw


@pytest.mark.requirement("001/read_file/last-modified-iso")
def test_the_last_change_is_the_files_own_in_utc(repo: Repo, plain: Plain) -> None:
    os.utime(repo.write("a.txt", "x"), (1_700_000_000.25, 1_700_000_000.25))
    assert value_of(plain("read_file", path="a.txt"))["metadata"]["lastModified"] == "2023-11-14T22:13:20.250Z"


@pytest.mark.parametrize(
    ("raw", "content", "encoding"),
    [
        ("naïve ✓\n".encode(), "naïve ✓\n", None),
        (b"\xef\xbb\xbfmarked\n", "marked\n", "utf-8-bom"),
        ("wide ✓\n".encode("utf-16"), "wide ✓\n", "utf-16"),
        (b"\xfe\xff" + "big\n".encode("utf-16-be"), "big\n", "utf-16"),
        ("wider\n".encode("utf-32"), "wider\n", "utf-32"),
        (b"caf\xe9\n", "café\n", "latin-1"),
    ],
)
def test_encodings_are_read_and_said(repo: Repo, plain: Plain, raw: bytes, content: str, encoding: str | None) -> None:
    repo.write("a.txt", raw)
    file = value_of(plain("read_file", path="a.txt"))["file"]
    assert (file["content"], file.get("encoding"), file["size"]) == (content, encoding, len(raw))


def test_lines_can_be_asked_for_and_numbered(repo: Repo, plain: Plain) -> None:
    repo.write("a.txt", "".join(f"line {number}\n" for number in range(1, 13)))
    part = value_of(plain("read_file", path="a.txt", startLine=9, endLine=10))["file"]
    assert (part["content"], part["startLine"], part["endLine"], part["lines"]) == ("line 9\nline 10\n", 9, 10, 12)
    counted = value_of(plain("read_file", path="a.txt", startLine=9, endLine=10, lineNumbers=True))["file"]
    assert counted["content"] == " 9\tline 9\n10\tline 10\n"
    to_the_end = value_of(plain("read_file", path="a.txt", startLine=12, endLine=99))["file"]
    assert (to_the_end["content"], to_the_end["endLine"]) == ("line 12\n", 12)
    for start, end in ((13, None), (5, 4)):
        said = refusal(plain("read_file", path="a.txt", startLine=start, **({"endLine": end} if end else {})))
        assert "Invalid line range" in said["details"]
        assert said["lines"] == 12
    assert refusal(plain("read_file", path="a.txt", startLine=0))["error"] == "Invalid parameters"


def test_an_empty_file_has_no_lines_and_is_no_error(repo: Repo, plain: Plain) -> None:
    repo.write("a.txt", "")
    assert value_of(plain("read_file", path="a.txt", startLine=1))["file"]["content"] == ""


def test_the_text_of_a_long_file_goes_on_from_the_line_it_names(repo: Repo, plain: Plain) -> None:
    source = "".join(f"{number} {'words ' * 9}\n" for number in range(1, 1001))
    repo.write("long.txt", source)
    answer = plain("read_file", path="long.txt")
    assert len(answer.text) <= DEFAULT_CHARACTERS
    assert value_of(answer)["file"]["content"] == source
    said, seen = json.loads(answer.text), ""
    assert "cut" in said
    while "cut" in said:
        assert said["cut"]["of"] > said["cut"]["shown"]
        seen += said["file"]["content"]
        said = json.loads(plain("read_file", path="long.txt", startLine=said["cut"]["startLine"]).text)
    assert seen + said["file"]["content"] == source


# What is refused.


@pytest.mark.requirement("001/read_file/file-not-found")
@pytest.mark.parametrize("path", ["gone.ts", "gone/deep.ts", "README.md/below"])
def test_a_file_that_is_not_there_is_not_found(doors: Doors, door_name: str, path: str) -> None:
    said = refusal(doors(door_name).call("read_file", {"path": path}))
    assert (said["error"], said["path"]) == ("File not found", path)


@pytest.mark.requirement("001/read_file/permission-denied")
@pytest.mark.parametrize("path", [".env", ".env.local", "a/.git/config", "node_modules/x/index.js", "id_rsa", "a.pem"])
def test_a_blocked_path_is_denied(doors: Doors, door_name: str, path: str) -> None:
    said = refusal(doors(door_name).call("read_file", {"path": path}))
    assert (said["error"], said["path"]) == ("Permission denied", path)
    assert said["details"]


@pytest.mark.requirement("001/read_file/size-limit-1mb")
def test_a_file_over_one_megabyte_is_refused(repo: Repo, door_name: str, connect: Connect) -> None:
    repo.write("fits.txt", "x" * LARGEST)
    repo.write("large.txt", "x" * (LARGEST + 1))
    door = connect(door_name, repo.path)
    assert value_of(door.call("read_file", {"path": "fits.txt"}))["file"]["size"] == LARGEST
    said = refusal(door.call("read_file", {"path": "large.txt"}))
    assert (said["error"], said["size"], said["limit"]) == ("File too large", LARGEST + 1, LARGEST)
    assert refusal(door.call("read_file", {"path": "large.txt", "startLine": 1, "endLine": 1}))["size"] == LARGEST + 1


def test_what_is_no_text_is_refused_by_what_it_is(repo: Repo, plain: Plain) -> None:
    repo.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0")
    repo.write("data.bin", b"text at first\0and then not")
    assert {refusal(plain("read_file", path=path))["error"] for path in ("logo.png", "data.bin")} == {"Binary file"}
    (repo.path / "folder").mkdir()
    said = refusal(plain("read_file", path="folder"))
    assert (said["error"], "get_file_outline" in said["suggestion"]) == ("Not a file but a folder", True)


@posix
def test_pipes_and_sockets_are_refused_without_waiting(repo: Repo, plain: Plain) -> None:
    os.mkfifo(repo.path / "pipe")
    assert refusal(plain("read_file", path="pipe"))["error"] == "Not a regular file"


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_the_right_to_read_it_is_denied(repo: Repo, plain: Plain) -> None:
    repo.write("shut.txt", "x").chmod(stat.S_IWUSR)
    assert refusal(plain("read_file", path="shut.txt"))["error"] == "Permission denied"


@posix
def test_a_link_inside_the_project_is_followed_and_one_that_leads_out_is_not(repo: Repo, plain: Plain) -> None:
    (repo.path.parent / "outside.txt").write_text("outside")
    repo.write("deep/er/real.txt", "inside")
    repo.write(".env", "SECRET")
    links = {
        "near": "deep/er/real.txt", "deep/up": "../deep/er/real.txt", "folder": "deep/er", "chain": "near",
        "absolute": str(repo.path / "deep/er/real.txt"), "dotted": "./deep//er/../er/real.txt",
    }  # fmt: skip
    refused = {"out": "../outside.txt", "root": "/", "loop": "loop", "up": "deep/../..", "secret": ".env"}
    for name, target in {**links, **refused}.items():
        (repo.path / name).symlink_to(target)
    for path in (*(name for name in links if name != "folder"), "folder/real.txt"):
        assert value_of(plain("read_file", path=path))["file"]["content"] == "inside", path
    for path in ("out", "root/etc/hostname", "loop", "up/outside.txt", "secret"):
        assert refusal(plain("read_file", path=path))["error"] == "Permission denied", path


# What it imports.


@pytest.mark.requirement("001/read_file/include-deps-default-false")
def test_dependencies_come_only_when_asked_for(doors: Doors, door_name: str) -> None:
    for asked in ({}, {"includeDeps": False}, {"maxDepth": 1}):
        read = value_of(doors(door_name).call("read_file", {"path": "shed/tools.py", **asked}))
        assert read["dependencies"] == []
        assert not INDEX_FIELDS & read["metadata"].keys()


@pytest.mark.requirement(
    "001/read_file/include-deps-level-one",
    "001/read_file/deps-carry-content",
    "001/read_file/dependency-fields",
    "001/read_file/max-depth-default-1",
)
def test_what_a_file_imports_comes_with_its_content(doors: Doors, door_name: str, shed: Built) -> None:
    read = value_of(doors(door_name).call("read_file", {"path": "shed/tools.py", "includeDeps": True}))
    wood = (shed.root / "shed/wood.py").read_text()
    assert read["dependencies"] == [{"path": "shed/wood.py", "type": "import", "level": 1, "content": wood}]
    assert read["external"] == ["json", "os.path"]
    assert read["unresolved"] == [".missing"]
    one = value_of(doors(door_name).call("read_file", {"path": "shed/tools.py", "includeDeps": True, "maxDepth": 1}))
    assert one["dependencies"] == read["dependencies"]


def test_imports_resolve_in_every_language_the_index_knows(visit: Asking) -> None:
    read = value_of(visit.answer("read_file", path="web/index.ts", includeDeps=True))
    assert [each["path"] for each in read["dependencies"]] == ["web/nail.ts"]
    assert read["external"] == ["react"]
    prose = value_of(visit.answer("read_file", path="README.md", includeDeps=True))
    assert prose["dependencies"] == []


@pytest.mark.requirement("001/read_file/max-depth-bounds")
@pytest.mark.parametrize("depth", [-1, 2, 1.5, "1"])
def test_a_depth_beyond_one_is_refused(doors: Doors, door_name: str, depth: Any) -> None:
    said = refusal(doors(door_name).call("read_file", {"path": "main.py", "maxDepth": depth}))
    assert (said["error"], said["param"]) == ("Invalid parameters", "maxDepth")


@pytest.mark.requirement("001/read_file/max-depth-zero-none")
def test_no_depth_gives_no_dependency(doors: Doors, door_name: str) -> None:
    read = value_of(doors(door_name).call("read_file", {"path": "main.py", "includeDeps": True, "maxDepth": 0}))
    assert read["dependencies"] == []


@pytest.mark.requirement("001/read_file/index-metadata-joined", "ruling/metadata/on-index-answers")
def test_where_the_index_was_asked_its_state_is_said(doors: Doors, door_name: str) -> None:
    said = value_of(doors(door_name).call("read_file", {"path": "main.py", "includeDeps": True}))["metadata"]
    assert said.keys() >= {"module", "role", "lastModified"} | INDEX_FIELDS
    assert (said["ref"], said["indexing_status"], said["result_completeness"]) == ("main", "ready", "complete")


@pytest.mark.requirement("001/read_file/import-parse-error")
def test_imports_that_cannot_be_parsed_are_the_documented_error(doors: Doors, door_name: str) -> None:
    said = refusal(doors(door_name).call("read_file", {"path": "shed/broken.py", "includeDeps": True}))
    assert (said["error"], said["path"]) == ("Failed to parse imports", "shed/broken.py")
    assert re.fullmatch(r"Syntax error at line \d+", said["details"])


@pytest.mark.requirement("001/read_file/parse-error-only-with-deps")
def test_broken_syntax_is_read_all_the_same(doors: Doors, door_name: str) -> None:
    assert "def cut(:" in value_of(doors(door_name).call("read_file", {"path": "shed/broken.py"}))["file"]["content"]


def test_an_error_below_the_imports_is_a_warning(visit: Asking) -> None:
    read = value_of(visit.answer("read_file", path="shed/late.py", includeDeps=True))
    assert [each["path"] for each in read["dependencies"]] == ["shed/wood.py"]
    assert "Syntax error at line" in read["metadata"]["warnings"][-1]


def test_without_an_index_the_imports_are_named_and_nothing_is_claimed(own: Callable[..., Asking]) -> None:
    fresh = own({"a.py": "import b\n", "b.py": ""}, indexed=False)
    read = value_of(fresh.answer("read_file", path="a.py", includeDeps=True))
    assert (read["dependencies"], read["unresolved"]) == ([], ["b"])
    assert "external" not in read
    assert (read["metadata"]["indexing_status"], read["metadata"]["result_completeness"]) == ("not_indexed", "partial")
    assert "no index to ask" in read["metadata"]["warnings"][-1]


def test_the_text_of_dependencies_is_bounded_and_the_rest_is_named(own: Callable[..., Asking]) -> None:
    files: dict[str, str | bytes] = {f"m{n}.py": f"x = {'y' * 40}\n" * 4_500 for n in range(4)}
    built = own({**files, "a.py": "import m0, m1, m2, m3\n"})
    read = value_of(built.answer("read_file", path="a.py", includeDeps=True))
    assert [each["path"] for each in read["dependencies"]] == ["m0.py", "m1.py", "m2.py", "m3.py"]
    assert ["content" in each for each in read["dependencies"]] == [True, True, False, False]
    assert read["metadata"]["result_completeness"] == "truncated"


def test_what_changed_since_it_was_indexed_is_read_as_it_is(own: Callable[..., Asking]) -> None:
    built = own({"a.py": "import b\n", "b.py": "x = 1\n", "c.py": "y = 1\n"})
    (built.root / "a.py").write_text("import c\n")
    (built.root / "c.py").write_text("y = 2\n")
    read = value_of(built.answer("read_file", path="a.py", includeDeps=True))
    assert [(each["path"], each["content"]) for each in read["dependencies"]] == [("c.py", "y = 2\n")]
    assert read["metadata"]["freshness_status"] == "stale"


# Out of a commit.


@pytest.mark.requirement("001/read_file/ref-reads-that-commit")
def test_a_ref_reads_that_commit(repo: Repo, door_name: str, connect: Connect) -> None:
    first = repo.commit("first", {"a.py": "one\n", "gone.py": "was here\n"})
    (repo.path / "gone.py").unlink()
    repo.commit("second", {"a.py": "two\n"})
    repo.write("a.py", "three\n")
    door = connect(door_name, repo.path)
    contents = {
        ref: value_of(door.call("read_file", {"path": "a.py", **({"ref": ref} if ref else {})}))["file"]["content"]
        for ref in ("", "HEAD", "main", "HEAD~1", first)
    }
    assert contents == {"": "three\n", "HEAD": "two\n", "main": "two\n", "HEAD~1": "one\n", first: "one\n"}
    old = value_of(door.call("read_file", {"path": "gone.py", "ref": first}))
    assert old["file"]["content"] == "was here\n"
    assert (old["metadata"]["commit"], old["metadata"]["lastModified"]) == (first, "2025-03-01T12:00:00.000Z")
    assert refusal(door.call("read_file", {"path": "gone.py", "ref": "HEAD"}))["error"] == "File not found"
    assert refusal(door.call("read_file", {"path": "a.py", "ref": "nowhere"}))["code"] == "ref_not_indexed"


def test_a_commit_is_read_under_the_same_rules(repo: Repo, plain: Plain) -> None:
    repo.write("real.txt", "real")
    repo.write("wide.txt", "wide".encode("utf-16"))
    repo.write("large.txt", "x" * (LARGEST + 1))
    repo.write("folder/a.txt", "")
    repo.write("data.bin", b"\0")
    repo.write(".env", "SECRET")
    if os.name != "nt":
        for name, target in {
            "folder/link": "../real.txt",
            "out": "../../x",
            "abs": "/etc/passwd",
            "env": ".env",
        }.items():
            (repo.path / name).symlink_to(target)
    repo.commit("all")
    errors = {"large.txt": "File too large", "folder": "Not a file but a folder", "data.bin": "Binary file"}
    errors |= {".env": "Permission denied", "../x": "Invalid parameters", "nothing": "File not found"}
    if os.name != "nt":
        errors |= dict.fromkeys(("out", "abs", "env"), "Permission denied")
        assert value_of(plain("read_file", path="folder/link", ref="HEAD"))["file"]["content"] == "real"
    for path, error in errors.items():
        assert refusal(plain("read_file", path=path, ref="HEAD"))["error"] == error, path
    wide = value_of(plain("read_file", path="wide.txt", ref="HEAD"))["file"]
    assert (wide["content"], wide["encoding"]) == ("wide", "utf-16")


def test_a_commit_of_a_repository_around_the_project_is_read_from_the_project(repo: Repo, connect: Connect) -> None:
    repo.commit("first", {"a.txt": "top", "inner/a.txt": "inner"})
    door = connect("memory", repo.path / "inner")
    assert value_of(door.call("read_file", {"path": "a.txt", "ref": "HEAD"}))["file"]["content"] == "inner"


def test_dependencies_of_a_ref_are_read_there_too(own: Callable[..., Asking]) -> None:
    built = own({"a.py": "import b\n", "b.py": "old = 1\n"})
    (built.root / "b.py").write_text("new = 1\n")
    read = value_of(built.answer("read_file", path="a.py", includeDeps=True, ref="HEAD"))
    assert [each["content"] for each in read["dependencies"]] == ["old = 1\n"]
    repo = Repo(built.root, day=5)
    repo.commit("moved", {"a.py": "import c\n", "c.py": "third = 1\n"})
    moved = value_of(built.answer("read_file", path="a.py", includeDeps=True, ref="HEAD~1"))
    assert [each["content"] for each in moved["dependencies"]] == ["old = 1\n"]


def test_a_branch_is_read_by_its_own_index_which_the_call_makes(
    own: Callable[..., Asking],
) -> None:
    built = own({"a.py": "import b\n", "b.py": "old = 1\n"})
    repo = Repo(built.root, day=5)
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit("topic", {"a.py": "import only\n", "only.py": "here = 1\n"})
    repo.git("checkout", "--quiet", "main")
    after = value_of(built.answer("read_file", path="a.py", includeDeps=True, ref="topic"))
    assert [(each["path"], each["content"]) for each in after["dependencies"]] == [("only.py", "here = 1\n")]
    assert (after["metadata"]["ref"], after["metadata"]["freshness_status"]) == ("topic", "fresh")


def test_after_switch_ref_that_ref_is_read_and_searched(own: Callable[..., Asking]) -> None:
    built = own({"a.py": "here = 1\n"})
    repo = Repo(built.root, day=5)
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit("topic", {"a.py": "there = 1\n"})
    repo.git("checkout", "--quiet", "main")
    assert not built.answer("index_codebase", path=str(built.root), ref="topic").is_error
    for switched, text in (("topic", "there = 1\n"), ("live", "here = 1\n")):
        assert not built.answer("switch_ref", ref=switched).is_error
        assert value_of(built.answer("read_file", path="a.py"))["file"]["content"] == text
        assert value_of(built.answer("grep_codebase", pattern="= 1"))["matches"][0]["text"] == text.strip()
    assert not built.answer("switch_ref", ref="topic").is_error
    assert value_of(built.answer("read_file", path="a.py", ref="live"))["file"]["content"] == "here = 1\n"


# What is remembered of it, and how often it may be called.


@pytest.mark.requirement("001/read_file/failed-read-not-counted")
def test_only_a_successful_read_is_noted(visit: Asking) -> None:
    for path in ("gone.py", ".env", "../x", "shed", ""):
        visit.answer("read_file", path=path)
    visit.answer("read_file", path="shed/broken.py", includeDeps=True)
    visit.answer("read_file", path="main.py", startLine=99)
    assert list(visit.connection.recent_files) == []
    visit.answer("read_file", path="./shed/wood.py")
    visit.answer("read_file", path="main.py", includeDeps=True)
    assert list(visit.connection.recent_files) == ["shed/wood.py", "main.py"]


@pytest.mark.requirement("001/read_file/rate-limit-100")
def test_the_hundred_and_first_call_of_a_minute_is_refused(repo: Repo, door_name: str, connect: Connect) -> None:
    repo.write("a.txt", "x")
    door = connect(door_name, repo.path)
    assert not any(door.call("read_file", {"path": "a.txt"}).is_error for _ in range(100))
    said = refusal(door.call("read_file", {"path": "a.txt"}))
    assert (said["limit"], "100 calls a minute" in said["error"]) == (100, True)


# The part a file plays.


@pytest.mark.requirement("ruling/module-role/module-parent-folder", "ruling/module-role/module-at-root")
def test_the_module_is_the_folder_or_the_project(visit: Asking) -> None:
    modules = {
        path: value_of(visit.answer("read_file", path=path))["metadata"]["module"]
        for path in ("main.py", "shed/wood.py", "tests/test_saw.py")
    }
    assert modules == {"main.py": visit.root.name, "shed/wood.py": "shed", "tests/test_saw.py": "tests"}
    assert module_name("a/b/c.go", "p") == "b"


@pytest.mark.requirement("ruling/module-role/role-values")
def test_the_role_is_one_of_five(visit: Asking) -> None:
    roles = {
        path: value_of(visit.answer("read_file", path=path))["metadata"]["role"]
        for path in ("main.py", "shed/wood.py", "tests/test_saw.py", "pyproject.toml", "README.md")
    }
    assert list(roles.values()) == ["entry", "core", "test", "config", "docs"]


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/server/auth/AuthService.ts", "core"), ("cmd/app/main.go", "entry"),
        ("src/index.ts", "entry"), ("src/ui/index.ts", "core"),
        ("src/lib.rs", "entry"), ("pkg/__main__.py", "entry"), ("manage.py", "entry"),
        ("docs/guide/intro.md", "docs"), ("LICENSE", "docs"), ("docs/conf.py", "docs"),
        ("package.json", "config"), (".github/workflows/ci.yml", "config"),
        ("Dockerfile", "config"), ("vite.config.ts", "config"),
        ("pkg/store_test.go", "test"), ("src/cart.spec.ts", "test"),
        ("src/test/java/ATest.java", "test"), ("src/latest.py", "core"),
    ],
)  # fmt: skip
def test_roles_are_told_by_the_path(path: str, role: str) -> None:
    assert main_role(path) == role


def test_reading_leaves_no_descriptor_open(repo: Repo, plain: Plain, tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("asks Linux for the open descriptors")
    repo.write("deep/er/a.txt", "x")
    (repo.path / "link").symlink_to("deep/er/../er/a.txt")
    (repo.path / "out").symlink_to("../../x")
    plain("read_file", path="link")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("link", "deep/er/a.txt", "out", "gone/a", "deep", "deep/er/a.txt/x") * (10 if SOAK else 3):
        plain("read_file", path=path)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
