"""cairn branches"""

from __future__ import annotations

import json
from pathlib import Path

import click

from codecairn.cli.index import called, root_option
from codecairn.cli.search import project_around


@click.command(help="The branches, tags and commits that are indexed, each at its commit.")
@root_option
@click.option("--json", "structured", is_flag=True, help="Print what list_refs answers.")
def command(root: Path, structured: bool) -> None:
    answer = called("list_refs", {"workspace": str(project_around(root))})
    if structured:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    for each in answer["refs"]:
        name = click.style(each["ref"], fg="cyan", bold=each["is_default"])
        commit = (each["last_indexed_commit"] or "working tree")[:12]
        said = f"{each['file_count']} files, {each['symbol_count']} symbols, used {each['last_accessed_at'] or 'never'}"
        kind = "default branch" if each["is_default"] else each["status"]
        click.echo(f"{name}  {commit}  {click.style(kind, dim=True)}  {said}")
