"""diff_context through its doors: what a branch changed since it left the base."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.cli import main
from tests.support.doors import Door
from tests.support.indexes import LastingWorkers
from tests.support.pages import place_of
from tests.support.repo import Repo
from tests.support.search import Asking, Built, doors_to, index

HANDLER = '''\
"""Signing in."""

LIMIT = 3


def authenticate(request):
    """Who is it?"""
    return lookup(request.user)


def lookup(name):
    for attempt in range(LIMIT):
        user = database.find(name, attempt=attempt)
        if user is not None and user.is_active:
            return user
    return None


class Session:
    def open(self):
        return authenticate(self.request)

    def close(self):
        self.request = None
'''
CHANGED = (
    HANDLER.replace("def authenticate(request):", "def authenticate(request, provider):")
    .replace("request.user)", "request.user or provider)")
    .replace("LIMIT = 3", "LIMIT  =  3  # tries")
    .replace("        self.request = None\n", "        self.request = 0\n\n    def reopen(self):\n        pass\n")
)
LEGACY = "def legacy_auth(creds):\n    return creds.old\n"
TOKENS = '''\
def refresh_token(token):
    """A new one."""
    return token + 1
'''
COUNTER = """\
def tally(items):
    total = 0
    for item in items:
        total += item.weight * item.count
    return total
"""


@dataclass(frozen=True)
class Branch:
    """A repository whose branch `feat/oauth2` left main after its second commit; main went on."""

    built: Built
    repo: Repo
    parted: str


@pytest.fixture(scope="module")
def branch(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Branch:
    folder = tmp_path_factory.mktemp("branch")
    repo = Repo.create(folder / "shop")
    before: dict[str, str | bytes] = {
        "src/auth/handler.py": HANDLER, "src/auth/legacy.py": LEGACY, "src/count.py": COUNTER,
        "src/scale.py": COUNTER.replace("tally", "weigh"),
        "src/use.py": "from auth.legacy import legacy_auth\n\nlegacy_auth(1)\n", "logo.png": b"\x89PNG\0\1",
        ".env": "SECRET=1\n", "package-lock.json": "{}\n",
    }  # fmt: skip
    repo.commit("start", before)
    parted = repo.commit("second", {"README.md": "# Shop\n"})
    repo.git("switch", "--quiet", "--create", "feat/oauth2")
    (repo.path / "src/auth/legacy.py").unlink()
    repo.git("mv", "src/count.py", "src/sums.py")
    after: dict[str, str | bytes] = {
        "src/auth/handler.py": CHANGED, "src/auth/oauth.py": TOKENS,
        "src/scale.py": COUNTER.replace("tally", "weigh_all"), "logo.png": b"\x89PNG\0\2", ".env": "SECRET=2\n",
        "package-lock.json": '{"a": 1}\n',
    }  # fmt: skip
    repo.commit("feature", after)
    repo.git("switch", "--quiet", "main")
    repo.commit("main goes on", {"src/later.py": "def later():\n    return 1\n"})
    repo.git("switch", "--quiet", "feat/oauth2")
    return Branch(index(repo.path, folder / "home", lasting), repo, parted)


@pytest.fixture(scope="module")
def doors(branch: Branch) -> Iterator[Callable[[str], Door]]:
    with doors_to(branch.built) as doors:
        yield doors


@pytest.fixture
def door(doors: Callable[[str], Door], door_name: str) -> Door:
    return doors(door_name)


def diff(door: Door, **arguments: Any) -> dict[str, Any]:
    answer = door.call("diff_context", arguments)
    assert not answer.is_error, answer.text
    return answer.value


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["symbol"]: row for row in found["changes"]}


def error_of(asking: Asking | Door, **arguments: Any) -> dict[str, Any]:
    if isinstance(asking, Asking):
        answer = asking.answer("diff_context", **arguments)
    else:
        answer = asking.call("diff_context", arguments)
    assert answer.is_error, answer.text
    error: dict[str, Any] = answer.value["error"]
    return error


@pytest.mark.requirement(
    "004/diff_context/base-ref-default", "004/diff_context/head-ref-default", "004/diff_context/top-level-fields",
    "004/diff_context/workspace-default-current", "004/diff_context/merge-base-compared",
)  # fmt: skip
def test_a_branch_is_compared_with_where_it_left_the_default_branch(door: Door, branch: Branch) -> None:
    found = diff(door)
    assert {
        "base_ref", "head_ref", "merge_base_commit", "affected_files", "file_changes", "changes", "metadata",
    } <= found.keys()  # fmt: skip
    assert (found["base_ref"], found["head_ref"]) == ("main", "feat/oauth2")
    assert found["merge_base_commit"] == branch.parted
    assert "later" not in by_name(found)
    assert found["metadata"]["ref"] == "feat/oauth2"
    assert found["metadata"]["freshness_status"] == "fresh"
    assert found == diff(door, base_ref="main", head_ref="feat/oauth2", workspace=str(branch.repo.path))


@pytest.mark.requirement(
    "004/diff_context/affected-files-count", "004/diff_context/file-change-fields", "004/diff_context/renamed-old-path"
)
def test_every_changed_file_is_told_and_why_some_have_no_symbols(door: Door) -> None:
    found = diff(door)
    assert found["file_changes"] == [
        {"path": "logo.png", "change_type": "modified", "not_indexed": "binary"},
        {"path": "package-lock.json", "change_type": "modified", "not_indexed": "data"},
        {"path": "src/auth/handler.py", "change_type": "modified"},
        {"path": "src/auth/legacy.py", "change_type": "deleted"},
        {"path": "src/auth/oauth.py", "change_type": "added"},
        {"path": "src/scale.py", "change_type": "modified"},
        {"path": "src/sums.py", "change_type": "renamed", "old_path": "src/count.py"},
    ]
    assert found["affected_files"] == 7
    assert found["metadata"]["warnings"] == ["1 changed file not shown: secret or internal"]


@pytest.mark.requirement(
    "004/diff_context/change-fields", "004/diff_context/symbol-record-fields", "004/diff_context/added-symbol",
    "004/diff_context/deleted-symbol",
)  # fmt: skip
def test_what_is_new_and_what_is_gone(door: Door) -> None:
    rows = by_name(diff(door))
    fresh, gone = rows["refresh_token"], rows["legacy_auth"]
    assert (fresh["change_type"], fresh["before"]) == ("added", None)
    assert (fresh["path"], fresh["lines"]) == ("src/auth/oauth.py", {"start": 1, "end": 3})
    record = {key: value for key, value in fresh["after"].items() if not key.startswith("symbol_")}
    assert record == {
        "kind": "fn", "qualified_name": "auth.oauth.refresh_token", "signature": "def refresh_token(token)",
        "path": "src/auth/oauth.py", "line_start": 1, "line_end": 3,
    }  # fmt: skip
    assert fresh["after"]["symbol_id"].startswith("sym_")
    assert fresh["after"]["symbol_stable_id"].startswith("b3:")
    assert (gone["change_type"], gone["after"], gone["path"]) == ("deleted", None, "src/auth/legacy.py")
    assert (gone["before"]["line_start"], gone["callers_at_base"]) == (1, 1)
    assert "callers_at_head" not in gone


@pytest.mark.requirement("004/diff_context/modified-symbol", "004/diff_context/unchanged-left-out")
def test_what_changed_keeps_its_ids_and_shows_both_signatures(door: Door) -> None:
    rows = by_name(diff(door))
    row = rows["authenticate"]
    before, after = row["before"], row["after"]
    assert (row["change_type"], row["signature_changed"], row["body_changed"]) == ("modified", True, True)
    assert before["signature"] == "def authenticate(request)"
    assert after["signature"] == "def authenticate(request, provider)"
    assert (before["symbol_id"], before["symbol_stable_id"]) == (after["symbol_id"], after["symbol_stable_id"])
    assert (row["callers_at_base"], row["callers_at_head"]) == (1, 1)
    assert not {"lookup", "open"} & rows.keys()


@pytest.mark.requirement("004/diff_context/body-change-modified")
def test_in_what_a_symbol_differs_is_told(door: Door) -> None:
    rows = by_name(diff(door))
    flags = ("signature_changed", "body_changed", "whitespace_or_comments_only", "only_members")
    told = {name: [flag for flag in flags if rows[name].get(flag)] for name in ("close", "LIMIT", "Session")}
    assert told == {
        "close": ["body_changed"], "LIMIT": ["whitespace_or_comments_only"],
        "Session": ["body_changed", "only_members"],
    }  # fmt: skip


@pytest.mark.requirement("004/diff_context/moved-one-entry", "004/diff_context/renamed-one-entry")
def test_what_moved_or_was_renamed_is_one_entry(door: Door) -> None:
    found = diff(door)
    rows = by_name(found)
    assert (rows["tally"]["change_type"], rows["tally"]["moved_from"]) == ("modified", "src/count.py")
    assert (rows["weigh_all"]["change_type"], rows["weigh_all"]["renamed_from"]) == ("modified", "weigh")
    assert rows["weigh_all"]["before"]["qualified_name"] == "scale.weigh"
    assert "weigh" not in rows
    assert len(found["changes"]) == len(rows) == found["total_changes"]


@pytest.mark.requirement("004/diff_context/path-filter-prefix")
def test_a_path_narrows_files_and_symbols(door: Door) -> None:
    found = diff(door, path_filter="src/auth/")
    assert {row["path"] for row in found["changes"]} == {
        "src/auth/handler.py", "src/auth/legacy.py", "src/auth/oauth.py",
    }  # fmt: skip
    assert found["affected_files"] == len(found["file_changes"]) == 3
    moved_away = diff(door, path_filter="src/count.py")
    assert [row["symbol"] for row in moved_away["changes"]] == ["tally"]


@pytest.mark.requirement("004/diff_context/limit-default-50")
def test_a_long_list_comes_in_pages(own: Callable[..., Asking]) -> None:
    asking = own({"a.py": "x = 1\n"})
    repo = Repo(asking.root)
    repo.git("switch", "--quiet", "--create", "many")
    repo.commit("many", {"b.py": "\n".join(f"def f{number:02}():\n    return {number}\n" for number in range(60))})
    asking.answer("index_codebase", path=str(asking.root))
    first = asking.answer("diff_context").value
    assert (len(first["changes"]), first["total_changes"], place_of(first["next_cursor"])) == (50, 60, "50")
    assert first["metadata"]["result_completeness"] == "truncated"
    rest = asking.answer("diff_context", cursor=first["next_cursor"]).value
    assert [row["symbol"] for row in rest["changes"]] == [f"f{number:02}" for number in range(50, 60)]
    assert rest["next_cursor"] is None
    assert rest["metadata"]["result_completeness"] == "complete"
    short = asking.answer("diff_context", limit=3).value
    assert [row["symbol"] for row in short["changes"]] == ["f00", "f01", "f02"]


def test_the_working_tree_is_a_head_too(own: Callable[..., Asking]) -> None:
    """What is committed since, staged, only saved, and not tracked at all."""
    asking = own({"a.py": HANDLER, "b.py": LEGACY, "c.py": COUNTER})
    repo = Repo(asking.root)
    repo.git("switch", "--quiet", "--create", "work")
    repo.commit("on the branch", {"d.py": "def committed():\n    return 1\n"})
    repo.git("mv", "c.py", "sums.py")
    repo.write("a.py", CHANGED)
    repo.write("e.py", TOKENS)
    (asking.root / "b.py").unlink()
    asking.answer("index_codebase", path=str(asking.root))
    found = asking.answer("diff_context", head_ref="live").value
    assert {row["symbol"]: row["change_type"] for row in found["changes"]} == {
        "LIMIT": "modified", "authenticate": "modified", "Session": "modified", "close": "modified",
        "reopen": "added", "legacy_auth": "deleted", "tally": "modified", "committed": "added",
        "refresh_token": "added", "request": "modified",
    }  # fmt: skip
    assert found["head_ref"] == "live"
    assert {file["path"]: file["change_type"] for file in found["file_changes"]} == {
        "a.py": "modified", "b.py": "deleted", "d.py": "added", "e.py": "added", "sums.py": "renamed",
    }  # fmt: skip
    committed = asking.answer("diff_context").value
    assert [row["symbol"] for row in committed["changes"]] == ["committed"]


def test_a_switched_connection_compares_its_ref(own: Callable[..., Asking]) -> None:
    asking = own({"a.py": "x = 1\n"})
    repo = Repo(asking.root)
    repo.git("switch", "--quiet", "--create", "side")
    repo.commit("side", {"b.py": TOKENS})
    repo.git("switch", "--quiet", "main")
    asking.answer("index_codebase", path=str(asking.root), ref="side")
    assert asking.answer("diff_context").value["changes"] == []
    asking.answer("switch_ref", ref="side")
    assert [row["symbol"] for row in asking.answer("diff_context").value["changes"]] == ["refresh_token"]


def test_a_project_below_its_repository_sees_only_itself(tmp_path: Path, lasting: LastingWorkers) -> None:
    repo = Repo.create(tmp_path / "whole")
    repo.commit("start", {"part/a.py": "def a():\n    return 1\n", "other/b.py": "def b():\n    return 1\n"})
    repo.git("switch", "--quiet", "--create", "side")
    repo.commit("both", {"part/a.py": "def a():\n    return 2\n", "other/b.py": "def b():\n    return 2\n"})
    with doors_to(index(repo.path / "part", tmp_path / "home", lasting)) as doors:
        for head in ("side", "live"):
            found = diff(doors("memory"), head_ref=head)
            assert [(row["symbol"], row["path"]) for row in found["changes"]] == [("a", "a.py")]
            assert [file["path"] for file in found["file_changes"]] == ["a.py"]


@pytest.mark.requirement("004/diff_context/ref-not-indexed")
def test_only_what_git_does_not_know_is_refused(door: Door) -> None:
    for asked in ({"head_ref": "never-was"}, {"base_ref": "never-was"}):
        error = error_of(door, **asked)
        assert error["code"] == "ref_not_indexed"
        assert "fetch" in error["data"]["remedy"]


def test_a_ref_that_git_knows_is_indexed_on_the_way(door: Door, branch: Branch) -> None:
    branch.repo.git("branch", "--force", f"unseen-{door.name}", "main~1")
    answer = door.call("diff_context", {"base_ref": f"unseen-{door.name}", "head_ref": "main"})
    assert not answer.is_error, answer.text
    assert answer.value["merge_base_commit"] == branch.repo.git("rev-parse", "main~1")


def test_a_branch_that_moved_is_compared_as_it_is_now(own: Callable[..., Asking]) -> None:
    asking = own({"a.py": "def a():\n    return 1\n"})
    repo = Repo(asking.root)
    repo.git("switch", "--quiet", "--create", "side")
    for name in ("b", "c"):
        repo.commit(name, {f"{name}.py": f"def {name}():\n    return 1\n"})
        changes = asking.answer("diff_context").value["changes"]
        assert name in [each["symbol"] for each in changes]


@pytest.mark.requirement("004/diff_context/merge-base-failed")
def test_refs_without_common_history_have_no_merge_base(own: Callable[..., Asking]) -> None:
    asking = own({"a.py": "x = 1\n"})
    repo = Repo(asking.root)
    repo.git("switch", "--quiet", "--orphan", "apart")
    repo.commit("apart", {"b.py": "y = 1\n"})
    asking.answer("index_codebase", path=str(asking.root))
    assert error_of(asking, base_ref="main", head_ref="apart")["code"] == "merge_base_failed"


@pytest.mark.requirement("004/diff_context/project-not-found")
def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path, connect: Callable[..., Door]) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.py").write_text("x = 1\n")
    assert error_of(connect("memory", plain, data=tmp_path / "home"))["code"] == "project_not_found"


def test_what_a_partial_clone_lacks_is_said(tmp_path: Path, lasting: LastingWorkers) -> None:
    origin = Repo.create(tmp_path / "origin")
    origin.commit("start", {"a.py": HANDLER})
    origin.git("switch", "--quiet", "--create", "side")
    origin.commit("side", {"a.py": CHANGED})
    origin.git("switch", "--quiet", "main")
    origin.commit("main", {"a.py": LEGACY})
    origin.git("config", "uploadpack.allowFilter", "true")
    clone = Repo(tmp_path / "clone")
    origin.git("clone", "--quiet", "--filter=blob:none", origin.path.as_uri(), str(clone.path))
    clone.git("switch", "--quiet", "side")
    with doors_to(index(clone.path, tmp_path / "home", lasting)) as doors:
        found = diff(doors("memory"))
    assert found["file_changes"] == [{"path": "a.py", "change_type": "modified", "not_indexed": "not in this clone"}]
    assert found["metadata"]["result_completeness"] == "partial"
    assert "1 file could not be compared: this clone lacks their contents" in found["metadata"]["warnings"]


def cairn(branch: Branch, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setenv("CAIRN_HOME", str(branch.built.home))
    return CliRunner().invoke(main, ["diff", *arguments, "--root", str(branch.repo.path)])


def test_the_command_prints_changes_under_their_files(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cairn(branch, monkeypatch)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.splitlines()[1:13] == [
        "! 1 changed file not shown: secret or internal",
        "src/auth/handler.py",
        "    3 ~ LIMIT = 3  (layout or comments only)",
        "    6 ~ def authenticate(request, provider)  (signature and body; 1 caller) ← Session.open",
        "        was def authenticate(request)",
        "   19 ~ class Session  (members only)",
        "   23 ~ def close(self)  (body; 0 callers)",
        "   24 ~ self.request = 0  (signature)",
        "        was self.request = None",
        "   26 + def reopen(self)  (0 callers)",
        "src/auth/legacy.py  deleted",
        "    1 - def legacy_auth(creds)  (1 caller) ← use",
    ]
    assert "src/sums.py  renamed from src/count.py" in ran.stdout
    assert "logo.png  not compared: binary" in ran.stdout


def test_the_command_names_its_refs_and_answers_in_json(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cairn(branch, monkeypatch, "main~1", "feat/oauth2", "--json", "--path", "src/auth/oauth.py")
    assert ran.exit_code == 0, ran.output
    value = json.loads(ran.stdout)
    assert value["merge_base_commit"] == branch.parted
    assert [row["symbol"] for row in value["changes"]] == ["refresh_token"]
    assert cairn(branch, monkeypatch, "never-was").exit_code == 1


def test_an_ordinary_answer_stays_within_its_tokens(own: Callable[..., Asking]) -> None:
    asking = own({"a.py": "x = 1\n"})
    repo = Repo(asking.root)
    repo.git("switch", "--quiet", "--create", "many")
    long = "\n".join(f"def function_{n:02}(first_argument, second_argument):\n    return {n}\n" for n in range(60))
    repo.commit("many", {"b.py": long})
    asking.answer("index_codebase", path=str(asking.root))
    answer = asking.answer("diff_context")
    cut = json.loads(answer.text)
    assert len(answer.value["changes"]) == 50
    assert len(answer.text) <= DEFAULT_CHARACTERS
    assert 0 < cut["cut"]["shown"] == len(cut["changes"]) < 50
    assert cut["next_cursor"] == cut["cut"]["cursor"]
    assert place_of(cut["next_cursor"]) == str(cut["cut"]["shown"])
