"""The place of a file in a project: the product's code, tests, documents, or what lies beside them."""

from __future__ import annotations

import re
from typing import Literal

from codecairn.cache import Memo

Place = Literal["code", "test", "beside", "prose"]

PROSE = frozenset({"markdown", "rst", "text"})
"""The languages of documents."""

_TEST_FOLDER = re.compile(
    r"(^|/)(tests?|testing|specs?|__tests__|test_?data|fixtures?|e2e|conformance)/", re.IGNORECASE
)
_TEST_FILE = re.compile(
    r"(^|/)(test_[^/]*\.(py|rb|c|cc|cpp|js|ts)"
    r"|[^/]*(_tests?|[._-](test|spec)|Tests?)\.[a-z]+|conftest\.py|tests?\.[a-z]+)$"
)
_BESIDE = re.compile(
    r"(^|/)(examples?|samples?|demos?|bench(marks?)?|asv_bench|docs?|tutorials?|galleries|vendor(ed)?|third[_-]?party"
    r"|node_modules|deprecated|legacy)/",
    re.IGNORECASE,
)


def place_of(path: str, language: str) -> Place:
    return _places[path, language]


def _place(question: tuple[str, str]) -> Place:
    path, language = question
    if _TEST_FOLDER.search(path) or _TEST_FILE.search(path):
        return "test"
    if _BESIDE.search(path):
        return "beside"
    return "prose" if language in PROSE else "code"


_places: Memo[tuple[str, str], Place] = Memo("paths.places", 4_000_000, _place)
