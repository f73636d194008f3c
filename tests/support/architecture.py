"""Draws the layers of `tests/layers.toml` into `docs/architecture.md`: python -m tests.support.architecture."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tests.support.layers import TABLE

PAGE = Path(__file__).parent.parent.parent / "docs" / "architecture.md"
_START, _END = "<!-- layers -->\n", "<!-- end of layers -->\n"
_WIDTH = 60


def picture() -> str:
    """From the top down: each layer with its members and, beside them, what it holds."""
    bands = [_band(layer["name"], sorted(layer["members"]), layer["holds"]) for layer in reversed(TABLE["layer"])]
    return "```text\n" + "\n\n".join(bands) + "\n```\n"


def _band(name: str, members: list[str], holds: str) -> str:
    left = textwrap.wrap(" · ".join(members), _WIDTH - 4)
    right = textwrap.wrap(holds, _WIDTH - 4)
    rows = max(len(left), len(right))
    names = [name, *[""] * rows]
    pairs = zip(names, [*left, *[""] * rows], [*right, *[""] * rows], strict=False)
    lines = [f"{one:<12}{two:<{_WIDTH - 4}}  {three}".rstrip() for one, two, three in pairs]
    return "\n".join(line for line in lines if line)


def current(page: str) -> str:
    """The page with the picture of the present table."""
    before, _, rest = page.partition(_START)
    _, _, after = rest.partition(_END)
    return f"{before}{_START}{picture()}{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
