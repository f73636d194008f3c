"""The results of context_search as Markdown: each with its place, its score and how that came about.

All results are shown. Where they would cost more than an answer may, each passage is cut to its share, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codecairn.budget import ORDINARY_COUNT, characters
from codecairn.memory.access_boosts import DIGITS, TODAY, ago
from codecairn.reading.rules import rule_lines
from codecairn.text import code_fence, one_line

_RULE = "\n\n---\n\n"
_LONGEST_TITLE = 80
_LEAST_PASSAGE = 300


def answer(value: Any, params: Mapping[str, Any]) -> str:
    head = [f'# Search Results for "{one_line(value.query)}"']
    head += [f"_{one_line(warning)}_" for warning in value.metadata.get("warnings", ())]
    if not value.results:
        head.append("Nothing was found.")
    rules = list(rule_lines(value.rules)) if value.rules else []
    room = characters(asked=params.get("limit", 0) > ORDINARY_COUNT) - sum(map(len, (*head, *rules)))
    sections = [_section(number, each, _facts(each)) for number, each in enumerate(value.results, 1)]
    fixed = sum(len(before) + len(after) for before, after in sections)
    passages = _share([each.content for each in value.results], room - fixed)
    drawn = [
        "\n\n".join(filter(None, (before, _passage(each, part), after)))
        for each, part, (before, after) in zip(value.results, passages, sections, strict=True)
    ]
    parts = [*head, *([_RULE.join(drawn)] if drawn else []), *(["---", "\n".join(rules)] if rules else [])]
    return "\n\n".join([*parts, "---", *_closing(value)])


def _closing(value: Any) -> list[str]:
    count, more = len(value.results), value.totalFound - len(value.results)
    left = [f"_{more:,} more found; give a larger `limit` to see them._"] if more > 0 else []
    return [*left, f"{count} result{'' if count == 1 else 's'} in {value.searchTime:.0f} ms"]


def _section(number: int, each: Any, facts: list[str]) -> tuple[str, str]:
    """The lines before a result's text, and those after."""
    title = one_line(each.name, _LONGEST_TITLE)
    heading = f"## Result {number}: {title} ({_where(each)}) [Score: {each.score:.2f}]"
    return f"{heading}\n\n" + "  \n".join(facts), "**Ranking Details**:\n" + "\n".join(_ranking(each))


def _where(each: Any) -> str:
    if each.path is None:
        return str(each.id)
    lines = f":{each.start_line}-{each.end_line}" if each.start_line is not None else ""
    return f"{one_line(each.path)}{lines}"


def _facts(each: Any) -> list[str]:
    facts = [f"**Type**: {each.type}", f"**Project**: {one_line(each.project)}"]
    if each.source == "discovery":
        facts += [f"**Discovery**: {each.id}, recorded {str(each.date)[:10]}"]
    if each.status is not None:
        reason = f" ({one_line(each.status_reason)})" if each.status_reason else ""
        facts.append(f"**Status**: {each.status}{reason}")
    if each.last_accessed is not None:
        times = each.accesses_this_week
        facts.append(
            f"**Last Accessed**: {ago(each.last_accessed)} ({times} time{'' if times == 1 else 's'} this week)"
        )
    return facts


def _ranking(each: Any) -> list[str]:
    factors = each.ranking
    times = f"{each.accesses_this_week} access{'' if each.accesses_this_week == 1 else 'es'}"
    since = "<24h" if factors.recency_boost == TODAY else "<7 days"
    boosts = (
        ("Recency", factors.recency_boost, f"accessed {since} ago"),
        ("Module", factors.module_boost, "same module as current work"),
        ("Frequency", factors.frequency_boost, f"{times} this week"),
    )
    return [
        f"- Semantic Score: {factors.semantic_score:.{DIGITS}f}",
        *(f"- {name} Boost: ×{factor:g} ({why})" for name, factor, why in boosts if factor != 1.0),
        f"- **Final Score**: {factors.final_score:.{DIGITS}f}",
    ]


def _passage(each: Any, text: str) -> str:
    cut = len(each.content) - len(text)
    more = f"\n_From line {each.content_start_line}; there is more of it._" if each.content_cut else ""
    more = f"\n_… {cut:,} characters more_" if cut > 0 else more
    if each.source == "code":
        return code_fence(text, each.language) + more
    return "\n".join(f"> {one_line(line)}".rstrip() for line in text.split("\n")) + more


def _share(contents: list[str], room: float) -> list[str]:
    """Each text as far as its share of the room goes, to the end of a line; what short ones leave, others get."""
    left, waiting = room, sorted(range(len(contents)), key=lambda at: len(contents[at]))
    parts = dict[int, str]()
    for done, at in enumerate(waiting):
        share = max(_LEAST_PASSAGE, int(left / (len(waiting) - done)))
        parts[at] = _clip(contents[at], share)
        left -= len(parts[at])
    return [parts[at] for at in range(len(contents))]


def _clip(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    whole = text.rfind("\n", 0, most)
    return text[: whole if whole > most // 2 else most]
