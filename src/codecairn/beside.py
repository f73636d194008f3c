"""What is kept beside a product's code: tests, examples, documents, other people's work."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

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


@lru_cache(1 << 16)
def place_of(path: str, language: str) -> Place:
    if _TEST_FOLDER.search(path) or _TEST_FILE.search(path):
        return "test"
    if _BESIDE.search(path):
        return "beside"
    return "prose" if language in PROSE else "code"
