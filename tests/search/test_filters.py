"""Filters: by kind, by glob, by pattern, by package, by language, by folder, by relevance."""

from __future__ import annotations

from typing import Any

import pytest

from codecairn.errors import InvalidInput
from codecairn.globs import glob
from tests.support.search import ONE_OF_EACH, Asking, error_of, names, places

KINDS = tuple(ONE_OF_EACH)


def refused(asking: Asking, **arguments: Any) -> dict[str, Any]:
    fault = error_of(asking.answer("search_code", path=str(asking.root), query="order", **arguments))
    assert fault["code"] == -32602, arguments
    return fault


@pytest.mark.requirement("002/search_code/symbol-types-all-kinds")
def test_all_twelve_kinds_are_taken_and_no_other(shopping: Asking) -> None:
    shopping.search("order", filters={"symbol_types": list(KINDS)})
    for given in (["fn"], ["Function"], ["functions"], "function", [3], [None], ["function", "macro"]):
        assert refused(shopping, filters={"symbol_types": given})["data"]["param"].startswith("filters")


@pytest.mark.requirement("002/search_code/filter-symbol-types")
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_keeps_its_own(kind: str, shopping: Asking) -> None:
    """A constant or a field has no chunk of its own; asked for by its kind it is found all the same."""
    name = ONE_OF_EACH[kind]
    results = shopping.search(name, filters={"symbol_types": [kind]})["results"]
    assert {each["symbol"]["kind"] for each in results} == {kind}
    best = results[0]
    assert best["symbol"]["name"] == name
    assert name in best["content"]
    assert best["file"]["start_line"] <= best["file"]["end_line"]
    others = [each for each in KINDS if each != kind]
    assert name not in names(shopping.search(name, filters={"symbol_types": others}))


def test_several_kinds_are_either(shopping: Asking) -> None:
    results = shopping.search("order", limit=100, filters={"symbol_types": ["struct", "method"]})["results"]
    assert {each["symbol"]["kind"] for each in results} == {"struct", "method"}


def test_no_kinds_are_all_kinds(shopping: Asking) -> None:
    everything = shopping.search("order", limit=100)["results"]
    assert shopping.search("order", limit=100, filters={"symbol_types": []})["results"] == everything
    assert any(each["symbol"] is None for each in everything)


@pytest.mark.requirement("002/search_code/filter-file-pattern")
@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("internal/**", {"internal/auth/service.go", "internal/auth/user.go", "internal/orders/repository.go"}),
        ("internal/*/service.go", {"internal/auth/service.go"}),
        ("**/service.go", {"internal/auth/service.go"}),
        ("*.go", {"internal/auth/service.go", "internal/auth/user.go", "internal/orders/repository.go"}),
        ("internal/*.go", set()),
        ("**/*.{py,ts}", {"shop/billing.py", "tests/test_billing.py", "web/cart.ts"}),
        ("{shop,web}/*", {"shop/billing.py", "web/cart.ts"}),
        ("internal/{auth,orders}/[ru]*.go", {"internal/auth/user.go", "internal/orders/repository.go"}),
        ("internal/auth/[!s]*", {"internal/auth/user.go"}),
        ("shop/billin?.py", {"shop/billing.py"}),
        ("./shop/", {"shop/billing.py"}),
        ("docs/orders.md", {"docs/orders.md"}),
        ("SHOP/*", set()),
        ("**", None),
    ],
)
def test_a_glob_keeps_the_files_it_matches(pattern: str, paths: set[str] | None, shopping: Asking) -> None:
    query = "order user tax cart token"
    found = shopping.search(query, limit=100, filters={"file_pattern": pattern})
    everything = shopping.search(query, limit=100)
    assert paths is None or {path for path, _ in places(found)} == paths
    assert {path for path, _ in places(found)} <= {path for path, _ in places(everything)}
    if paths is None:
        assert found["results"] == everything["results"]


@pytest.mark.requirement("002/search_code/malformed-filters")
def test_malformed_filters_are_refused(shopping: Asking) -> None:
    malformed: list[Any] = [[], "x", 3, {"unknown": 1}, {"file_pattern": 3}, {"packages": "auth"}, {"packages": [1]}]
    for given in malformed:
        refused(shopping, filters=given)
    for pattern in ("[", "a/[b", "{a,b", "{", "[z-a]", "\x00", "a\nb", " ", "x" * 600, "{a,{b}"):
        fault = refused(shopping, filters={"file_pattern": pattern})
        assert fault["data"]["param"] == "filters.file_pattern", pattern
        assert fault["data"]["reason"]


def test_a_malformed_path_filter_is_refused_even_where_nothing_is_found(shopping: Asking) -> None:
    for query in ("order", "zzzzqqqq"):
        answer = shopping.answer("search_code", path=str(shopping.root), query=query, path_filter="a/[b")
        fault = error_of(answer)
        assert (fault["code"], fault["data"]["param"]) == (-32602, "path_filter"), query


@pytest.mark.parametrize(
    "pattern", ["]", "}", "a}b", "[]]", "[[]", "[+--]", "[a&&b]", "[a||b]", "[a~~b]", "[\\]", "[^/]"]
)
def test_odd_globs_are_still_globs(pattern: str, shopping: Asking) -> None:
    shopping.search("order", filters={"file_pattern": pattern})


@pytest.mark.parametrize("pattern", ["**/" * 100 + "x", "*a" * 200 + "b", "{*,**}" * 60 + "x", "**a" * 100 + "b"])
def test_a_glob_is_matched_in_linear_time(pattern: str) -> None:
    """A backtracking engine would be busy with it for years, and the test would end by its time limit."""
    assert not glob(pattern).fullmatch("a/" * 40 + "a" * 200)


def test_braces_without_end_are_refused() -> None:
    with pytest.raises(InvalidInput):
        glob("{" * 400)


@pytest.mark.requirement("002/search_code/filter-ddd-patterns")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("repository", "OrderRepository"),
        ("aggregate", "Order"),
        ("entity", "User"),
        ("value_object", "Money"),
        ("service", "BillingService"),
    ],
)
def test_a_pattern_keeps_its_own(pattern: str, expected: str, shopping: Asking) -> None:
    found = shopping.search(
        expected, limit=100, filters={"ddd_patterns": [pattern], "symbol_types": ["class", "struct"]}
    )
    assert names(found)[0] == expected
    for other in {"repository", "aggregate", "entity", "value_object", "service"} - {pattern}:
        assert expected not in names(shopping.search(expected, limit=100, filters={"ddd_patterns": [other]}))


@pytest.mark.requirement("002/search_code/ddd-pattern-values")
def test_only_the_five_patterns_are_taken(shopping: Asking) -> None:
    five = ["aggregate", "entity", "value_object", "repository", "service"]
    assert shopping.search("order", filters={"ddd_patterns": five})["results"]
    for given in (["factory"], ["Entity"], "entity", [1]):
        refused(shopping, filters={"ddd_patterns": given})


@pytest.mark.requirement("002/search_code/filter-packages")
def test_packages_keep_their_own(shopping: Asking) -> None:
    query = "order user tax cart token"
    for package, paths in (
        ("auth", {"internal/auth/service.go", "internal/auth/user.go"}),
        ("internal/auth", {"internal/auth/service.go", "internal/auth/user.go"}),
        ("orders", {"internal/orders/repository.go"}),
        ("billing", {"shop/billing.py"}),
        ("shop.billing", {"shop/billing.py"}),
        ("nowhere", set()),
    ):
        found = shopping.search(query, limit=100, filters={"packages": [package], "symbol_types": list(KINDS)})
        assert {path for path, _ in places(found)} == paths, package
    both = shopping.search(query, limit=100, filters={"packages": ["auth", "orders"]})
    assert {path.split("/")[1] for path, _ in places(both)} == {"auth", "orders"}


@pytest.mark.requirement("002/search_code/filter-min-relevance")
@pytest.mark.parametrize("query", ["order", "compute_tax", "tax of an order"])
def test_a_threshold_keeps_what_reaches_it(query: str, shopping: Asking) -> None:
    """Each score that is shown, taken as the threshold, keeps its own result and all that stand before it."""
    everything = shopping.search(query, limit=100)["results"]
    for score in {each["relevance_score"] for each in everything}:
        kept = shopping.search(query, limit=100, filters={"min_relevance": score})["results"]
        assert kept == [each for each in everything if each["relevance_score"] >= score]


@pytest.mark.requirement("002/search_code/min-relevance-bounds")
def test_a_threshold_lies_between_nothing_and_one(shopping: Asking) -> None:
    for given in (-0.1, 1.1, "0.5", None, [0.5]):
        refused(shopping, filters={"min_relevance": given})
    for given in (0, 1, 0.0, 1.0):
        shopping.search("order", filters={"min_relevance": given})


@pytest.mark.requirement("002/search_code/language-option")
def test_a_language_keeps_its_own(shopping: Asking) -> None:
    for language in ("go", "python", "rust", "typescript", "markdown", " Go "):
        found = shopping.search("order tax cart parcel", limit=100, language=language)["results"]
        assert {each["file"]["language"] for each in found} == {language.strip().lower()}
    for given in ("cobol", 3):
        assert refused(shopping, language=given)["data"]["param"] == "language"


@pytest.mark.requirement("002/search_code/path-filter-option")
@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ("internal/auth", {"internal/auth/service.go", "internal/auth/user.go"}),
        ("internal/auth/", {"internal/auth/service.go", "internal/auth/user.go"}),
        ("./shop", {"shop/billing.py"}),
        ("shop/billing.py", {"shop/billing.py"}),
        ("inter", set()),
        ("internal/**/*.go", {"internal/auth/service.go", "internal/auth/user.go", "internal/orders/repository.go"}),
        ("../shop", set()),
    ],
)
def test_a_folder_keeps_what_is_below_it(given: str, paths: set[str], shopping: Asking) -> None:
    found = shopping.search("order user tax cart token", limit=100, path_filter=given)
    assert {path for path, _ in places(found)} == paths


def test_filters_are_taken_together(shopping: Asking) -> None:
    found = shopping.search(
        "order tax",
        language="python",
        path_filter="shop",
        filters={"symbol_types": ["function"], "packages": ["billing"]},
    )
    assert names(found) == ["compute_tax"]


@pytest.mark.requirement("002/security/filters-no-injection")
def test_filter_values_are_values_and_no_commands(shopping: Asking) -> None:
    before = shopping.search("order", limit=100)["results"]
    for text in ("'; DROP TABLE symbol; --", "' OR '1'='1", '" OR 1=1 --', "%", "_", "auth' UNION SELECT 1 --", "\\"):
        assert shopping.search("order", filters={"packages": [text]})["results"] == []
        assert shopping.search("order", path_filter=text)["results"] == []
        found = shopping.search("order", filters={"file_pattern": text})
        assert found["results"] == []
        refused(shopping, filters={"symbol_types": [text]})
        refused(shopping, language=text)
    shopping.forget()
    assert shopping.search("order", limit=100)["results"] == before
