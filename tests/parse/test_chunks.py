"""Chunks: each line of a file belongs to exactly one, whatever the file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecairn.parse.chunks import LONGEST_CHUNK, LONGEST_REMAINDER, ChunkExtent, chunks_of, own_lines
from codecairn.parse.extract import extract
from codecairn.parse.facts import Chunk, FileFacts
from codecairn.parse.language import language_of, languages
from codecairn.parse.lines import SourceLines

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = sorted(path for path in GOLDEN.glob("*/*") if path.suffix != ".facts")


def facts_of(sample: Path) -> FileFacts:
    language = language_of(sample.name)
    assert language is not None
    return extract(language, sample.read_bytes())


def python_facts(text: str) -> FileFacts:
    return extract(languages()["python"], text.encode())


def told(facts: FileFacts) -> list[tuple[str, list[tuple[int, int]]]]:
    """Each chunk's symbol and the lines that are its own."""
    names = [facts.symbols[each.symbol].path if each.symbol >= 0 else "" for each in facts.chunks]
    return list(zip(names, own_lines(facts.chunks), strict=True))


def is_partition(chunks: list[Chunk], lines: int) -> bool:
    owned = [line for ranges in own_lines(chunks) for first, last in ranges for line in range(first, last + 1)]
    return sorted(owned) == list(range(1, lines + 1))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_own_lines_partition_a_file(sample: Path) -> None:
    facts = facts_of(sample)
    assert is_partition(facts.chunks, facts.lines)
    assert all(own_lines(facts.chunks))


KINDS = ["function", "method", "class", "module", "const", "field", "scope"]


@st.composite
def outlines(draw: st.DrawFn) -> tuple[list[ChunkExtent], SourceLines]:
    """Any extents at all, nested or crossing each other, over a text of code, blank lines and closing brackets."""
    text = draw(st.lists(st.sampled_from(["", "a = 1", "    b()", "        c", "}", "  "]), max_size=300))
    lines = SourceLines("\n".join(text).encode())
    extents = []
    for number in range(draw(st.integers(0, 12)) if lines.count else 0):
        start = draw(st.integers(1, lines.count))
        end = draw(st.integers(start, lines.count))
        above = draw(st.integers(max(1, start - 3), start))
        extents.append(ChunkExtent(start, end, number, above, draw(st.sampled_from(KINDS))))
    return extents, lines


@given(outlines(), st.randoms(use_true_random=False))
def test_any_outline_is_partitioned_and_its_order_does_not_matter(
    outline: tuple[list[ChunkExtent], SourceLines], shuffled: random.Random
) -> None:
    extents, text = outline
    chunks = chunks_of(extents, text)
    assert is_partition(chunks, text.count)
    mixed = chunks[:]
    shuffled.shuffle(mixed)
    assert dict(zip(mixed, own_lines(mixed), strict=True)) == dict(zip(chunks, own_lines(chunks), strict=True))
    for chunk, own in zip(chunks, own_lines(chunks), strict=True):
        size = sum(last - first + 1 for first, last in own)
        assert size <= (LONGEST_REMAINDER if chunk.symbol < 0 else LONGEST_CHUNK)


def test_a_class_is_what_its_methods_leave_of_it() -> None:
    facts = python_facts(
        '''import os

class Store:
    """Keeps things."""

    limit = 3

    def size(self):
        return 1

    def find(self, name):
        for each in self:
            if each == name:
                return each
    rest = 1


def helper():
    return 2
'''
    )
    assert told(facts) == [
        ("", [(1, 2)]),
        ("Store", [(3, 10), (15, 17)]),
        ("Store.find", [(11, 14)]),
        ("helper", [(18, 19)]),
    ]


def test_the_comment_above_a_function_is_in_its_chunk() -> None:
    facts = python_facts("a = 1\n\n# Why it is so.\n# And more.\ndef f():\n    return a\n")
    assert told(facts) == [("", [(1, 2)]), ("f", [(3, 6)])]


def test_a_block_that_adds_to_a_type_is_read_as_part_of_it() -> None:
    source = b"struct A;\n\nimpl Default for A {\n    fn default() -> A {\n        A\n    }\n}\n\nfn other() {}\n"
    facts = extract(languages()["rust"], source)
    assert told(facts) == [("A", [(1, 2)]), ("A", [(3, 8)]), ("other", [(9, 9)])]


def test_a_long_function_is_cut_where_a_statement_of_its_body_begins() -> None:
    step = "    if a:\n        b()\n        c()\n\n"
    facts = python_facts("def f():\n" + step * 60)
    starts = [each.start_line for each in facts.chunks]
    assert {each.symbol for each in facts.chunks} == {0}
    assert len(starts) == 3
    assert all((start - 2) % 4 == 0 for start in starts[1:])


def test_statements_outside_all_functions_are_cut_at_blank_lines() -> None:
    facts = python_facts("a = 1\nb = 2\nc = 3\n\n" * 40)
    assert all(each.start_line % 4 == 1 for each in facts.chunks)
    assert all(each.end_line - each.start_line < LONGEST_REMAINDER for each in facts.chunks)


def test_a_constant_of_several_lines_has_a_chunk_and_a_short_one_has_none() -> None:
    facts = python_facts("ONE = 1\nMANY = [\n    1,\n    2,\n]\n")
    assert told(facts) == [("", [(1, 1)]), ("MANY", [(2, 5)])]


@pytest.mark.parametrize("source", [b"", b"\n", b"\n\n\n", b"x", b"x\n", b"\r\n", b"\0"])
def test_almost_nothing_is_still_partitioned(source: bytes) -> None:
    facts = extract(languages()["python"], source)
    assert is_partition(facts.chunks, facts.lines)
