"""search_code and explain_ranking for reading: the best few with the lines that matter, the rest as headlines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codecairn.reading import (
    Fields,
    PrintContext,
    clip,
    extent,
    fit,
    lines,
    sentence,
    share,
    state_lines,
    vendored_note,
)
from codecairn.reading.code import code_line, dedent_lines
from codecairn.text import one_line

_WHOLE = 3
"""Results that are shown with lines of theirs."""
_MOST_LINES = 9
_WIDEST = 140
_LONGEST_SIGNATURE = 120
ELISION = "…"
_COMMENT_LINE = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%)")
_MODIFIERS = re.compile(r"^(?:(?:export|default|declare|public) )+")
_COMMENT = re.compile(r"^\s*(?:#+|//+!?|/\*+|\*+/?|--+|;+|%+|\"\"\"|'''|r\"\"\")?\s?")


def print_search(answer: Fields, reading: PrintContext) -> str:
    results, total = answer["results"], answer["statistics"]["total_results"]
    words = query_words(answer["query"])
    head = f'{share(len(results), total, "result")} for "{clip(one_line(answer["query"]), 80)}"'
    blocks = [_result(each, words, reading) for each in results]
    shown = fit(blocks, reading.room - len(head) - 200)
    parts = [head if shown == len(blocks) else f"{head}, {shown} of them here", *state_lines(answer["metadata"])]
    if not results:
        return lines([*parts, _nothing(answer)])
    return lines([*parts, *blocks[:shown], _more(answer, reading, shown, total)])


def _nothing(answer: Fields) -> str | None:
    if answer["metadata"].get("result_completeness") == "partial":
        return None
    return "Nothing that is indexed matches. Other words, a part of a name, or grep_codebase for exact text."


def _more(answer: Fields, reading: PrintContext, shown: int, total: int) -> str | None:
    place = reading.offset + shown
    if place >= total:
        return None
    cursor = answer.get("next_cursor") if shown == len(answer["results"]) else reading.cursor(str(place))
    return reading.paint(f"{total - place:,} more: {reading.onward(cursor)}", "dim") if cursor else None


def query_words(query: str) -> re.Pattern[str]:
    words = sorted(set(re.findall(r"\w{3,}", query)), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)) or r"(?!)", re.IGNORECASE)


def _result(result: Fields, words: re.Pattern[str], reading: PrintContext) -> str:
    paint = reading.paint
    file, symbol = result["file"], result["symbol"]
    place = paint(f"{one_line(file['path'])}:{extent(file['start_line'], file['end_line'])}", "path")
    head = f"{result['rank']}. {place}{vendored_note(file['path'])}  {paint(_title(result), 'strong')}"
    about = f"   {sentence(symbol['doc_comment'])}" if symbol and symbol["doc_comment"].strip() else None
    if result["rank"] - reading.offset > _WHOLE:
        return f"{head}  {paint(clip(about, 110), 'dim')}" if about else head
    return lines([head, about and paint(about, "dim"), *_passage(result, words, reading)])


def _title(result: Fields) -> str:
    symbol = result["symbol"]
    if symbol:
        return clip(one_line(symbol["signature"]) or symbol["name"], _LONGEST_SIGNATURE)
    first = next((line for line in result["content"].split("\n") if line.strip()), "")
    return clip(code_line(first), 100)


def _passage(result: Fields, words: re.Pattern[str], reading: PrintContext) -> Iterator[str]:
    chosen = lines_that_matter(result, words)
    texts = dedent_lines([text for _, text in chosen])
    for (number, _), text in zip(chosen, texts, strict=True):
        marked = words.sub(lambda found: reading.paint(found[0], "mark"), code_line(text, _WIDEST))
        yield f"{reading.paint(format(number or '', '>6'), 'dim')}  {marked}"


def lines_that_matter(result: Fields, words: re.Pattern[str]) -> list[tuple[int, str]]:
    """Of a passage the lines with most words of the query, in their order; its first lines where none has any. The
    signature and the comment stand in the headline already."""
    rest = [each for each in _number_lines(result) if each[1].strip()]
    told = _fact_lines(result)
    rest = [each for each in rest if not _is_told(_bare(each[1]), told)] or rest
    weighed = [(_weight(text, words), number, text) for number, text in rest]
    matching = sorted((each for each in weighed if each[0]), key=lambda each: -each[0])[:_MOST_LINES]
    if not matching:
        return rest[: _MOST_LINES // 2]
    kept = {(number, text) for _, number, text in matching}
    return [each for each in rest if each in kept][:_MOST_LINES]


def _weight(line: str, words: re.Pattern[str]) -> float:
    """How many words of the query a line has; a comment counts for less than code."""
    count = len({found.lower() for found in words.findall(line)})
    return count / 2 if _COMMENT_LINE.match(line) else count


def _is_told(line: str, told: set[str]) -> bool:
    """Whether a line is one of the headline's, which leaves out words like `export`."""
    return line in told or _MODIFIERS.sub("", line) in told


def _fact_lines(result: Fields) -> set[str]:
    symbol = result["symbol"]
    if not symbol:
        return {_bare(_title(result))}
    said = [*symbol["signature"].split("\n"), *symbol["doc_comment"].split("\n")]
    return {_bare(line) for line in said} | {_bare(f"{symbol['signature']}:"), _bare(symbol["signature"] + " {")}


def _bare(line: str) -> str:
    return _COMMENT.sub("", line).strip().rstrip(":{ =").strip().removesuffix('"""').removesuffix("*/").strip()


def _number_lines(result: Fields) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; 0 for those after an elision, which are further down than they seem."""
    text = result["content"].split("\n")
    until = text.index(ELISION) if ELISION in text else len(text)
    return ((result["content_start_line"] + at if at < until else 0, line) for at, line in enumerate(text))


def print_explanation(answer: Fields, reading: PrintContext) -> str:
    del reading
    result, details = answer["result"], answer["scoring_details"]
    place = f"{one_line(result['path'])}:{extent(result['line_start'], result['line_end'])}"
    head = f'{place} stands at rank {result["rank"]} for "{clip(one_line(answer["query"]), 80)}"'
    why = {name: details.get(f"{name}_reason") or details.get(f"{name}_source", "") for name in answer["scoring"]}
    shown = [(name, value) for name, value in answer["scoring"].items() if value]
    rows = [f"{value:>9.3f}  {name:<16} {one_line(why[name])}" for name, value in shown]
    return lines([head, *state_lines(answer["metadata"]), *(row.rstrip() for row in rows)])
