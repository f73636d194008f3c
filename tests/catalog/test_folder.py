"""The folder on disk: what may stand in it, and how it may change under a running server."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.source.json_folder import JsonFolder
from tests.catalog.catalogue import Catalogue, Client, entry, without_privileges
from tests.catalog.test_entries import get, problems
from tests.support.wait import eventually

MANY = 1_000
"""So many files that a look at them is not cheap, and so is not taken on every call."""


def ids(client: Client) -> list[str]:
    return [item["id"] for item in client.ask("instructions/list", fields=["id"])["items"]]


def test_a_link_to_a_file_inside_the_project_is_followed(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a")
    shared = catalogue.root / "shared.json"
    shared.write_text(json.dumps(entry("linked", body="before")))
    (catalogue.folder / "linked.json").symlink_to("../shared.json")
    assert get(client, "linked")["body"] == "before"
    shared.write_text(json.dumps(entry("linked", body="after")))
    assert get(client, "linked")["body"] == "after"


@pytest.mark.parametrize("target", ["../../outside.json", "../.env", "../.git/config.json", "nowhere.json"])
def test_a_link_that_leads_outside_or_to_a_secret_is_not_read(
    client: Client, catalogue: Catalogue, target: str
) -> None:
    catalogue.add("a")
    secret = json.dumps(entry("stolen"))
    (catalogue.root.parent / "outside.json").write_text(secret)
    (catalogue.root / ".env").write_text(secret)
    (catalogue.root / ".git").mkdir()
    (catalogue.root / ".git" / "config.json").write_text(secret)
    (catalogue.folder / "stolen.json").symlink_to(target)
    assert ids(client) == ["a"]
    (problem,) = problems(client)
    assert problem.startswith("instructions/stolen.json: a link that leads ")


def test_links_that_lead_to_each_other_are_a_problem(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a")
    (catalogue.folder / "x.json").symlink_to("y.json")
    (catalogue.folder / "y.json").symlink_to("x.json")
    assert ids(client) == ["a"]
    assert len(problems(client)) == 2


def test_a_link_that_is_turned_outside_loses_its_entry(client: Client, catalogue: Catalogue) -> None:
    link = catalogue.add("a").with_name("link.json")
    (catalogue.root / "b.txt").write_text(json.dumps(entry("b")))
    (catalogue.root.parent / "b.txt").write_text(json.dumps(entry("b")))
    link.symlink_to("../b.txt")
    assert ids(client) == ["a", "b"]
    link.unlink()
    link.symlink_to("../../b.txt")
    assert ids(client) == ["a"]


def test_a_catalogue_folder_that_leads_outside_is_refused_and_said(client: Client, catalogue: Catalogue) -> None:
    elsewhere = Catalogue(catalogue.root.parent / "elsewhere", catalogue.home)
    elsewhere.add("a")
    catalogue.folder.symlink_to(elsewhere.folder)
    for method, params in (("instructions/list", {}), ("instructions/get", {"id": "a"}), ("gates/evaluate", {})):
        assert client.refused(method, **params)["code"] == -32603
    (problem,) = problems(client)
    assert problem.startswith("instructions/: ")
    catalogue.folder.unlink()
    shutil.copytree(elsewhere.folder, catalogue.folder)
    assert ids(client) == ["a"]


def test_a_catalogue_folder_linked_inside_the_project_is_read(client: Client, catalogue: Catalogue) -> None:
    inner = Catalogue(catalogue.root / "team", catalogue.home)
    inner.add("a")
    catalogue.folder.symlink_to("team/instructions")
    assert ids(client) == ["a"]
    inner.add("b")
    assert ids(client) == ["a", "b"]


def test_what_is_no_file_is_a_problem_and_never_waited_for(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a")
    os.mkfifo(catalogue.folder / "pipe.json")
    (catalogue.folder / "folder.json").mkdir()
    assert ids(any_client) == ["a"]
    assert sorted(problems(any_client)) == [
        "instructions/folder.json: not a regular file",
        "instructions/pipe.json: not a regular file",
    ]


@pytest.mark.parametrize("kind", ["folder", "pipe", "outside"])
def test_gates_that_cannot_be_read_are_an_error_and_not_their_absence(
    client: Client, catalogue: Catalogue, kind: str
) -> None:
    path = catalogue.add("a").with_name("gates.json")
    make: dict[str, Callable[[], Any]] = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "outside": lambda: path.symlink_to("/etc/hostname"),
    }
    make[kind]()
    assert client.refused("gates/evaluate")["data"]["file"] == "instructions/gates.json"
    assert problems(client)[0].startswith("instructions/gates.json: ")
    assert ids(client) == ["a"]


def test_an_unreadable_file_is_a_problem_until_it_is_readable(
    open_folder: Path, open_client: Callable[..., Client]
) -> None:
    catalogue = Catalogue(open_folder, open_folder / "home")
    catalogue.add("a")
    client = open_client(catalogue)
    secret = catalogue.add("secret")
    assert ids(client) == ["a", "secret"]
    secret.chmod(0)
    with without_privileges():
        assert ids(client) == ["a"]
        assert problems(client) == ["instructions/secret.json: cannot be read: Permission denied"]
    secret.chmod(0o644)
    with without_privileges():
        assert ids(client) == ["a", "secret"]


def test_an_unreadable_folder_is_an_error_and_no_empty_catalogue(
    open_folder: Path, open_client: Callable[..., Client]
) -> None:
    catalogue = Catalogue(open_folder, open_folder / "home")
    catalogue.add("a")
    client = open_client(catalogue)
    assert ids(client) == ["a"]
    catalogue.folder.chmod(0)
    with without_privileges():
        refused = client.refused("instructions/list")
        assert (refused["code"], refused["data"]["file"]) == (-32603, "instructions/")
        assert problems(client) == ["instructions/: Permission denied"]
    catalogue.folder.chmod(0o755)
    with without_privileges():
        assert ids(client) == ["a"]


def test_a_file_named_like_the_folder_is_no_catalogue(client: Client, catalogue: Catalogue) -> None:
    catalogue.folder.write_text("#!/bin/sh\n")
    assert ids(client) == []
    catalogue.folder.unlink()
    catalogue.add("a")
    assert ids(client) == ["a"]


def fill(catalogue: Catalogue, count: int = MANY) -> None:
    for number in range(count):
        catalogue.add(f"rule-{number:04}")


def rewrite(catalogue: Catalogue, body: str) -> None:
    """In place: neither the folder's time stamp nor the file's length changes."""
    (catalogue.folder / "rule-0500.json").write_text(json.dumps(entry("rule-0500", body=body)))


def assert_edits_show(client: Client, catalogue: Catalogue) -> None:
    for number in range(10):
        rewrite(catalogue, f"edit {number}")
        assert get(client, "rule-0500")["body"] == f"edit {number}"


def test_every_edit_shows_at_once_in_a_folder_that_appears_later(client: Client, catalogue: Catalogue) -> None:
    assert ids(client) == []
    fill(catalogue)
    assert len(ids(client)) == MANY
    assert_edits_show(client, catalogue)


@pytest.mark.parametrize("by", ["moving", "removing"])
def test_every_edit_shows_at_once_in_a_folder_that_replaced_another(
    client: Client, catalogue: Catalogue, by: str
) -> None:
    fill(catalogue)
    assert_edits_show(client, catalogue)
    if by == "moving":
        catalogue.folder.rename(catalogue.root / "before")
    else:
        shutil.rmtree(catalogue.folder)
        assert ids(client) == []
    fill(catalogue)
    assert get(client, "rule-0500")["body"] == "Body of rule-0500."
    assert_edits_show(client, catalogue)


def test_an_edit_through_another_name_of_the_file_shows_at_once(client: Client, catalogue: Catalogue) -> None:
    fill(catalogue)
    hard, soft = catalogue.root / "hard.json", catalogue.root / "soft.json"
    os.link(catalogue.folder / "rule-0500.json", hard)
    soft.write_text(json.dumps(entry("soft", body="before")))
    (catalogue.folder / "soft.json").symlink_to("../soft.json")
    assert len(ids(client)) == MANY + 1
    for number in range(5):
        hard.write_text(json.dumps(entry("rule-0500", body=f"edit {number}")))
        soft.write_text(json.dumps(entry("soft", body=f"edit {number}")))
        assert get(client, "rule-0500")["body"] == f"edit {number}"
        assert get(client, "soft")["body"] == f"edit {number}"


def test_an_edit_that_keeps_length_and_time_of_change_shows(client: Client, catalogue: Catalogue) -> None:
    fill(catalogue)
    for number in range(10):
        catalogue.add("rule-0500", body=f"edit {number}")
        assert get(client, "rule-0500")["body"] == f"edit {number}"


def test_without_events_an_edit_shows_at_once_in_a_small_catalogue(
    client: Client, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codecairn.source.json_folder.sys.platform", "plan9")
    fill(catalogue, 20)
    path = catalogue.folder / "rule-0005.json"
    for number in range(30):
        path.write_text(json.dumps(entry("rule-0005", body=f"edit {number:02}")))
        assert get(client, "rule-0005")["body"] == f"edit {number:02}"


def test_a_good_file_keeps_its_entry_while_it_is_half_written(client: Client, catalogue: Catalogue) -> None:
    path = catalogue.add("a", body="before")
    assert get(client)["body"] == "before"
    whole = json.dumps(entry("a", body="after"))
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_text(whole[:end])
        assert get(client)["body"] == "before"
        assert ids(client) == ["a"]
        assert problems(client) == []
    path.write_text(whole)
    assert get(client)["body"] == "after"


def test_a_good_file_that_stays_broken_becomes_a_problem(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a")
    assert ids(client) == ["a"]
    catalogue.write("a.json", "{")
    eventually(lambda: ids(client) == [])
    assert len(problems(client)) == 1


def test_a_file_that_parses_and_does_not_validate_is_a_problem_at_once(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a")
    assert ids(client) == ["a"]
    catalogue.write("a.json", json.dumps(entry("a", priority=0)), settled=False)
    assert ids(client) == []


def test_a_reader_that_never_saw_a_file_waits_for_its_writer(client: Client, catalogue: Catalogue) -> None:
    whole = json.dumps(entry("a"))
    path = catalogue.write("a.json", whole[:10], settled=False)
    writer = threading.Timer(0.05, lambda: path.write_text(whole))
    writer.start()
    assert ids(client) == ["a"]
    writer.join()


def test_a_listing_that_misses_a_file_being_replaced_is_taken_again(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As some file systems do; the one that the tests run on may not."""
    from codecairn.source import json_folder

    catalogue.add("a")
    catalogue.add("b")
    watched = JsonFolder(catalogue.folder, catalogue.root)
    assert list(watched.readings()) == ["a.json", "b.json"]
    real = json_folder.json_names
    listings = [{"a.json"}]
    monkeypatch.setattr(json_folder, "json_names", lambda path: listings.pop() if listings else real(path))
    assert list(watched.readings()) == ["a.json", "b.json"]
