"""Documents: chunks by heading, each with the path of headings it stands under."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecairn.parse.chunks import LONGEST_REMAINDER, own_lines
from codecairn.parse.documents import extract_text


def sections(path: str, text: str) -> list[tuple[int, int, str]]:
    facts = extract_text(path, text.encode())
    return [(chunk.start_line, chunk.end_line, title) for chunk, title in zip(facts.chunks, facts.titles, strict=True)]


def test_markdown_is_cut_at_its_headings() -> None:
    text = "intro\n\n# Install\ntext\n## Linux ##\napt\n## `mac` [OS](http://x)\nbrew\n# Use\nrun\n"
    assert sections("a.md", text) == [
        (1, 2, ""),
        (3, 4, "Install"),
        (5, 6, "Install > Linux"),
        (7, 8, "Install > mac OS"),
        (9, 10, "Use"),
    ]


def test_underlined_headings_are_headings() -> None:
    text = "Title\n=====\ntext\n\nPart\n----\nmore\n\n- a list\n---\nrule above\n"
    assert sections("a.md", text) == [(1, 4, "Title"), (5, 11, "Title > Part")]


def test_nothing_in_a_fence_is_a_heading() -> None:
    text = "# Shell\n```sh\n# comment\n~~~\n```\n~~~~\n# other\n~~~\n~~~~\nend\n"
    assert sections("a.md", text) == [(1, 10, "Shell")]


def test_settings_before_the_text_are_no_heading() -> None:
    assert sections("a.md", "---\ntitle: x\n---\n\n# Real\ntext\n") == [(1, 4, ""), (5, 6, "Real")]


def test_a_heading_with_nothing_under_it_is_read_with_the_next() -> None:
    assert sections("a.md", "# One\n\n## Two\ntext\n## Three\n## Four\nx\n") == [
        (1, 4, "One > Two"),
        (5, 5, "One > Three"),
        (6, 7, "One > Four"),
    ]


def test_restructured_text_tells_its_levels_by_their_order() -> None:
    text = "=====\nTitle\n=====\nintro\n\nPart\n----\nx\n\nDeeper\n~~~~~~\ny\n\nNext\n----\nz\n\n"
    text += "====  ====\na     b\n====  ====\n"
    assert sections("a.rst", text) == [
        (1, 5, "Title"),
        (6, 9, "Title > Part"),
        (10, 13, "Title > Part > Deeper"),
        (14, 20, "Title > Next"),
    ]


def test_a_text_with_directives_is_restructured() -> None:
    assert extract_text("topics.txt", b"Title\n=====\n\n.. note::\n\n    x\n").language == "rst"
    assert extract_text("notes.txt", b"Title\n=====\n").language == "text"


def test_a_long_text_is_cut_at_blank_lines() -> None:
    found = sections("a.txt", ("line\n" * 9 + "\n") * 30)
    assert all(start % 10 == 1 for start, _, _ in found)
    assert len(found) == 5


ANY = st.lists(st.sampled_from(["", "# A", "## B", "text", "===", "---", "```", "~~~~", ".. x::", "  in", "\t"]))


@pytest.mark.parametrize("name", ["a.md", "a.rst", "a.txt", "LICENSE"])
@given(lines=ANY)
def test_every_line_is_in_exactly_one_chunk(name: str, lines: list[str]) -> None:
    facts = extract_text(name, "\n".join(lines).encode())
    assert len(facts.titles) == len(facts.chunks)
    owned = [line for ranges in own_lines(facts.chunks) for a, b in ranges for line in range(a, b + 1)]
    assert owned == list(range(1, facts.lines + 1))
    assert all(each.end_line - each.start_line < LONGEST_REMAINDER for each in facts.chunks)


def test_bytes_of_no_encoding_are_read() -> None:
    assert extract_text("a.md", b"# \xff\xfe\nx\0y\r\n").lines == 2
