"""cairn symbol"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show
from codecairn.cli.tool_call import ask_tool, tool_options
from codecairn.reading.outline import print_symbols

_FLAGS = {"kind": "--kind", "language": "--language", "path": "--path", "limit": "-n --limit"}


@click.command(help="The definition of a name with its source, exact before near. Indexes the project if need be.")
@click.argument("symbol_name", metavar="NAME")
@tool_options("find_symbol", _FLAGS)
def command(root: Path | None, structured: bool, **asked: Any) -> None:
    show(print_symbols, ask_tool("find_symbol", root, asked), structured=structured)
