"""Search by substring: everything whose title or body contains the words is found, the best match first.

Letter case is folded character by character, so that a part of a text folds to a part of the folded text; lowercasing
would not do, as it writes the Greek sigma by its place in the word.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import itemgetter

from codecairn.catalog.entries import Catalog, Entry, normalised

_WHOLE_TITLE, _TITLE_START, _TITLE_WORD, _TITLE, _BODY_WORD, _BODY = range(6)
_OCCURRENCES_LOOKED_AT = 64


def search(catalog: Catalog, q: str) -> list[Entry]:
    """By where and how it matches, then by priority, then by id."""
    needle = normalised(q).casefold()
    found = [
        ((_match(entry, needle), entry.value.priority, entry.value.id), entry)
        for entry in catalog.haystack.candidates(needle)
        if needle in entry.folded_title or needle in entry.folded_body
    ]
    found.sort(key=itemgetter(0))
    return [entry for _, entry in found]


def _match(entry: Entry, needle: str) -> int:
    """A title says more than a body, a whole word more than a part of one."""
    title = entry.folded_title
    if title.startswith(needle):
        return _WHOLE_TITLE if title == needle else _TITLE_START
    if needle in title:
        return _TITLE_WORD if _has_as_word(title, needle) else _TITLE
    return _BODY_WORD if _has_as_word(entry.folded_body, needle) else _BODY


def _has_as_word(text: str, needle: str) -> bool:
    starts = islice(_occurrences(text, needle), _OCCURRENCES_LOOKED_AT)
    return any(
        not (
            _is_of_a_word(text[start - 1 : start]) or _is_of_a_word(text[start + len(needle) : start + len(needle) + 1])
        )
        for start in starts
    )


def _occurrences(text: str, needle: str) -> Iterator[int]:
    start = text.find(needle)
    while start >= 0:
        yield start
        start = text.find(needle, start + 1)


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() or character == "_"
