"""explain_ranking: the search again, with what each part of the score is and why."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.index.run import Options
from codecairn.store.view import View
from tests.support.doors import Answer
from tests.support.search import ONE_OF_EACH, Asking, Built, Doors, error_of

MOST = {"exact_match": 0.2, "qualified_name": 0.1, "path_affinity": 0.1, "definition_boost": 0.15, "kind_match": 0.05}
QUERIES = (
    "compute_tax", "OrderRepository.FindOrder", "order", "shop/billing.py", "class BillingService", "who may sign in",
    "ErrDenied", "how is the tax of an order computed", "denied: wrong password\nAuthenticateUser",
)  # fmt: skip


def explained(asking: Asking, query: str, **options: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every result of a search with its explanation."""
    for result in asking.search(query, limit=100, **options)["results"]:
        yield result, asking.explain(query, result, **options)


@pytest.mark.requirement(
    "004/explain_ranking/result-fields",
    "004/explain_ranking/scoring-components",
    "004/explain_ranking/scoring-details-reasons",
    "002/search_code/ranking-score-carried",
)
def test_a_result_is_explained_in_the_documented_form(door_name: str, doors: Doors, shop: Built) -> None:
    door = doors(door_name)
    result = door.call("search_code", {"path": str(shop.root), "query": "compute tax"}).value["results"][0]
    answer = door.call("explain_ranking", place("compute tax", result))
    assert not answer.is_error, answer.text
    value = answer.value
    assert value["query"] == "compute tax"
    assert {"path", "line_start", "line_end", "kind", "name", "source_layer"} <= value["result"].keys()
    said = (value["result"]["path"], value["result"]["line_start"], value["result"]["line_end"])
    assert said == (result["file"]["path"], result["file"]["start_line"], result["file"]["end_line"])
    assert (value["result"]["name"], value["result"]["kind"]) == ("compute_tax", "fn")
    assert value["result"]["source_layer"] == "base"
    scoring, details = value["scoring"], value["scoring_details"]
    assert {"bm25", *MOST, "total"} <= scoring.keys()
    assert details["bm25_source"]
    assert {f"{name}_reason" for name in scoring if name not in ("bm25", "total")} <= details.keys()
    assert all(isinstance(each, str) and each for each in details.values())
    assert scoring["total"] == result["ranking_score"]


def place(query: str, result: dict[str, Any]) -> dict[str, Any]:
    file = result["file"]
    return {"query": query, "result_path": file["path"], "result_line_start": file["start_line"]}


@pytest.mark.requirement("004/explain_ranking/total-exact-sum", "004/explain_ranking/total-equals-search")
@pytest.mark.parametrize("query", QUERIES)
def test_the_total_is_the_sum_in_any_order_and_the_score_of_the_search(query: str, shopping: Asking) -> None:
    for result, why in explained(shopping, query):
        parts = dict(why["scoring"])
        total = parts.pop("total")
        assert total == result["ranking_score"]
        assert Fraction(total) == sum(map(Fraction, parts.values()))
        shuffled = list(parts.values())
        random.Random(7).shuffle(shuffled)
        assert sum(shuffled) == math.fsum(shuffled) == sum(sorted(shuffled)) == total
        assert why["result"]["rank"] == result["rank"]


@pytest.mark.requirement("004/explain_ranking/component-ranges")
@pytest.mark.parametrize("query", QUERIES)
def test_components_stay_in_their_ranges(query: str, shopping: Asking) -> None:
    shopping.connection.recent_files.append("shop/billing.py")
    for _, why in explained(shopping, query):
        assert 0 <= why["scoring"]["bm25"] <= 1
        for name, most in MOST.items():
            assert 0 <= why["scoring"][name] <= most, name


@pytest.mark.parametrize(
    ("query", "name", "signal"),
    [
        ("compute_tax", "compute_tax", "exact_match"),
        ("compute_tax", "compute_tax", "definition_boost"),
        ("OrderRepository find order", "FindOrder", "qualified_name"),
        ("class billing service", "BillingService", "kind_match"),
        ("verifies user credentials", "AuthenticateUser", "bm25"),
    ],
)
def test_each_component_is_given_for_its_reason(query: str, name: str, signal: str, shopping: Asking) -> None:
    given = {why["result"]["name"]: why for _, why in explained(shopping, query)}
    assert given[name]["scoring"][signal] > 0
    plain = next(iter(explained(shopping, "postage")))[1]
    reason = "bm25_source" if signal == "bm25" else f"{signal}_reason"
    assert given[name]["scoring_details"][reason] != plain["scoring_details"][reason] or plain["scoring"][signal] > 0


@pytest.mark.requirement("004/explain_ranking/required-params")
def test_query_path_and_line_are_needed(door_name: str, doors: Doors) -> None:
    whole = {"query": "order", "result_path": "shop/billing.py", "result_line_start": 1}
    for missing in whole:
        given = {name: value for name, value in whole.items() if name != missing}
        assert fault_of(doors(door_name).call("explain_ranking", given))["code"] == "invalid_input", missing
    malformed: list[dict[str, Any]] = [
        {"query": ""}, {"query": "x" * 1001}, {"result_path": ""}, {"result_line_start": 0}, {"result_line_start": "1"},
        {"limit": 0}, {"limit": 1001}, {"search_mode": "fuzzy"}, {"filters": []},
        {"language": "cobol"},
    ]  # fmt: skip
    for wrong in malformed:
        assert fault_of(doors(door_name).call("explain_ranking", whole | wrong))["code"] == "invalid_input", wrong


def fault_of(answer: Answer) -> dict[str, Any]:
    """004 tells its errors as results, whatever the door."""
    assert answer.is_error, answer.text
    assert answer.rpc_error is None
    fault: dict[str, Any] = answer.value["error"]
    assert fault["message"]
    return fault


@pytest.mark.requirement("004/explain_ranking/result-not-found")
@pytest.mark.parametrize(
    ("query", "path", "line", "said"),
    [
        ("compute_tax", "nowhere.py", 1, "no file of this path is indexed"),
        ("compute_tax", "shop/billing.py", 9999, "lines"),
        ("ErrDenied", "web/cart.ts", 13, "no word of the query"),
    ],
)
def test_a_place_that_is_not_found_says_what_it_lacked(
    door_name: str, query: str, path: str, line: int, said: str, doors: Doors
) -> None:
    arguments = {"query": query, "result_path": path, "result_line_start": line}
    fault = fault_of(doors(door_name).call("explain_ranking", arguments))
    assert fault["code"] == "result_not_found"
    assert said in fault["data"]["lacked"]
    assert fault["data"]["remedy"]


def test_a_place_that_filters_leave_out_says_so(shopping: Asking) -> None:
    result = shopping.search("compute_tax")["results"][0]
    for options, said in (
        ({"language": "go"}, "filters leave its file out"),
        ({"path_filter": "web"}, "filters leave its file out"),
        ({"filters": {"file_pattern": "*.rs"}}, "filters leave its file out"),
        ({"filters": {"symbol_types": ["class"]}}, "filters leave its kind"),
    ):
        answer = shopping.answer("explain_ranking", **place("compute_tax", result), **options)
        assert said in fault_of(Answer(answer.text, answer.value, True))["data"]["lacked"], options


@pytest.mark.requirement("004/explain_ranking/replays-search-options", "004/explain_ranking/language-option")
@pytest.mark.parametrize(
    "options",
    [
        {"language": "python"},
        {"path_filter": "internal"},
        {"search_mode": "keyword"},
        {"filters": {"symbol_types": ["method", "struct"]}},
        {"filters": {"file_pattern": "**/*.{go,py}", "packages": ["orders", "billing"]}},
        {"filters": {"ddd_patterns": ["repository", "aggregate"]}},
        {"filters": {"symbol_types": ["field", "const"]}},
    ],
    ids=str,
)
def test_the_very_search_is_replayed(options: dict[str, Any], shopping: Asking) -> None:
    pairs = list(explained(shopping, "order count", **options))
    assert pairs
    for result, why in pairs:
        assert why["scoring"]["total"] == result["ranking_score"]
        assert why["result"]["rank"] == result["rank"]


def test_a_workspace_other_than_the_served_one_is_explained(shopping: Asking, corpus: Built) -> None:
    result = shopping.search("compute_tax")["results"][0]
    same = shopping.explain("compute_tax", result, workspace=str(shopping.root))
    assert same["scoring"] == shopping.explain("compute_tax", result)["scoring"]
    answer = shopping.answer("explain_ranking", **place("compute_tax", result), workspace=str(corpus.root))
    assert error_of(Answer(answer.text, answer.value, True))["code"] == "workspace_not_allowed"


@pytest.mark.requirement("004/explain_ranking/limit-default-200")
def test_two_hundred_candidates_are_weighed_unless_told(own: Callable[..., Asking]) -> None:
    opened = own({f"m{at:03}.py": f"def alpha_{at:03}(beta):\n    return {at}\n" for at in range(250)})
    first = opened.search("beta", limit=100)
    second = opened.search("beta", limit=100, cursor=first["next_cursor"])
    found = first["results"] + second["results"]
    assert second["next_cursor"] is None
    assert len(found) == 200
    left_out = sorted({f"m{at:03}.py" for at in range(250)} - {each["file"]["path"] for each in found})[0]
    arguments = {"query": "beta", "result_path": left_out, "result_line_start": 1}
    answer = opened.answer("explain_ranking", **arguments)
    assert "200 best candidates" in answer.value["error"]["data"]["lacked"]
    assert not opened.answer("explain_ranking", **arguments, limit=250).is_error
    assert opened.explain("beta", found[-1])["scoring"]["total"] == found[-1]["ranking_score"]


@pytest.mark.requirement("004/explain_ranking/deterministic-replay")
@pytest.mark.parametrize("query", QUERIES)
def test_two_calls_agree_to_the_last_digit(query: str, shopping: Asking) -> None:
    first = [why for _, why in explained(shopping, query)]
    shopping.forget()
    assert [why for _, why in explained(shopping, query)] == first


def test_a_ref_that_was_not_searched_is_refused(shopping: Asking) -> None:
    result = shopping.search("compute_tax")["results"][0]
    for ref in ("main", "live", "HEAD"):
        assert shopping.explain("compute_tax", result, ref=ref)["metadata"]["ref"] == "main"
    answer = shopping.answer("explain_ranking", **place("compute_tax", result), ref="elsewhere")
    assert answer.value["error"]["code"] == "ref_not_indexed"


@pytest.mark.requirement("004/explain_ranking/path-affinity-connection")
def test_what_this_connection_read_draws_its_neighbours_up(shopping: Asking) -> None:
    other = shopping.another_connection()
    plain = {result["chunk_id"]: why["scoring"] for result, why in explained(shopping, "order")}
    assert {each["path_affinity"] for each in plain.values()} == {0.0}
    shopping.connection.recent_files.append("internal/orders/repository.go")
    for result, why in explained(shopping, "order"):
        scoring, path = why["scoring"], result["file"]["path"]
        assert (scoring["path_affinity"] > 0) == path.startswith("internal/orders/")
        assert without(scoring) == without(plain[result["chunk_id"]])
    assert {result["chunk_id"]: why["scoring"] for result, why in explained(other, "order")} == plain


def without(scoring: dict[str, float]) -> dict[str, float]:
    follows = ("path_affinity", "total", "diversity", "floor")
    return {name: value for name, value in scoring.items() if name not in follows}


MARKET: dict[str, str | bytes] = {
    "market/basket.py": "def weigh(basket):\n    return sum(basket)\n",
    "market/crate.py": "def weigh(crate):\n    return sum(crate)\n",
    "market/till.py": "from market import basket\nfrom market.crate import weigh\n",
    "market/tests/test_till.py": "from market.basket import weigh\n",
}


def popularity(asking: Asking, query: str = "weigh") -> dict[str, tuple[float, str]]:
    """What each file is given for being imported, and why."""
    return {
        result["file"]["path"]: (why["scoring"]["popularity"], why["scoring_details"]["popularity_reason"])
        for result, why in explained(asking, query)
    }


def test_what_others_import_is_given_for_it_and_says_how_many_do(own: Callable[..., Asking]) -> None:
    given = popularity(own(MARKET))
    assert given["market/basket.py"][0] > given["market/crate.py"][0] > given["market/till.py"][0] == 0
    assert given["market/basket.py"][1] == "2 other files import its file"
    assert given["market/crate.py"][1] == "one other file imports its file"
    assert given["market/till.py"][1] == "no other file imports its file"


def test_imports_are_counted_when_all_is_looked_at_and_a_save_keeps_the_counts(own: Callable[..., Asking]) -> None:
    opened = own(MARKET)
    before = popularity(opened)
    (opened.root / "market/scales.py").write_text("from market.basket import weigh\nfrom market import crate\n")
    opened.project.index.update({"market/scales.py"})
    after = popularity(opened)
    assert after.pop("market/scales.py")[0] == 0
    assert after == before
    opened.project.index.index(Options(), force=False, cancel=Cancel())
    assert popularity(opened)["market/basket.py"][1] == "3 other files import its file"
    assert popularity(opened)["market/crate.py"][1] == "2 other files import its file"


def test_a_project_that_was_counted_is_not_counted_again_until_it_changes(own: Callable[..., Asking]) -> None:
    opened = own(MARKET)
    # A file that was written just before it was indexed is read once more.
    opened.project.index.index(Options(), force=False, cancel=Cancel())
    counts: list[Mapping[str, int]] = []

    def count(view: View, cancel: Cancel) -> Mapping[str, int]:
        counts.append(real.count(view, cancel))
        return counts[-1]

    def recount(before: View, after: View, changed: Collection[str], cancel: Cancel) -> Mapping[str, int]:
        counts.append(real.recount(before, after, changed, cancel))
        return counts[-1]

    real = opened.project.index._importers
    opened.project.index._importers = replace(real, count=count, recount=recount)
    generation = generation_of(opened)
    opened.project.index.index(Options(), force=False, cancel=Cancel())
    assert (counts, generation_of(opened)) == ([], generation)
    (opened.root / "market/till.py").write_text("")
    opened.project.index.index(Options(), force=False, cancel=Cancel())
    assert (len(counts), generation_of(opened)) == (1, generation + 2)


def test_a_count_that_fails_fails_no_run(own: Callable[..., Asking]) -> None:
    opened = own(MARKET, indexed=False)
    real = opened.project.index._importers
    opened.project.index._importers = replace(real, count=fail)
    report = opened.project.index.index(Options(), force=False, cancel=Cancel())
    assert [each for each in report.warnings if "the disk is tired" in each]
    assert popularity(opened)["market/basket.py"][0] == 0
    opened.project.index._importers = real
    opened.project.index.index(Options(), force=False, cancel=Cancel())
    assert popularity(opened)["market/basket.py"][0] > 0


def fail(view: View, cancel: Cancel) -> dict[str, int]:
    raise CairnError("the disk is tired")


def generation_of(asking: Asking) -> int:
    stores = asking.project.index.open_index()
    layer = stores.store.checkout(str(asking.root)) if stores else None
    assert layer is not None
    return layer.generation


@pytest.mark.requirement("004/explain_ranking/history-not-altered")
def test_searching_and_explaining_leave_the_history_alone(shopping: Asking) -> None:
    shopping.connection.recent_files.append("web/cart.ts")
    before = list(shopping.connection.recent_files)
    for query in QUERIES:
        list(explained(shopping, query))
    assert list(shopping.connection.recent_files) == before


@pytest.mark.requirement("004/explain_ranking/cache-key-has-history")
def test_another_history_is_another_search(shopping: Asking) -> None:
    shopping.search("order")
    assert shopping.search("order")["statistics"]["cache_hit"] is True
    shopping.connection.recent_files.append("shop/billing.py")
    assert shopping.search("order")["statistics"]["cache_hit"] is False
    assert shopping.search("order")["statistics"]["cache_hit"] is True
    assert shopping.another_connection().search("order")["statistics"]["cache_hit"] is True


@pytest.mark.requirement("ruling/symbol-identity/short-kinds-004")
@pytest.mark.parametrize(("kind", "name"), ONE_OF_EACH.items())
def test_kinds_have_their_short_names(kind: str, name: str, shopping: Asking) -> None:
    result = shopping.search(name)["results"][0]
    assert shopping.explain(name, result)["result"]["kind"] == {"function": "fn"}.get(kind, kind)


def test_a_project_without_an_index_is_told_so(own: Callable[..., Asking]) -> None:
    opened = own({"a.py": "def a(): ...\n"}, indexed=False)
    answer = opened.answer("explain_ranking", query="a", result_path="a.py", result_line_start=1)
    assert answer.value["error"]["code"] == "index_not_ready"
    assert answer.value["error"]["data"]["remedy"]
