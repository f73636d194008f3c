"""serve --worktrees: a ref that a connection is on is checked out for it, running nothing, and goes when it leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from codecairn.cli import main
from codecairn.index.worktrees import safe_name
from tests.support.doors import Answer, Door, HttpDoor, http_request, http_server, service
from tests.support.indexes import LastingWorkers
from tests.support.overlays import index_refs
from tests.support.repo import Repo
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

Connect = Callable[..., Door]


@pytest.fixture
def branched(repo: Repo, home: Path, workers: LastingWorkers) -> Repo:
    repo.commit("first", {"a.py": "def one():\n    return 1\n", "web/b.py": "B = 1\n"})
    repo.git("checkout", "--quiet", "-b", "fix/till")
    repo.commit("fixed", {"a.py": "def one():\n    return 2\n"})
    repo.git("checkout", "--quiet", "main")
    index_refs(repo, home, workers, "fix/till")
    return repo


def opened(connect: Connect, repo: Repo, home: Path, **settings: object) -> Door:
    return connect("stdio", repo.path, data=home, **{"worktrees": True, **settings})


def switched(door: Door, ref: str = "fix/till") -> Path:
    answer = door.call("switch_ref", {"ref": ref})
    assert not answer.is_error, answer.text
    return Path(answer.value["worktree_path"])


def listed(repo: Repo) -> list[str]:
    lines = repo.git("worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]


def prune(repo: Repo, home: Path, *arguments: str) -> str:
    command = ["prune-overlays", *arguments, "--workspace", str(repo.path)]
    ran = CliRunner().invoke(main, command, env={"CAIRN_HOME": str(home)})
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def refused(answer: Answer) -> str:
    assert answer.is_error
    assert answer.value["error"]["code"] == "overlay_not_ready"
    return str(answer.value["error"]["message"])


def test_without_the_flag_nothing_is_checked_out(branched: Repo, home: Path, connect: Connect) -> None:
    door = opened(connect, branched, home, worktrees=False)
    assert door.call("switch_ref", {"ref": "fix/till"}).value["worktree_path"] is None
    assert listed(branched) == [str(branched.path)]
    assert not (home / "worktrees").exists()


def test_a_ref_is_checked_out_for_who_switches_and_gone_when_they_leave(
    branched: Repo, home: Path, connect: Connect
) -> None:
    door = opened(connect, branched, home)
    path = switched(door)
    assert path.is_relative_to(home / "worktrees")
    assert (path / "a.py").read_text() == "def one():\n    return 2\n"
    assert (branched.path / "a.py").read_text() == "def one():\n    return 1\n"
    assert Repo(path).git("rev-parse", "HEAD") == branched.git("rev-parse", "fix/till")
    assert Repo(path).git("status", "--porcelain") == ""
    assert switched(door) == path
    assert switched(door, "live") == branched.path
    assert not path.exists()
    assert listed(branched) == [str(branched.path)]
    assert branched.git("status", "--porcelain") == ""


def test_it_stays_while_another_connection_is_on_it(branched: Repo, home: Path, connect: Connect) -> None:
    one, other = opened(connect, branched, home), opened(connect, branched, home)
    path = switched(one)
    assert switched(other) == path
    switched(one, "live")
    assert f"kept  worktree of fix/till: a connection is on it, {path}" in prune(branched, home)
    assert path.is_dir()
    switched(other, "main")
    assert not path.exists()


def test_what_somebody_wrote_in_it_is_never_removed(branched: Repo, home: Path, connect: Connect) -> None:
    door = opened(connect, branched, home)
    path = switched(door)
    (path / "new.py").write_text("N = 1\n")
    switched(door, "live")
    assert "kept  worktree of fix/till: it has local changes" in prune(branched, home)
    assert (path / "new.py").read_text() == "N = 1\n"
    (path / "new.py").unlink()
    assert "would drop  worktree of fix/till: nobody is on it" in prune(branched, home, "--dry-run")
    Repo(path).git("commit", "--quiet", "--allow-empty", "--message", "in the worktree")
    assert "kept  worktree of fix/till: something was committed" in prune(branched, home)
    Repo(path).git("reset", "--quiet", "--hard", "HEAD~1")
    assert "dropped  worktree of fix/till: nobody is on it" in prune(branched, home)
    assert not path.exists()


def test_what_lies_in_the_place_of_a_submodule_is_never_removed(
    branched: Repo, home: Path, connect: Connect, workers: LastingWorkers
) -> None:
    head = branched.git("rev-parse", "main")
    branched.git("checkout", "--quiet", "fix/till")
    branched.git("update-index", "--add", "--cacheinfo", f"160000,{head},lib")
    branched.git("commit", "--quiet", "--message", "a submodule")
    branched.git("checkout", "--quiet", "--force", "main")
    index_refs(branched, home, workers)
    door = opened(connect, branched, home)
    path = switched(door)
    (path / "lib" / "work.py").write_text("W = 1\n")
    switched(door, "live")
    assert (path / "lib" / "work.py").is_file()


def test_it_follows_the_ref_unless_somebody_is_at_work_in_it(
    branched: Repo, home: Path, connect: Connect, workers: LastingWorkers
) -> None:
    door = opened(connect, branched, home)
    path = switched(door)
    before = branched.git("rev-parse", "fix/till")
    branched.git("checkout", "--quiet", "fix/till")
    after = branched.commit("more", {"a.py": "def one():\n    return 3\n"})
    branched.git("checkout", "--quiet", "main")
    index_refs(branched, home, workers)
    other = opened(connect, branched, home)
    warned = other.call("switch_ref", {"ref": "fix/till"}).value["metadata"]["warnings"]
    assert warned == [f"The worktree is still at {before[:10]}: a connection is on it."]
    (path / "a.py").write_text("mine\n")
    switched(door, "live")
    switched(other, "live")
    warned = other.call("switch_ref", {"ref": "fix/till"}).value["metadata"]["warnings"]
    assert warned == [f"The worktree is still at {before[:10]}: it has local changes."]
    switched(other, "live")
    assert (path / "a.py").read_text() == "mine\n"
    Repo(path).git("checkout", "--quiet", "--", "a.py")
    assert switched(other) == path
    assert Repo(path).git("rev-parse", "HEAD") == after
    assert (path / "a.py").read_text() == "def one():\n    return 3\n"


def test_neither_hooks_nor_filters_run(branched: Repo, home: Path, connect: Connect, workers: LastingWorkers) -> None:
    ran = home.parent / "ran"
    hook = branched.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    branched.git("checkout", "--quiet", "fix/till")
    ran.unlink(missing_ok=True)
    branched.commit("attributes", {".gitattributes": "*.py filter=evil\n"})
    for part in ("smudge", "clean", "process"):
        branched.git("config", f"filter.evil.{part}", f"touch {ran}; cat")
    branched.git("config", "filter.evil.required", "true")
    branched.git("config", "core.fsmonitor", f"touch {ran}; false")
    branched.git(
        "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "symbolic-ref", "HEAD", "refs/heads/main"
    )
    index_refs(branched, home, workers)
    ran.unlink(missing_ok=True)
    door = opened(connect, branched, home)
    path = switched(door)
    assert (path / "a.py").read_text() == "def one():\n    return 2\n"
    switched(door, "live")
    assert not path.exists()
    assert not ran.exists()


def test_a_folder_that_is_not_ours_is_in_the_way_and_stays(branched: Repo, home: Path, connect: Connect) -> None:
    door = opened(connect, branched, home)
    path = switched(door)
    switched(door, "live")
    path.mkdir()
    (path / "mine.txt").write_text("mine")
    assert "was not made by Cairn" in refused(door.call("switch_ref", {"ref": "fix/till"}))
    assert door.call("switch_ref", {"ref": "live"}).value["previous_ref"] == "main"
    assert prune(branched, home) == "0 dropped, 1 kept\n"
    assert (path / "mine.txt").read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="about permissions")
def test_what_cannot_be_checked_out_is_said_with_the_reason(branched: Repo, home: Path, connect: Connect) -> None:
    git_dir = branched.path / ".git"
    (git_dir / "worktrees").write_text("not a folder")
    door = opened(connect, branched, home)
    assert refused(door.call("switch_ref", {"ref": "fix/till"})).startswith("fix/till could not be checked out: ")
    assert list((home / "worktrees").rglob("*.json")) == []


def test_a_branch_that_is_checked_out_anyway_is_used_where_it_is(
    branched: Repo, home: Path, connect: Connect, tmp_path: Path
) -> None:
    branched.git("worktree", "add", "--quiet", str(tmp_path / "own"), "fix/till")
    assert switched(opened(connect, branched, home)) == tmp_path / "own"
    assert not (home / "worktrees").exists()


def test_a_project_in_a_subfolder_is_in_that_subfolder_of_it(
    branched: Repo, home: Path, connect: Connect, workers: LastingWorkers
) -> None:
    web = Repo(branched.path / "web")
    index_refs(web, home, workers, "fix/till")
    path = switched(opened(connect, web, home))
    assert path.name == "web"
    assert (path / "b.py").is_file()


def test_a_session_that_ends_over_http_keeps_nothing(branched: Repo, home: Path) -> None:
    with http_server(service(branched.path, data=home, worktrees=True)) as port:
        door = HttpDoor(port)
        path = switched(door)
        assert "kept  worktree of fix/till: a connection is on it" in prune(branched, home)
        assert http_request(port, "DELETE", "/mcp", **door.headers()).status == 200
        assert "dropped  worktree of fix/till: nobody is on it" in prune(branched, home)
    assert not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")
def test_the_next_server_removes_what_a_killed_one_left(branched: Repo, home: Path) -> None:
    with ServerProcess("--worktrees", "--root", ".", folder=branched.path, CAIRN_HOME=str(home)) as server:
        server.initialize()
        answer = server.request("tools/call", {"name": "switch_ref", "arguments": {"ref": "fix/till"}})
        path = Path(answer["result"]["structuredContent"]["worktree_path"])
        assert path.is_dir()
        server.process.kill()
        server.process.wait()
    with ServerProcess("--worktrees", "--root", ".", folder=branched.path, CAIRN_HOME=str(home)) as server:
        server.initialize()
        eventually(lambda: not path.exists() and listed(branched) == [str(branched.path)])
        server.close()


def test_every_ref_has_a_name_of_its_own_that_any_file_system_takes() -> None:
    names = [safe_name(ref) for ref in ("a/b", "a-b", "A-b", "..", "CON", "x" * 300, "ä/ö", "-f", "v1.0")]
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert name.isascii()
        assert len(name) < 80
        assert name.strip(".-") == name
