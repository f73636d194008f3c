"""Answers made for reading: the text of every tool as a model or a person takes it in.

A printer takes a tool's value as plain dictionaries, the very value that programs get, and a `PrintContext`: the
question, how many characters there are, how a part is marked. The tools' doors print plain text; the terminal passes a
`paint` that colours. What was found and how complete it is comes first, code stands as it is written, ids and empty
fields are left out, and at most one hint says what to do next, last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.file_roles import is_vendored
from codecairn.text import one_line

InkRole = Literal["path", "strong", "dim", "mark", "added", "removed"]
Paint = Callable[[str, InkRole], str]
Fields = Mapping[str, Any]


def plain(text: str, role: InkRole) -> str:
    del role
    return text


def same(place: str) -> str:
    return place


def by_cursor(cursor: str) -> str:
    return f"cursor {cursor}"


@dataclass(frozen=True)
class PrintContext:
    """How one answer is read."""

    params: Fields = field(default_factory=dict)
    room: int = DEFAULT_CHARACTERS
    paint: Paint = plain
    cursor: Callable[[str], str] = same
    """Makes the cursor that goes on at a place of the list."""
    offset: int = 0
    """The place where this page of the list begins."""
    onward: Callable[[str], str] = by_cursor
    """Says how to get what follows, in the caller's own terms."""
    option: Callable[[str], str] = same
    """Names an argument in the caller's own terms."""


Printer = Callable[[Fields, PrintContext], str]


def one_of(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: `1 match`, `2 matches`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def share(shown: int, total: int, one: str, many: str | None = None) -> str:
    """`20 of 93 references`, or `20 references` where that is all."""
    return one_of(total, one, many) if shown >= total else f"{shown:,} of {one_of(total, one, many)}"


def state_lines(metadata: Fields) -> list[str]:
    """Warnings about the index behind an answer; none where all is well."""
    said, warnings = [], metadata.get("warnings", ())
    is_stale = metadata.get("freshness_status") == "stale" and metadata.get("indexing_status") == "ready"
    if is_stale and not any("stale" in each for each in warnings):
        said.append("The index is stale: files have changed since.")
    elif metadata.get("freshness_status") == "syncing":
        said.append("The index is being updated; the newest changes may be missing.")
    return [f"! {each}" for each in (*said, *warnings)]


def fit(blocks: Sequence[str], room: int, *, between: int = 1) -> int:
    """The number of leading blocks that fit, one at least."""
    used = 0
    for count, block in enumerate(blocks):
        used += len(block) + between
        if used > room and count:
            return count
    return len(blocks)


def more(answer: Fields, reading: PrintContext, shown: int, rows: int) -> str | None:
    """Says how to get what follows the rows that are shown; None where nothing does."""
    cursor = answer.get("next_cursor") if shown >= rows else reading.cursor(str(reading.offset + shown))
    return f"More: {reading.onward(cursor)}" if cursor else None


def lines(parts: Iterable[str | None]) -> str:
    return "\n".join(part for part in parts if part is not None)


def clip(text: str, most: int) -> str:
    """A single line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def sentence(text: str, most: int = 160) -> str:
    """The first sentence of a comment, on one line."""
    head = " ".join(text.strip().split("\n\n", 1)[0].split())
    end = next((at + 1 for at in range(len(head)) if head[at] in ".!?" and head[at + 1 : at + 2] in ("", " ")), None)
    return clip(one_line(head[:end] if end and end > 20 else head), most)


def vendored_note(path: str) -> str:
    """What stands behind the path of somebody else's code."""
    return " (vendored)" if is_vendored(path) else ""


def name_in_file(qualified_name: str, path: str) -> str:
    """A qualified name without the folder of its file, which stands beside it."""
    return one_line(qualified_name).removeprefix(f"{one_line(path).rpartition('/')[0]}/")


def extent(start: int, end: int) -> str:
    return f"{start}" if start == end else f"{start}-{end}"
