"""The shortlist: which of many repositories a call is worth asking of.

A word weighs by how rare it is in all of them together, and a repository promises as much as the best of its chunks has
of the query: the same numbers, whichever node holds what. Those that promise most are asked in full, and the answer
says how many they were. Calls with filters or a ref are asked everywhere: a promise would be about other files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codecairn.names.qualified import last_part
from codecairn.rank.candidate import rarity
from codecairn.rank.query_plan import QueryPlan, parse_query
from codecairn.team.repositories import TeamRepository
from codecairn.team.scouts import ScoutQuestion, ScoutReport
from codecairn.words import query_words

LEAST_ASKED = 6
"""Repositories that are ranked at most, or as many as results are wanted where more than ten are. To rank one takes
10 ms of processor time where its files were met before, and some 30 ms where they were not. Of 60 queries over 110
repositories, eight instead of six find the repository that the words are from as often, 30 times, and take 184 instead
of 132 ms at the median, 339 instead of 278 for 95 of 100."""
_FEW_RESULTS = 10
_NEARLY, _FEWEST = 0.85, 3
"""Of the best promise, what another has to have to be ranked beside it; the first few are ranked in any case."""
_MOST_WORDS = 16
_FILTERS = ("filters", "language", "path_filter", "ref", "module", "chunkType")
_SEARCHED, _NAMED = ("search_code", "context_search"), ("find_symbol", "find_references")
_PATH_WORTH, _PATH_ASKED_WORTH = 0.3, 2.0
Ask = Callable[[Sequence[TeamRepository], ScoutQuestion], Mapping[str, ScoutReport]]
"""Put a question to the scouts of repositories; whoever does not answer is not among the reports."""


@dataclass(frozen=True)
class Shortlist:
    chosen: list[TeamRepository]
    passed_over: int = 0


def choose(tool: str, given: Mapping[str, Any], wanted: list[TeamRepository], ask: Ask) -> Shortlist:
    most = max(LEAST_ASKED, _limit(given))
    if len(wanted) <= most or any(given.get(name) for name in _FILTERS) or given.get("type", "all") != "all":
        return Shortlist(wanted)
    if tool in _SEARCHED and isinstance(given.get("query"), str):
        return _search(tool, given, wanted, most, ask)
    if tool in _NAMED and isinstance(given.get("symbol_name"), str):
        return _name(given["symbol_name"], wanted, most, ask)
    return Shortlist(wanted)


def _limit(given: Mapping[str, Any]) -> int:
    """The results that are wanted, where they are more than a few."""
    limit = given.get("limit", 0)
    return limit if isinstance(limit, int) and limit > _FEW_RESULTS else 0


def _search(
    tool: str, given: Mapping[str, Any], wanted: list[TeamRepository], most: int, ask: Ask
) -> Shortlist:  # fmt: skip
    plan = parse_query(given["query"])
    if given.get("search_mode") == "vector":
        return _by_meaning(plan, wanted, most, ask)
    words = sorted(plan.weights, key=lambda word: (-plan.weights[word], word))
    first = ask(wanted, ScoutQuestion(words=words, name=plan.symbol))
    weights = _weigh(plan, words, first)
    worth = _PATH_ASKED_WORTH if plan.path else _PATH_WORTH
    question = ScoutQuestion(weights=weights, path_worth=worth, with_memory=tool == "context_search")
    second = ask(wanted, question) if weights else {}
    named = {name for name, each in first.items() if each.is_named}
    if not named and not any(each.best for each in second.values()):
        return _by_meaning(plan, wanted, most, ask)
    return _cut(wanted, most, {name: (name in named, each.best) for name, each in second.items()})


def _weigh(plan: QueryPlan, words: list[str], reports: Mapping[str, ScoutReport]) -> dict[str, float]:
    """The rarest words, each by its rarity in all repositories together."""
    chunks = sum(each.chunks for each in reports.values())
    times = [sum(column) for column in zip(*(each.frequency for each in reports.values()), strict=True)]
    weights = {word: plan.weights[word] * rarity(chunks, count) for word, count in zip(words, times, strict=False)}
    heaviest = sorted(weights, key=lambda word: (-weights[word], word))[:_MOST_WORDS]
    return {word: weights[word] for word in heaviest}


def _by_meaning(plan: QueryPlan, wanted: list[TeamRepository], most: int, ask: Ask) -> Shortlist:
    reports = ask(wanted, ScoutQuestion(meaning=plan.subject))
    return _cut(wanted, most, {name: (False, each.near) for name, each in reports.items()})


def _name(name: str, wanted: list[TeamRepository], most: int, ask: Ask) -> Shortlist:
    """Those that have a symbol of the name; where none has, those whose names have most of its words."""
    last = last_part(name.strip().removesuffix("()"))
    reports = ask(wanted, ScoutQuestion(name=last))
    having = [each for each in wanted if each.name not in reports or reports[each.name].is_named]
    if any(each.is_named for each in reports.values()):
        return Shortlist(having, len(wanted) - len(having))
    near = ask(wanted, ScoutQuestion(weights=dict.fromkeys(query_words(last)[:_MOST_WORDS], 1.0)))
    return _cut(wanted, most, {name: (False, each.best) for name, each in near.items()})


def _cut(wanted: list[TeamRepository], most: int, promises: Mapping[str, tuple[bool, float]]) -> Shortlist:
    """The most promising, and those of which nobody could tell: that they do not answer is to be said."""
    silent = [each for each in wanted if each.name not in promises]
    told = [each for each in wanted if any(promises.get(each.name, ()))]
    ranked = sorted(told, key=lambda each: (*(-float(part) for part in promises[each.name]), each.name))
    least = _NEARLY * max((promises[each.name][1] for each in told), default=0.0)
    worth = [each for each in ranked[_FEWEST:most] if promises[each.name][0] or promises[each.name][1] >= least]
    chosen = [*ranked[:_FEWEST][:most], *worth] or [each for each in wanted if each.name in promises][:1]
    return Shortlist([*chosen, *silent], len(wanted) - len(chosen) - len(silent))
