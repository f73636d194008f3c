"""Draws the layers of `tests/layers.toml` into `docs/architecture.md`: python -m tests.support.architecture."""

from __future__ import annotations

import textwrap
from itertools import zip_longest
from pathlib import Path

from tests.support.layers import TABLE

PAGE = Path(__file__).parent.parent.parent / "docs" / "architecture.md"
_START, _END = "<!-- layers -->\n", "<!-- end of layers -->\n"
_NAME, _MEMBERS, _HOLDS = 12, 42, 58
"""Characters of the three columns."""


def picture() -> str:
    """From the top down: each layer with its members and, beside them, what it holds."""
    bands = [_band(layer["name"], sorted(layer["members"]), layer["holds"]) for layer in reversed(TABLE["layer"])]
    return "```text\n" + "\n\n".join(bands) + "\n```\n"


def _band(name: str, members: list[str], holds: str) -> str:
    columns = [name], textwrap.wrap("  ".join(members), _MEMBERS - 2), textwrap.wrap(holds, _HOLDS)
    rows = zip_longest(*columns, fillvalue="")
    return "\n".join(f"{one:<{_NAME}}{two:<{_MEMBERS}}{three}".rstrip() for one, two, three in rows)


def current(page: str) -> str:
    """The page with the picture of the present table."""
    before, _, rest = page.partition(_START)
    _, _, after = rest.partition(_END)
    return f"{before}{_START}{picture()}{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
