"""search_code: what it takes, what it says, and what it says of itself."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.serve.upkeep import Upkeep
from tests.support.doors import DOORS, Door
from tests.support.indexes import LastingWorkers
from tests.support.pages import bent_to
from tests.support.repo import Repo
from tests.support.search import (
    ONE_OF_EACH,
    SHOP,
    Asking,
    Built,
    Doors,
    ask,
    asking,
    doors_to,
    error_of,
    index,
    names,
    places,
)
from tests.support.wait import eventually

SIX = {
    "cruxe_protocol_version", "freshness_status", "indexing_status", "result_completeness", "ref", "schema_status",
}  # fmt: skip


@pytest.mark.requirement(
    "002/search_code/top-level-fields",
    "002/search_code/result-fields",
    "002/search_code/symbol-fields",
    "002/search_code/file-fields",
    "002/search_code/statistics-fields",
    "002/search_code/message-found-count",
)
def test_an_answer_has_the_documented_form(door_name: str, doors: Doors, shop: Built) -> None:
    answer = ask(doors(door_name), shop, "user authentication logic")
    assert not answer.is_error, answer.text
    value = answer.value
    assert {"success", "query", "results", "statistics", "message", "metadata"} <= value.keys()
    assert (value["success"], value["query"]) == (True, "user authentication logic")
    statistics = value["statistics"]
    assert statistics.keys() == {"total_results", "returned_results", "search_duration_ms", "cache_hit"}
    assert statistics["returned_results"] == len(value["results"]) > 0
    assert statistics["search_duration_ms"] >= 0
    assert value["message"].startswith(f"Found {statistics['total_results']} results in ")
    assert value["message"].endswith("ms")
    best = value["results"][0]
    assert {"chunk_id", "rank", "relevance_score", "symbol", "file", "content", "context_before", "context_after"} <= (
        best.keys()
    )
    assert {"name", "kind", "package", "signature", "doc_comment"} <= best["symbol"].keys()
    assert {"path", "package", "start_line", "end_line"} <= best["file"].keys()


@pytest.mark.requirement("ruling/registry/same-value-every-door")
def test_every_door_finds_the_same(doors: Doors, shop: Built) -> None:
    found = [ask(doors(name), shop, "order invoice", limit=50).value["results"] for name in DOORS]
    assert all(each == found[0] for each in found)
    assert len(found[0]) > 5


def test_a_function_is_shown_whole_with_what_is_above_and_below(shopping: Asking) -> None:
    best = shopping.search("AuthenticateUser")["results"][0]
    text = SHOP["internal/auth/service.go"]
    assert isinstance(text, str)
    lines = text.split("\n")
    assert best["symbol"]["name"] == "AuthenticateUser"
    assert best["symbol"]["kind"] == "function"
    assert best["symbol"]["signature"] == "func AuthenticateUser(username, password string) (*User, error)"
    assert best["symbol"]["doc_comment"].startswith("AuthenticateUser verifies user credentials")
    assert best["symbol"]["package"] == "internal/auth"
    assert best["symbol"]["qualified_name"].endswith("AuthenticateUser")
    file = best["file"]
    assert (file["path"], file["package"], file["language"]) == ("internal/auth/service.go", "auth", "go")
    assert best["content"] == "\n".join(lines[file["start_line"] - 1 : file["end_line"]])
    assert best["content"].startswith("// AuthenticateUser verifies")
    assert best["content"].endswith("}")
    assert best["context_before"].startswith("package auth")
    assert '"errors"' in best["context_before"]
    assert best["context_after"].startswith("// ValidateToken")
    assert best["content_cut"] is False


def test_a_small_member_is_found_by_its_name_and_the_class_around_it_after_it(shopping: Asking) -> None:
    found = shopping.search("write_invoice")
    assert names(found)[0] == "write_invoice"
    assert "BillingService" in names(found)
    constant = shopping.search("LongestPassword")["results"][0]
    assert constant["content"].endswith("const LongestPassword = 72")
    assert constant["file"]["end_line"] - constant["file"]["start_line"] <= 1


@pytest.mark.requirement("ruling/symbol-identity/full-kinds-002")
@pytest.mark.parametrize(("kind", "name"), ONE_OF_EACH.items())
def test_kinds_have_their_full_names(kind: str, name: str, shopping: Asking) -> None:
    best = shopping.search(name)["results"][0]["symbol"]
    assert (best["name"], best["kind"]) == (name, kind)


@pytest.mark.requirement("002/search_code/rank-order", "002/search_code/relevance-in-unit")
@pytest.mark.parametrize("query", ["order", "compute_tax", "shop/billing.py", "how is tax computed for an order"])
def test_ranks_count_up_and_scores_fall(query: str, shopping: Asking) -> None:
    results = shopping.search(query, limit=100)["results"]
    assert [each["rank"] for each in results] == list(range(1, len(results) + 1))
    totals = [each["ranking_score"] for each in results]
    assert totals == sorted(totals, reverse=True)
    relevances = [each["relevance_score"] for each in results]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= each <= 1 for each in relevances)
    assert relevances[0] > 0


@pytest.mark.requirement(
    "002/search_code/path-checked", "002/search_code/query-required", "ruling/project-root/wrong-root-fails"
)
def test_a_query_is_needed_and_a_path_is_checked(door_name: str, doors: Doors, shop: Built) -> None:
    path = str(shop.root)
    for param, arguments in (
        ("path", {"query": "x", "path": 3}), ("path", {"query": "x", "path": "relative"}),
        ("query", {"path": path}), ("query", {"path": path, "query": None}), ("query", {"path": path, "query": ["x"]}),
    ):  # fmt: skip
        fault = error_of(doors(door_name).call("search_code", arguments))
        assert (fault["code"], fault["data"]["param"]) == (-32602, param), arguments
        assert fault["data"]["reason"]


@pytest.mark.requirement("002/search_code/empty-query-32004")
def test_a_blank_query_is_refused(door_name: str, doors: Doors, shop: Built) -> None:
    for query in ("", " ", "\t\n ", "\u2003"):
        fault = error_of(ask(doors(door_name), shop, query))
        assert (fault["code"], fault["data"]["param"]) == (-32004, "query"), repr(query)


@pytest.mark.requirement("002/search_code/query-max-1000")
def test_a_query_has_at_most_a_thousand_characters(door_name: str, doors: Doors, shop: Built) -> None:
    door = doors(door_name)
    assert not ask(door, shop, "é" * 1000).is_error
    fault = error_of(ask(door, shop, "a" * 1001))
    assert (fault["code"], fault["data"]["param"]) == (-32602, "query")


@pytest.mark.requirement("002/search_code/limit-bounds")
def test_a_limit_is_from_one_to_a_hundred(door_name: str, doors: Doors, shop: Built) -> None:
    door = doors(door_name)
    for limit in (0, -1, 101, "10", 1.5, True, 2**70):
        fault = error_of(ask(door, shop, "order", limit=limit))
        assert (fault["code"], fault["data"]["param"]) == (-32602, "limit"), limit
    assert len(ask(door, shop, "order", limit=1).value["results"]) == 1
    assert not ask(door, shop, "order", limit=100).is_error


@pytest.mark.requirement("002/search_code/limit-default-10")
def test_ten_results_are_returned_unless_told(kiosk: Asking) -> None:
    found = kiosk.search("order")
    assert len(found["results"]) == 10 < found["statistics"]["total_results"]


@pytest.mark.requirement("002/search_code/mode-values")
def test_an_unknown_mode_is_refused(door_name: str, doors: Doors, shop: Built) -> None:
    for mode in ("fuzzy", "", "Keyword", 3):
        fault = error_of(ask(doors(door_name), shop, "order", search_mode=mode))
        assert (fault["code"], fault["data"]["param"]) == (-32602, "search_mode")


@pytest.mark.requirement("ruling/additions/cursor-continues-list", "ruling/metadata/truncated-when-cut")
@pytest.mark.parametrize("page", [1, 3, 7])
def test_pages_make_the_one_long_list(page: int, shopping: Asking) -> None:
    whole = shopping.search("order", limit=100)
    assert whole["next_cursor"] is None
    assert whole["metadata"]["result_completeness"] == "complete"
    paged, cursor = [], None
    while True:
        found = shopping.search("order", limit=page, cursor=cursor)
        paged += found["results"]
        assert (found["metadata"]["result_completeness"] == "truncated") == (found["next_cursor"] is not None)
        cursor = found["next_cursor"]
        if cursor is None:
            break
    assert paged == whole["results"]
    assert len(paged) == whole["statistics"]["total_results"]


def test_tests_that_were_not_weighed_for_want_of_room_make_the_answer_a_part(
    tmp_path: Path, lasting: LastingWorkers
) -> None:
    files = {f"tests/test_{number}.py": f"def test_weighbridge_{number}():\n    pass\n" for number in range(60)}
    repo = Repo.create(tmp_path / "yard")
    repo.commit("start", {**files, "yard.py": "def weighbridge():\n    pass\n"})
    built = index(repo.path, tmp_path / "home", lasting)
    with doors_to(built) as doors:
        found = ask(doors("memory"), built, "weighbridge", limit=100, search_mode="keyword").value
    assert found["statistics"]["total_results"] < 61
    assert found["metadata"]["result_completeness"] == "truncated"


@pytest.mark.parametrize("cursor", ["", "x", "1", "-1", "1.5", "٣", "9" * 30, " 1", "A" * 16, "A" * 9_000])
def test_a_cursor_of_no_answer_is_refused(cursor: str, shopping: Asking) -> None:
    fault = error_of(shopping.answer("search_code", path=str(shopping.root), query="order", cursor=cursor))
    assert (fault["code"], fault["data"]["param"]) == (-32602, "cursor")


def test_a_cursor_beyond_the_end_finds_nothing(shopping: Asking) -> None:
    beyond = bent_to(shopping.search("order", limit=1)["next_cursor"], "99999")
    found = shopping.search("order", cursor=beyond)
    assert (found["results"], found["next_cursor"]) == ([], None)


@pytest.mark.requirement("002/search_code/cache-hit-true")
def test_a_repeated_search_is_known(shopping: Asking) -> None:
    first, second = shopping.search("compute tax"), shopping.search("compute tax")
    assert (first["statistics"]["cache_hit"], second["statistics"]["cache_hit"]) == (False, True)
    assert first["results"] == second["results"]


def test_other_filters_are_another_search(shopping: Asking) -> None:
    shopping.search("tax")
    for arguments in ({"filters": {"symbol_types": ["class"]}}, {"language": "go"}, {"path_filter": "shop"},
                      {"filters": {"min_relevance": 0.5}}, {"filters": {"file_pattern": "*.py"}}):  # fmt: skip
        assert shopping.search("tax", **arguments)["statistics"]["cache_hit"] is False, arguments
        assert shopping.search("tax", **arguments)["statistics"]["cache_hit"] is True, arguments


def test_what_is_known_is_cut_to_the_limit_of_the_call(shopping: Asking) -> None:
    few, many = shopping.search("order", limit=2), shopping.search("order", limit=50)
    assert len(few["results"]) == 2
    assert many["results"][:2] == few["results"]
    assert len(many["results"]) == many["statistics"]["total_results"] > 2


def test_nothing_is_known_once_the_index_changed(own: Callable[..., Asking]) -> None:
    opened = own({"a.py": "def alpha(): ...\n"})
    assert names(opened.search("alpha")) == ["alpha"]
    (opened.root / "b.py").write_text("def alpha(): ...\n\n\ndef beta():\n    return alpha()\n")
    assert not opened.answer("index_codebase", path=str(opened.root)).is_error
    again = opened.search("alpha")
    assert again["statistics"]["cache_hit"] is False
    assert {path for path, _ in places(again)} == {"a.py", "b.py"}


@pytest.mark.requirement("002/search_code/not-indexed-32003")
def test_a_project_without_an_index_is_told_so(door_name: str, connect: Callable[..., Door], repo: Repo) -> None:
    repo.commit("start", {"a.py": "def a(): ...\n"})
    door = connect(door_name, repo.path, data=repo.path.parent / "home")
    fault = error_of(door.call("search_code", {"path": str(repo.path), "query": "a"}))
    assert fault["code"] == -32003
    assert "index_codebase" in fault["data"]["reason"] + fault["data"].get("remedy", "")


def test_a_path_that_is_no_project_is_refused(shopping: Asking, tmp_path: Path) -> None:
    fault = error_of(shopping.answer("search_code", path=str(tmp_path / "missing"), query="a"))
    assert (fault["code"], fault["data"]["param"]) == (-32602, "path")


@pytest.mark.requirement("002/search_code/first-run-partial")
def test_during_the_first_run_an_answer_is_partial(
    own: Callable[..., Asking], lasting: LastingWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, go = own(dict(SHOP), indexed=False), threading.Event()
    outcomes = lasting.outcomes

    def held(*arguments: Any) -> Any:
        go.wait(60)
        return outcomes(*arguments)

    monkeypatch.setattr(lasting, "outcomes", held)
    upkeep = Upkeep(opened.served.projects, watch=False)
    upkeep.begin(())
    try:
        metadata = opened.search("order")["metadata"]
        assert (metadata["result_completeness"], metadata["indexing_status"]) == ("partial", "indexing")
        assert metadata["freshness_status"] == "syncing"
        go.set()
        eventually(lambda: opened.search("order")["metadata"]["result_completeness"] != "partial")
        assert opened.search("order")["results"]
    finally:
        go.set()
        upkeep.close()


@pytest.mark.requirement("ruling/metadata/on-002-004-successes", "004/metadata/ref-reported")
def test_metadata_is_whole_and_names_the_branch(door_name: str, doors: Doors, shop: Built) -> None:
    metadata = ask(doors(door_name), shop, "order").value["metadata"]
    assert metadata.keys() >= SIX
    assert (metadata["freshness_status"], metadata["indexing_status"], metadata["ref"]) == ("fresh", "ready", "main")


def test_outside_a_repository_the_ref_is_live(tmp_path: Path, lasting: LastingWorkers) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("def alpha(): ...\n")
    opened = asking(index(tmp_path / "plain", tmp_path / "home", lasting))
    found = opened.search("alpha")
    opened.close()
    assert found["metadata"]["ref"] == "live"
    assert names(found) == ["alpha"]


@pytest.mark.requirement("ruling/metadata/stale-worktree")
def test_an_edit_makes_an_answer_stale(own: Callable[..., Asking]) -> None:
    opened = own({"a.py": "def alpha(): ...\n"})
    assert opened.search("alpha")["metadata"]["freshness_status"] == "fresh"
    (opened.root / "a.py").write_text("def alpha(): ...\n\n\ndef beta(): ...\n")
    found = opened.search("alpha")
    assert found["metadata"]["freshness_status"] == "stale"
    assert names(found) == ["alpha"]


@pytest.mark.requirement("002/search_code/concurrent-searches-agree")
def test_concurrent_searches_agree(shopping: Asking) -> None:
    expected = {query: shopping.search(query, limit=50)["results"] for query in ("order", "tax", "token", "Money")}
    shopping.forget()
    with ThreadPoolExecutor(8) as pool:
        asked = [query for _ in range(8) for query in expected]
        found = pool.map(lambda query: shopping.search(query, limit=50)["results"], asked)
        assert all(results == expected[query] for query, results in zip(asked, found, strict=True))


@pytest.mark.requirement("002/security/no-network-access")
def test_neither_indexing_nor_searching_opens_a_connection(
    own: Callable[..., Asking], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = own(dict(SHOP), indexed=False)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert not opened.answer("index_codebase", path=str(opened.root)).is_error
    assert opened.search("order")["results"]


@pytest.mark.requirement("002/search_code/fts-characters-harmless")
@pytest.mark.parametrize(
    "query",
    [
        '"compute_tax"', "compute_tax AND", "+compute_tax -x", "compute_tax*", "compute_tax^5", "(compute_tax",
        "name:compute_tax", "compute_tax~2", "{compute_tax}", "[compute_tax TO z]", "'compute_tax' OR 1=1 --",
        "\\compute_tax", "compute_tax;",
    ],
)  # fmt: skip
def test_the_characters_of_query_languages_are_only_text(query: str, shopping: Asking) -> None:
    best = shopping.search(query)["results"][0]
    assert best["symbol"]["name"] == "compute_tax"


def test_text_and_structure_agree(shop: Built, doors: Doors) -> None:
    answer = ask(doors("first"), shop, "order", limit=3)
    assert json.loads(answer.text) == answer.value


def test_the_tool_is_read_only() -> None:
    annotations = tools.standard().tools["search_code"].annotations
    assert annotations["readOnlyHint"] is True
