"""Lines of source as they are written, safe on a terminal: control and direction marks are spelled out, tabs stay."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codecairn.text import BIDI

_CONTROL = re.compile(rf"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029{BIDI}]")
_MARGIN = re.compile(r"[ \t]*")


def code_line(text: str, most: int | None = None) -> str:
    clean = _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), text.rstrip("\r"))
    clean = clean.rstrip()
    return clean if most is None or len(clean) <= most else f"{clean[: most - 1]}…"


def code_text(text: str) -> str:
    return "\n".join(map(code_line, text.split("\n")))


def dedent_lines(lines: Sequence[str]) -> list[str]:
    """The lines without the margin that all of them share."""
    margins = [found[0] for line in lines if line.strip() and (found := _MARGIN.match(line))]
    shared = min(margins, key=len, default="")
    if not all(margin.startswith(shared) for margin in margins):
        return list(lines)
    return [line[len(shared) :] for line in lines]
