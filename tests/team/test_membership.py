"""Who lives and who has what: a node that is late, a replica that is spare, a record that forgot."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from codecairn.team.node import ServingNode
from tests.support.team import Team, open_team
from tests.support.wait import eventually

NAMES = tuple(f"org/{word}" for word in ("one", "two", "three", "four", "five", "six"))


def add_repositories(team: Team) -> None:
    for name in NAMES:
        word = name.rpartition("/")[2]
        text = f"def {word}():\n    return 1\n\n\ndef shared_by_all():\n    return {word}()\n"
        team.repository(name, {"main.py": text})
    team.work("worker")


def assert_answered(team: Team, token: str, node: ServingNode) -> None:
    """Every repository by its name, and all of them together."""
    door = team.door(token, node)
    for name in NAMES:
        found = door.call("find_symbol", {"symbol_name": name.rpartition("/")[2], "project": name})
        assert not found.is_error, found
    everywhere = door.call("find_symbol", {"symbol_name": "shared_by_all", "limit": 20})
    assert {row["repository"] for row in everywhere.value["symbols"]} == set(NAMES)
    assert everywhere.value["metadata"]["result_completeness"] == "complete"


def test_a_node_whose_heartbeat_is_late_keeps_and_answers_what_it_has(database_url: str, tmp_path: Path) -> None:
    with open_team(database_url, tmp_path, alive_s=0.0) as team:  # every heartbeat is too old
        add_repositories(team)
        nodes = [team.start_node(home) for home in "ab"]
        assert team.record.nodes.living() == []
        eventually(lambda: all(len(node.replicas.ready) == len(NAMES) for node in nodes), 60)
        token = team.token()
        for node in nodes:
            assert list(node.directory.refresh().nodes) == [node.id]
            assert node.replication is not None
            node.replication.catch_up()
            assert len(node.replicas.ready) == len(NAMES)
            assert_answered(team, token, node)


@pytest.fixture
def three(team: Team) -> Team:
    """Two nodes that have everything, and a third that came later and took its share."""
    add_repositories(team)
    for home in "ab":
        team.start_node(home)
    team.await_ready()
    third = team.start_node("c")
    mine = [each for each in team.record.repositories.all() if third.id in third.directory.refresh().owners(each)]
    eventually(lambda: len(third.replicas.ready) == len(mine), 60)
    return team


def test_a_replica_that_is_spare_is_kept_for_a_while_and_then_let_go(
    three: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = {each.id for each in three.record.repositories.all()}
    for node in three.nodes:
        assert node.replication is not None
        node.replication.catch_up()
    assert all(set(node.replicas.ready) == numbers for node in three.nodes[:2]), "a newcomer costs nobody a replica"
    token, over, wrong = three.token(), threading.Event(), list[AssertionError]()

    def go_on_asking() -> None:
        while not over.is_set():
            for node in three.nodes:
                try:
                    assert_answered(three, token, node)
                except AssertionError as error:
                    wrong.append(error)

    asking = threading.Thread(target=go_on_asking)
    asking.start()
    monkeypatch.setattr("codecairn.team.replication._SPARE_S", 0.0)
    eventually(lambda: all(len(nodes) == 2 for nodes in three.record.nodes.replicas().values()), 60)
    eventually(lambda: sum(len(node.replicas.ready) for node in three.nodes) == 2 * len(NAMES), 60)
    for node in three.nodes:
        assert_answered(three, token, node)
    over.set()
    asking.join()
    assert not wrong, wrong[0]


def test_a_record_that_forgot_a_node_is_told_again_what_it_has(three: Team) -> None:
    three.record.database.execute("DELETE FROM node")
    eventually(lambda: len(three.record.nodes.living()) == 3, 60)
    three.await_ready()
    token = three.token()
    for node in three.nodes:
        assert_answered(three, token, node)
