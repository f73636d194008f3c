"""Which refs go from the index, when and why: by command, and by themselves once their branch is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.cli import main
from codecairn.index.status import IndexStatus, index_status
from codecairn.tools import waiting
from tests.support.doors import open_door, service
from tests.support.indexes import LastingWorkers, faults, stores
from tests.support.overlays import index_refs, indexed_refs, let_days_pass
from tests.support.repo import Repo

requirement = pytest.mark.requirement


@pytest.fixture
def branched(repo: Repo, home: Path, workers: LastingWorkers) -> Repo:
    """main, and four branches that are indexed, each with a file of its own."""
    repo.commit("first", {"a.py": "def one():\n    return 1\n"})
    for name in ("old", "older", "young", "checked-out"):
        repo.git("checkout", "--quiet", "-b", name, "main")
        repo.commit(name, {f"{name}.py": f"def {name.replace('-', '_')}():\n    return one()\n"})
    repo.git("checkout", "--quiet", "main")
    repo.git("worktree", "add", "--quiet", str(repo.path.parent / "elsewhere"), "checked-out")
    index_refs(repo, home, workers, "old", "older", "young", "checked-out")
    let_days_pass(repo, home, 40, "old", "checked-out")
    let_days_pass(repo, home, 100, "older")
    return repo


def pruned(repo: Repo, home: Path, *arguments: str) -> Result:
    ran = CliRunner().invoke(
        main, ["prune-overlays", *arguments, "--workspace", str(repo.path)], env={"CAIRN_HOME": str(home)}
    )
    assert ran.exit_code == 0, ran.output
    return ran


@requirement("ruling/cli/prune-overlays-older")
def test_only_what_was_not_used_for_longer_is_dropped(branched: Repo, home: Path) -> None:
    ran = pruned(branched, home, "--older-than", "50")
    assert "dropped  older: not used, 100 days, 1 files of its own\n" in ran.stdout
    assert "kept  checked-out: checked out, 40 days" in ran.stdout
    assert "young" not in ran.stdout
    assert ran.stdout.endswith("1 dropped, 3 kept\n")
    assert indexed_refs(branched, home) == {"main", "old", "young", "checked-out"}
    pruned(branched, home)
    assert indexed_refs(branched, home) == {"main", "young", "checked-out"}
    with stores(branched.path, home) as opened:
        assert opened is not None
        assert faults(opened.store, opened.lexical, at_rest=False) == []


def test_everything_may_go_but_the_base_and_what_is_in_use(branched: Repo, home: Path) -> None:
    with open_door("memory", service(branched.path, data=home)) as door:
        assert not door.call("switch_ref", {"ref": "old"}).is_error
        let_days_pass(branched, home, 40, "old")
        ran = pruned(branched, home, "--older-than", "0")
        assert "kept  old: a connection is on it" in ran.stdout
        assert indexed_refs(branched, home) == {"main", "old", "checked-out"}
        door.call("switch_ref", {"ref": "live"})
        let_days_pass(branched, home, 40, "old")
        pruned(branched, home)
    assert indexed_refs(branched, home) == {"main", "checked-out"}


@pytest.mark.parametrize("takes_its_place", [False, True])
def test_a_ref_that_goes_while_a_call_looks_at_it_is_not_answered_as_empty_nor_as_another(
    branched: Repo, home: Path, workers: LastingWorkers, monkeypatch: pytest.MonkeyPatch, takes_its_place: bool
) -> None:

    def standing_and_gone(*arguments: Any) -> IndexStatus:
        """The ref is found, and dropped before it is read; the next one that is indexed gets its number."""
        found = index_status(*arguments)
        pruned(branched, home, "--older-than", "0")
        if takes_its_place:
            branched.git("branch", "next", "main")
            index_refs(branched, home, workers, "next")
        return found

    monkeypatch.setattr(waiting, "index_status", standing_and_gone)
    with open_door("memory", service(branched.path, data=home)) as door:
        answer = door.call("find_symbol", {"symbol_name": "young", "ref": "young"})
    assert answer.value["error"]["code"] == "overlay_not_ready", answer.text


def test_a_dry_run_drops_nothing(branched: Repo, home: Path) -> None:
    ran = pruned(branched, home, "--dry-run", "-v")
    assert "would drop  old: not used, 40 days" in ran.stdout
    assert "kept  young: used lately, 0 days" in ran.stdout
    assert indexed_refs(branched, home) == {"main", "old", "older", "young", "checked-out"}


def test_what_was_dropped_can_be_asked_for_again(branched: Repo, home: Path) -> None:
    pruned(branched, home)
    with open_door("memory", service(branched.path, data=home)) as door:
        assert door.call("switch_ref", {"ref": "older"}).is_error
        found = door.call("search_code", {"path": str(branched.path), "query": "older", "ref": "older"})
    assert found.value["results"]


def test_where_nothing_is_indexed_nothing_is_dropped(repo: Repo, home: Path) -> None:
    repo.commit("first", {"a.py": "A = 1\n"})
    assert pruned(repo, home).stdout == "0 dropped, 0 kept\n"


def test_branches_that_are_gone_go_by_themselves_after_a_while(
    branched: Repo, home: Path, workers: LastingWorkers
) -> None:
    branched.git("branch", "--quiet", "-D", "older", "young")
    index_refs(branched, home, workers)
    assert indexed_refs(branched, home) == {"main", "old", "young", "checked-out"}


def test_a_branch_that_is_gone_stays_while_a_connection_is_on_it(
    branched: Repo, home: Path, workers: LastingWorkers
) -> None:
    with open_door("memory", service(branched.path, data=home)) as door:
        door.call("switch_ref", {"ref": "older"})
        branched.git("branch", "--quiet", "-D", "older")
        let_days_pass(branched, home, 100, "older")
        index_refs(branched, home, workers)
        assert "older" in indexed_refs(branched, home)
        door.call("switch_ref", {"ref": "main"})
    index_refs(branched, home, workers)
    assert "older" not in indexed_refs(branched, home)
