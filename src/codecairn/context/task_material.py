"""Material for a task, weighed: definitions, their callers and tests, documents, rules, discoveries.

A search for the task's words gives definitions and documents; names that the task spells out stand before them. The
callers and the tests of the first definitions follow by reference, and what people wrote (rules of the catalogue,
discoveries) by the words it shares with the task, or by the code it is about. `worth` puts all of it on one scale: the
best definition has 1, and what is there for another's sake has a part of the other's. Nothing depends on what was
asked before, so the same task gets the same material while the index stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from codecairn.cancel import Cancel
from codecairn.catalog.entries import Catalog
from codecairn.file_roles import is_product, is_test
from codecairn.names.lookup import find_exact
from codecairn.names.qualified import qualified_name
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.rank.candidate import Ranked
from codecairn.rank.excerpts import ELISION, body_of, extent_of_symbol, head_of
from codecairn.resolve.calls import Calls, Edge, Unbound
from codecairn.resolve.engine import Engine
from codecairn.resolve.values import Definition
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow, View
from codecairn.words import analyse, query_words

Kind = Literal["definition", "caller", "test", "doc", "discovery", "rule"]
KINDS: tuple[Kind, ...] = ("definition", "rule", "discovery", "caller", "test", "doc")
"""In the order in which equals stand."""

_DEFINITIONS, _DOCUMENTS, _TESTS = 12, 6, 6
"""Of what the search finds."""
_SEEDS = 5
"""Definitions whose callers and tests are looked for."""
_CALLERS_EACH, _TESTS_EACH = 5, 4
_NAMESAKES = 3
_CALLER, _TEST, _DOCUMENT, _FOUND_TEST = 0.55, 0.5, 0.6, 0.4
_WRITTEN, _BINDING = 0.8, 0.1
_LEAST_SHARED, _IN_TITLE = 2, 0.25
_TELLING = 0.4
"""Of the lines of a text: what is cut shorter waits until all else is in."""
_AROUND = 2
"""Lines that are shown on either side of a call."""
_SPELLED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*")
_LOOKS_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|_|\.|::|#|[A-Z]{2}")
_MOST_SPELLED = 8


class FittedText(NamedTuple):
    text: str
    start_line: int
    is_cut: bool
    is_telling: bool = True
    """Whether it says what it is about; a few lines off the beginning of a long text do not."""


@dataclass(frozen=True)
class Material:
    """One thing that may be shown, and what of it where there is little room."""

    kind: Kind
    name: str
    path: str
    line_start: int
    line_end: int
    why: str
    worth: float
    fit: Callable[[int], FittedText | None]
    """As much as has room (characters), or None where nothing of use has."""


def by_worth(each: Material) -> tuple[float, int, str, int]:
    return -each.worth, KINDS.index(each.kind), each.path, each.line_start


class Note(NamedTuple):
    """A rule or a discovery, before it is weighed."""

    kind: Literal["rule", "discovery"]
    name: str
    title: str
    text: str
    path: str
    about: str
    """The file it is about, or nothing."""
    note: str
    is_binding: bool = False
    relevance: float | None = None
    """On the scale of the search, where it was searched for; what was not is weighed by the words it shares."""


class Gatherer:
    """Gathers for one task, in one view."""

    def __init__(self, view: View, task: str, cancel: Cancel) -> None:
        self._view = view
        self._task = task
        self._cancel = cancel
        self._engine = Engine(view, cancel)
        self._words = frozenset(query_words(task))

    def gather(self, found: Sequence[Ranked], written: Callable[[set[str]], Iterable[Note]]) -> list[Material]:
        """Everything, best first, each place once: with the best reason there is for it. Rules and discoveries
        are asked for with the files that the first definitions stand in."""
        most = max((each.relevance for each in found), default=0.0) or 1.0
        code, tests, documents = self._by_role(found, most)
        definitions = [*self._definitions_named(), *code]
        seeds = _once(definitions)[:_SEEDS]
        near = [each for seed in seeds for each in self._around(seed)]
        paths = {seed.material.path: seed.material.worth for seed in reversed(seeds)}
        notes = self._notes(written(set(paths)), paths, most)
        materials = [*(each.material for each in definitions), *near, *tests, *documents, *notes]
        return _merge(sorted(materials, key=by_worth))

    # What the task spells, and what the search finds.

    def _definitions_named(self) -> Iterator[_Seed]:
        """Definitions that the task names as code is written: with an underscore, a dot, or capitals inside."""
        names = dict.fromkeys(each for each in _SPELLED.findall(self._task) if _LOOKS_LIKE_CODE.search(each))
        for name in list(names)[:_MOST_SPELLED]:
            exact = find_exact(self._engine.definitions_named, name)
            named = [(file, symbol) for file, symbol in exact if is_product(file.path, file.language)]
            if len(named) <= _NAMESAKES:
                for file, symbol in named:
                    yield self._definition(file, symbol, 1.0, f"the task names {name}")

    def _by_role(self, found: Sequence[Ranked], most: float) -> tuple[list[_Seed], list[Material], list[Material]]:
        code, tests, documents = list[_Seed](), list[Material](), list[Material]()
        for each in found:
            share, candidate = each.relevance / most, each.candidate
            file = self._view.file(candidate.file)
            assert file is not None
            symbol = self._view.symbol(file.id, candidate.symbol) if candidate.symbol >= 0 else None
            is_code, is_of_tests = is_product(file.path, file.language), is_test(file.path)
            why = f"the search for the task finds it (relevance {each.relevance:.2f})"
            if is_code and symbol is not None and len(code) < _DEFINITIONS:
                code.append(self._definition(file, symbol, share, why))
            elif is_of_tests and symbol is not None and len(tests) < _TESTS:
                tests.append(self._symbol("test", file, symbol, share * _FOUND_TEST, why))
            elif symbol is None and not is_of_tests and len(documents) < _DOCUMENTS:
                part = share if is_code else share * _DOCUMENT
                documents.append(self._part(file, each, part, why, "definition" if is_code else "doc"))
        return code, tests, documents

    def _definition(self, file: FileRow, symbol: SymbolRow, worth: float, why: str) -> _Seed:
        return _Seed(self._symbol("definition", file, symbol, worth, why), file, symbol)

    def _symbol(self, kind: Kind, file: FileRow, symbol: SymbolRow, worth: float, why: str) -> Material:
        start, end = extent_of_symbol(self._view, file.id, symbol)
        name = qualified_name(file, symbol)
        return Material(kind, name, file.path, start, end, why, worth, lambda room: self._body(file, symbol, room))

    def _body(self, file: FileRow, symbol: SymbolRow, room: int) -> FittedText | None:
        """The whole; else of a type its members' heads, and whole the members that the task is about; else what
        begins it, and at the least its signature."""
        whole = body_of(self._view, file, symbol, room)
        if whole is not None:
            return FittedText(whole.text, whole.start_line, is_cut=False)
        if symbol.kind in TYPES and (heads := self._heads(file, symbol, room)) is not None:
            return heads
        cut = self._lines(file, extent_of_symbol(self._view, file.id, symbol), room)
        if cut is not None and (cut.is_telling or len(symbol.signature) > room):
            return cut
        return FittedText(symbol.signature, symbol.name_line, is_cut=True, is_telling=False)

    def _heads(self, file: FileRow, symbol: SymbolRow, room: int) -> FittedText | None:
        whole = frozenset[int]()
        best = self._with_whole(file, symbol, room, whole)
        for number in self._members(file, symbol) if best is not None else ():
            grown = self._with_whole(file, symbol, room, whole | {number})
            if grown is not None:
                best, whole = grown, whole | {number}
        return best

    def _with_whole(self, file: FileRow, symbol: SymbolRow, room: int, whole: frozenset[int]) -> FittedText | None:
        """The type with these members whole; None where it does not fit to its end."""
        ample = head_of(self._view, file, symbol, room * 4, whole)
        return FittedText(ample.text, ample.start_line, is_cut=True) if len(ample.text) <= room else None

    def _members(self, file: FileRow, symbol: SymbolRow) -> list[int]:
        """Members with words of the task in them, those with most first; shorter before longer."""
        lines = self._view.text(file.id).split("\n")
        inside = [
            each for each in self._view.symbols(file.id) if each.parent == symbol.number and each.kind in CALLABLE
        ]
        shared = {
            each.number: len(self._words & set(analyse("\n".join(lines[each.start_line - 1 : each.end_line])).split()))
            for each in inside
        }
        length = {each.number: each.end_line - each.start_line for each in inside}
        return sorted(filter(shared.get, shared), key=lambda number: (-shared[number], length[number], number))

    def _part(self, file: FileRow, each: Ranked, worth: float, why: str, kind: Kind) -> Material:
        """A passage of a document, or what stands in a file of code outside any definition."""
        chunk = self._view.chunk(file.id, each.candidate.number)
        title = chunk.title or file.path
        return Material(
            kind, title, file.path, chunk.start_line, chunk.end_line, why, worth,
            lambda room: self._lines(file, (chunk.start_line, chunk.end_line), room),
        )  # fmt: skip

    def _lines(self, file: FileRow, extent: tuple[int, int], room: int) -> FittedText | None:
        start, end = extent
        return _fitting(self._view.text(file.id).split("\n")[start - 1 : end], start, room)

    # What follows by reference.

    def _around(self, seed: _Seed) -> Iterator[Material]:
        """The callers of a definition, and the tests that call it."""
        if seed.symbol.kind not in CALLABLE | TYPES:
            return
        self._cancel.check()
        calls = Calls(self._engine)
        node = calls.node(Definition(seed.file.id, seed.symbol.number))
        left = {"caller": _CALLERS_EACH, "test": _TESTS_EACH}
        for edge in calls.callers(node, Unbound()):
            material = self._calling(edge, seed)
            if material is not None and left[material.kind] > 0:
                left[material.kind] -= 1
                yield material

    def _calling(self, edge: Edge, seed: _Seed) -> Material | None:
        file = self._view.file(edge.file)
        symbol = self._view.symbol(edge.file, edge.caller.number) if edge.caller.number >= 0 else None
        if file is None or (symbol is not None and (file.id, symbol.number) == (seed.file.id, seed.symbol.number)):
            return None
        kind: Literal["caller", "test"] = "test" if is_test(file.path) else "caller"
        part = (_TEST if kind == "test" else _CALLER) * edge.confidence
        start, end = (symbol.start_line, symbol.end_line) if symbol else (edge.lines[0], edge.lines[-1])
        return Material(
            kind, qualified_name(file, symbol) if symbol else file.path, file.path, start, end,
            f"it calls {seed.symbol.path} (line {', '.join(map(str, edge.lines[:5]))})", part * seed.material.worth,
            lambda room: self._excerpt(file, symbol, edge.lines, room, whole=kind == "test"),
        )  # fmt: skip

    def _excerpt(
        self, file: FileRow, symbol: SymbolRow | None, calls: tuple[int, ...], room: int, *, whole: bool
    ) -> FittedText | None:
        """A test whole where it fits; of a caller its head and the lines around each call."""
        if whole and symbol is not None and (body := body_of(self._view, file, symbol, room)) is not None:
            return FittedText(body.text, body.start_line, is_cut=False)
        lines = self._view.text(file.id).split("\n")
        first, last = (symbol.start_line, symbol.end_line) if symbol else (1, len(lines))
        head = set(range(symbol.name_line, symbol.name_line + 1 + symbol.signature.count("\n"))) if symbol else set()
        near = {at for call in calls for at in range(call - _AROUND, call + _AROUND + 1) if first <= at <= last}
        kept = sorted(head | near)
        return _fitting(list(_with_gaps(lines, kept, last)), kept[0], room) if kept else None

    # What people wrote.

    def _notes(self, written: Iterable[Note], seeds: dict[str, float], most: float) -> Iterator[Material]:
        for each in written:
            about = seeds.get(each.about, 0.0)
            share, why = self._share(each, most)
            if about or share:
                why = f"it is about {each.about}" if about else why
                worth = max(about, share) * _WRITTEN + _BINDING * each.is_binding
                yield _note(each, min(1.0, worth), f"{why}; {each.note}" if each.note else why)

    def _share(self, each: Note, most: float) -> tuple[float, str]:
        """How much of the task something written is about, and how that is known; nothing for a word or so."""
        if each.relevance is not None:
            return min(1.0, each.relevance / most), f"the search for the task finds it (relevance {each.relevance:.2f})"
        shared = sorted(self._words & frozenset(analyse(f"{each.title} {each.text}").split()))
        in_title = self._words & frozenset(analyse(each.title).split())
        if len(shared) < _LEAST_SHARED and not in_title:
            return 0.0, ""
        share = len(shared) / max(1, len(self._words)) + _IN_TITLE * bool(in_title)
        return min(1.0, share), f"it speaks of {', '.join(shared[:4])}"


@dataclass(frozen=True)
class _Seed:
    material: Material
    file: FileRow
    symbol: SymbolRow


def _merge(materials: list[Material]) -> list[Material]:
    """Each place once, as its best, with the reasons of all."""
    best: dict[tuple[str, str, int], Material] = {}
    for each in materials:
        place = (each.path, each.name, each.line_start)
        known = best.get(place)
        if known is None:
            best[place] = each
        elif each.why not in known.why and known.kind != each.kind:
            best[place] = replace(known, why=f"{known.why}; {each.why}")
    return list(best.values())


def _once(seeds: list[_Seed]) -> list[_Seed]:
    found: dict[tuple[int, int], _Seed] = {}
    for each in seeds:
        found.setdefault((each.file.id, each.symbol.number), each)
    return list(found.values())


def _note(each: Note, worth: float, why: str) -> Material:
    text = f"{each.title}\n{each.text}" if each.title else each.text
    return Material(each.kind, each.name, each.path, 0, 0, why, worth, lambda room: _fitting(text.split("\n"), 0, room))


def _with_gaps(lines: list[str], kept: list[int], last: int) -> Iterator[str]:
    """The kept lines, and a mark for those between and after them."""
    for before, at in zip([kept[0], *kept], kept, strict=False):
        if at > before + 1:
            yield ELISION
        yield lines[at - 1]
    if kept[-1] < last:
        yield ELISION


def _fitting(lines: list[str], start: int, room: int) -> FittedText | None:
    """The leading lines that fit, and a mark where some did not."""
    kept, used = list[str](), 0
    for line in lines:
        used += len(line) + 1
        if used > room - len(ELISION):
            break
        kept.append(line)
    if not any(line.strip() for line in kept):
        return None
    if len(kept) == len(lines):
        return FittedText("\n".join(kept), start, is_cut=False)
    return FittedText("\n".join([*kept, ELISION]), start, is_cut=True, is_telling=len(kept) >= _TELLING * len(lines))


def rules(catalog: Catalog, about: Mapping[str, str]) -> Iterator[Note]:
    """The catalogue's entries that hold still: those of no certain file, and those of the files given by id."""
    for entry in catalog.entries.values():
        value = entry.value
        holds = value.applies_to is None or value.applies_to.on_request or value.id in about
        if value.requirement != "deprecated" and holds:
            title = f"{value.title} [{', '.join(value.categories)}]" if value.categories else value.title
            is_binding, file = value.requirement in ("mandatory", "critical"), about.get(value.id, "")
            yield Note("rule", value.id, title, value.body, entry.file, file, value.requirement, is_binding)
