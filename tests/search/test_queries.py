"""Anything may be asked: thousands of queries that nobody would write by hand, each held to the same promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codecairn.rank.query_plan import parse_query
from codecairn.store.view import open_view
from tests.search.queries import QUERIES
from tests.support.doors import line_client, service
from tests.support.search import Asking
from tests.support.soak import SOAK

LONGEST = 1000
TRIALS = 5000 if SOAK else 500
_settings = settings(max_examples=TRIALS, suppress_health_check=list(HealthCheck), deadline=None)

_AWKWARD = (
    "http.Handler", "std::vector<int>", "a->b", "$scope", "@property", "#include <stdio.h>", "__init__", "C++", "a*b",
    "SELECT * FROM t WHERE a = 'b'; --", "NOT AND OR", '"', "'", "(", "[a-z]+", "\\d{3}", ".*", "^$", "title:x", "~",
    "🦀", "😀 emoji", "שלום עולם", "مرحبا", "\u202eright to left\u202c", "日本語の関数", "naïve café",
    "\x00", "\x07", "\ufeff", "\u2028", "ǅ", "ß", "İstanbul", "e\u0301", "/", "//", "./", "../..", "C:\\a\\b",
    "a/b/c.py", "x.py:12", "%", "_", "%%", "—",
)  # fmt: skip

_known = sorted({asked.query for rows in QUERIES.values() for asked in rows})
_anything = st.text(max_size=LONGEST)
_surrogates = st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE00F), min_size=1, max_size=20)
_pieces = st.lists(st.sampled_from([*_AWKWARD, *_known]) | st.text(max_size=20), min_size=1, max_size=8)
_mixed = st.builds(lambda glue, pieces: glue.join(pieces), st.sampled_from([" ", "", "\n", ".", "::", "/"]), _pieces)
_punctuation = st.text(st.sampled_from("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ "), min_size=1, max_size=60)
_queries = st.one_of(_anything, _mixed, _punctuation, st.sampled_from(_known)).map(lambda text: text[:LONGEST])


class Named(NamedTuple):
    path: str
    line: int


class Symbols:
    """Every symbol of the corpus by its name, read from the store and from nothing that searches."""

    def __init__(self, kiosk: Asking) -> None:
        self.places: dict[str, list[Named]] = {}
        opened = kiosk.project.index.open_index()
        assert opened is not None
        with open_view(opened.store, opened.lexical, str(kiosk.root), kiosk.project.guard.blocks) as view:
            assert view is not None
            for file in view.files():
                for symbol in view.symbols(file.id):
                    self.places.setdefault(symbol.name, []).append(Named(file.path, symbol.name_line))


@pytest.fixture(scope="module")
def symbols(kiosk: Asking) -> Symbols:
    return Symbols(kiosk)


def every_page(kiosk: Asking, query: str) -> list[dict[str, Any]]:
    return list(_pages(kiosk, query))


def _pages(kiosk: Asking, query: str) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        found = kiosk.search(query, limit=100, cursor=cursor, search_mode="keyword")
        yield from found["results"]
        cursor = found["next_cursor"]
        if cursor is None:
            return


def holds(result: dict[str, Any], place: Named) -> bool:
    file = result["file"]
    return bool(file["path"] == place.path and file["start_line"] <= place.line <= file["end_line"])


@_settings
@given(_queries)
@example("a" * LONGEST)
@example("a " * 500)
@example("\u202e" * LONGEST)
@example("(" * LONGEST)
@example("x" * 500 + "_" * 500)
def test_any_query_is_answered(kiosk: Asking, query: str) -> None:
    """No error but for a blank query; the same order when it is asked anew; the explanation is the score."""
    kiosk.forget()
    answer = kiosk.answer("search_code", path=str(kiosk.root), query=query, search_mode="keyword")
    if not query.strip():
        assert answer.is_error
        assert answer.rpc_error is not None
        assert answer.rpc_error["code"] == -32004
        return
    assert not answer.is_error, answer.text
    results = answer.value["results"]
    kiosk.forget()
    assert kiosk.search(query, search_mode="keyword")["results"] == results
    for result in (results[0], results[-1]) if results else ():
        why = kiosk.explain(query, result, search_mode="keyword")
        assert why["scoring"]["total"] == result["ranking_score"]
        assert why["result"]["rank"] == result["rank"]


@settings(max_examples=TRIALS // 5, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_the_exact_name_is_never_missed_and_stands_first(kiosk: Asking, symbols: Symbols, data: st.DataObject) -> None:
    """A query that is a name finds every symbol that has it, and the first result is or holds one of them."""
    name = data.draw(st.sampled_from(sorted(symbols.places)))
    query = data.draw(st.sampled_from(["{}", " {} ", "{}()", "{}\n", "\t{}"])).format(name)
    if parse_query(query).symbol != name:
        return
    found = every_page(kiosk, query)
    wanted = symbols.places[name]
    assert [place for place in wanted if not any(holds(each, place) for each in found)] == []
    assert any(holds(found[0], place) for place in wanted)
    others = [number for number, each in enumerate(found) if not any(holds(each, place) for place in wanted)]
    exact = [number for number, each in enumerate(found) if each["symbol"] and each["symbol"]["name"] == name]
    assert not others or not exact or max(exact) < min(others)


@pytest.mark.parametrize("query", _AWKWARD)
def test_awkward_queries_are_answered_by_the_stdio_door(query: str, kiosk: Asking, awkward_door: Any) -> None:
    arguments = {"path": str(kiosk.root), "query": query}
    message = awkward_door.request("tools/call", {"name": "search_code", "arguments": arguments})
    if query.strip():
        assert "error" not in message, message
        assert message["result"]["structuredContent"]["query"] == query
    else:
        assert message["result"]["structuredContent"]["error"]["code"] == -32004


@pytest.fixture(scope="module")
def awkward_door(kiosk: Asking) -> Iterator[Any]:
    served = service(kiosk.root, data=kiosk.served.projects.settings.data)
    with line_client(served) as client:
        client.initialize()
        yield client
    served.projects.open(kiosk.root).index.close()


@settings(max_examples=max(10, TRIALS // 25), suppress_health_check=list(HealthCheck), deadline=None)
@given(_surrogates)
@example("\ud800")
@example("order \udfff")
def test_half_a_surrogate_pair_is_no_crash(kiosk: Asking, awkward_door: Any, query: str) -> None:
    """JSON may escape half a pair, which is no text: it is searched without, or refused, and the stream goes on."""
    arguments = {"path": str(kiosk.root), "query": query}
    call = {"name": "search_code", "arguments": arguments}
    request = json.dumps({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": call})
    awkward_door.send_bytes(request.encode("ascii"))
    answer = awkward_door.take(lambda message: True)
    assert "result" in answer or answer["error"]["code"] in (-32004, -32700, -32602)
    whole = awkward_door.request("tools/call", {**call, "arguments": {**arguments, "query": "order"}})
    assert whole["result"]["structuredContent"]["results"]
