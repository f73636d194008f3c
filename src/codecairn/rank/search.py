"""A search: candidates from the lexical index and the symbol table, weighed, ordered, and remembered for a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from codecairn.cache import Cache
from codecairn.errors import EncoderFailed, InvalidInput
from codecairn.names.filters import Filters
from codecairn.rank.candidate import Candidate, Statistics, rarity
from codecairn.rank.query_plan import QueryPlan, parse_query
from codecairn.rank.score import Ranked, rank, rank_by_meaning
from codecairn.rank.vectors import NO_VECTORS, QueryVector, ViewVectors, vectors_of
from codecairn.store.file_version import ChunkRow, SymbolRow
from codecairn.store.view import Extent, FileRow, Hit, View
from codecairn.words import analyse, bare, words_of

if TYPE_CHECKING:
    from codecairn.embed.encoder import Encoder

CANDIDATES = 200
"""Chunks that are weighed. From 90 on the first ten hardly change; the time grows with them."""
_MOST_NAMED = 1000
_BESIDE_SHARE = 0.2
"""Of the candidates, at most, for tests, examples and prose: in one list with the code they would fill it."""
_MOST_WORDS = 48
"""The index looks up so many words, the weightiest first; all of them count in the score."""
_MEANING_SHARE = 0.5
"""Of the candidates, as many more for what is near in meaning, whatever its words."""
_FIELDS = (("body", 1.0), ("name", 0.6), ("path", 0.3))
_LONGEST_DOC = 600
_FEW_WORDS = 12
"""Up to so many, looking for each in turn is faster than looking at each word there is."""
_RESULT_BYTES = 1_850
_VIEW_BYTES = 8_000_000
"""At least, so that few are kept: each maps the vectors of its generation anew."""
Mode = Literal["hybrid", "vector", "keyword"]


@dataclass(frozen=True)
class Question:
    query: str
    mode: Mode = "hybrid"
    filters: Filters = field(default_factory=Filters)
    candidates: int = CANDIDATES
    recent: frozenset[str] = frozenset()
    """Files this connection has read lately."""


@dataclass(frozen=True)
class Ranking:
    results: list[Ranked]
    is_capped: bool
    """Whether more would have matched than were weighed."""
    warnings: tuple[str, ...] = ()
    suppressed: int = 0
    """Further pieces of symbols of which the best piece is a result."""


_State = tuple[object, str, int, int, int, int, Callable[[str], bool]]
"""One searcher, one building of an index, one generation of a layer in it, how many documents there are, and what may
not be shown: what was learnt holds for as long as nobody writes documents for the next."""


_rankings: Cache[tuple[_State, Question], Ranking] = Cache(
    "search.rankings", 8_000_000, lambda ranking: _RESULT_BYTES * len(ranking.results)
)
"""Some twenty."""
_frequencies: Cache[tuple[_State, str], int] = Cache("search.frequencies", 2_000_000, lambda _: 80)
_extents: Cache[_State, Extent] = Cache("search.extents", 100_000, lambda _: 100)
_vectors: Cache[_State, tuple[ViewVectors | None]] = Cache(
    "search.vectors", 33_000_000, lambda found: max(_VIEW_BYTES, found[0].field.memory_bytes) if found[0] else 0
)
"""Whether there are any, and which. A server's clients may each be on a branch of their own."""


class Searcher:
    """Searches one project. Keeps what it learnt as long as the index stays as it is."""

    def __init__(self, encoders: Callable[[], Sequence[Encoder]]) -> None:
        self._encoders = encoders
        self._own = object()

    def rank(self, view: View, question: Question) -> tuple[Ranking, bool]:
        """Every candidate that the filters let pass, best first, and whether that was known already."""
        state = self._state(view)
        known = _rankings.get((state, question))
        if known is not None:
            return known, True
        plan = parse_query(question.query)
        statistics = self._statistics(view, plan, state)
        meaning, warnings, is_lasting = self._meaning(view, plan, question, state)
        proposed, is_capped = _propose(view, plan, question, statistics, meaning)
        by_words = question.mode != "vector"
        candidates = list(_candidates(view, plan, question.filters, proposed, with_named=by_words))
        candidates = _with_meaning(candidates, meaning)
        view.cancel.check()
        found = rank(plan, candidates, statistics, question.recent) if by_words else rank_by_meaning(candidates)
        single = list(_one_a_symbol(found))
        kept = [each for each in single if each.relevance >= question.filters.min_relevance]
        ranking = Ranking(kept, is_capped, warnings, len(found) - len(single))
        if is_lasting:
            _rankings.put((state, question), ranking)
        return ranking, False

    def statistics(self, view: View, query: str) -> Statistics:
        """What the words of a query weigh in a view."""
        return self._statistics(view, parse_query(query), self._state(view))

    def _state(self, view: View) -> _State:
        return (self._own, *view.state, view.documents, view.is_blocked)

    def _meaning(
        self, view: View, plan: QueryPlan, question: Question, state: _State
    ) -> tuple[QueryVector | None, tuple[str, ...], bool]:
        """The query as a vector where there are vectors to compare it with, what to say where there are not, and
        whether that holds until the index changes: an encoder that failed may answer the next time."""
        if question.mode == "keyword":
            return None, (), True
        (vectors,) = _vectors.get(state) or _vectors.put(state, (vectors_of(view, self._encoders()),))
        try:
            if vectors is not None:
                return vectors.about(plan.subject), _still_missing(vectors), True
            reason = NO_VECTORS
        except EncoderFailed as error:
            reason = f"Answered by keyword: {error.message}. {error.remedy}"
        if question.mode == "vector":
            raise InvalidInput(
                "search_mode vector: there is nothing to compare the query with", param="search_mode",
                reason="no vectors in this index" if vectors is None else "the encoder does not answer",
                remedy="Use keyword or hybrid.",
            )  # fmt: skip
        return None, (reason,), vectors is None

    def _statistics(self, view: View, plan: QueryPlan, state: _State) -> Statistics:
        extent = _extents.get(state) or _extents.put(state, view.extent)
        frequency = {word: _frequency(view, state, word) for word in plan.weights}
        return Statistics(extent.chunks, max(1.0, extent.terms / max(1, extent.chunks)), frequency)


def _frequency(view: View, state: _State, word: str) -> int:
    found = _frequencies.get((state, word))
    return found if found is not None else _frequencies.put((state, word), view.frequency(word))


def _candidates(
    view: View, plan: QueryPlan, filters: Filters, proposed: list[Hit], *, with_named: bool
) -> Iterator[Candidate]:
    seen = set[tuple[int, int]]()
    for file, number, symbol in _candidates_by_name(view, plan) if with_named else ():
        if filters.keep_file(file) and filters.keep_symbol(file, symbol):
            chunk = view.chunk(file.id, number)
            if symbol is None or chunk.symbol in (symbol.number, -1):
                seen.add((file.id, number))  # a member says it all, but the class around one is a result of its own
            yield _candidate(view, plan, file, chunk, symbol)
    for hit in proposed:
        found = view.file(hit.file)
        if found is not None and (hit.file, hit.number) not in seen:
            yield from _of_chunk(view, plan, filters, found, hit.number)


def _still_missing(vectors: ViewVectors) -> tuple[str, ...]:
    if vectors.missing <= 0:
        return ()
    return (f"{vectors.missing} chunks have no vectors yet and are found by their words alone.",)


def _with_meaning(candidates: list[Candidate], meaning: QueryVector | None) -> list[Candidate]:
    if meaning is None:
        return candidates
    similar = meaning.similar([(each.file, each.number) for each in candidates])
    files = meaning.similar_files({each.file for each in candidates})
    return [
        replace(
            each, similarity=similar[each.file, each.number], file_similarity=files[each.file].whole,
            best_similarity=files[each.file].best,
        ) if (each.file, each.number) in similar else each
        for each in candidates
    ]  # fmt: skip


def _propose(
    view: View, plan: QueryPlan, question: Question, statistics: Statistics, meaning: QueryVector | None
) -> tuple[list[Hit], bool]:
    """The chunks to weigh, and whether there would have been more."""
    wanted = partial(_is_wanted, view, plan, question.filters)
    most_near = _share(question, _MEANING_SHARE)
    asks_by_name = bool(plan.symbol or plan.path) and question.mode != "vector"
    near = [] if meaning is None or asks_by_name else meaning.proposals(view, most_near, wanted)
    lexical, is_full = ([], False) if question.mode == "vector" else _by_words(view, plan, question, statistics, wanted)
    known = {(hit.file, hit.number) for hit in lexical}
    is_capped = is_full or len(near) >= most_near
    return [*lexical, *(hit for hit in near if (hit.file, hit.number) not in known)], is_capped


def _by_words(
    view: View, plan: QueryPlan, question: Question, statistics: Statistics, wanted: Callable[[Hit], bool]
) -> tuple[list[Hit], bool]:
    """The best chunks for the words, and whether there would have been more, of code or of what lies beside it."""
    chunks, frequency = statistics.chunks, statistics.frequency
    weight = {word: times * rarity(chunks, frequency[word]) for word, times in plan.weights.items()}
    words = sorted(weight, key=lambda word: (-weight[word], word))[:_MOST_WORDS]
    weighted = [(name, word, boost * plan.weights[word]) for word in words for name, boost in _FIELDS]
    most_beside = _share(question, _BESIDE_SHARE)
    beside = view.proposals(weighted, "beside", most_beside, wanted)
    most_code = max(1, question.candidates - len(beside))
    code = view.proposals(weighted, "code", most_code, wanted)
    return [*code, *beside], len(beside) >= most_beside or len(code) >= most_code


def _share(question: Question, share: float) -> int:
    return max(1, round(question.candidates * share))


def _is_wanted(view: View, plan: QueryPlan, filters: Filters, hit: Hit) -> bool:
    file = view.file(hit.file)
    if file is None or not filters.keep_file(file):
        return False
    return not filters.asks_of_symbols or bool(_symbols_for(view, plan, filters, file, view.chunk(file.id, hit.number)))


def _candidates_by_name(view: View, plan: QueryPlan) -> Iterator[tuple[FileRow, int, SymbolRow | None]]:
    """Files and symbols whose very name or path is the query, each with its chunk."""
    for file, symbol in view.symbols_named(plan.symbol)[:_MOST_NAMED] if plan.symbol else ():
        number = _chunk_of(view.chunks(file.id), symbol)
        if number is not None:
            yield file, number, symbol
    for file in view.files_ending(plan.path) if plan.path else ():
        first = view.chunk(file.id, 0)
        yield file, 0, view.symbol(file.id, first.symbol) if first.symbol >= 0 else None


def _chunk_of(chunks: list[ChunkRow], symbol: SymbolRow) -> int | None:
    own = next((each.number for each in chunks if each.symbol == symbol.number), None)
    if own is not None:
        return own
    around = [each for each in chunks if each.start_line <= symbol.name_line <= each.end_line]
    return min(around, key=lambda each: each.end_line - each.start_line).number if around else None


def _of_chunk(view: View, plan: QueryPlan, filters: Filters, file: FileRow, number: int) -> Iterator[Candidate]:
    chunk = view.chunk(file.id, number)
    for symbol in _symbols_for(view, plan, filters, file, chunk):
        yield _candidate(view, plan, file, chunk, symbol)


def _symbols_for(
    view: View, plan: QueryPlan, filters: Filters, file: FileRow, chunk: ChunkRow
) -> list[SymbolRow | None]:
    """The symbol of a chunk. Where filters want others, those among the constants, fields and
    small functions inside it that they want, and that have a word of the query in their name."""
    own = view.symbol(file.id, chunk.symbol) if chunk.symbol >= 0 else None
    if filters.keep_symbol(file, own):
        return [own]
    if not filters.kinds and not filters.patterns:
        return []
    chunks, asked = view.chunks(file.id), {*plan.weights, bare(plan.symbol)}
    wanted = (each for each in view.symbols(file.id) if filters.keep_symbol(file, each))
    meant = (each for each in wanted if not asked.isdisjoint((*words_of(each.name), bare(each.name))))
    return [each for each in meant if _chunk_of(chunks, each) == chunk.number]


def _count_words(plan: QueryPlan, words: list[str]) -> Mapping[str, int]:
    if len(plan.weights) > _FEW_WORDS:
        return Counter(filter(plan.weights.__contains__, words))
    return {word: times for word in plan.weights if (times := words.count(word))}


def _candidate(view: View, plan: QueryPlan, file: FileRow, chunk: ChunkRow, symbol: SymbolRow | None) -> Candidate:
    """A chunk; or a symbol inside it, by its own lines and by the words of its head and its comment."""
    doc = symbol.doc[:_LONGEST_DOC] if symbol else ""
    place: ChunkRow | SymbolRow = chunk
    if symbol is not None and symbol.number != chunk.symbol:
        place, words = symbol, analyse(f"{symbol.signature} {doc}").split()
        length = len(words)
    else:
        words, length = view.terms(file.id)[chunk.number].split(), chunk.length
    return Candidate(
        file=file.id, number=chunk.number, path=file.path, start_line=place.start_line, end_line=place.end_line,
        kind=symbol.kind if symbol else "", name=symbol.name if symbol else "",
        qualified=symbol.path if symbol else chunk.title, counts=_count_words(plan, words),
        documented=frozenset(analyse(doc).split()) & plan.weights.keys() if doc else frozenset(), length=length,
        language=file.language, imported_by=view.importers(file.path), symbol=symbol.number if symbol else chunk.symbol,
    )  # fmt: skip


def _one_a_symbol(found: list[Ranked]) -> Iterable[Ranked]:
    """A symbol in several pieces is one result: its best."""
    seen: set[tuple[int, int]] = set()
    for each in found:
        place = (each.candidate.file, each.candidate.symbol)
        if place[1] < 0 or place not in seen:
            seen.add(place)
            yield each
