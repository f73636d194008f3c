"""Rules that bind the files of an answer, as its text says them: a line each, and the bodies that came along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from codecairn.reading.code import code_line
from codecairn.text import one_line


def rule_lines(rules: Any) -> Iterator[str]:
    """The lines for the rules of an answer, a value or plain fields; none where there are none."""
    fields = msgspec.to_builtins(rules) if rules else None
    if not fields:
        return
    yield "Rules that hold here:"
    for each in fields["items"]:
        yield f"- {one_line(each['title'])} ({each['requirement']}, {one_line(each['id'])})"
        yield from (f"  {code_line(line)}" for line in each.get("body", "").split("\n") if line)
    if fields.get("more"):
        yield f"- {fields['more']:,} more: instructions_list with path"
