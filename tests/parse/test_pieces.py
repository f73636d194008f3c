"""What a parser is given piece by piece is freed when it is done."""

from __future__ import annotations

import gc
import sys
import tracemalloc

from codecairn.parse.extract import extract
from codecairn.parse.language import languages

SOURCE = "".join(
    f"def function_{n}(first, second):\n    return first + second + {n}\n\n\n" for n in range(1500)
).encode()


def test_reading_a_long_file_again_and_again_keeps_none_of_it() -> None:
    python = languages()["python"]
    assert len(SOURCE) > 64_000
    for _ in range(3):
        facts = extract(python, SOURCE, seconds=30.0)
    assert len(facts.symbols) == 1500
    del facts
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(8):
        extract(python, SOURCE, seconds=30.0)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < len(SOURCE)


def test_a_text_that_is_one_piece_stays_its_owners() -> None:
    python = languages()["python"]
    source = b"def one():\n    return " + b"1" * 40 + b"\n"
    references = sys.getrefcount(source)
    for _ in range(50):
        extract(python, source, seconds=30.0)
    assert sys.getrefcount(source) >= references
