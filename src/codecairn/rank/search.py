"""A search: candidates from the lexical index and the symbol table, weighed, ordered, and remembered for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, overload

from msgspec import Struct, field

from codecairn.cache import MOST_VIEWS, Cache
from codecairn.errors import EncoderFailed, InvalidInput
from codecairn.names.filters import Filters
from codecairn.rank.candidate import Candidate, Place, Ranked, Statistics, rarity
from codecairn.rank.query_plan import QueryPlan, parse_query
from codecairn.rank.vectors import NO_VECTORS, QueryVector, ViewVectors, vectors_of
from codecairn.store.file_version import ChunkRow, SymbolRow
from codecairn.store.view import Extent, FileRow, Hit, Met, View
from codecairn.words import bare, words_of

if TYPE_CHECKING:
    from codecairn.embed.encoder import Encoder
    from codecairn.rank.score import Scores
    from codecairn.rank.weighed_query import Candidates

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
_RESULT_BYTES = 400
_MET_BYTES = 500
_VIEW_BYTES = 8_000_000
"""At least, so that few are kept: each maps the vectors of its generation anew."""
Mode = Literal["hybrid", "vector", "keyword"]


class Question(Struct, frozen=True):
    query: str
    mode: Mode = "hybrid"
    filters: Filters = field(default_factory=Filters)
    candidates: int = CANDIDATES
    recent: frozenset[str] = frozenset()
    """Files this connection has read lately."""


Proposal = tuple[int, int, SymbolRow | None]
"""A file version and a chunk of it; with the symbol, where it is not the chunk's that is meant."""


class _Weighed(Struct, frozen=True):
    """What is kept of a search: candidates and their scores, and which of them are results."""

    proposals: list[Proposal]
    scores: Scores
    results: list[int]
    """Places in the order of the scores."""
    is_capped: bool
    warnings: tuple[str, ...]
    suppressed: int


class Results(Sequence[Ranked]):
    """Results in their order, read from the view when they are asked for."""

    def __init__(self, view: View, weighed: _Weighed) -> None:
        self._view, self._weighed = view, weighed

    def __len__(self) -> int:
        return len(self._weighed.results)

    @overload
    def __getitem__(self, at: int) -> Ranked: ...
    @overload
    def __getitem__(self, at: slice) -> list[Ranked]: ...
    def __getitem__(self, at: int | slice) -> Ranked | list[Ranked]:
        if isinstance(at, slice):
            return self._read(self._weighed.results[at])
        return self._read([self._weighed.results[at]])[0]

    def __iter__(self) -> Iterator[Ranked]:
        return iter(self._read(self._weighed.results))

    @property
    def places(self) -> list[Place]:
        return [self._proposal(at)[:2] for at in self._weighed.results]

    def _proposal(self, at: int) -> Proposal:
        return self._weighed.proposals[int(self._weighed.scores.order[at])]

    def _read(self, places: list[int]) -> list[Ranked]:
        self._view.prefetch([self._proposal(at)[:2] for at in places])
        return [self._ranked(at) for at in places]

    def _ranked(self, at: int) -> Ranked:
        scores = self._weighed.scores
        candidate = _candidate(self._view, *self._proposal(at))
        return Ranked(candidate, scores.contributions(at), scores.total(at), scores.relevance(at))


class Ranking(Struct, frozen=True):
    results: Results
    is_capped: bool
    """Whether more would have matched than were weighed."""
    warnings: tuple[str, ...] = ()
    suppressed: int = 0
    """Further pieces of symbols of which the best piece is a result."""


_State = tuple[object, tuple[str, str, str], tuple[str, int, int, int], int, Callable[[str], bool]]
"""One searcher, what its view is of, one building of an index and one generation of a layer in it, how many documents
there are, and what may not be shown: what was learnt holds for as long as nobody writes documents for the next."""


def _subject(state: _State) -> tuple[object, ...]:
    """The layer, as one searcher sees it."""
    return *state[:2], state[4]


_rankings: Cache[tuple[_State, Question], _Weighed] = Cache(
    "search.rankings", 4_000_000, lambda weighed: _RESULT_BYTES * len(weighed.proposals)
)
"""Some thirty."""
_frequencies: Cache[tuple[_State, str], int] = Cache("search.frequencies", 2_000_000, lambda _: 80)


def _forget(gone: _State, _: object) -> None:
    """Forget what was learnt of a state that is no more."""
    _rankings.forget(lambda key: key[0] == gone)
    _frequencies.forget(lambda key: key[0] == gone)


_met: Cache[_State, tuple[Met, int]] = Cache(
    "search.files", 16_000_000, lambda met: _MET_BYTES * met[1], _subject, MOST_VIEWS, _forget
)
"""The files that searches have met, which are at most those there are."""
_extents: Cache[_State, Extent] = Cache("search.extents", 100_000, lambda _: 100, _subject)
_vectors: Cache[_State, tuple[ViewVectors | None]] = Cache(
    "search.vectors",
    33_000_000,
    lambda found: max(_VIEW_BYTES, found[0].field.memory_bytes) if found[0] else 0,
    _subject,
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
        view.remember((_met.get(state) or _met.put(state, (Met(), view.extent.files)))[0])
        known = _rankings.get((state, question))
        weighed = known or self._weigh(view, question, state)
        results = Results(view, weighed)
        return Ranking(results, weighed.is_capped, weighed.warnings, weighed.suppressed), known is not None

    def _weigh(self, view: View, question: Question, state: _State) -> _Weighed:
        from codecairn.rank.score import rank, rank_by_meaning  # noqa: PLC0415 - numpy, for who searches

        plan = parse_query(question.query)
        statistics = self._statistics(view, plan, state)
        meaning, warnings, is_lasting = self._meaning(view, plan, question, state)
        proposed, is_capped = _propose(view, plan, question, statistics, meaning)
        by_words = question.mode != "vector"
        proposals = list(_proposals(view, plan, question.filters, proposed, with_named=by_words))
        candidates = _gather(view, proposals, meaning)
        view.cancel.check()
        scores = rank(plan, candidates, statistics, question.recent) if by_words else rank_by_meaning(candidates)
        single = _one_a_symbol(candidates, scores)
        least = question.filters.min_relevance
        kept = [at for at in single if scores.relevance(at) >= least] if least else single
        weighed = _Weighed(proposals, scores, kept, is_capped, warnings, len(proposals) - len(single))
        if is_lasting:
            _rankings.put((state, question), weighed)
        return weighed

    def statistics(self, view: View, query: str) -> Statistics:
        """What the words of a query weigh in a view."""
        return self._statistics(view, parse_query(query), self._state(view))

    def _state(self, view: View) -> _State:
        return (self._own, view.subject, view.state, view.documents, view.is_blocked)

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


def _proposals(
    view: View, plan: QueryPlan, filters: Filters, proposed: list[Hit], *, with_named: bool
) -> Iterator[Proposal]:
    seen = set[Place]()
    for file, number, symbol in _proposals_by_name(view, plan) if with_named else ():
        if filters.keep_file(file) and filters.keep_symbol(file, symbol):
            own = view.chunk(file.id, number).symbol
            is_own = symbol is None or own == symbol.number
            if is_own or own < 0:
                seen.add((file.id, number))  # a member says it all, but the class around one is a result of its own
            yield file.id, number, None if is_own else symbol
    for hit in proposed:
        place = (hit.file, hit.number)
        if place in seen:
            continue
        if filters.asks_of_symbols:
            yield from _inside(view, plan, filters, place)
        else:
            yield *place, None


def _inside(view: View, plan: QueryPlan, filters: Filters, place: Place) -> Iterator[Proposal]:
    file = view.file(place[0])
    assert file is not None
    chunk = view.chunk(*place)
    for symbol in _symbols_for(view, plan, filters, file, chunk):
        yield *place, None if symbol is None or symbol.number == chunk.symbol else symbol


def _gather(view: View, proposals: list[Proposal], meaning: QueryVector | None) -> Candidates:
    """The columns of what is proposed, with how near each is in meaning."""
    import numpy as np  # noqa: PLC0415

    from codecairn.rank.columns import columns  # noqa: PLC0415
    from codecairn.rank.weighed_query import Candidates  # noqa: PLC0415

    numbers = {file: at for at, file in enumerate(dict.fromkeys(each[0] for each in proposals))}
    met = view.meet(numbers)
    files = [found for file in numbers if (found := met[file])]
    inside = [((file, number), symbol) for file, number, symbol in proposals if symbol is not None]
    places = [(file, number) for file, number, _ in proposals]
    table, paths = columns.meet(view, [file for file, _ in files], places, inside)
    of_file = np.array([numbers[each[0]] for each in proposals], np.int64)
    rows = table.rows(places)
    for at, (file, number, symbol) in enumerate(proposals if inside else ()):
        row = table.row_inside(file, number, symbol.number) if symbol is not None else None
        rows[at] = row if row is not None else rows[at]
    near = meaning.similar(places, list(numbers)) if meaning else None
    return Candidates(
        table=table, rows=rows, files=[file for file, _ in files], file=of_file, paths=paths,
        importers=np.array([importers for _, importers in files], np.int64),
        similarity=near.chunks if near else np.zeros(len(rows)),
        file_similarity=near.files if near else np.zeros(len(files)),
        best_similarity=near.best if near else np.zeros(len(files)),
    )  # fmt: skip


def _still_missing(vectors: ViewVectors) -> tuple[str, ...]:
    if vectors.missing <= 0:
        return ()
    return (f"{vectors.missing} chunks have no vectors yet and are found by their words alone.",)


def _propose(
    view: View, plan: QueryPlan, question: Question, statistics: Statistics, meaning: QueryVector | None
) -> tuple[list[Hit], bool]:
    """The chunks to weigh, and whether there would have been more."""
    wanted = _Wanted(view, plan, question.filters)
    most_near = _share(question, _MEANING_SHARE)
    asks_by_name = bool(plan.symbol or plan.path) and question.mode != "vector"
    near = [] if meaning is None or asks_by_name else meaning.proposals(most_near, wanted)
    lexical, is_full = ([], False) if question.mode == "vector" else _by_words(view, plan, question, statistics, wanted)
    known = {(hit.file, hit.number) for hit in lexical}
    is_capped = is_full or len(near) >= most_near
    return [*lexical, *(hit for hit in near if (hit.file, hit.number) not in known)], is_capped


def _by_words(
    view: View, plan: QueryPlan, question: Question, statistics: Statistics, wanted: Callable[[list[Hit]], list[Hit]]
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


class _Wanted:
    """Those of many chunks that are visible and that the filters let pass."""

    def __init__(self, view: View, plan: QueryPlan, filters: Filters) -> None:
        self._view, self._plan, self._filters = view, plan, filters
        self._files: dict[int, bool] = {}

    def __call__(self, hits: list[Hit]) -> list[Hit]:
        met = self._view.meet({hit.file for hit in hits})
        for file in {hit.file for hit in hits} - self._files.keys():
            found = met[file]
            self._files[file] = found is not None and self._filters.keep_file(found[0])
        kept = [hit for hit in hits if self._files[hit.file]]
        if not self._filters.asks_of_symbols:
            return kept
        self._view.prefetch([(hit.file, hit.number) for hit in kept])
        return [hit for hit in kept if next(_inside(self._view, self._plan, self._filters, hit[:2]), None)]


def _proposals_by_name(view: View, plan: QueryPlan) -> Iterator[tuple[FileRow, int, SymbolRow | None]]:
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


def _candidate(view: View, file: int, number: int, inside: SymbolRow | None) -> Candidate:
    """A chunk; or a symbol inside it, by its own lines."""
    chunk, found = view.chunk(file, number), view.meet([file])[file]
    assert found is not None
    symbol = inside or (view.symbol(file, chunk.symbol) if chunk.symbol >= 0 else None)
    place: ChunkRow | SymbolRow = inside or chunk
    return Candidate(
        file=file, number=number, path=found[0].path, start_line=place.start_line, end_line=place.end_line,
        kind=symbol.kind if symbol else "", name=symbol.name if symbol else "",
        qualified=symbol.path if symbol else chunk.title, imported_by=found[1],
        symbol=symbol.number if symbol else chunk.symbol,
    )  # fmt: skip


def _one_a_symbol(candidates: Candidates, scores: Scores) -> list[int]:
    """A symbol in several pieces is one result: its best."""
    symbols = candidates.table.symbol.all[candidates.rows[scores.order]].tolist()
    files = candidates.file[scores.order].tolist()
    seen, kept = set[tuple[int, int]](), list[int]()
    for at, place in enumerate(zip(files, symbols, strict=True)):
        if place[1] < 0 or place not in seen:
            seen.add(place)
            kept.append(at)
    return kept
