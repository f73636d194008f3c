"""From packages to the two files of training data.

Each package is mined by itself, in any order and in several processes, and what was found is kept beside its archives.
Joining goes through the packages in the order of the list: a function or a documentation that was there before, or
that is in a project the embedding is measured on, is dropped, the rest is cut to what each language, each package and
the file may hold. The same archives give the same files.
"""

from __future__ import annotations

import lzma
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from codecairn.file_roles import is_test
from codecairn.parse.language import language_of
from training.archives import RARE, Code, Document, files_of
from training.functions import Item, digest, items_of
from training.packages import Cache, Excluded, Package
from training.questions import Definition, Question, is_about, questions_of, unique

_AROUND = 3
"""Neighbours without documentation that are kept on either side of a documented function."""
_MOST_OF_PACKAGE = 2_500
_MOST_OF_RARE = 12_000
_MOST_OF_LANGUAGE = 60_000
_MOST_QUESTIONS = 8_000
_FILES_READ = 120
"""Files of a common language in one package: what is learned from more packages is worth more."""
_FULL = 0.95
"""Of the size asked for: what a sample compresses to tells only roughly what all of it will."""
_CALLABLE = ("function", "method")


class Documented(Struct, frozen=True):
    """A file with at least one documented function."""

    package: str
    language: str
    path: str
    items: list[Item]

    @property
    def count(self) -> int:
        return sum(bool(item.doc) for item in self.items)


class Mined(Struct, frozen=True):
    files: list[Documented]
    questions: list[Question]


def mined(package: Package, cache: Cache, excluded: Excluded) -> Mined:
    found = list(files_of(package, cache, excluded))
    codes = sorted((each for each in found if isinstance(each, Code)), key=lambda each: _order(each.path))
    documents = [each for each in found if isinstance(each, Document)]
    files: list[Documented] = []
    definitions: list[Definition] = []
    counts: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for code in codes:
        language = code.language.data.name
        read[language] += not code.is_test
        if code.is_test or (read[language] > _FILES_READ and language not in RARE):
            continue
        part = _part(code.path, language)
        if counts[part] >= _MOST_OF_PACKAGE or counts[language] >= _most(language):
            continue
        items = items_of(code.language, code.source)
        definitions += [Definition(code.path, language, item) for item in items]
        kept = around_documented([item for item in items if item.kind in _CALLABLE])
        if kept:
            files.append(Documented(package.label, language, code.path, kept))
            counts.update(dict.fromkeys({part, language}, files[-1].count))
    files.sort(key=lambda each: each.path)
    return Mined(files, questions_of(package.label, unique(definitions), documents, codes))


def _most(language: str) -> int:
    return _MOST_OF_RARE if language in RARE else _MOST_OF_PACKAGE


def _part(path: str, language: str) -> str:
    """A language there is little of has its large packages counted by their parts."""
    return f"{language}/{'/'.join(path.split('/')[:2])}" if language in RARE else language


def _order(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()


def around_documented(items: list[Item]) -> list[Item]:
    """The documented ones and their neighbours."""
    documented = [number for number, item in enumerate(items) if item.doc]
    near = {at for number in documented for at in range(number - _AROUND, number + _AROUND + 1)}
    return [item for number, item in enumerate(items) if number in near]


def known_digests(folder: Path) -> frozenset[int]:
    """Of every function, and every longer documentation, of the repositories in a folder."""
    found: set[int] = set()
    for path in sorted(folder.rglob("*")):
        if not _is_measured_on(path, folder):
            continue
        source = path.read_bytes()
        language = language_of(path.name, source[:1500])
        if language is not None:
            for item in items_of(language, source):
                found.add(digest(item.code))
                if len(item.doc) >= 40:
                    found.add(digest(item.doc))
    return frozenset(found)


def _is_measured_on(path: Path, folder: Path) -> bool:
    """Tests are left out here as they are where things are mined."""
    inner = path.relative_to(folder).as_posix()
    return path.is_file() and "/.git/" not in inner and not is_test(inner) and path.stat().st_size <= 400_000


class Joining:
    """What of the mined packages stays, when they come in the order of the list."""

    def __init__(self, known: frozenset[int], excluded: Excluded) -> None:
        self.files: list[Documented] = []
        self.questions: list[Question] = []
        self.dropped: Counter[str] = Counter()
        self._known = known
        self._excluded = excluded
        self._codes: set[int] = set()
        self._docs: set[int] = set()
        self._asked: set[int] = set()

    def add(self, found: Mined) -> None:
        for file in found.files:
            if self._excluded.has_path(file.path):
                continue
            kept = around_documented([item for item in map(self._seen, file.items) if item is not None])
            if kept:
                self.files.append(msgspec.structs.replace(file, items=kept, language=_spoken(file.language)))
        for question in found.questions:
            if not self._excluded.has_path(question.path):
                self._ask(msgspec.structs.replace(question, language=_spoken(question.language)))

    def _seen(self, item: Item) -> Item | None:
        code = digest(item.code)
        if code in self._known or code in self._codes:
            self.dropped["measured on" if code in self._known else "seen code"] += 1
            return None
        self._codes.add(code)
        if not item.doc:
            return item
        doc = digest(item.doc)
        if doc in self._docs or doc in self._known:
            self.dropped["seen documentation"] += 1
            return msgspec.structs.replace(item, doc="")
        self._docs.add(doc)
        return item

    def _ask(self, question: Question) -> None:
        asked = digest(question.question)
        is_known = asked in self._known or digest(question.code) in self._known
        if asked in self._asked or is_known or not is_about(question):
            self.dropped["question"] += 1
            return
        self._asked.add(asked)
        self.questions.append(question)


def _spoken(language: str) -> str:
    return "typescript" if language == "tsx" else language


def capped(files: Iterable[Documented]) -> dict[str, list[Documented]]:
    """By language, no more than each may have; which of them does not depend on the order."""
    by_language: dict[str, list[Documented]] = defaultdict(list)
    for file in files:
        by_language[file.language].append(file)
    return {name: _first(by_language[name], _MOST_OF_LANGUAGE) for name in sorted(by_language)}


def _first(files: list[Documented], most: int) -> list[Documented]:
    kept, count = [], 0
    for file in sorted(files, key=lambda each: _order(each.package + each.path)):
        if count >= most:
            break
        kept.append(file)
        count += file.count
    return kept


def fitted(by_language: dict[str, list[Documented]], size: int) -> tuple[list[Documented], bytes]:
    """What of the files compresses to this size, and that: all of the small languages, and as much of the others."""
    sizes = {name: sum(map(_length, files)) for name, files in by_language.items()}
    total = size / _ratio([file for files in by_language.values() for file in files[::25]])
    while True:
        chosen = _chosen(by_language, _share(sizes, total))
        packed = compressed(chosen)
        is_all = len(chosen) == sum(map(len, by_language.values()))
        if len(packed) <= size and (is_all or len(packed) >= _FULL * size):
            return chosen, packed
        total *= 0.985 * size / len(packed)


def _chosen(by_language: dict[str, list[Documented]], share: float) -> list[Documented]:
    chosen = [file for files in by_language.values() for file in _within(files, share)]
    return sorted(chosen, key=lambda each: (each.language, each.package, each.path))


def _ratio(sample: list[Documented]) -> float:
    sample.sort(key=lambda each: (each.language, each.package, each.path))
    return len(compressed(sample)) / max(sum(map(_length, sample)), 1)


def _share(sizes: dict[str, int], total: float) -> float:
    """The most bytes a language may have, so that all together have no more than the total."""
    left = total
    for number, size in enumerate(ordered := sorted(sizes.values())):
        share = left / (len(ordered) - number)
        if size > share:
            return share
        left -= size
    return max(ordered, default=0)


def _within(files: list[Documented], most: float) -> Iterator[Documented]:
    for file in files:
        most -= _length(file)
        if most < -1:
            return
        yield file


def _length(file: Documented) -> int:
    return sum(len(item.code) + len(item.doc) + 60 for item in file.items)


def chosen_questions(questions: Iterable[Question], size: int) -> tuple[list[Question], bytes]:
    counts: Counter[str] = Counter()
    kept = []
    for each in sorted(questions, key=lambda each: _order(each.question)):
        if counts[each.language] < _MOST_QUESTIONS:
            counts[each.language] += 1
            kept.append(each)
    while len(packed := compressed(kept)) > size:
        kept = kept[: int(len(kept) * 0.97 * size / len(packed))]
    kept.sort(key=lambda each: (each.language, each.package, each.path, each.question))
    return kept, compressed(kept)


def compressed(records: Iterable[Struct]) -> bytes:
    return lzma.compress(b"".join(msgspec.json.encode(each) + b"\n" for each in records), preset=6)
