"""The words a table has rows for, and a text as a bag of them.

The vocabulary is the words found in most packages, where each language counts alike however much there is of it: what
one project alone says is not everybody's word. Any other word goes to one of the buckets that follow the vocabulary, by
its checksum.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from codecairn.words import analyse, identifiers, stem, words_of
from training.views import Code

WORDS = 30_000
BUCKETS = 2_768


LONGEST_BAG = 400
"""Unique words, the first of a text: rows of int8 times weights of 8 bits then sum exactly in a float32."""

MOST_OFTEN = 127
"""Times that a word counts in one text."""

NAMED = 128
"""Added to the times of a word that is in a name being defined."""

_SMALLEST_LANGUAGE = 150
"""Packages. A language with fewer counts as if it had these, or its every second word would be chosen."""

_FEWEST_PACKAGES = 4
"""That a word of the vocabulary is in."""


@dataclass
class Counts:
    """What a stretch of the corpus tells of its words."""

    said: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """By language and package: its words."""
    documented: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Documented functions by language and package."""
    spelled: Counter[str] = field(default_factory=Counter)
    """Words of one part as they are written in lower case."""
    written: dict[str, str] = field(default_factory=dict)
    """Identifiers of several parts as they were first written."""

    def add(self, other: Counts) -> None:
        for package, words in other.said.items():
            self.said.setdefault(package, set()).update(words)
        self.documented.update(other.documented)
        self.spelled.update(other.spelled)
        self.written = {**other.written, **self.written}


def counted(records: Iterable[Mapping[str, Any]]) -> Counts:
    counts = Counts()
    for record in records:
        package = (record["language"], record["package"])
        words = counts.said.setdefault(package, set())
        for text in _texts(record):
            words |= _seen(text, counts)
        counts.documented[package] += sum(bool(item["doc"]) for item in record.get("items", ()))
    counts.spelled = Counter({word: times for word, times in counts.spelled.items() if times > 1})
    return counts


def _texts(record: Mapping[str, Any]) -> list[str]:
    if "question" in record:
        return [record["question"]]
    texts = [text for item in record["items"] for text in (item["doc"], f"{item['name']}\n{item['code']}") if text]
    return [record["path"], *texts]


def _seen(text: str, counts: Counts) -> set[str]:
    found: set[str] = set()
    for identifier in set(identifiers(text)):
        words = words_of(identifier)
        found.update(words)
        if len(words) == 1:
            counts.spelled[identifier.lower()] += 1
        elif words and words[-1] not in counts.written:
            counts.written[words[-1]] = identifier
    return found


def chosen(counts: Counts, most: int = WORDS) -> list[str]:
    """The vocabulary, the commonest word first."""
    sizes = Counter(language for language, _ in counts.said)
    shares: Counter[str] = Counter()
    packages: Counter[str] = Counter()
    for (language, _), words in counts.said.items():
        packages.update(words)
        shares.update(dict.fromkeys(words, 1 / max(sizes[language], _SMALLEST_LANGUAGE)))
    common = [word for word in shares if packages[word] >= _FEWEST_PACKAGES]
    return sorted(common, key=lambda word: (-shares[word], word))[:most]


def spellings(vocabulary: list[str], counts: Counts) -> list[str]:
    """Each word as a person writes it: a stem in its commonest form, an identifier in its parts."""
    commonest: dict[str, str] = {}
    for spelled, _ in counts.spelled.most_common():
        commonest.setdefault(stem(spelled), spelled)
    return [commonest.get(word) or parted(counts.written.get(word, word)) for word in vocabulary]


def parted(identifier: str) -> str:
    spaced = "".join(f" {each}" if each.isupper() else each for each in identifier.replace("_", " ").replace("$", ""))
    return " ".join(spaced.lower().split()) if not identifier.isupper() else identifier.replace("_", " ").lower()


class Bag(NamedTuple):
    ids: list[int]
    times: list[int]
    """Up to MOST_OFTEN, and NAMED more for a word of a name being defined."""


class Vocabulary:
    def __init__(self, words: list[str], buckets: int = BUCKETS) -> None:
        self.words = words
        self.buckets = buckets

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def id_of(self, word: str) -> int:
        known = self._ids.get(word)
        return (
            len(self.words) + zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.buckets
            if known is None
            else known
        )

    def of_query(self, text: str) -> Bag:
        return self._bag(analyse(text).split(), frozenset())

    def of_code(self, code: Code) -> Bag:
        names = analyse(code.named).split()
        words = [*analyse(code.located).split(), *names, *analyse(code.text).split()]
        return self._bag(words, frozenset(names))

    def _bag(self, words: list[str], names: frozenset[str]) -> Bag:
        times: dict[int, int] = {}
        for word in words:
            number = self.id_of(word)
            times[number] = times.get(number, 0) + 1
        named = {self.id_of(word) for word in names}
        kept = list(times.items())[:LONGEST_BAG]
        return Bag(
            [number for number, _ in kept],
            [min(often, MOST_OFTEN) + NAMED * (number in named) for number, often in kept],
        )
