"""Doubts about entries that load: near doubles, opposite wording, cited deprecations, what nobody sees or can read.

These are hints for a person, and each says how sure it is: two texts that share most of their words may still mean two
things. The work is linear in the catalogue: entries are compared only with those that share a mark with them, and
with a bounded number of those.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.catalog.entries import Catalog, CheckedEntry, Problem
from codecairn.store.memory import Usage

LONGEST_BODY = DEFAULT_CHARACTERS
"""Characters of a body: beyond it an answer cannot show it whole."""
_LEAST_LIKE, _LEAST_OPPOSED = 0.8, 0.6
_SKETCH, _MOST_COMPARED = 8, 20
_SHINGLE = 3
_LEAST_WORDS = 6
_LONGEST_SENTENCE = 400
_WORD = re.compile(r"[^\W_][\w'-]*")
_SENTENCE = re.compile(r"[^.;!?\n]+")
_TOKEN = re.compile(r"[^\s`\"'()\[\],;]+")
_AGAINST = re.compile(
    r"\b(?:never|do not|don't|must not|mustn't|should not|shouldn't|avoid|forbid\w*|prohibit\w*|not allowed|cannot|"
    r"can't)\b"
)
_FOR = re.compile(r"\b(?:always|must|should|use|prefer|requires?|required|shall|only|need)\b")
_EMPTY = frozenset(
    "a an and any are as at be been but by for from has have if in into is it its not of on or our so than that the "  # noqa: SIM905
    "their them then there these they this to we when where which with you your all each every never do don't must "
    "mustn't should shouldn't avoid cannot can't always use using prefer require requires required shall only need "
    "please make sure allowed".split()
)


def doubts(catalog: Catalog, shown: Mapping[str, Usage]) -> list[Problem]:
    """Everything about the entries that a person should look at."""
    return [
        *_near_doubles(catalog),
        *_contradictions(catalog),
        *_cited_deprecations(catalog),
        *_never_shown(catalog, shown),
        *_too_long(catalog),
    ]


def circles(catalog: Catalog) -> list[Problem]:
    """Deprecations that lead back to where they began, so that nobody finds the entry that holds."""
    ends: dict[str, bool] = {}
    for identity in catalog.entries:
        way: dict[str, None] = {}
        at: str | None = identity
        while at is not None and at in catalog.entries and at not in ends and at not in way:
            way[at] = None
            at = catalog.entries[at].value.deprecated_by
        is_circle = at is not None and (at in way or ends.get(at, False))
        ends |= dict.fromkeys(way, is_circle)
    found = [catalog.entries[identity] for identity, is_circle in ends.items() if is_circle]
    return [Problem(each.file, "deprecatedBy leads in a circle") for each in found]


def _near_doubles(catalog: Catalog) -> Iterator[Problem]:
    marks: defaultdict[int, list[tuple[CheckedEntry, frozenset[int]]]] = defaultdict(list)
    for entry in catalog.entries.values():
        shingles = _shingles(entry.folded_body)
        if len(shingles) < _LEAST_WORDS:
            continue
        compared: set[str] = set()
        for mark in sorted(shingles)[:_SKETCH]:
            for other, theirs in marks[mark][:_MOST_COMPARED]:
                if other.value.id not in compared and other.value.source_hash != entry.value.source_hash:
                    compared.add(other.value.id)
                    likeness = len(shingles & theirs) / len(shingles | theirs)
                    if likeness >= _LEAST_LIKE:
                        yield Problem(entry.file, f"says nearly the same as {other.file} ({likeness:.0%} alike)")
            marks[mark].append((entry, shingles))


def _shingles(text: str) -> frozenset[int]:
    words = _WORD.findall(text)
    rows = (words[at : at + _SHINGLE] for at in range(max(1, len(words) - _SHINGLE + 1)))
    return frozenset(hash(tuple(each)) for each in rows)


class _Wording(NamedTuple):
    entry: CheckedEntry
    sentence: str
    words: frozenset[str]
    is_against: bool


def _contradictions(catalog: Catalog) -> Iterator[Problem]:
    """Binding entries of one scope, one of which forbids what the other asks for, as far as their words tell."""
    by_word: defaultdict[tuple[bytes, str], list[_Wording]] = defaultdict(list)
    pairs: set[frozenset[str]] = set()
    for one in _wordings(catalog):
        scope = msgspec.json.encode(one.entry.value.applies_to)
        for word in one.words:
            for other in by_word[scope, word][:_MOST_COMPARED]:
                pair = frozenset((one.entry.value.id, other.entry.value.id))
                sure = len(one.words & other.words) / len(one.words | other.words)
                if (
                    one.is_against != other.is_against
                    and len(pair) > 1
                    and pair not in pairs
                    and sure >= _LEAST_OPPOSED
                ):
                    pairs.add(pair)
                    yield Problem(one.entry.file, _opposition(one, other, sure))
            by_word[scope, word].append(one)


def _opposition(one: _Wording, other: _Wording, sure: float) -> str:
    return f"may contradict {other.entry.file} ({sure:.0%} of the words): {one.sentence!r} / {other.sentence!r}"


def _wordings(catalog: Catalog) -> Iterator[_Wording]:
    for entry in catalog.entries.values():
        if entry.value.requirement not in ("mandatory", "critical"):
            continue
        for found in _SENTENCE.finditer(f"{entry.folded_title}\n{entry.folded_body}"):
            sentence = found[0].strip(" -*#\t")[:_LONGEST_SENTENCE]
            is_against = _AGAINST.search(sentence) is not None
            words = frozenset(each.rstrip("s") for each in _WORD.findall(sentence) if each not in _EMPTY)
            if len(words) > 1 and (is_against or _FOR.search(sentence)):
                yield _Wording(entry, sentence, words, is_against)


def _cited_deprecations(catalog: Catalog) -> Iterator[Problem]:
    old = {each.value.id for each in catalog.entries.values() if each.value.requirement == "deprecated"}
    if not old:
        return
    for entry in catalog.entries.values():
        cited = old & {each.rstrip(".:") for each in _TOKEN.findall(entry.value.body)} - {entry.value.id}
        for identity in sorted(cited) if entry.value.requirement != "deprecated" else ():
            successor = catalog.entries[identity].value.deprecated_by
            yield Problem(entry.file, f"cites {identity}, which is deprecated; {successor} stands for it")


def _never_shown(catalog: Catalog, shown: Mapping[str, Usage]) -> Iterator[Problem]:
    """Told once some entries have been shown: before that it is true of all."""
    if not shown.keys() & catalog.entries.keys():
        return
    for entry in catalog.entries.values():
        if entry.value.id not in shown and entry.value.requirement in ("mandatory", "critical", "recommended"):
            yield Problem(entry.file, "was never shown to anybody: is its scope right?")


def _too_long(catalog: Catalog) -> Iterator[Problem]:
    for entry in catalog.entries.values():
        if len(entry.value.body) > LONGEST_BODY:
            length = len(entry.value.body)
            yield Problem(entry.file, f"is too long to be read: {length:,} characters, {LONGEST_BODY:,} fit an answer")
