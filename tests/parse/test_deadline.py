"""Hostile texts: none of them crashes extraction, and with a deadline none takes much longer than it."""

from __future__ import annotations

import pytest

from codecairn.parse.deadline import SlowParse
from codecairn.parse.extract import extract
from codecairn.parse.language import languages

TEXTS = {
    "open brackets": b"([{" * 700,
    "closing brackets": b")]}" * 700,
    "calls in calls": b"f(" * 1000 + b")" * 1000,
    "generics in generics": b"a<" * 1000,
    "operators": b"!-*&" * 500,
    "quotes": b"\"'`" * 700,
    "interpolation in interpolation": b'"${' * 300 + b'"#{' * 300,
    "no text": b"\0\xff\xfe" * 700,
    "one word": b"a" * 2000,
    "members": b"a." * 1000,
    "blocks in blocks": b"class A { def a(b): begin do fn f() { if (a) {\n" * 60,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("language", languages())
def test_hostile_text_is_read_or_refused(language: str, text: bytes) -> None:
    try:
        facts = extract(languages()[language], text, seconds=2.0)
    except SlowParse:
        return
    assert facts.lines == text.count(b"\n") + (not text.endswith(b"\n"))


@pytest.mark.parametrize("text", [b"f(" * 60_000 + b")" * 60_000, b"[" * 100_000, b"-" * 100_000])
def test_what_is_nested_too_deeply_is_refused(text: bytes) -> None:
    with pytest.raises(SlowParse):
        extract(languages()["python"], text, seconds=0.5)


def test_a_head_of_deeply_nested_lines_does_not_exhaust_the_stack() -> None:
    depth = 3000
    text = b"def f(a=" + b"[\n" * depth + b"]" * depth + b"):  # x\n    pass\n"
    facts = extract(languages()["python"], text)
    assert [each.name for each in facts.symbols] == ["f"]


def test_a_deadline_changes_nothing_else() -> None:
    text = b"import os\n\n\nclass A:\n    def f(self):\n        return os.path.join(self.b)\n" * 50
    language = languages()["python"]
    assert extract(language, text, seconds=60.0) == extract(language, text)
