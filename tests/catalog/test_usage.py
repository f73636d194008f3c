"""Counting uses: counts outlive the process, and belong to the project rather than to one copy of it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.catalogue import WAYS, Catalogue, Client, aggregate, entry, without_privileges
from tests.support.repo import Repo
from tests.support.wire import ServerProcess

Open = Callable[..., Client]


def count_of(client: Client, identity: str = "a") -> int | None:
    count: int | None = client.ask("instructions/get", id=identity)["item"].get("usageCount")
    return count


@pytest.mark.requirement(
    "003/usage_track/increments-count", "003/usage_track/result-fields", "003/usage_track/not-found-form",
    "003/usage_track/id-required",
)  # fmt: skip
def test_each_use_is_counted(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a")
    hash_ = aggregate({"a": "Body of a."})
    for number in (1, 2, 3):
        used = any_client.ask("usage/track", id="a")
        assert used == {"id": "a", "usageCount": number, "lastUsedAt": used["lastUsedAt"], "hash": hash_}
        item = any_client.ask("instructions/get", id="a")["item"]
        assert (item["usageCount"], item["lastUsedAt"]) == (number, used["lastUsedAt"])
    assert any_client.ask("usage/track", id="b") == {"notFound": True, "hash": hash_}
    assert [each["id"] for each in any_client.ask("usage/hotset")["items"]] == ["a"]
    refused = any_client.refused("usage/track")
    assert (refused["code"], refused["data"]["param"]) == (-32602, "id")


@pytest.mark.requirement("003/usage_track/bare-and-tool-names")
def test_uses_told_by_different_ways_are_counted_together(catalogue: Catalogue, open_client: Open) -> None:
    catalogue.add("a")
    clients = [open_client(catalogue, way) for way in WAYS]
    answers = [client.ask("usage/track", id="a") for client in clients]
    assert [answer["usageCount"] for answer in answers] == [1, 2, 3, 4, 5]
    assert len({tuple(answer) for answer in answers}) == 1
    assert {count_of(client) for client in clients} == {5}


@pytest.mark.requirement("003/usage_track/survives-restart")
def test_counts_outlive_the_process(catalogue: Catalogue) -> None:
    catalogue.add("a")
    for expected in (1, 2):
        with ServerProcess(folder=catalogue.root, CAIRN_HOME=str(catalogue.home)) as server:
            assert server.request("usage/track", {"id": "a"})["result"]["usageCount"] == expected
            assert server.close() == 0


@pytest.mark.requirement(
    "003/usage_hotset/result-fields", "003/usage_hotset/ranked-order", "003/usage_hotset/limit-default-10",
    "003/usage_hotset/limit-max-100",
)  # fmt: skip
def test_the_hot_set_is_ranked_by_count_and_then_by_the_latest_use(any_client: Client, catalogue: Catalogue) -> None:
    for number in range(12):
        catalogue.add(f"r{number:02}")
    for identity in ("r03", "r05", "r05", "r04", "r03", "r01"):
        last = any_client.ask("usage/track", id=identity)["lastUsedAt"]
        while any_client.ask("health/check")["timestamp"] <= last:
            pass
    hot = any_client.ask("usage/hotset")
    assert hot.keys() == {"hash", "count", "limit", "items"}
    ranked = [(each["id"], each["usageCount"]) for each in hot["items"]]
    assert ranked == [("r03", 2), ("r05", 2), ("r01", 1), ("r04", 1)]
    assert all(each.keys() == {"id", "usageCount", "lastUsedAt"} for each in hot["items"])
    assert (hot["count"], hot["limit"]) == (4, 10)
    for number in range(12):
        any_client.ask("usage/track", id=f"r{number:02}")
    assert any_client.ask("usage/hotset")["count"] == 10
    top = any_client.ask("usage/hotset", limit=2)
    assert (top["count"], top["limit"], len(top["items"])) == (2, 2, 2)
    assert any_client.ask("usage/hotset", limit=100)["count"] == 12
    for beyond in (0, 101):
        refused = any_client.refused("usage/hotset", limit=beyond)
        assert (refused["code"], refused["data"]["param"]) == (-32602, "limit")


def test_an_entry_that_is_gone_is_not_hot_and_keeps_its_count(client: Client, catalogue: Catalogue) -> None:
    path = catalogue.add("a")
    client.ask("usage/track", id="a")
    path.unlink()
    assert client.ask("usage/hotset")["items"] == []
    catalogue.add("a")
    assert count_of(client) == 1


def commit_catalogue(repo: Repo) -> None:
    file = json.dumps(entry("a"))
    repo.commit("rules", {"instructions/a.json": file, "sub/instructions/a.json": file})


@pytest.fixture
def origin(tmp_path: Path) -> Repo:
    repo = Repo.create(tmp_path / "origin")
    commit_catalogue(repo)
    return repo


def test_worktrees_and_clones_of_one_repository_count_together(
    origin: Repo, catalogue: Catalogue, open_client: Open, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        origin.git("clone", "--quiet", str(origin.path), str(tmp_path / name))
    Repo(tmp_path / "one").git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    roots = [tmp_path / name for name in ("one", "two", "tree")]
    clients = [open_client(replace(catalogue, root=root)) for root in roots]
    assert [client.ask("usage/track", id="a")["usageCount"] for client in clients] == [1, 2, 3]
    inner = open_client(replace(catalogue, root=tmp_path / "one" / "sub"))
    assert inner.ask("usage/track", id="a")["usageCount"] == 1


def test_a_remote_that_is_named_later_does_not_lose_the_counts(
    origin: Repo, catalogue: Catalogue, open_client: Open
) -> None:
    project = replace(catalogue, root=origin.path)
    assert open_client(project).ask("usage/track", id="a")["usageCount"] == 1
    origin.git("remote", "add", "origin", "https://example.org/team/rules.git")
    assert open_client(project).ask("usage/track", id="a")["usageCount"] == 2


def test_another_repository_at_the_same_path_has_counts_of_its_own(
    origin: Repo, catalogue: Catalogue, open_client: Open
) -> None:
    project = replace(catalogue, root=origin.path)
    assert open_client(project).ask("usage/track", id="a")["usageCount"] == 1
    shutil.rmtree(origin.path)
    other = Repo.create(origin.path)
    other.commit("unrelated", {"README.md": "another project\n"})
    commit_catalogue(other)
    assert open_client(project).ask("usage/track", id="a")["usageCount"] == 1


def test_two_projects_without_git_have_counts_of_their_own(catalogue: Catalogue, open_client: Open) -> None:
    other = replace(catalogue, root=catalogue.root.with_name("other"))
    for project in (catalogue, other):
        project.add("a")
        assert open_client(project).ask("usage/track", id="a")["usageCount"] == 1
        assert open_client(project).ask("usage/track", id="a")["usageCount"] == 2


def database_of(catalogue: Catalogue) -> Path:
    (found,) = catalogue.home.rglob("memory.db")
    return found


def home_is_a_file(catalogue: Catalogue) -> None:
    shutil.rmtree(catalogue.home)
    catalogue.home.write_text("")


def store_is_garbage(catalogue: Catalogue) -> None:
    path = database_of(catalogue)
    for file in path.parent.iterdir():
        file.unlink()
    path.write_bytes(b"not a database, not at all" * 100)


def store_is_newer(catalogue: Catalogue) -> None:
    with sqlite3.connect(database_of(catalogue)) as database:
        database.execute("PRAGMA user_version = 1000")
    database.close()


@pytest.mark.parametrize("damage", [home_is_a_file, store_is_garbage, store_is_newer])
def test_rules_are_read_without_counts_where_the_store_cannot_be_used(
    catalogue: Catalogue, open_client: Open, damage: Callable[[Catalogue], None]
) -> None:
    catalogue.add("a")
    open_client(catalogue).ask("usage/track", id="a")
    damage(catalogue)
    client = open_client(catalogue)
    readings: list[tuple[str, dict[str, Any]]] = [
        ("instructions/list", {}), ("instructions/list", {"fields": ["id"]}), ("instructions/get", {"id": "a"}),
        ("instructions/search", {"q": "body"}), ("instructions/diff", {"known": []}), ("instructions/diff", {}),
    ]  # fmt: skip
    for method, params in readings:
        (warning,) = client.ask(method, **params)["warnings"]
        assert "Usage is not shown" in warning
    assert "usageCount" not in client.ask("instructions/get", id="a")["item"]
    assert client.ask("integrity/verify")["count"] == 1
    for method, params in (("usage/track", {"id": "a"}), ("usage/hotset", {})):
        refused = client.refused(method, **params)
        assert refused["code"] == -32603
        assert refused["data"]["remedy"]


def test_rules_are_read_where_the_data_directory_may_not_be_written(open_folder: Path, open_client: Open) -> None:
    catalogue = Catalogue(open_folder, open_folder / "home")
    catalogue.add("a")
    open_client(catalogue).ask("usage/track", id="a")
    for path in (catalogue.home, *catalogue.home.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    with without_privileges():
        client = open_client(catalogue)
        assert client.ask("instructions/list")["count"] == 1
        assert client.ask("instructions/search", q="body")["count"] == 1
        assert client.ask("instructions/get", id="a")["item"]["id"] == "a"
        assert client.refused("usage/track", id="a")["code"] == -32603
    for path in (catalogue.home, *catalogue.home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
