"""Search by substring: everything whose title or body contains the words is found, the best match first.

Letter case is folded character by character, so that a part of a text folds to a part of the folded text; lowercasing
would not do, as it writes the Greek sigma by its place in the word.
"""

from __future__ import annotations

import re
from operator import itemgetter

from codecairn.catalog.entries import Catalog, CheckedEntry, normalise_lines

_WHOLE_TITLE, _TITLE_START, _TITLE_WORD, _TITLE, _BODY_WORD, _BODY = range(6)


def search(catalog: Catalog, q: str) -> list[CheckedEntry]:
    """By where and how it matches, then by priority, then by id."""
    needle = normalise_lines(q).casefold()
    literal = re.escape(needle)
    # The literal comes first, as what begins with one is looked for a hundred times faster.
    word = re.compile(rf"{literal}(?<!\w{literal})(?!\w)")
    found = [
        ((_match(entry, needle, word), entry.value.priority, entry.value.id), entry)
        for entry in catalog.haystack.candidates(needle)
        if needle in entry.folded_title or needle in entry.folded_body
    ]
    found.sort(key=itemgetter(0))
    return [entry for _, entry in found]


def _match(entry: CheckedEntry, needle: str, word: re.Pattern[str]) -> int:
    """A title says more than a body, a whole word more than a part of one."""
    title = entry.folded_title
    if title.startswith(needle):
        return _WHOLE_TITLE if title == needle else _TITLE_START
    if needle in title:
        return _TITLE_WORD if word.search(title) else _TITLE
    return _BODY_WORD if word.search(entry.folded_body) else _BODY
