"""cairn refs"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show
from codecairn.cli.tool_call import ask_tool, tool_options
from codecairn.reading.references import print_references

_FLAGS = {
    "path": "--path",
    "line": "--line",
    "kind": "--kind",
    "limit": "-n --limit",
    "include_unresolved": "--unresolved",
}


@click.command(help="Where a symbol is used: name it, bare or qualified. Indexes the project if need be.")
@click.argument("symbol_name", metavar="SYMBOL")
@tool_options("find_references", _FLAGS, limit=100)
def command(root: Path | None, structured: bool, **asked: Any) -> None:
    answer = ask_tool("find_references", root, asked)
    show(print_references, answer, structured=structured)
    sys.exit(0 if answer["references"] else 1)
