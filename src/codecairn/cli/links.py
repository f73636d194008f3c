"""cairn links"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.show import show_json
from codecairn.cli.tool_call import json_option, open_project, open_tools, project_around, root_option, translate_errors


@click.command(help="List the projects that are linked to this one, and those of them that cannot be searched now.")
@root_option
@json_option
def command(root: Path | None, structured: bool) -> None:
    from codecairn import links

    project = open_project(project_around(root))
    with translate_errors():
        listed, found = project.links.all(), links.linked_projects(project, open_tools()[1])
    if structured:
        show_json([{**each._asdict(), "is_there": Path(each.root) in found.names} for each in listed])
        return
    for each in listed:
        click.echo(f"{each.name:<24}  {each.linked[:10]}  {each.root}")
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not listed:
        click.echo("Nothing is linked. Link a project with: cairn link PATH")
