"""cairn branches"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.show import show_json
from codecairn.cli.tool_call import call_tool, project_around, tool_options


@click.command(help="The branches, tags and commits that are indexed, each at its commit.")
@tool_options("list_refs", {})
def command(root: Path | None, structured: bool) -> None:
    answer = call_tool("list_refs", {"workspace": str(project_around(root))})
    if structured:
        show_json(answer)
        return
    for each in answer["refs"]:
        name = click.style(each["ref"], fg="cyan", bold=each["is_default"])
        commit = (each["last_indexed_commit"] or "working tree")[:12]
        said = f"{each['file_count']} files, {each['symbol_count']} symbols, used {each['last_accessed_at'] or 'never'}"
        kind = "default branch" if each["is_default"] else each["status"]
        click.echo(f"{name}  {commit}  {click.style(kind, dim=True)}  {said}")
