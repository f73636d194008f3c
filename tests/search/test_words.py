"""Words: one analysis for what is indexed and for what is asked."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecairn.words import analyse, analyse_code, bare, identifiers, parts_of, query_words, spellings, stem, words_of


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("mergeConfig", ["merg", "config", "mergeconfig"]),
        ("merge_config", ["merg", "config", "merge_config"]),
        ("HTTPServer", ["http", "serv", "httpserver"]),
        ("parseHTTPResponse2", ["pars", "http", "respons", "2", "parsehttpresponse2"]),
        ("utf8", ["utf", "8", "utf8"]),
        ("config", ["config"]),
        ("__init__", ["init"]),
        ("x", ["x"]),
    ],
)
def test_an_identifier_gives_its_parts_and_itself(identifier: str, words: list[str]) -> None:
    assert words_of(identifier) == words


@pytest.mark.parametrize(
    "text", ["http.Handler", "http::Handler", "http/Handler", "http-Handler", "http->Handler<int>"]
)
def test_punctuation_separates(text: str) -> None:
    assert analyse(text).split()[:2] == ["http", "handl"]


@pytest.mark.parametrize(
    "family",
    [
        ("parse", "parses", "parsing", "parsed", "parser"),
        ("token", "tokens"),
        ("query", "queries"),
        ("match", "matches", "matching"),
        ("cancel", "cancels", "canceled"),
    ],
)
def test_forms_of_a_word_are_one(family: tuple[str, ...]) -> None:
    assert len({stem(each) for each in family}) == 1


@pytest.mark.parametrize(
    "pair", [("class", "clas"), ("status", "statu"), ("this", "thi"), ("news", "ness"), ("sing", "s")]
)
def test_words_that_only_look_alike_stay_apart(pair: tuple[str, str]) -> None:
    assert stem(pair[0]) != stem(pair[1])


def test_a_query_drops_the_words_that_only_hold_it_together() -> None:
    assert query_words("how is the token verified") == query_words("token verified")
    assert query_words("how do I") != []
    assert query_words("") == query_words("?!.") == []


def test_a_text_of_stop_words_is_indexed_whole() -> None:
    assert analyse("if not in from") == "if not in from"


def test_a_hash_has_no_parts() -> None:
    assert words_of("a" * 64) == []
    assert parts_of("deadbeef" * 8) == ()


@given(st.text(max_size=300))
def test_any_text_is_analysed_into_plain_words(text: str) -> None:
    words = analyse(text).split()
    assert analyse(text) == " ".join(words)
    assert all(word == word.lower() or not word.isascii() for word in words)
    assert set(query_words(text)) <= set(words)


@given(st.text(st.sampled_from(string.ascii_letters + string.digits + "_"), min_size=1, max_size=60))
def test_an_identifier_is_found_by_itself_in_any_text(name: str) -> None:
    """What is asked by its name has the words of its definition."""
    assert set(query_words(name)) <= set(analyse(f"def {name}(): ...").split())
    assert name[0].isdigit() or bare(name) in spellings(name)


@given(st.text(st.sampled_from("aB_19 0.x\nDé٣²-\t\x1c"), max_size=30))
def test_source_has_the_words_and_identifiers_of_its_text(text: str) -> None:
    assert analyse_code(text.encode()) == (analyse(text), " ".join(sorted(set(identifiers(text)))))
