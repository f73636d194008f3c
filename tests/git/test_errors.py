"""What goes wrong is said with its type, what happened, and what to do about it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import Answer, Door
from tests.support.git import Ask
from tests.support.repo import Repo
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("git_log", {}),
    ("git_log", {"filePath": "a.txt", "since": "v1"}),
    ("git_blame", {"filePath": "a.txt"}),
    ("git_blame", {"filePath": "a.txt", "ref": "HEAD"}),
    ("git_diff", {}),
    ("git_diff", {"ref1": "HEAD~1", "ref2": "HEAD", "summary": True}),
]


def fault(answer: Answer) -> dict[str, Any]:
    """The error, whose two forms must say the same."""
    assert answer.is_error, answer.text
    error: dict[str, Any] = answer.value["error"]
    expected = f"Error: {error['type']}\n\nDetails: {error['message']}\n\nSuggestion: {error['suggestion']}"
    assert answer.text == expected
    assert len(error["suggestion"].split()) >= 3
    return error


@pytest.fixture
def committed(repo: Repo) -> Repo:
    repo.commit("one", {"a.txt": "1\n"})
    repo.git("tag", "v1")
    repo.commit("two", {"a.txt": "2\n"})
    return repo


@pytest.mark.requirement("ruling/errors-000/three-part-text")
def test_three_parts_through_every_door(committed: Repo, connect: Callable[..., Door], door_name: str) -> None:
    answer = connect(door_name, committed.path).call("git_diff", {"ref1": "nowhere"})
    error = fault(answer)
    assert answer.text.splitlines()[:3] == ["Error: NotFoundError", "", "Details: Invalid git reference: nowhere"]
    assert answer.text.splitlines()[3:] == ["", f"Suggestion: {error['suggestion']}"]


@pytest.mark.requirement("000/git_log/not-a-repository", "ruling/errors-000/git-repository-error")
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_a_folder_that_is_no_repository(tmp_path: Path, ask: Ask, tool: str, arguments: dict[str, Any]) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text("x\n", encoding="utf-8")
    error = fault(ask(tool, plain, **arguments))
    assert error["type"] == "GitRepositoryError"
    assert error["message"] == "This project is not a git repository"


@pytest.mark.requirement("ruling/errors-000/git-repository-error")
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_git_is_not_installed(
    committed: Repo, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = fault(ask(tool, **arguments))
    assert error["type"] == "GitRepositoryError"
    assert "git is not installed" in error["message"]


def test_git_that_vanishes_while_serving(
    committed: Repo, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = shutil.which("git")
    assert real is not None
    link = tmp_path / "bin" / "git"
    link.parent.mkdir()
    link.symlink_to(real)
    monkeypatch.setenv("PATH", str(link.parent))
    assert not ask("git_log").is_error
    link.unlink()
    error = fault(ask("git_log"))
    assert error["type"] == "GitRepositoryError"
    assert "Install git" in error["suggestion"]


@pytest.fixture
def forbidden(committed: Repo) -> Iterator[Path]:
    """A repository this user may not use: another's, or, where we are not allowed to give it away, a closed one."""
    if os.geteuid() == 0:
        os.chown(committed.path, 12_345, 12_345)
        os.chown(committed.path / ".git", 12_345, 12_345)
        yield committed.path
        return
    closed = committed.path / ".git"
    mode = stat.S_IMODE(closed.stat().st_mode)
    closed.chmod(0)
    yield committed.path
    closed.chmod(mode)


@pytest.mark.requirement("000/git_log/no-repository-access", "ruling/errors-000/permission-error")
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_a_repository_that_may_not_be_read(
    forbidden: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    error = fault(ask(tool, **arguments))
    assert error["type"] == "PermissionError"
    assert error["message"] == "Cannot access git repository"
    assert "safe.directory" in error["suggestion"]


@pytest.mark.requirement("ruling/errors-000/permission-error")
@pytest.mark.parametrize("path", [".env", "deep/.env.local", "key.pem", "id_rsa", ".git/config", "escape/passwd"])
def test_a_file_that_is_never_read(committed: Repo, ask: Ask, path: str) -> None:
    (committed.path / "escape").symlink_to("/etc")
    for tool in ("git_log", "git_blame", "git_diff"):
        error = fault(ask(tool, filePath=path))
        assert error["type"] == "PermissionError"
        assert error["data"]["path"] == path


@pytest.mark.requirement("ruling/errors-000/invalid-input-error")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_log", {"maxCount": 0}), ("git_log", {"colour": "a.txt"}), ("git_log", {"filePath": 3}),
        ("git_log", {"filePath": "/etc/passwd"}), ("git_log", {"filePath": "../x"}), ("git_log", {"since": "  "}),
        ("git_log", {"author": ""}), ("git_log", {"cursor": "x"}), ("git_blame", {}),
        ("git_blame", {"filePath": "a.txt", "startLine": "one"}), ("git_blame", {"filePath": ["a.txt"]}),
        ("git_diff", {"summary": "yes"}), ("git_diff", {"ref1": 7}), ("git_diff", {"cursor": "a"}),
        ("git_diff", {"format": "yaml"}),
    ],
)  # fmt: skip
def test_bad_arguments(committed: Repo, ask: Ask, tool: str, arguments: dict[str, Any]) -> None:
    error = fault(ask(tool, **arguments))
    assert error["type"] == "InvalidInputError"
    assert error["data"]["param"] in {*arguments, "filePath"}


@pytest.mark.requirement("ruling/errors-000/not-found-error")
def test_what_is_not_there(committed: Repo, ask: Ask) -> None:
    for tool, arguments in [
        ("git_log", {"filePath": "nowhere.txt"}), ("git_log", {"since": "v9"}), ("git_log", {"ref": "f" * 40}),
        ("git_blame", {"filePath": "nowhere.txt"}), ("git_diff", {"ref1": "v1", "ref2": "v9"}),
    ]:  # fmt: skip
        assert fault(ask(tool, **arguments))["type"] == "NotFoundError"


@pytest.mark.requirement("ruling/errors-000/processing-error")
def test_a_damaged_repository(committed: Repo, ask: Ask) -> None:
    blob = committed.git("rev-parse", "HEAD:a.txt")
    (committed.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    error = fault(ask("git_blame", filePath="a.txt", ref="HEAD"))
    assert error["type"] == "ProcessingError"
    assert "git fsck" in error["suggestion"]
    assert "a.txt" in fault(ask("git_diff", ref1="v1", ref2="HEAD"))["message"]
    assert not ask("git_log").is_error


@pytest.mark.requirement("ruling/errors-000/processing-error")
def test_a_head_that_names_nothing_is_not_an_empty_repository(committed: Repo, ask: Ask) -> None:
    head = committed.git("rev-parse", "HEAD")
    (committed.path / ".git/objects" / head[:2] / head[2:]).unlink()
    error = fault(ask("git_log"))
    assert error["type"] == "ProcessingError"
    assert "git fsck" in error["suggestion"]


def test_a_broken_configuration(committed: Repo, ask: Ask) -> None:
    with (committed.path / ".git/config").open("a", encoding="utf-8") as config:
        config.write("[unclosed\n")
    for tool, arguments in CALLS:
        assert fault(ask(tool, **arguments))["type"] == "ProcessingError"


def test_a_folder_deleted_while_serving_and_put_back(committed: Repo, ask: Ask, tmp_path: Path) -> None:
    assert not ask("git_log").is_error
    committed.path.rename(tmp_path / "away")
    for tool, arguments in CALLS:
        assert fault(ask(tool, **arguments))["type"] == "GitRepositoryError"
    (tmp_path / "away").rename(committed.path)
    assert not ask("git_log").is_error


def test_a_git_folder_deleted_while_serving(committed: Repo, ask: Ask) -> None:
    assert not ask("git_log").is_error
    shutil.rmtree(committed.path / ".git")
    for tool, arguments in CALLS:
        assert fault(ask(tool, **arguments))["type"] == "GitRepositoryError"


@pytest.fixture
def hanging_git(tmp_path: Path) -> Path:
    """A folder with a git that notes its process, starts another and never ends."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\nsleep 300 &\necho $$ $! >> "{tmp_path}/pids"\nwait\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_git_that_hangs_is_ended_with_all_it_started(
    committed: Repo, connect: Callable[..., Door], hanging_git: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", f"{hanging_git}{os.pathsep}{os.environ['PATH']}")
    door = connect("stdio", committed.path, git_timeout=0.3)
    for tool, arguments in CALLS:
        error = fault(door.call(tool, arguments))
        assert error["type"] == "ProcessingError"
        assert "0.3 seconds" in error["message"]
    started = [int(word) for word in (tmp_path / "pids").read_text(encoding="utf-8").split()]
    assert started
    eventually(lambda: not any(map(_is_running, started)))  # the kernel ends a killed group one by one


def test_the_limit_for_git_is_set_from_the_environment(committed: Repo, hanging_git: Path) -> None:
    path = f"{hanging_git}{os.pathsep}{os.environ['PATH']}"
    with ServerProcess(folder=committed.path, PATH=path, CAIRN_GIT_TIMEOUT="0.2") as server:
        server.initialize()
        result = server.request("tools/call", {"name": "git_log"})["result"]
        assert result["isError"]
        assert "0.2 seconds" in result["content"][0]["text"]
