"""cairn pack"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show
from codecairn.cli.tool_call import ask_tool, tool_options
from codecairn.reading.pack import print_pack


@click.command(
    help="Print what is worth reading for a task, within a budget of tokens. Indexes the project if need be."
)
@click.argument("task", nargs=-1, required=True)
@tool_options("build_context_pack", {"max_tokens": "--tokens"})
def command(task: tuple[str, ...], root: Path | None, structured: bool, **asked: Any) -> None:
    show(print_pack, ask_tool("build_context_pack", root, {"task": " ".join(task), **asked}), structured=structured)
