"""grep_codebase: what matches, where, out of how much; the same through every engine."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.cancel import Cancel
from codecairn.errors import Cancelled
from codecairn.files import re2_scan
from codecairn.files.gitgrep import GitGrep
from codecairn.files.grep import LONGEST_LINE, GrepEngine, Query, Time, search
from codecairn.files.ripgrep import Ripgrep
from codecairn.paths import Guard
from codecairn.source import process
from codecairn.source.git import Git
from codecairn.tools import grep
from tests.support.doors import JSON_DOORS, Answer, Door
from tests.support.files import Connect, refusal, value_of
from tests.support.pages import place_of
from tests.support.repo import Repo
from tests.support.search import Asking

Plain = Callable[..., Answer]

FIELD: dict[str, str | bytes] = {
    ".gitignore": "*.log\n/private/\n",
    "src/auth.ts": """\
// Sign in.
import jwt from 'jsonwebtoken';

export function sign(payload: object) {
  // Generate JWT token
  const token = jwt.sign(payload, SECRET);
  return token;
}
""",
    "src/deep/user.ts": "interface UserContext {}\ninterface Plain {}\n",
    "lib/user.py": "def Handle():\n    return 'jwt.sign'\n",
    ".github/ci.yml": "run: jwt.sign\n",
    "environment.py": "jwt.sign\n",
    "logo.png": b"\x89PNG\0jwt.sign\n",
    "debug.log": "jwt.sign\n",
    "private/a.ts": "jwt.sign\n",
    "empty.txt": "",
}
HIDDEN = {
    f"{folder}/x.ts": "jwt.sign\n"
    for folder in ("node_modules", "dist", "build", ".next", ".context", "web/dist", "web/node_modules/left")
} | dict.fromkeys((".env", "a/.env.local", "id_rsa", "certs/a.pem", "certs/A.KEY"), "jwt.sign\n")


@pytest.fixture
def field(repo: Repo) -> Repo:
    for name, content in (*FIELD.items(), *HIDDEN.items()):
        repo.write(name, content)
    repo.git("add", "--force", "dist", "build", ".env")
    repo.commit("field")
    return repo


@pytest.fixture
def door(field: Repo, door_name: str, connect: Connect) -> Door:
    return connect(door_name, field.path)


def files_of(found: dict[str, Any]) -> list[str]:
    return [each["file"] for each in found["matches"]]


@pytest.mark.requirement(
    "001/grep_codebase/top-level-fields",
    "001/grep_codebase/match-fields",
    "001/grep_codebase/line-one-based",
    "001/grep_codebase/two-context-lines",
    "001/grep_codebase/text-whole-line",
    "001/grep_codebase/pattern-is-regex",
)
def test_a_match_has_its_place_its_line_and_two_lines_around_it(door: Door) -> None:
    answer = door.call("grep_codebase", {"pattern": r"jwt\.sign\(", "filePattern": "**/*.ts"})
    found = value_of(answer)
    assert found["matches"] == [
        {
            "file": "src/auth.ts", "line": 6, "column": 17, "text": "  const token = jwt.sign(payload, SECRET);",
            "context": {
                "before": ["export function sign(payload: object) {", "  // Generate JWT token"],
                "after": ["  return token;", "}"],
            },
        }
    ]  # fmt: skip
    assert found["pattern"] == r"jwt\.sign\("
    assert (found["totalMatches"], found["filesSearched"]) == (1, 2)
    assert found["searchTime"] > 0
    assert found["engine"]
    if door.name in JSON_DOORS:
        assert json.loads(answer.text) == found
    first = value_of(door.call("grep_codebase", {"pattern": "Sign in"}))["matches"][0]
    assert (first["line"], first["context"]["before"], len(first["context"]["after"])) == (1, [], 2)


@pytest.mark.requirement("001/grep_codebase/pattern-required", "001/grep_codebase/pattern-length-bounds")
def test_a_pattern_has_1_to_200_characters(door: Door) -> None:
    for arguments in ({}, {"pattern": ""}, {"pattern": "x" * 201}, {"pattern": None}, {"pattern": "a\0b"}):
        said = refusal(door.call("grep_codebase", arguments))
        assert (said["error"], said["param"]) == ("Invalid parameters", "pattern")
    assert not door.call("grep_codebase", {"pattern": "x" * 200}).is_error


@pytest.mark.requirement("001/grep_codebase/case-insensitive-default", "001/grep_codebase/case-sensitive-option")
def test_letter_case_counts_only_when_asked(door: Door) -> None:
    assert files_of(value_of(door.call("grep_codebase", {"pattern": "def handle"}))) == ["lib/user.py"]
    assert files_of(value_of(door.call("grep_codebase", {"pattern": "def handle", "caseSensitive": True}))) == []
    assert files_of(value_of(door.call("grep_codebase", {"pattern": "def Handle", "caseSensitive": True}))) == [
        "lib/user.py"
    ]


@pytest.mark.requirement("001/grep_codebase/file-pattern-glob")
@pytest.mark.parametrize(
    ("wanted", "files"),
    [
        ("**/*.ts", ["src/auth.ts", "src/deep/user.ts"]),
        ("*.ts", ["src/auth.ts", "src/deep/user.ts"]),
        ("src/*.ts", ["src/auth.ts"]),
        ("src/**/*.ts", ["src/auth.ts", "src/deep/user.ts"]),
        ("src/deep/**", ["src/deep/user.ts"]),
        ("src/", ["src/auth.ts", "src/deep/user.ts"]),
        ("{lib,src}/*.{py,ts}", ["lib/user.py", "src/auth.ts"]),
        ("./lib/user.py", ["lib/user.py"]),
        ("[l]ib/*", ["lib/user.py"]),
        ("**/user.*", ["lib/user.py", "src/deep/user.ts"]),
        ("*.log", []),
        ("private/*", []),
        ("dist/*", []),
        ("nothing/**", []),
    ],
)
def test_a_glob_keeps_the_files_whose_path_it_matches(field: Repo, plain: Plain, wanted: str, files: list[str]) -> None:
    found = value_of(plain("grep_codebase", pattern="[a-z]", filePattern=wanted))
    assert sorted(set(files_of(found))) == files
    assert found["filesSearched"] == len(files)


def test_a_glob_that_is_none_is_refused(plain: Plain, field: Repo) -> None:
    for wanted in ("a{b", "[", " ", "a\nb"):
        said = refusal(plain("grep_codebase", pattern="x", filePattern=wanted))
        assert (said["error"], said["param"]) == ("Invalid parameters", "filePattern")


@pytest.mark.requirement("001/grep_codebase/gitignore-respected", "001/grep_codebase/excluded-folders")
@pytest.mark.requirement("001/grep_codebase/blocked-files-skipped", "ruling/paths/dotenv-blocked")
def test_only_what_may_be_searched_is(door: Door) -> None:
    found = value_of(door.call("grep_codebase", {"pattern": "jwt.sign"}))
    assert files_of(found) == [".github/ci.yml", "environment.py", "lib/user.py", "src/auth.ts"]
    assert (found["totalMatches"], found["filesSearched"], found["binaryFiles"]) == (4, 7, 1)


@pytest.mark.requirement("001/grep_codebase/limit-default-50", "001/grep_codebase/total-counts-all")
def test_fifty_matches_come_unless_another_count_is_asked_for(repo: Repo, door_name: str, connect: Connect) -> None:
    repo.commit("many", {f"f{n:02}.txt": "hit\nmiss\n" * 5 for n in range(24)})
    door = connect(door_name, repo.path)
    counts = {
        limit: len(
            value_of(door.call("grep_codebase", {"pattern": "hit", **({"limit": limit} if limit else {})}))["matches"]
        )
        for limit in (0, 1, 100)
    }
    assert counts == {0: 50, 1: 1, 100: 100}
    seen, cursor = list[tuple[str, int]](), None
    while cursor is not None or not seen:
        page = value_of(door.call("grep_codebase", {"pattern": "hit", "limit": 37, "cursor": cursor}))
        assert page["totalMatches"] == 120
        seen += [(each["file"], each["line"]) for each in page["matches"]]
        cursor = page.get("next_cursor")
    assert seen == [(f"f{n:02}.txt", line) for n in range(24) for line in (1, 3, 5, 7, 9)]


@pytest.mark.requirement("001/grep_codebase/limit-bounds")
def test_a_limit_outside_1_to_100_is_refused(door: Door) -> None:
    for limit in (0, 101, -1, "ten"):
        said = refusal(door.call("grep_codebase", {"pattern": "x", "limit": limit}))
        assert (said["error"], said["param"]) == ("Invalid parameters", "limit")


def test_the_text_of_a_default_answer_is_short_and_says_where_it_goes_on(repo: Repo, plain: Plain) -> None:
    repo.commit("wide", {"a.txt": f"hit {'word ' * 60}\n" * 60})
    answer = plain("grep_codebase", pattern="hit")
    assert len(answer.text) <= DEFAULT_CHARACTERS
    said = json.loads(answer.text)
    shown = len(said["matches"])
    assert (said["cut"]["shown"], said["cut"]["of"], place_of(said["next_cursor"])) == (shown, 50, str(shown))
    following = value_of(plain("grep_codebase", pattern="hit", cursor=said["next_cursor"]))
    assert following["matches"][0]["line"] == shown + 1


@pytest.mark.requirement("001/grep_codebase/invalid-regex")
@pytest.mark.parametrize("ref", [None, "HEAD"])
def test_a_pattern_that_does_not_compile_is_the_documented_error(door: Door, ref: str | None) -> None:
    for pattern in ("[invalid(", "(", "a{2,1}", "*" if ref else "?x["):
        said = refusal(door.call("grep_codebase", {"pattern": pattern, "ref": ref}))
        assert (said["error"], said["pattern"]) == ("Invalid regex pattern", pattern)
        assert said["details"]
        assert "\n" not in said["details"]


def test_a_pattern_over_two_lines_is_refused_without_advice_nobody_can_take(field: Repo, plain: Plain) -> None:
    said = refusal(plain("grep_codebase", pattern=r"a\nb"))
    assert said["details"] == r'the literal "\n" is not allowed in a regex'


@pytest.mark.requirement("001/grep_codebase/no-matches-success", "001/grep_codebase/no-matches-message")
def test_no_match_is_a_success_that_says_so(door: Door) -> None:
    found = value_of(door.call("grep_codebase", {"pattern": "nonexistent"}))
    assert (found["matches"], found["totalMatches"]) == ([], 0)
    assert found["message"] == "No matches found for pattern 'nonexistent'"
    assert found["filesSearched"] == 7


@pytest.mark.requirement("001/grep_codebase/column-characters-one-based")
@pytest.mark.parametrize(
    ("raw", "column", "text"),
    [
        (b"hit\n", 1, "hit"),
        ("ééé hit\n".encode(), 5, "ééé hit"),
        ("日本 \U0001f600 hit hit\n".encode(), 6, "日本 \U0001f600 hit hit"),
        (b"\xe9\xe9 hit\n", 4, "éé hit"),
        ("é hit\r\n".encode("utf-16"), 3, "é hit"),
        (b"\xef\xbb\xbfhit\r\n", 1, "hit"),
        (b"\t\thit", 3, "\t\thit"),
    ],
)
def test_columns_count_characters(repo: Repo, plain: Plain, raw: bytes, column: int, text: str) -> None:
    repo.write("a.txt", raw)
    (match,) = value_of(plain("grep_codebase", pattern="hit"))["matches"]
    assert (match["line"], match["column"], match["text"]) == (1, column, text)


def test_a_long_line_is_cut_around_the_match_and_says_how_long_it_is(repo: Repo, plain: Plain) -> None:
    repo.write("a.min.js", f"{'x' * 9000}hit{'y' * 9000}\n{'z' * 9000}\n")
    (match,) = value_of(plain("grep_codebase", pattern="hit"))["matches"]
    assert (match["column"], match["lineLength"]) == (9001, 18_003)
    assert "hit" in match["text"]
    assert match["text"][0] == match["text"][-1] == "…"
    assert len(match["text"]) == LONGEST_LINE + 2
    assert len(match["context"]["after"][0]) == LONGEST_LINE + 1


@pytest.mark.requirement("001/grep_codebase/no-state-change")
def test_searching_changes_nothing(own: Callable[..., Asking]) -> None:
    asked = own({"a.py": "hit\n"}, indexed=False)
    home = asked.project.settings.data
    assert home is not None
    asked.answer("read_file", path="a.py")
    before = (list(asked.connection.recent_files), sorted(home.rglob("*")) if home.exists() else [])
    assert asked.answer("grep_codebase", pattern="hit").value["totalMatches"] == 1
    assert (list(asked.connection.recent_files), sorted(home.rglob("*")) if home.exists() else []) == before


@pytest.mark.requirement("001/grep_codebase/rate-limit-60")
def test_the_sixty_first_call_of_a_minute_is_refused(repo: Repo, door_name: str, connect: Connect) -> None:
    door = connect(door_name, repo.path)
    assert not any(door.call("grep_codebase", {"pattern": "x"}).is_error for _ in range(60))
    said = refusal(door.call("grep_codebase", {"pattern": "x"}))
    assert (said["limit"], "60 calls a minute" in said["error"]) == (60, True)


def test_what_looks_around_is_searched_by_an_engine_that_can(field: Repo, plain: Plain) -> None:
    found = value_of(plain("grep_codebase", pattern=r"jwt(?=\.sign\()"))
    assert files_of(found) == ["src/auth.ts"]
    assert found["engine"] == "ripgrep (PCRE2)"
    assert files_of(value_of(plain("grep_codebase", pattern=r"(['])jwt\.sign\1"))) == ["lib/user.py"]


# A commit.


def test_a_ref_is_searched_without_a_checkout(field: Repo, door_name: str, connect: Connect) -> None:
    field.commit("changed", {"lib/user.py": "nothing\n", "src/new.ts": "jwt.sign\n"})
    door = connect(door_name, field.path)
    here = value_of(door.call("grep_codebase", {"pattern": "JWT.sign"}))
    before = value_of(door.call("grep_codebase", {"pattern": "JWT.sign", "ref": "HEAD~1"}))
    assert files_of(here) == [".github/ci.yml", "environment.py", "src/auth.ts", "src/new.ts"]
    assert files_of(before) == [".github/ci.yml", "environment.py", "lib/user.py", "src/auth.ts"]
    assert before["engine"].startswith("git grep")
    assert before["commit"] == field.git("rev-parse", "HEAD~1")
    assert (before["filesSearched"], before["binaryFiles"]) == (7, 1)
    in_files = {"pattern": "x", "filePattern": "**/*.ts", "ref": "HEAD"}
    assert value_of(door.call("grep_codebase", in_files))["filesSearched"] == 3
    assert refusal(door.call("grep_codebase", {"pattern": "x", "ref": "nowhere"}))["code"] == "ref_not_indexed"


def test_a_ref_is_searched_from_the_project_when_it_is_a_folder_of_the_repository(
    field: Repo, connect: Connect
) -> None:
    found = value_of(
        connect("memory", field.path / "src").call("grep_codebase", {"pattern": "interface", "ref": "HEAD"})
    )
    assert [(each["file"], each["line"], each["text"]) for each in found["matches"]] == [
        ("deep/user.ts", 1, "interface UserContext {}"),
        ("deep/user.ts", 2, "interface Plain {}"),
    ]


# The engines.


def engines(repo: Repo) -> dict[str, GrepEngine]:
    git, guard = Git(repo.path), Guard(repo.path)
    program = process.find("rg", outside=repo.path)
    assert program is not None, "the development tools bring ripgrep"
    return {
        "ripgrep": Ripgrep(program, repo.path, guard, is_repository=True),
        "git grep": GitGrep(git, guard),
        "commit": GitGrep(git, guard, repo.git("rev-parse", "HEAD")),
        "RE2": re2_scan.Scan(git, guard),
    }


def within(seconds: float = 30) -> Time:
    return Time(seconds, Cancel())


@pytest.mark.parametrize("name", ["git grep", "commit", "RE2"])
@pytest.mark.parametrize(
    ("pattern", "case"),
    [
        ("jwt.sign", False), ("^interface", True), (r"\bUser\w+\s+\{", False), ("e", False), ("$", False),
        (r"[^\x00-\x7f]", False), ("SIGN|HANDLE", False), ("SIGN|HANDLE", True), (";$", False),
        ("é", False), ("É", False), ("^$", False),
    ],
)  # fmt: skip
def test_every_engine_finds_what_ripgrep_finds(field: Repo, name: str, pattern: str, case: bool) -> None:
    field.commit(
        "more", {"lat.txt": b"caf\xe9 jwt\n", "crlf.ts": "a;\r\n\r\nb\r\n", "utf.txt": "é jwt.sign\n", "end": "e"}
    )
    query = Query(pattern, case)
    expected = search(engines(field)["ripgrep"], Guard(field.path), query, 0, 100, within())
    found = search(engines(field)[name], Guard(field.path), query, 0, 100, within())
    if pattern in ("$", "^$", ";$"):  # git does not take a carriage return for the end of a line
        drop = {"crlf.ts"} if name != "RE2" else set[str]()
        drop |= {"end"} if pattern == "$" else set()  # nor ripgrep the end of a file for that of a line, here
        assert [m for m in found.matches if m.file not in drop] == [m for m in expected.matches if m.file not in drop]
        return
    assert found.matches == expected.matches
    assert found.total == expected.total
    assert found.tally.searched == expected.tally.searched - (name == "git grep")  # it counts no empty file


def test_without_ripgrep_git_searches_and_without_git_we_do(
    field: Repo, connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = process.find
    monkeypatch.setattr(
        process, "find", lambda name, *, outside: None if name == "rg" else found(name, outside=outside)
    )
    by_git = value_of(connect("memory", field.path).call("grep_codebase", {"pattern": "jwt.sign"}))
    shutil.copytree(field.path, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    by_us = value_of(connect("memory", tmp_path / "copy").call("grep_codebase", {"pattern": "jwt.sign"}))
    assert by_git["engine"].startswith("git grep")
    assert by_us["engine"] == "RE2"
    assert by_git["matches"] == by_us["matches"]
    assert files_of(by_us) == [".github/ci.yml", "environment.py", "lib/user.py", "src/auth.ts"]


def test_an_ignore_file_counts_in_a_folder_that_is_no_repository(tmp_path: Path, connect: Connect) -> None:
    (tmp_path / ".gitignore").write_text("*\n")
    root = tmp_path / "root"
    root.mkdir()
    for name, content in {".gitignore": "*.log\n", "a.log": "hit\n", "a.txt": "hit\n"}.items():
        (root / name).write_text(content)
    assert files_of(value_of(connect("memory", root).call("grep_codebase", {"pattern": "hit"}))) == ["a.txt"]


def test_a_program_inside_the_project_is_not_run(field: Repo, plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name == "nt":
        pytest.skip("a script is no program there")
    evil = field.write("bin/rg", "#!/bin/sh\ntouch ran\n")
    evil.chmod(0o755)
    monkeypatch.setenv("PATH", f"{evil.parent}{os.pathsep}{os.environ['PATH']}")
    assert value_of(plain("grep_codebase", pattern="jwt.sign"))["totalMatches"] == 4
    assert not (field.path / "ran").exists()


def test_no_configuration_of_ripgrep_counts(
    field: Repo, plain: Plain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ripgreprc").write_text("--max-count=0\n--no-ignore\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "ripgreprc"))
    assert value_of(plain("grep_codebase", pattern="jwt.sign"))["totalMatches"] == 4


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_links_are_not_searched_and_what_becomes_one_is_not_shown(repo: Repo, plain: Plain) -> None:
    (repo.path.parent / "outside.txt").write_text("hit outside\n")
    repo.write("a.txt", "hit inside\n")
    (repo.path / "link.txt").symlink_to("../outside.txt")
    assert files_of(value_of(plain("grep_codebase", pattern="hit"))) == ["a.txt"]
    engine = _Swapping(engines_of(repo), repo.path / "a.txt")
    found = search(engine, Guard(repo.path), Query("hit", False), 0, 10, within())
    assert (found.matches, found.total, found.unreadable) == ([], 1, 1)


def engines_of(repo: Repo) -> Ripgrep:
    program = process.find("rg", outside=repo.path)
    assert program is not None
    return Ripgrep(program, repo.path, Guard(repo.path), is_repository=True)


class _Swapping(Ripgrep):
    """ripgrep, and somebody who puts a link in the place of a file once it was counted."""

    def __init__(self, inner: Ripgrep, victim: Path) -> None:
        super().__init__(inner.program, inner.root, inner.guard, is_repository=True)
        self._victim = victim

    def places(self, query: Query, paths: Any, most: int, time: Time) -> Any:
        self._victim.unlink()
        self._victim.symlink_to("../outside.txt")
        return super().places(query, paths, most, time)


# What takes long.


def test_a_search_that_takes_too_long_gives_what_it_has_and_says_so(
    repo: Repo, plain: Plain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An `rg` that prints two files and then goes on for ever."""
    if os.name == "nt":
        pytest.skip("a script is no program there")
    repo.write("a.txt", "hit\n")
    slow = tmp_path / "bin" / "rg"
    slow.parent.mkdir()
    slow.write_text(
        f"#!{sys.executable}\nimport sys, time\nif '--count' in sys.argv:\n"
        "    sys.stdout.write('./a.txt\\0' + '1\\n./b.txt\\0' + '0\\n./c.t'); sys.stdout.flush(); time.sleep(600)\n"
        "sys.stdout.write('./a.txt\\0' + '1:1:[cut]\\n')\n"
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(grep, "TIMEOUT_S", 3.0)
    found = value_of(plain("grep_codebase", pattern="hit"))
    assert (files_of(found), found["filesSearched"], found["incomplete"]) == (["a.txt"], 2, True)
    assert "Stopped after 3 s" in found["message"]


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(?=(a+)+$)x", r"(a|a)*b", r"^(\w+\s?)*$"])
def test_a_pattern_that_would_hang_a_matcher_does_not_hang_the_server(
    repo: Repo, plain: Plain, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(grep, "TIMEOUT_S", 2.0)
    repo.commit("bait", {"a.txt": ("a" * 5_000 + "!\n") * 20})
    for ref in (None, "HEAD"):
        answer = plain("grep_codebase", pattern=pattern, ref=ref)
        assert answer.value  # an answer or an error; the test's own timeout says that one came


def test_a_withdrawn_search_stops(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit("one", {"a.txt": "hit\n"})
    for engine in engines(repo).values():
        cancel = Cancel()
        cancel.set()
        with pytest.raises(Cancelled):
            search(engine, Guard(repo.path), Query("hit", False), 0, 10, Time(30, cancel))


def test_a_search_under_way_is_withdrawn_from_another_thread(repo: Repo, tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("a script is no program there")
    started = tmp_path / "started"
    os.mkfifo(started)
    slow = tmp_path / "rg"
    slow.write_text(f"#!/bin/sh\necho > {started}\nexec sleep 600\n")
    slow.chmod(0o755)
    cancel = Cancel()

    def withdraw() -> None:
        started.read_text()
        cancel.set()

    thread = threading.Thread(target=withdraw)
    thread.start()
    with pytest.raises(Cancelled):
        Ripgrep(str(slow), repo.path, Guard(repo.path), True).count(Query("hit", False), Time(100, cancel))
    thread.join()


def test_an_expression_that_runs_wild_in_a_commit_is_refused_with_the_reason(own: Callable[..., Asking]) -> None:
    asking = own({"wild.txt": "a" * 5000 + "b\n"})
    answer = asking.answer("grep_codebase", pattern="(a+)+$", ref="HEAD")
    # A git that was built without Perl's expressions matches in linear time and finds nothing.
    told = answer.value["details"] if answer.is_error else answer.value["totalMatches"]
    assert told == 0 or "repetitions inside repetitions" in told, answer.text
