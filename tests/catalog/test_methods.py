"""list, get, search, diff and verify: their forms, by every way of asking."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.catalog.catalogue import WAYS, Catalogue, Client, aggregate, entry, sha256
from tests.support.doors import Door
from tests.support.pages import place_of

EMPTY = sha256("")


def ids(value: dict[str, Any], name: str = "items") -> list[str]:
    return [item["id"] for item in value[name]]


@pytest.mark.requirement(
    "003/instructions_list/bare-and-tool-names",
    "003/instructions_get/bare-and-tool-names",
    "003/instructions_search/bare-and-tool-names",
    "003/instructions_diff/bare-and-tool-names",
    "003/integrity_verify/bare-and-tool-names",
    "003/usage_hotset/bare-and-tool-names",
)
def test_every_way_of_asking_gives_the_same_value(catalogue: Catalogue, open_client: Callable[..., Client]) -> None:
    catalogue.add("a", sourceHash="0" * 64)
    catalogue.add("b")
    clients = [open_client(catalogue, way) for way in WAYS]
    clients[0].ask("usage/track", id="b")
    questions: list[tuple[str, dict[str, Any]]] = [
        ("instructions/list", {}), ("instructions/list", {"category": "General", "limit": 1}),
        ("instructions/get", {"id": "b"}), ("instructions/get", {"id": "z"}), ("instructions/search", {"q": "body"}),
        ("instructions/diff", {"known": [{"id": "z", "sourceHash": "0"}]}), ("instructions/diff", {"clientHash": "0"}),
        ("integrity/verify", {}), ("usage/hotset", {}),
    ]  # fmt: skip
    for method, params in questions:
        answers = [client.ask(method, **params) for client in clients]
        assert all(answer == answers[0] for answer in answers), method


@pytest.mark.requirement(
    "003/instructions_list/result-fields",
    "003/instructions_list/all-without-category",
    "003/instructions_list/category-filter",
    "003/catalogue/aggregate-hash",
)
def test_a_list_is_of_all_entries_or_of_one_category(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("b", categories=["Security", "API"])
    catalogue.add("a", categories=["Style"])
    everything = any_client.ask("instructions/list")
    assert everything.keys() == {"hash", "count", "items"}
    assert (everything["count"], ids(everything)) == (2, ["a", "b"])
    assert everything["hash"] == aggregate({"a": "Body of a.", "b": "Body of b."})
    secure = any_client.ask("instructions/list", category=" sEcUrItY")
    assert (secure["count"], ids(secure), secure["hash"]) == (1, ["b"], everything["hash"])
    none = any_client.ask("instructions/list", category="secur")
    assert (none["count"], none["items"], none["hash"]) == (0, [], everything["hash"])


@pytest.mark.requirement(
    "003/instructions_get/found-form", "003/instructions_get/not-found-form", "003/instructions_get/id-required",
    "003/catalogue/required-entry-fields",
)  # fmt: skip
def test_getting_an_entry(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a", rationale="because")
    found = any_client.ask("instructions/get", id="a")
    assert found == {
        "hash": aggregate({"a": "Body of a."}),
        "item": entry("a", rationale="because", sourceHash=sha256("Body of a."), riskScore=70),
    }
    assert any_client.ask("instructions/get", id="A") == {"notFound": True, "hash": found["hash"]}
    refused = any_client.refused("instructions/get")
    assert (refused["code"], refused["data"]["param"]) == (-32602, "id")


@pytest.mark.requirement(
    "003/instructions_search/result-fields", "003/instructions_search/title-and-body",
    "003/instructions_search/case-insensitive", "003/instructions_search/q-required",
)  # fmt: skip
def test_searching_titles_and_bodies(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("title", title="Use TIMEOUTS", body="always")
    catalogue.add("body", title="Calls", body="Every call has a timeoUT.")
    catalogue.add("neither", rationale="timeout", categories=["timeout"])
    found = any_client.ask("instructions/search", q="Timeout")
    assert found.keys() == {"hash", "count", "items"}
    assert (found["count"], ids(found)) == (2, ["title", "body"])
    assert any_client.ask("instructions/search", q="no such words") == {"hash": found["hash"], "count": 0, "items": []}
    refused = any_client.refused("instructions/search")
    assert (refused["code"], refused["data"]["param"]) == (-32602, "q")


def test_the_best_match_comes_first(client: Client, catalogue: Catalogue) -> None:
    titles = {"whole": "Lock", "start": "Lock files", "word": "Never lock", "part": "Blockers"}
    for identity, title in titles.items():
        catalogue.add(identity, title=title, body=f"nothing {identity}")
    catalogue.add("body-word", body="Take a lock.")
    catalogue.add("body-part", body="The clock.", priority=90)
    catalogue.add("body-part-urgent", body="Some blocks.", priority=2)
    found = ids(client.ask("instructions/search", q="lock"))
    assert found == ["whole", "start", "word", "part", "body-word", "body-part-urgent", "body-part"]


def test_a_search_folds_letters_that_lowercasing_would_miss(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("greek", body="ΟΔΟΣΑΝ")
    catalogue.add("lines", body="one\r\ntwo")
    assert ids(client.ask("instructions/search", q="οδοσ")) == ["greek"]
    assert ids(client.ask("instructions/search", q="ΟΔΟΣ")) == ["greek"]
    assert ids(client.ask("instructions/search", q="E\r\nT")) == ["lines"]


@pytest.mark.parametrize("q", ["\0", "a\0b", "\0title of b", "."])
def test_a_needle_never_reaches_from_one_text_into_the_next(client: Client, catalogue: Catalogue, q: str) -> None:
    catalogue.add("a", title="a", body="b")
    catalogue.add("b")
    assert ids(client.ask("instructions/search", q=q)) == (["b"] if q == "." else [])


@pytest.mark.parametrize(("method", "asked"), [("instructions/list", {}), ("instructions/search", {"q": "find"})])
def test_pages_follow_each_other_without_gap_or_repeat(
    any_client: Client, catalogue: Catalogue, method: str, asked: dict[str, Any]
) -> None:
    for number in range(7):
        catalogue.add(f"rule-{number}", body=f"find me {number}")
    pages = [any_client.ask(method, limit=3, **asked)]
    while cursor := pages[-1].get("nextCursor"):
        pages.append(any_client.ask(method, limit=3, cursor=cursor, **asked))
    assert [(page["count"], page["total"]) for page in pages] == [(3, 7), (3, 7), (1, 7)]
    assert [identity for page in pages for identity in ids(page)] == [f"rule-{number}" for number in range(7)]
    assert len({page["hash"] for page in pages}) == 1
    whole = any_client.ask(method, limit=7, **asked)
    assert whole == any_client.ask(method, **asked)


def test_a_list_too_long_for_its_text_goes_on_from_the_cursor_in_the_text(
    catalogue: Catalogue, connect: Callable[..., Door]
) -> None:
    for number in range(60):
        catalogue.add(f"rule-{number:02}", body="word " * 200)
    door = connect("first", catalogue.root, data=catalogue.home)
    seen: list[str] = []
    arguments: dict[str, Any] = {}
    while True:
        answer = door.call("instructions_list", arguments)
        text = json.loads(answer.text)
        seen += ids(text)
        assert len(ids(answer.value)) == 60 - int(place_of(arguments["cursor"]) if arguments else 0)
        if "cut" not in text:
            break
        arguments = {"cursor": text["cut"]["cursor"]}
    assert seen == [f"rule-{number:02}" for number in range(60)]


@pytest.mark.parametrize("cursor", ["-1", "", "1.5", "x", "٣", "9" * 10, " 1"])
def test_a_cursor_that_no_answer_gave_is_refused(client: Client, catalogue: Catalogue, cursor: str) -> None:
    for method, params in (("instructions/list", {}), ("instructions/search", {"q": "a"})):
        refused = client.refused(method, cursor=cursor, **params)
        assert (refused["code"], refused["data"]["param"]) == (-32602, "cursor")


def test_only_the_fields_asked_for_come_back_and_always_the_id(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a")
    listed = any_client.ask("instructions/list", fields=["title", "riskScore", "usageCount"])
    assert listed["items"] == [{"id": "a", "title": "Title of a", "riskScore": 70}]
    found = any_client.ask("instructions/search", q="body", fields=[])
    assert found["items"] == [{"id": "a"}]
    assert any_client.refused("instructions/list", fields=["titel"])["code"] == -32602


@pytest.mark.parametrize("limit", [0, -1, 1001, "3", 1.5])
def test_a_limit_out_of_bounds_is_refused(client: Client, limit: Any) -> None:
    refused = client.refused("instructions/list", limit=limit)
    assert (refused["code"], refused["data"]["param"]) == (-32602, "limit")


@pytest.mark.requirement("003/instructions_diff/up-to-date-form", "003/instructions_diff/legacy-changed-form")
def test_a_client_that_gives_only_its_hash_is_up_to_date_or_gets_everything(
    any_client: Client, catalogue: Catalogue
) -> None:
    catalogue.add("a")
    hash_ = any_client.ask("instructions/list")["hash"]
    assert any_client.ask("instructions/diff", clientHash=hash_) == {"upToDate": True, "hash": hash_}
    for stale in ({"clientHash": "0" * 64}, {}):
        changed = any_client.ask("instructions/diff", **stale)
        assert changed == {"hash": hash_, "changed": any_client.ask("instructions/list")["items"]}


@pytest.mark.requirement(
    "003/instructions_diff/known-form", "003/instructions_diff/added-unknown-ids",
    "003/instructions_diff/updated-hash-differs", "003/instructions_diff/removed-ids",
)  # fmt: skip
def test_a_client_that_says_what_it_knows_gets_what_changed(any_client: Client, catalogue: Catalogue) -> None:
    for identity in ("same", "changed", "new"):
        catalogue.add(identity)
    known = [
        {"id": "same", "sourceHash": sha256("Body of same.")},
        {"id": "changed", "sourceHash": sha256("an older body")},
        {"id": "gone", "sourceHash": sha256("whatever")},
    ]
    whole = {item["id"]: item for item in any_client.ask("instructions/list")["items"]}
    hash_ = any_client.ask("instructions/list")["hash"]
    expected = {"hash": hash_, "added": [whole["new"]], "updated": [whole["changed"]], "removed": ["gone"]}
    assert any_client.ask("instructions/diff", known=known) == expected
    assert any_client.ask("instructions/diff", known=known, clientHash=hash_) == expected
    assert any_client.refused("instructions/diff", known=[{"id": "a"}])["code"] == -32602


@pytest.mark.requirement(
    "003/integrity_verify/result-fields", "003/integrity_verify/tampering-shows",
    "003/integrity_verify/intact-no-issues", "003/integrity_verify/missing-hash-no-issue",
)  # fmt: skip
def test_a_body_that_its_stored_hash_was_not_taken_of_is_an_issue(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("intact", body="one\r\ntwo", sourceHash=sha256("one\ntwo").upper())
    catalogue.add("unsigned")
    intact = any_client.ask("integrity/verify")
    assert intact == {"hash": intact["hash"], "count": 2, "issues": [], "issueCount": 0}
    catalogue.add("tampered", body="after", sourceHash=sha256("before"))
    drifted = any_client.ask("integrity/verify")
    assert drifted["issues"] == [{"id": "tampered", "expected": sha256("before"), "actual": sha256("after")}]
    assert (drifted["count"], drifted["issueCount"]) == (3, 1)
    assert any_client.ask("instructions/get", id="tampered")["item"]["sourceHash"] == sha256("after")


def test_a_project_without_a_catalogue_has_an_empty_one(any_client: Client) -> None:
    assert any_client.ask("instructions/list") == {"hash": EMPTY, "count": 0, "items": []}
    assert any_client.ask("instructions/get", id="a") == {"notFound": True, "hash": EMPTY}
    assert any_client.ask("instructions/diff", clientHash=EMPTY) == {"upToDate": True, "hash": EMPTY}
    assert any_client.ask("usage/track", id="a") == {"notFound": True, "hash": EMPTY}
    assert any_client.ask("integrity/verify") == {"hash": EMPTY, "count": 0, "issues": [], "issueCount": 0}
    assert any_client.ask("gates/evaluate") == {"notConfigured": True}
