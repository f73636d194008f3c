"""One walk over a syntax tree for both of a language's queries, and what they found, told apart.

Half of what a query costs is the walk, so the definitions and the references are one query, in this order. A match of
a definition is read by itself; names used are far more, and wanted as one list for each capture.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

Captures = dict[str, list[Any]]
"""The nodes of a match by the names that the query gives them."""
_CAPTURE = re.compile(rb"@([\w.-]+)")
_pattern, _captures = itemgetter(0), itemgetter(1)


class Matches(NamedTuple):
    definitions: list[tuple[int, Captures]]
    """Each with the number of its pattern, by which they are ordered."""
    uses: list[Captures]
    """For each tree, all nodes of each capture of the references."""


class FactsQuery:
    def __init__(self, query: Any, text: bytes, references_at: int) -> None:
        """The text of the query has the definitions first; at this byte the references begin."""
        self._query = query
        patterns = range(query.pattern_count)
        starts = list(map(query.start_byte_for_pattern, patterns))
        self._first_use = bisect_left(starts, references_at)
        self._names = [
            sorted(set(_CAPTURE.findall(text, starts[each], query.end_byte_for_pattern(each)))) for each in patterns
        ]

    def settings(self, pattern: int) -> dict[str, str]:
        settings: dict[str, str] = self._query.pattern_settings(pattern)
        return settings

    def matches(self, roots: list[Any]) -> Matches:
        from tree_sitter import QueryCursor  # noqa: PLC0415 - only workers parse

        definitions, uses = list[tuple[int, Captures]](), list[Captures]()
        for root in roots:
            found = QueryCursor(self._query).matches(root)
            # Matches come in the order they end; patterns are ranked by the order they are written.
            found.sort(key=_pattern)
            end = bisect_left(found, self._first_use, key=_pattern)
            definitions += found[:end]
            uses.append(self._by_capture(found[end:]))
        if len(roots) > 1:
            definitions.sort(key=_pattern)
        return Matches(definitions, uses)

    def _by_capture(self, found: list[tuple[int, Captures]]) -> Captures:
        nodes: Captures = {}
        at = 0
        while at < len(found):
            pattern = found[at][0]
            end = bisect_left(found, pattern + 1, at, key=_pattern)
            part = map(_captures, found[at:end])
            if len(self._names[pattern]) == 1:  # as the patterns that match most: no look at each match
                name = self._names[pattern][0].decode()
                nodes.setdefault(name, []).extend(chain.from_iterable(chain.from_iterable(map(dict.values, part))))
            else:
                for name, each in chain.from_iterable(map(dict.items, part)):
                    nodes.setdefault(name, []).extend(each)
            at = end
        return nodes
