"""What is asked of a package: its prose and its tests speak of single functions in other words than the code has.

    readme   a sentence of a README or a guide that names one function or type in backticks
    change   an entry of a changelog that does
    test     the name or the description of a test, of the function that it calls and the fewest others do

The name is taken out of every other sentence, as its digest says, so that half of the questions have to be understood.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from codecairn.words import identifiers, parts_of
from training.archives import Code, Document
from training.functions import Item, digest
from training.prose import flattened, is_prose, sentences

_TICKED = re.compile(r"`{1,2}([^`\n]{2,80})`{1,2}")
_NAME = re.compile(r"(?:[\w.$@:#>/-]*[.:#>/])?~?([A-Za-z_$][\w$]*[?!]?)(?:/\d)?(?:\(.*\))?;?")
_FENCE = re.compile(r"(?ms)^\s*(?:```|~~~).*?^\s*(?:```|~~~)\s*$|^(?: {4}|\t).*$|^\s*\.\. code.*?(?=^\S)")
_BULLET = re.compile(r"(?m)^\s*(?:[-*+•]|\d+\.|\(\w\))\s+")
_REFERENCE = re.compile(
    r"\(?(?:#\d+|GH-?\d+|[0-9a-f]{7,40}|@[\w-]+|\[[^\]]*\]\([^)]*\)|:(?:issue|pr|pull|gh):`[^`]*`)\)?,?"
)
_TESTS = re.compile(
    r"""(?x)
    (?: \b(?:it|test|specify|scenario|prop|property|testCase|should|describe|context) (?:\.\w+)? | @test )
      \s* \(? \s* (?P<q>["'`]) (?P<text>[^"'`\n]{8,140}) (?P=q)
    | \b(?:def|function|fn|func|fun|void|Task|sub) \s+ (?: \([^)]*\) \s* )? `?
      (?P<name> (?:test|Test)_?[\w ]{5,80} | (?:should|when|given|can|does|returns)_?\w{8,80} ) `? \s* \(?
    | \#\[(?:\w+::)?test\] \s* (?:async\s+)? fn \s+ (?P<rust>\w{6,80})
    | ^(?P<shell>test_\w{6,80}) \s* \(\)
    | \bTEST(?:_F|_P)? \s* \( \s* \w+ \s* , \s* (?P<case>\w{6,80}) \s* \)""",
    re.MULTILINE,
)
_BODY = 2500
_SHORTEST_NAME = 4
_MOST_TESTS = 2500
_MOST = 120
"""Questions of one kind from one package."""
_SHARED = 4
"""A function that more tests than this call is what they are set up with, not what they test."""


_ABOUT = 0.2
"""The share of a test's words that the code of what it tests has too."""


class Question(Struct, frozen=True):
    package: str
    language: str
    kind: str
    question: str
    path: str
    name: str
    code: str


class Definition(Struct, frozen=True):
    path: str
    language: str
    item: Item


def unique(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """The definitions whose name nothing else in the package has."""
    found: dict[str, list[Definition]] = defaultdict(list)
    for each in definitions:
        found[each.item.name].append(each)
    return {name: same[0] for name, same in found.items() if len(same) == 1 and len(name) >= _SHORTEST_NAME}


def questions_of(
    package: str, defined: dict[str, Definition], documents: Iterable[Document], codes: Iterable[Code]
) -> list[Question]:
    told = [*_told(documents, defined, changes=False), *_told(documents, defined, changes=True)]
    asked = [("change" if is_change else "readme", text, name) for text, name, is_change in told]
    asked += [("test", text, name) for text, name in _tested(codes, defined)]
    kept: list[Question] = []
    counts: Counter[str] = Counter()
    for kind, text, name in sorted(set(asked), key=lambda each: digest(each[1])):
        if counts[kind] < _MOST:
            counts[kind] += 1
            kept.append(_question(package, kind, text, defined[name]))
    return kept


def _question(package: str, kind: str, text: str, of: Definition) -> Question:
    return Question(package, of.language, kind, text, of.path, of.item.name, of.item.code)


def is_about(question: Question) -> bool:
    """Whether a test that calls a function also speaks of it: some of its words are in the code."""
    if question.kind != "test":
        return True
    words = set(parts_of(question.question))
    shared = words.intersection(parts_of(f"{question.name} {question.code}"))
    return len(shared) >= _ABOUT * len(words)


def _told(
    documents: Iterable[Document], defined: dict[str, Definition], *, changes: bool
) -> Iterator[tuple[str, str, bool]]:
    for document in documents:
        if document.is_changelog == changes:
            prose = _FENCE.sub("\n\n", document.text[:200_000])
            for sentence in _entries(prose) if changes else _sentences(prose):
                found = _named(sentence, defined)
                if found is not None:
                    yield (*found, changes)


def _entries(text: str) -> list[str]:
    return [part.split("\n\n", 1)[0] for part in _BULLET.split(text)[1:]]


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n|^\s*#+.*$|^\s*\|.*$", text, flags=re.MULTILINE):
        for part in _BULLET.split(paragraph):
            yield from sentences(part)


def _named(sentence: str, defined: dict[str, Definition]) -> tuple[str, str] | None:
    ticked = _TICKED.findall(sentence)
    names = {match[1] for match in map(_NAME.fullmatch, ticked) if match and match[1] in defined}
    if len(names) != 1 or len(sentence) > 700:
        return None
    (name,) = names
    plain = _REFERENCE.sub(" ", sentence)
    if digest(plain) % 2:
        plain = _TICKED.sub(lambda match: " " if _is_of(match[1], name) else match[0], plain)
    text = flattened(plain).strip(" :-–—,.")
    return (text, name) if is_prose(text) else None


def _is_of(ticked: str, name: str) -> bool:
    match = _NAME.fullmatch(ticked)
    return bool(match and match[1] == name)


def _tested(codes: Iterable[Code], defined: dict[str, Definition]) -> Iterator[tuple[str, str]]:
    tests = [each for code in codes for each in _tests(code)][:_MOST_TESTS]
    called = [(text, {name for name in identifiers(body) if name in defined}) for text, body in tests]
    counts = Counter(name for _, names in called for name in names)
    for text, names in called:
        name = _meant(text, names, counts)
        if name is not None:
            yield text, name


def _meant(text: str, names: set[str], counts: Counter[str]) -> str | None:
    """Of the functions a test calls the one that the fewest tests do; the one its words are of, among equals."""
    fewest = min((counts[name] for name in names), default=_SHARED + 1)
    if fewest > _SHARED:
        return None
    words = set(parts_of(text))
    rated = sorted((-len(words.intersection(parts_of(name))), name) for name in names if counts[name] == fewest)
    if len(rated) > 1 and rated[0][0] == rated[1][0]:
        return None
    return rated[0][1]


def _tests(code: Code) -> Iterator[tuple[str, str]]:
    if not code.is_test and b"test" not in code.source:
        return
    text = code.source.decode("utf-8", "replace")
    found = list(_TESTS.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=False):
        described = match["text"] or _spelled(match["name"] or match["rust"] or match["shell"] or match["case"] or "")
        if len(described.split()) >= 3 and is_prose(described):
            yield described, text[match.end() : min(end, match.end() + _BODY)]


def _spelled(name: str) -> str:
    """A test's name as words: `test_parses_empty_header`, `ParsesEmptyHeader`."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\s]+", " ", name.strip())
    words = [word.lower() for word in split.split()]
    return " ".join(words[1:] if words[:1] in (["test"], ["tests"]) else words)
