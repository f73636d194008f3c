"""cairn grep"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show
from codecairn.cli.tool_call import call_tool, project_around, tool_options
from codecairn.reading.grep import print_grep

_FLAGS = {"filePattern": "--glob", "caseSensitive": "-s --case-sensitive", "limit": "-n --limit"}


@click.command(
    help="Print the lines of a project that match a regular expression. What git ignores, secrets and built output are "
    "not searched. Ends with status 1 where nothing matches."
)
@click.argument("pattern")
@click.option("-C", "--context", is_flag=True, help="Two lines before and after each match.")
@tool_options("grep_codebase", _FLAGS)
def command(root: Path | None, context: bool, structured: bool, **asked: Any) -> None:
    project = str(project_around(root))
    answer = call_tool("grep_codebase", {"workspace": project, "context": 2 if context else None, **asked})
    show(print_grep, answer, structured=structured, context=context)
    sys.exit(0 if answer["matches"] else 1)
