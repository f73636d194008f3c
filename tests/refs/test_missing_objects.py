"""One object that is gone, or cannot be unpacked, costs what it belongs to: every tool answers for the rest and says
what is lacking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codecairn.context.prompts import prompt_text
from codecairn.tools import Call
from tests.support.refs import APP, AUTH, REFRESH, Gate
from tests.support.repo import Repo

LEAN = "".join(f"def lean_{number}():\n    return {number}\n\n\n" for number in range(9))


class Loss(NamedTuple):
    revision: str
    """Of the object that is lost."""
    names: str
    """The path that answers about it name."""


LOSSES = {
    "blob": Loss("feature:pkg/app.py", "pkg/app.py"),
    "tree": Loss("feature:lean", "lean/"),
    "commit": Loss("feature~1", ""),
}


def lose(repo: Repo, revision: str, *, is_damaged: bool) -> None:
    named = repo.git("rev-parse", revision)
    path = repo.path / ".git/objects" / named[:2] / named[2:]
    path.chmod(0o600)
    path.unlink()
    if is_damaged:
        path.write_bytes(b"nothing that can be unpacked")


@pytest.fixture(params=[(kind, damaged) for kind in LOSSES for damaged in (False, True)], ids=str)
def wounded(request: pytest.FixtureRequest, tmp_path: Path, opened: Callable[[Repo], Gate]) -> tuple[Gate, Loss]:
    """main, and feature three commits ahead of it, of which one object is lost after the working tree was indexed."""
    kind, is_damaged = request.param
    repo = Repo.create(tmp_path / "gate")
    repo.commit("start", {"pkg/__init__.py": "", "pkg/auth.py": AUTH, "pkg/app.py": APP, "lean/lean.py": LEAN})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("lean", {"lean/lean.py": LEAN + "def leaner():\n    return 0\n"})
    repo.commit("between", {"pkg/between.py": "def between():\n    return 1\n"})
    repo.commit("refresh", {"pkg/app.py": APP + REFRESH, "pkg/fresh.py": "def fresh():\n    return 2\n"})
    repo.git("checkout", "--quiet", "main")
    gate = opened(repo)
    lose(repo, LOSSES[kind].revision, is_damaged=is_damaged)
    return gate, LOSSES[kind]


def notes(value: dict[str, Any]) -> str:
    return " ".join(value.get("notes", []))


def warnings(value: dict[str, Any]) -> str:
    return " ".join(value["metadata"].get("warnings", []))


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_log_has_the_commits_that_can_be_read(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    logged = gate.call("git_log", ref="feature", maxCount=20)
    subjects = [each["message"] for each in logged["commits"]]
    if loss.names:
        assert subjects == ["refresh", "between", "lean", "start"]
    else:
        assert subjects[0] == "refresh"
        assert "cannot be read" in notes(logged)
        return
    newest = {each["path"] for each in logged["commits"][0]["files"]}
    assert newest == {"pkg/app.py", "pkg/fresh.py"}


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_log_of_a_path_goes_on_behind_a_folder_that_is_lost(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    for path in ("lean/lean.py", "lean"):
        logged = gate.call("git_log", ref="feature", filePath=path, maxCount=20)
        subjects = [each["message"] for each in logged["commits"]]
        assert subjects == (["lean", "start"] if loss.names else ["refresh"])  # may have changed it: nobody can tell
        assert gate.repo.git("rev-parse", loss.revision)[:12] in notes(logged) or loss.names == "pkg/app.py"
        if loss.names:
            first = gate.call("git_log", ref="feature", filePath=path, maxCount=1)
            second = gate.call("git_log", ref="feature", filePath=path, maxCount=1, cursor=first["nextCursor"])
            assert [each["message"] for each in first["commits"] + second["commits"]] == subjects


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_a_review_of_a_branch_says_what_is_lost(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    asking = gate.asking
    call = Call(asking.served.projects, asking.connection, asking.served.registry, "memory")
    text = prompt_text(call, "review-branch", {"base": "main", "head": "feature"})
    assert "refresh" in text
    assert loss.names or f"commit {gate.repo.git('rev-parse', loss.revision)} cannot be read" in text


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_diff_compares_the_others(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    compared = gate.call("git_diff", ref1="main", ref2="feature")
    found = {each["path"] for each in compared["files"]}
    assert {"pkg/fresh.py", "pkg/between.py"} <= found
    assert loss.names in notes(compared)
    assert loss.names not in found


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_blame_of_another_file(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    blamed = gate.asking.answer("git_blame", filePath="pkg/fresh.py", ref="feature")
    if blamed.is_error:  # git cannot tell where a history ends whose commit cannot be unpacked
        assert not loss.names
        assert "pkg/fresh.py" in blamed.text
        return
    assert len(blamed.value["lines"]) == 2


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_a_ref_is_indexed_without_it(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    said = warnings(gate.index("feature"))
    assert loss.names in said
    found = gate.call("find_symbol", symbol_name="fresh", ref="feature")
    assert found["symbols"][0]["path"] == "pkg/fresh.py"
    if loss.names:
        kind = "folder" if loss.names.endswith("/") else "file"
        assert f"1 {kind} of feature could not be read: not in this clone" in warnings(found)
        assert found["metadata"]["result_completeness"] == "partial"
    assert ("pkg/app.py", 5, "overlay") in gate.uses("validate_token", "feature") or loss.names


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_a_comparison_by_symbol(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    answer = gate.asking.answer("diff_context", base_ref="main", head_ref="feature")
    assert not answer.is_error, answer.text
    assert "fresh" in {each["symbol"] for each in answer.value["changes"]}
    if not loss.names:  # of two tips whose history cannot be walked nobody knows where they parted
        assert answer.value["merge_base_commit"] == gate.repo.git("rev-parse", "main")
        assert gate.repo.git("rev-parse", loss.revision) in warnings(answer.value)
        assert answer.value["metadata"]["result_completeness"] == "partial"
        return
    lacking = [each["path"] for each in answer.value["file_changes"] if each.get("not_indexed")]
    assert lacking == [loss.names.rstrip("/")]
    assert answer.value["metadata"]["result_completeness"] == "partial"


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_grep_searches_the_others(wounded: tuple[Gate, Loss]) -> None:
    gate, loss = wounded
    found = gate.call("grep_codebase", pattern="return", ref="feature")
    assert "pkg/fresh.py" in {each["file"] for each in found["matches"]}
    assert loss.names in (found.get("message") or "")


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_another_file_is_read(wounded: tuple[Gate, Loss]) -> None:
    gate, _ = wounded
    assert "def fresh" in str(gate.call("read_file", path="pkg/fresh.py", ref="feature"))


@pytest.mark.requirement("ruling/reliability/missing-object")
def test_the_working_tree_knows_nothing_of_it(wounded: tuple[Gate, Loss]) -> None:
    gate, _ = wounded
    gate.index()
    assert len(gate.uses("validate_token")) == 3
    assert gate.call("build_context_pack", task="validate_token of a login")["items"]
    assert not gate.asking.answer("get_status", path=str(gate.repo.path)).is_error


def test_a_ref_that_cannot_be_indexed_says_nothing_of_the_project(
    tmp_path: Path, opened: Callable[[Repo], Gate]
) -> None:
    repo = Repo.create(tmp_path / "gate")
    repo.commit("start", {"pkg/auth.py": AUTH})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("lean", {"lean.py": LEAN})
    repo.git("checkout", "--quiet", "main")
    gate = opened(repo)
    gate.index()
    lose(repo, "feature^{tree}", is_damaged=False)
    assert gate.asking.answer("index_codebase", path=str(repo.path), ref="feature").is_error
    assert "index run failed" not in warnings(gate.call("get_status", path=str(repo.path)))
