"""Why, in words: a reason for each contribution, and what a place lacked that was not found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from codecairn.rank.candidate import LONGEST_DOC, Candidate, Ranked
from codecairn.rank.query_plan import parse_query
from codecairn.rank.search import Question
from codecairn.store.view import FileRow, View
from codecairn.words import analyse

_MOST_WORDS = 12


def reasons(view: View, query: str, ranked: Ranked) -> dict[str, str]:
    """A sentence for each contribution, under the names the contract gives them."""
    said = {
        f"{signal}_reason": _REASONS[signal](ranked.candidate, value)
        for signal, value in ranked.contributions.items()
        if signal != "bm25"
    }
    return {"bm25_source": _word_counts(view, query, ranked.candidate), **said}


def _word_counts(view: View, query: str, each: Candidate) -> str:
    counts = Counter(filter(parse_query(query).weights.__contains__, words_in(view, each)))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    if not words:
        return "chunks.body: no word of the query is in its text"
    listed = ", ".join(f"{word} ×{counts[word]}" for word in words[:_MOST_WORDS])
    return f"chunks.body: {listed}" + (f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else "")


def words_in(view: View, each: Candidate) -> list[str]:
    """The words that count as its text: a symbol's that is not its chunk's are those of its head and its comment."""
    chunk = view.chunk(each.file, each.number)
    symbol = view.symbol(each.file, each.symbol) if each.symbol != chunk.symbol else None
    if symbol is None:
        return view.terms(each.file)[each.number].split()
    return analyse(f"{symbol.signature} {symbol.doc[:LONGEST_DOC]}").split()


def _either(yes: str, no: str) -> Callable[[Candidate, float], str]:
    return lambda each, value: (yes if value else no).format(name=each.name, path=each.path, qualified=each.qualified)


def _importers(importers: int) -> str:
    if not importers:
        return "no other file imports its file"
    return f"{importers} other files import its file" if importers > 1 else "one other file imports its file"


_REASONS: dict[str, Callable[[Candidate, float], str]] = {
    "semantic": _either("its text is near the query in meaning", "no vector of it is near the query"),
    "semantic_best": _either("several parts of its file are near the query in meaning", "no part of its file is near"),
    "semantic_file": _either("all of its file is near the query in meaning", "its file is not near the query"),
    "exact_match": _either("the query spells the whole name '{name}'", "the query does not spell its whole name"),
    "qualified_name": _either(
        "words of the query name what is around it: '{qualified}'", "nothing around its name is in the query"
    ),
    "path_affinity": _either("it lies in or beside a file that was read lately", "no path bias applied"),
    "definition_boost": _either("it defines the name that the query is", "the query is not one name that it defines"),
    "kind_match": _either("it is of the kind that the query names", "no kind of its own in the query"),
    "name_match": _either("parts of its name '{name}' are in the query", "no part of its name is in the query"),
    "doc_match": _either("words of the query are in its comment", "no word of the query is in its comment"),
    "substance": _either("how much text it has to show", "it has next to no text"),
    "named": _either("the query is its very name or path", "the query is not its very name or path"),
    "file_stem": _either("the file's name agrees with the query: {path}", "nothing of the file's name is in the query"),
    "folder": _either("the folders it lies in agree with the query: {path}", "no folder it lies in is in the query"),
    "path_mention": _either("the query spells the end of its path", "the query does not spell its path"),
    "coherence": _either("other parts of the file match too", "no other part of the file matches"),
    "popularity": lambda each, _: _importers(each.imported_by),
    "place": _either("it lies among tests, examples, vendored code or prose", "it is part of the product's own code"),
    "superseded": _either("a newer version stands beside it", "no newer version stands beside it"),
    "floor": _either("penalties take no more than there is", "nothing to give back"),
    "diversity": _either(
        "a better part of the same file stands before it, and what the file has to say counts once",
        "it is the best part of its file",
    ),
}


def what_it_lacked(view: View, asked: Question, found: Sequence[Ranked], file: FileRow, line: int) -> str:
    """For a place of an indexed file that the search did not return."""
    if not asked.filters.keep_file(file):
        return "the filters leave its file out"
    chunks = [each for each in view.chunks(file.id) if each.start_line <= line <= each.end_line]
    if not chunks:
        return f"the file has {file.lines} lines"
    chunk = min(chunks, key=lambda each: each.end_line - each.start_line)
    symbol = view.symbol(file.id, chunk.symbol) if chunk.symbol >= 0 else None
    if not asked.filters.keep_symbol(file, symbol):
        return "the filters leave its kind, pattern or package out"
    words = parse_query(asked.query).weights
    here = set(view.terms(file.id)[chunk.number].split())
    missing = sorted(words.keys() - here)
    if len(missing) == len(words):
        return "no word of the query is in its text"
    last = found[-1].total if found else 0.0
    lacks = f"; it lacks {', '.join(missing[:_MOST_WORDS])}" if missing else ""
    return f"it is not among the {asked.candidates} best candidates (the last one scored {last:.3f}){lacks}"
