"""Questions to many repositories: merged by relevance, each row with its repository, silence said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.support.doors import Answer
from tests.support.team import Team, TeamDoor, open_team
from tests.support.wait import eventually
from tests.team.conftest import fresh_database


def files_of(word: str) -> dict[str, str | bytes]:
    return {
        "pay.py": f"def charge_{word}(card):\n    '''Charge a card for {word}.'''\n    return card\n",
        "use.py": f"from pay import charge_{word}\n\n\ndef buy():\n    return charge_{word}(None)\n",
        "common.py": "def shared_helper(value):\n    return value  # NOTE: shared\n",
        f"{word}.md": f"# {word}\n\nAll about {word} and cards.\n",
    }


@pytest.fixture(scope="module")
def many(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """Three repositories on two nodes of two homes."""
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("many")) as team:
        for name, word in (("org/books", "books"), ("org/music", "music"), ("lab/secret", "plutonium")):
            team.repository(name, files_of(word))
        team.work("worker")
        team.start_node("a")
        team.start_node("b")
        team.await_ready()
        yield team


@pytest.fixture(scope="module")
def door(many: Team) -> TeamDoor:
    return many.door(many.token("everybody"))


def repositories_of(answer: Answer, rows: str) -> set[str]:
    return {row["repository"] for row in answer.value[rows]}


def test_a_search_without_a_project_is_over_all(door: TeamDoor) -> None:
    answer = door.call("search_code", {"query": "charge a card", "limit": 20})
    assert repositories_of(answer, "results") == {"org/books", "org/music", "lab/secret"}
    scores = [row["ranking_score"] for row in answer.value["results"]]
    assert scores == sorted(scores, reverse=True)
    assert [row["rank"] for row in answer.value["results"]] == list(range(1, len(scores) + 1))
    assert answer.value["metadata"]["repositories_searched"] == 3
    assert answer.value["metadata"]["result_completeness"] in ("complete", "truncated")


def test_a_selection_is_by_glob(door: TeamDoor) -> None:
    answer = door.call("search_code", {"query": "charge a card", "repositories": "org/*", "limit": 20})
    assert repositories_of(answer, "results") == {"org/books", "org/music"}


def test_each_row_is_the_row_of_its_own_repository(door: TeamDoor) -> None:
    asked = {"query": "charge a card", "limit": 20}
    merged = door.call("search_code", asked).value["results"]
    for name in ("org/books", "org/music", "lab/secret"):
        own = door.call("search_code", {**asked, "project": name}).value["results"]
        theirs = [{key: value for key, value in row.items() if key not in ("rank", "repository")}
                  for row in merged if row["repository"] == name]  # fmt: skip
        assert theirs == [{key: value for key, value in row.items() if key != "rank"} for row in own][: len(theirs)]


def test_symbols_and_references_of_many(door: TeamDoor) -> None:
    symbols = door.call("find_symbol", {"symbol_name": "shared_helper", "repositories": "**"})
    assert repositories_of(symbols, "symbols") == {"org/books", "org/music", "lab/secret"}
    one = door.call("find_symbol", {"symbol_name": "charge_music"})
    assert repositories_of(one, "symbols") == {"org/music"}
    uses = door.call("find_references", {"symbol_name": "charge_music"})
    assert uses.value["symbol"]["repository"] == "org/music"
    assert {row["repository"] for row in uses.value["references"]} == {"org/music"}
    assert any(row["path"] == "use.py" and row["edge_type"] == "calls" for row in uses.value["references"])


def test_grep_and_context_of_many(door: TeamDoor) -> None:
    found = door.call("grep_codebase", {"pattern": "NOTE: shared"})
    assert found.value["totalMatches"] == 3
    assert repositories_of(found, "matches") == {"org/books", "org/music", "lab/secret"}
    context = door.call("context_search", {"query": "charge a card", "limit": 20})
    assert {row["project"] for row in context.value["results"]} == {"org/books", "org/music", "lab/secret"}


def test_nothing_anywhere_is_an_error_with_a_way_out(door: TeamDoor) -> None:
    answer = door.call("find_symbol", {"symbol_name": "zzzqqq_not_there"})
    assert answer.is_error
    assert answer.value["error"]["code"] == "symbol_not_found"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_log", {"repositories": "org/*"}),
        ("search_code", {"query": "card", "repositories": "org/*", "project": "org/books"}),
        ("search_code", {"query": "card", "cursor": "abcd"}),
        ("search_code", {"query": "card", "repositories": 3}),
        ("search_code", {"query": "card", "repositories": "none/*"}),
        ("search_code", {"query": "card", "project": {"a": 1}}), ("git_log", {"project": 3}),
        ("read_file", {"project": "org/books", "path": 7}), ("list_repositories", {"glob": []}),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_of_many_is_refused(door: TeamDoor, tool: str, arguments: dict[str, Any]) -> None:
    assert door.call(tool, arguments).is_error


def test_a_call_at_the_wrong_node_is_passed_on(many: Team) -> None:
    """With three nodes one of them has no replica of a repository: it answers all the same."""
    third = many.start_node("c")
    many.await_ready()
    token = many.token("wanderer")
    lacking = [each.name for each in many.record.repositories.all() if each.id not in third.replicas.ready]
    for name in lacking or [each.name for each in many.record.repositories.all()]:
        answer = many.door(token, third).call("find_symbol", {"symbol_name": "shared_helper", "project": name})
        assert answer.value["symbols"][0]["path"] == "common.py"
    everywhere = many.door(token, third).call("find_symbol", {"symbol_name": "shared_helper"})
    assert repositories_of(everywhere, "symbols") == {"org/books", "org/music", "lab/secret"}


def test_discoveries_are_shared_with_their_author(many: Team) -> None:
    writer, first, second = many.token("grace"), many.nodes[0], many.nodes[1]
    said = {"type": "decision", "content": "Cards are charged once a day at midnight.", "project": "org/books"}
    kept = many.door(writer, first).call("remember", said)
    assert not kept.is_error, kept
    from tests.support.wait import eventually

    asked = {"query": "when are cards charged", "project": "org/books", "type": "decision"}
    found = eventually(lambda: many.door(writer, second).call("context_search", asked).value["results"])
    assert found[0]["content"] == said["content"]
    assert found[0]["session"] == "grace"
    identity = kept.value["discovery"]["id"]
    assert not many.door(writer, second).call("forget", {"id": identity, "project": "org/books"}).is_error
    eventually(lambda: not many.door(writer, first).call("context_search", asked).value["results"])


def test_audit_tells_who_asked_what_and_not_the_text(many: Team) -> None:
    token = many.token("auditee", "org/*", role="reader")
    many.door(token).call("search_code", {"query": "a very private question", "project": "org/books"})
    many.door(token).call("git_log", {"project": "lab/secret"})
    rows = many.record.database.rows("SELECT tool, repository, outcome, size > 0 FROM audit WHERE token = 'auditee'")
    assert rows == [("search_code", "org/books", "ok", True), ("git_log", "", "project_not_found", True)]
    assert "private question" not in str(many.record.database.rows("SELECT audit::text FROM audit"))


def test_a_real_client_over_http(many: Team, door: TeamDoor) -> None:
    async def ask() -> tuple[list[str], str, str]:
        headers = {"authorization": f"Bearer {door.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            streamable_http_client(f"http://127.0.0.1:{door.port}/mcp", http_client=http) as streams,
            ClientSession(streams[0], streams[1]) as client,
        ):
            await client.initialize()
            tools = [each.name for each in (await client.list_tools()).tools]
            answer = await client.call_tool("search_code", {"query": "charge a card"})
            page = await client.read_resource("context://project/overview?project=org/music")
            return tools, str(answer.content[0]), str(page.contents[0])

    tools, text, page = anyio.run(ask)
    assert len(tools) == 32
    assert "3 repositories searched" in text
    assert "org/music:pay.py" in text
    assert "# music" in page


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were more repositories than are ranked."""
    monkeypatch.setattr("codecairn.team.shortlist.LEAST_ASKED", 1)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("query", "expected"), [
    ("charge a card for music", "org/music"), ("charge_books", "org/books"), ("plutonium.md", "lab/secret"),
])  # fmt: skip
def test_of_many_those_are_ranked_that_have_most_of_the_query(door: TeamDoor, query: str, expected: str) -> None:
    answer = door.call("search_code", {"query": query, "limit": 1})
    assert repositories_of(answer, "results") == {expected}
    own = door.call("search_code", {"query": query, "limit": 1, "project": expected}).value["results"][0]
    assert answer.value["results"][0]["ranking_score"] == own["ranking_score"]
    metadata = answer.value["metadata"]
    assert (metadata["repositories_searched"], metadata["repositories_weighed"]) == (3, 1)
    assert metadata["result_completeness"] == "truncated"


@pytest.mark.usefixtures("short")
def test_where_no_word_is_found_the_nearest_in_meaning_are_ranked(door: TeamDoor) -> None:
    for asked in ({"query": "zzz qqq xxyy"}, {"query": "payment of tunes", "search_mode": "vector"}):
        answer = door.call("search_code", {**asked, "limit": 1})
        assert not answer.is_error, answer.value
        assert answer.value["metadata"]["repositories_searched"] == 3


@pytest.mark.usefixtures("short")
def test_names_are_looked_for_everywhere_and_near_ones_where_they_may_be(door: TeamDoor) -> None:
    both = door.call("find_symbol", {"symbol_name": "shared_helper", "limit": 1})
    assert both.value["total_symbols"] == 3
    near = door.call("find_symbol", {"symbol_name": "charge_musik", "limit": 1})
    assert near.is_error or near.value["symbols"][0]["match"] == "near"
    lost = door.call("find_references", {"symbol_name": "no_such_name_at_all", "limit": 1})
    assert lost.value["error"]["code"] == "symbol_not_found"


@pytest.mark.usefixtures("short")
def test_a_discovery_counts_as_a_place_that_has_the_words(door: TeamDoor) -> None:
    said = {"type": "decision", "content": "Refunds of vouchers go to the ledger first.", "project": "org/books"}
    kept = door.call("remember", said)
    assert not kept.is_error

    def projects() -> list[str]:
        found = door.call("context_search", {"query": "refunds of vouchers in the ledger", "limit": 1})
        return [row["project"] for row in found.value["results"]]

    eventually(lambda: projects() == ["org/books"])  # the other node hears of it within a second
    assert not door.call("forget", {"id": kept.value["discovery"]["id"], "project": "org/books"}).is_error


@pytest.mark.usefixtures("short")
def test_with_a_filter_every_repository_is_ranked(door: TeamDoor) -> None:
    answer = door.call("search_code", {"query": "charge a card", "language": "python", "limit": 20})
    assert repositories_of(answer, "results") == {"org/books", "org/music", "lab/secret"}
    assert "repositories_weighed" not in answer.value["metadata"]
