"""A caller's value is never an option, a pattern or a command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.support.doors import Door, open_door, service
from tests.support.git import Ask
from tests.support.repo import Repo

PARAMS = [
    ("git_log", "filePath"), ("git_log", "since"), ("git_log", "until"), ("git_log", "author"), ("git_log", "ref"),
    ("git_log", "cursor"), ("git_blame", "filePath"), ("git_blame", "ref"), ("git_diff", "ref1"), ("git_diff", "ref2"),
    ("git_diff", "filePath"), ("git_diff", "cursor"),
]  # fmt: skip


def given(tool: str, param: str, value: str) -> dict[str, Any]:
    needed = {"filePath": "a.txt"} if tool == "git_blame" else {}
    return {**needed, param: value}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".git/" not in f"{path}/"}


@pytest.fixture
def committed(repo: Repo) -> Repo:
    repo.commit("one", {"a.txt": "1\n"})
    repo.commit("two", {"a.txt": "2\n"})
    return repo


@pytest.mark.requirement("ruling/validation/leading-dash-refused")
@pytest.mark.parametrize(("tool", "param"), PARAMS)
def test_a_value_that_starts_with_a_dash(committed: Repo, ask: Ask, tool: str, param: str) -> None:
    for value in ("-", "--", "--output=stolen.txt", "-p", "--all", "-Ostolen", "--exec=touch x", "-n1"):
        answer = ask(tool, **given(tool, param, value))
        assert answer.value["error"]["type"] == "InvalidInputError", value
    assert files(committed.path) == {"a.txt"}


@pytest.mark.requirement("ruling/validation/nul-refused", "ruling/validation/control-character-refused")
@pytest.mark.parametrize(("tool", "param"), PARAMS)
def test_a_value_with_a_control_character(committed: Repo, ask: Ask, tool: str, param: str) -> None:
    for value in ("a\0b", "\0", "a.txt\0", "a\nb", "a\rb", "a\tb", "a\x1bb", "a\x7fb", "main\n", "\x01"):
        answer = ask(tool, **given(tool, param, value))
        assert answer.value["error"]["type"] == "InvalidInputError", value


@pytest.mark.requirement("ruling/validation/no-shell")
@pytest.mark.parametrize(("tool", "param"), PARAMS)
def test_shell_words_do_nothing(committed: Repo, ask: Ask, tool: str, param: str) -> None:
    for command in ("$(touch canary)", "`touch canary`", "; touch canary", "| touch canary", "> canary"):
        for value in (command, f"a.txt{command}", f"HEAD{command}"):
            ask(tool, **given(tool, param, value))
    assert files(committed.path) == {"a.txt"}


@pytest.mark.requirement("ruling/validation/no-shell")
def test_shell_words_mean_themselves(repo: Repo, ask: Ask) -> None:
    name = "$(touch canary) `id` & | ; '\" *.txt"
    repo.commit("one", {name: "1\n", "other.txt": "1\n"}, author=("$(id); O'Hara", "o@example.org"))
    repo.commit("two", {name: "2\n", "other.txt": "2\n"})
    assert len(ask("git_log", filePath=name).value["commits"]) == 2
    assert len(ask("git_log", author="$(id); O'H").value["commits"]) == 1
    assert not ask("git_blame", filePath=name).is_error
    assert [file["path"] for file in ask("git_diff", ref1="HEAD~1", filePath=name).value["files"]] == [name]


@pytest.mark.requirement("ruling/validation/rich-refs-accepted")
def test_refs_in_all_their_forms(committed: Repo, ask: Ask, tmp_path: Path) -> None:
    committed.git("tag", "--annotate", "--message", "tagged", "v1.0/Rélease", "HEAD~1")
    committed.git("branch", "feature/x.y_z-1", "HEAD~1")
    committed.git("clone", "--quiet", "--bare", ".", str(tmp_path / "origin"))
    committed.git("remote", "add", "origin", str(tmp_path / "origin"))
    committed.git("fetch", "--quiet", "origin")
    committed.git("branch", "--quiet", "--set-upstream-to=origin/main")
    committed.git("checkout", "--quiet", "feature/x.y_z-1")
    committed.git("checkout", "--quiet", "main")
    first, second = committed.git("rev-parse", "HEAD~1"), committed.git("rev-parse", "HEAD")
    expected = {
        first: [
            "HEAD~1", "HEAD^", "@~", "main~1", "v1.0/Rélease", "v1.0/Rélease^{}", "feature/x.y_z-1", "@{-1}", first,
        ],
        second: [
            "HEAD", "@", "main", "@{u}", "@{upstream}", "main@{u}", "origin/main", "HEAD@{0}", "HEAD^{/two}",
            second[:7],
        ],
    }  # fmt: skip
    for commit, refs in expected.items():
        for ref in refs:
            logged = ask("git_log", ref=ref, maxCount=1)
            assert not logged.is_error, (ref, logged.text)
            assert logged.value["tip"] == commit, ref
            assert not ask("git_blame", filePath="a.txt", ref=ref).is_error
            diff = ask("git_diff", ref1=ref, ref2="HEAD")
            assert len(diff.value["files"]) == (commit == first), ref
            assert diff.text.startswith(f"# Git Diff: {ref}...HEAD\n")


@pytest.fixture
def watched_git(tmp_path: Path, committed: Repo, monkeypatch: pytest.MonkeyPatch) -> Path:
    """git that notes each call and moves the branch `moving` on once a ref has been resolved; the notes' file."""
    real = shutil.which("git")
    notes = tmp_path / "calls"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> "{notes}"\n'
        f'case "$*" in *rev-parse*) ;; *) "{real}" update-ref refs/heads/moving "$NEXT" ;; esac\n'
        f'exec "{real}" "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    committed.git("branch", "moving", "HEAD~1")
    monkeypatch.setenv("NEXT", committed.git("rev-parse", "HEAD"))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return notes


@pytest.mark.requirement("ruling/validation/ref-resolved-once")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_log", {"ref": "moving"}), ("git_log", {"until": "moving", "filePath": "a.txt"}),
        ("git_log", {"since": "moving"}), ("git_blame", {"ref": "moving", "filePath": "a.txt"}),
        ("git_diff", {"ref1": "moving", "ref2": "HEAD"}), ("git_diff", {"ref1": "moving"}),
    ],
)  # fmt: skip
def test_a_ref_is_resolved_once(
    committed: Repo, ask: Ask, watched_git: Path, tool: str, arguments: dict[str, str]
) -> None:
    first = committed.git("rev-parse", "HEAD~1")
    answer = ask(tool, **arguments)
    calls = watched_git.read_text(encoding="utf-8").splitlines()
    assert sum("moving" in call for call in calls) == 1
    assert any(first in call for call in calls)
    assert not answer.is_error
    if tool == "git_diff":
        assert len(answer.value["files"]) == 1
    elif tool == "git_blame":
        assert [line["content"] for line in answer.value["lines"]] == ["1"]
    else:
        assert [commit["message"] for commit in answer.value["commits"]] == ["two" if "since" in arguments else "one"]


@pytest.mark.requirement("ruling/validation/pathspecs-literal")
def test_patterns_in_paths_mean_themselves(repo: Repo, ask: Ask) -> None:
    names = ["*.txt", "[ab].txt", ":(glob)x", ":!a", "a.txt", "b.txt", "?.txt"]
    repo.commit("all", dict.fromkeys(names, "1\n"))
    repo.commit("all again", dict.fromkeys(names, "2\n"))
    for name in names:
        diff = ask("git_diff", ref1="HEAD~1", ref2="HEAD", filePath=name)
        assert [file["path"] for file in diff.value["files"]] == [name]
        logged = ask("git_log", filePath=name, maxCount=1)
        assert [file["path"] for file in logged.value["commits"][0]["files"]] == [name]
        assert not ask("git_blame", filePath=name).is_error


@pytest.mark.requirement("ruling/validation/pathspecs-literal")
@pytest.mark.parametrize(
    "pattern", [":(glob)**", ":!a.txt", ":/", ":(top)", ":^a", "**", "a*", ":(attr:x)", ":(exclude)a.txt"]
)
def test_patterns_match_no_other_file(committed: Repo, ask: Ask, pattern: str) -> None:
    assert ask("git_diff", ref1="HEAD~1", ref2="HEAD", filePath=pattern).value["files"] == []
    assert ask("git_log", filePath=pattern).value["error"]["type"] == "NotFoundError"
    assert ask("git_blame", filePath=pattern).value["error"]["type"] == "NotFoundError"


TRICKS = [
    "--output=x", "-", ":(glob)*", ":!x", "@{-1}", "@{-99}", "@{u}", "@", "^HEAD", "HEAD^!", "HEAD..", "..", "...",
    "HEAD^@", "HEAD:a.txt", ":a.txt", ":/one", ":/", ":0:a.txt", "HEAD^{tree}", "HEAD^{/[}", "refs/heads", "HEAD@{now}",
    "HEAD@{1000000}", "HEAD@{}", "stash@{0}", "FETCH_HEAD", "a.lock", "HEAD~99999999999", "\\", "HEAD\\", "a//b", "./.",
    ".", "~", "~root", "%00", "%H%x00", "{}", "\u202e", "\x85", "\ud800", "é" * 300, "x" * 5_000, "y" * 200_000,
    "a/" * 3_000, "0" * 40, "f" * 64, "1" * 400, "99999999999999999999 years ago", "@999999999999", "9999-12-31",
]  # fmt: skip
HOSTILE = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="-=@{}^~:/.!()*?[]\\\0\n \t'\"`$;|&<>HEADa.txt", max_size=12),
    st.builds(lambda text: f"-{text}", st.text(max_size=10)),
    st.builds(lambda trick, text: trick[:50] + text, st.sampled_from(TRICKS), st.text(max_size=5)),
)


@pytest.fixture(scope="module")
def hostile_caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Door]]:
    repo = Repo.create(tmp_path_factory.mktemp("validated") / "repo")
    repo.commit("one", {"a.txt": "1\n"})
    repo.commit("two", {"a.txt": "2\n"})
    with open_door("memory", service(repo.path)) as door:
        yield repo.path, door


def assert_only_a_value(caller: tuple[Path, Door], place: tuple[str, str], value: str) -> None:
    root, door = caller
    answer = door.call(place[0], given(*place, value))
    if answer.is_error:
        assert answer.value["error"]["type"] in ("InvalidInputError", "NotFoundError", "PermissionError"), answer.text
    assert files(root) == {"a.txt"}


@hypothesis.given(value=HOSTILE, place=st.sampled_from(PARAMS))
def test_no_value_is_more_than_a_value(hostile_caller: tuple[Path, Door], value: str, place: tuple[str, str]) -> None:
    assert_only_a_value(hostile_caller, place, value)


@pytest.mark.parametrize("place", PARAMS)
def test_no_known_trick_works(hostile_caller: tuple[Path, Door], place: tuple[str, str]) -> None:
    for value in TRICKS:
        assert_only_a_value(hostile_caller, place, value)


@pytest.mark.parametrize("on_path", [".", "", "{root}", "./sub"])
def test_a_git_inside_the_project_is_never_run(
    committed: Repo, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, on_path: str
) -> None:
    for folder in (committed.path, committed.path / "sub"):
        folder.mkdir(exist_ok=True)
        fake = folder / "git"
        fake.write_text(f'#!/bin/sh\ntouch "{tmp_path}/canary"\n', encoding="utf-8")
        fake.chmod(0o755)
    entry = on_path.replace("{root}", str(committed.path))
    monkeypatch.setenv("PATH", f"{entry}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(committed.path)
    assert not ask("git_log").is_error
    assert not ask("git_diff").is_error
    assert not ask("git_blame", filePath="a.txt").is_error
    assert not (tmp_path / "canary").exists()
