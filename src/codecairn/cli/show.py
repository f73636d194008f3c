"""Prints an answer on the terminal, by the printer that makes the text of its tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from codecairn.reading import InkRole, PrintContext, Printer
from codecairn.text import one_line

_WHOLE = 1 << 30
"""Characters: a terminal scrolls, so nothing is cut that was asked for."""
_STYLES: dict[InkRole, dict[str, Any]] = {
    "path": {"fg": "cyan"}, "strong": {"bold": True}, "dim": {"dim": True}, "mark": {"fg": "yellow"},
    "added": {"fg": "green"}, "removed": {"fg": "red"},
}  # fmt: skip


def show(printer: Printer, answer: dict[str, Any], *, structured: bool = False, **params: Any) -> None:
    """Print by the printer, in colours on a terminal, or as JSON."""
    if structured:
        show_json(answer)
        return
    click.echo(printer(answer, PrintContext(params, _WHOLE, paint, onward=_more, option=_flag)))


def show_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show_warnings(metadata: Mapping[str, Any]) -> None:
    for warning in metadata.get("warnings", ()):
        click.echo(f"warning: {one_line(warning)}", err=True)


def paint(text: str, role: InkRole) -> str:
    return click.style(text, **_STYLES[role])


def _flag(argument: str) -> str:
    return "--unresolved" if argument == "include_unresolved" else argument


def _more(cursor: str) -> str:
    del cursor
    return "a larger -n"
