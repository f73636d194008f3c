"""The words, names and kinds that a query asks for, read from the query alone."""

from __future__ import annotations

import re

from msgspec import Struct

from codecairn.names.kinds import SPOKEN_KINDS
from codecairn.names.qualified import last_part
from codecairn.words import query_words, spellings

FIRST_LINE = 3.0
"""How much more a word of the first line weighs where others follow. Flat from 2 to 9 on real reports."""

_NAME = re.compile(r"[\w$@]+(?:(?:\.|::|#|->|\\|/)[\w$@]+)*(?:\(\))?")
_PATH = re.compile(r"[\w@.+-]*(?:/[\w@.+-]+)+|[\w@+-]+\.[a-zA-Z]{1,5}")


class QueryPlan(Struct, frozen=True):
    text: str
    weights: dict[str, float]
    """Words and how often each counts, before their frequency is known."""
    spelled: frozenset[str]
    """Every word as it is written, in lower case."""
    symbol: str
    """The name, where the query is nothing but one; its last part where it is qualified."""
    path: str
    """The path or file name, where the query is nothing but one."""
    kinds: frozenset[str]
    subject: str
    """The first line: of a report, what it is about."""
    is_report: bool
    """Whether more lines follow it."""


def parse_query(query: str) -> QueryPlan:
    text = query.strip()
    lines = [line for line in text.splitlines() if line.strip()]
    weights = dict.fromkeys(query_words(text), 1.0)
    if len(lines) > 1:
        weights.update(dict.fromkeys(query_words(lines[0]), FIRST_LINE))
    written = spellings(text)
    symbol = last_part(text.removesuffix("()")) if _NAME.fullmatch(text) else ""
    path = text.lower().removeprefix("./") if _PATH.fullmatch(text) else ""
    subject = lines[0] if lines else text
    return QueryPlan(text, weights, written, symbol, path, SPOKEN_KINDS & written, subject, len(lines) > 1)
