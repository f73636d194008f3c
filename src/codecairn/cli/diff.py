"""cairn diff"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show
from codecairn.cli.tool_call import bring_up, call_tool, project_around, tool_options
from codecairn.reading.changes import print_changes

_FLAGS = {"path_filter": "--path", "limit": "-n --limit", "include_hunks": "--hunks"}
_WORKING_TREE = "live"


@click.command(
    help="What HEAD changed since it left BASE, by symbol. BASE defaults to the default branch, HEAD to what is "
    "checked out; `live` is the working tree. Indexes what it needs."
)
@click.argument("base_ref", required=False, metavar="[BASE]")
@click.argument("head_ref", required=False, metavar="[HEAD]")
@tool_options("diff_context", _FLAGS, limit=1000)
def command(root: Path | None, structured: bool, **asked: Any) -> None:
    project, refs = str(project_around(root)), (asked["base_ref"], asked["head_ref"])
    bring_up(project, None, *(ref for ref in refs if ref not in (None, _WORKING_TREE)))
    show(print_changes, call_tool("diff_context", {"workspace": project, **asked}), structured=structured)
