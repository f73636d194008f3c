"""Text as words: one analysis for what is indexed and for what is asked.

Text is split where identifiers are: camelCase, snake_case, acronyms and digits give their parts, and an identifier of
several parts is a word too, so that `mergeConfig` finds itself before anything that merges a config. Parts are cut to
a stem (`parsing`, `parser`, `parsed`: one word); whole identifiers are not. Punctuation separates, so `http.Handler`,
`std::vector<int>` and `kebab-case` are the words they are made of. A chunk is analysed once, when it is indexed; a
query by the same function, less the words that only hold a sentence together.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain

from codecairn.cache import Memo

ANALYSIS = 1
"""Raised whenever a text would give other words."""

_WORD = re.compile(r"[^\W\d]\w*|\d+")
_ASCII_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")
"""The same of a text in ASCII, in half the time."""
_APART = bytes(code if code >= 128 or chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))
"""All of ASCII that is in no word is a blank; other letters, of several bytes each, are told by an expression."""
_AFTER_DIGITS = chr(ord("9") + 1)
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
_VOWEL = re.compile("[aeiouy]")
_LONGEST_PART = 40
"""Characters. A longer part is a key, a hash or data, and nobody asks for it."""
_LONGEST_IDENTIFIER = 120
_MOST_IDENTIFIER_BYTES = 12_000_000
"""Some hundred thousand identifiers, each of which recurs a hundred times in a repository."""
_MOST_PART_BYTES = 6_000_000
_MOST_STEM_BYTES = 2_000_000
"""Some ten thousand parts: the 35,000 identifiers that two hundred searches of Django meet have 113,000, of which
8,400 differ."""

_STOP_WORDS = frozenset(
    """
    a an the and or but if then else of to in on at by for with from as is are was were be been being it its this that
    these those i me my we our you your he she they them their what which who whom how when where why do does did doing
    done has have had having can could should would will may might must not no nor so too very just there here than
    into about over under out up down off am im ive dont doesnt isnt cant wont s t re ve ll d m
    """.split()  # noqa: SIM905
)
"""Taken off queries alone: `if`, `from` and `do` are code, and a word such as `how`, rare in code, would weigh most."""

_ENDINGS = (
    ("ization", 3), ("isation", 3), ("izing", 3), ("ising", 4), ("izer", 3), ("ized", 3), ("ised", 4), ("izable", 3),
    ("ize", 3), ("ation", 3), ("ating", 3), ("ator", 3), ("ated", 3), ("ate", 4), ("able", 4), ("ible", 4),
    ("ement", 4), ("ment", 4), ("ness", 4), ("ful", 4), ("ition", 4), ("sion", 4), ("tion", 4), ("ion", 4), ("ing", 3),
    ("ive", 4), ("ied", 3), ("ed", 3), ("er", 4), ("or", 4), ("ly", 4), ("al", 4), ("ance", 4), ("ence", 4),
)  # fmt: skip
"""An ending and the letters that must be left before it. The first that fits is taken off: longer ones stand first."""
_ENDINGS_BY_LETTER = {
    last: [each for each in _ENDINGS if each[0][-1] == last] for last in {each[-1] for each, _ in _ENDINGS}
}
"""By their last letter: of words that are read for the first time this is the most work."""


def analyse(text: str) -> str:
    """The words of a text, separated by blanks, in order: what is indexed, and what is counted."""
    return analyse_identifiers(identifiers(text))


def analyse_identifiers(found: Iterable[str]) -> str:
    """The same of a text whose identifiers were already found; digits may stand at the front of one."""
    return " ".join(filter(None, map(_known.__getitem__, found)))


def analyse_code(text: bytes) -> tuple[str, str]:
    """The words of a text, as `analyse` gives them, and its identifiers as they are written, each once, in order."""
    # Half the time of an expression, but for digits at the front of a word, which are one by themselves.
    found = text.translate(_APART).decode("utf-8", "replace").split()
    if not text.isascii():
        found = list(chain.from_iterable([each] if each.isascii() else _WORD.findall(each) for each in found))
    spelt = sorted(set(found))
    numbers = bisect_left(spelt, _AFTER_DIGITS)
    if not all(map(str.isdigit, spelt[:numbers])):
        apart = chain.from_iterable(map(identifiers, spelt[:numbers]))
        spelt = sorted({*apart, *spelt[numbers:]})
    return analyse_identifiers(found), " ".join(spelt)


def words_of(identifier: str) -> list[str]:
    """The stems of an identifier's parts, then the identifier itself where it has several."""
    return _known[identifier].split()


def _analyse_identifier(identifier: str) -> str:
    if "0" <= identifier[0] <= "9" and not identifier.isdigit():
        return analyse(identifier)
    parts = [part.lower() for part in _PART.findall(identifier)]
    stems = [_stems[part] for part in parts if len(part) < _LONGEST_PART]
    if len(parts) > 1 and len(identifier) < _LONGEST_IDENTIFIER:
        stems.append(bare(identifier))
    return " ".join(stems)


def bare(name: str) -> str:
    """A name as it is compared: what marks it private or a variable is no part of it."""
    return name.strip("_$@").lower()


def parts_of(text: str) -> tuple[str, ...]:
    """The stems of the parts alone, each once."""
    return _parts[text]


def fresh_parts_of(text: str) -> tuple[str, ...]:
    """The same for one of many texts that will hardly be asked about again."""
    if text.isidentifier() and text.isascii():  # as nearly every name
        words = words_of(text)
        return tuple(dict.fromkeys(words[:-1] if len(words) > 1 else words))
    found: dict[str, None] = {}
    for identifier in _WORD.findall(text):
        words = words_of(identifier)
        found.update(dict.fromkeys(words[:-1] if len(words) > 1 else words))
    return tuple(found)


def stem(word: str) -> str:
    return _stems[word]


def _stem(word: str) -> str:
    word = _singular(word)
    if len(word) < 5:
        return word
    for ending, least in _ENDINGS_BY_LETTER.get(word[-1], ()):
        left = len(word) - len(ending)
        if left >= least and word.endswith(ending) and _VOWEL.search(word, 0, left):
            word = _without_doubled_end(word[:left])
            break
    if len(word) > 4 and word[-1] == "e":
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word[-1] == "y" else word


def _without_doubled_end(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word


def _singular(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zzes")) else word[:-1]


def query_words(text: str) -> list[str]:
    """The words of a query, in order, each as often as it is there."""
    identifiers = _WORD.findall(text)
    telling = [each for each in identifiers if each.lower() not in _STOP_WORDS]
    return [word for each in telling or identifiers for word in words_of(each)]


def spellings(text: str) -> frozenset[str]:
    """Every identifier of a text as it is compared."""
    return frozenset(bare(each) for each in _WORD.findall(text))


def identifiers(text: str) -> list[str]:
    """Every identifier of a text as it is written, in order."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


_known: Memo[str, str] = Memo("words.identifiers", _MOST_IDENTIFIER_BYTES, _analyse_identifier)
_stems: Memo[str, str] = Memo("words.stems", _MOST_STEM_BYTES, _stem)
_parts: Memo[str, tuple[str, ...]] = Memo("words.parts", _MOST_PART_BYTES, fresh_parts_of)
