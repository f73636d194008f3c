"""cairn links"""

from __future__ import annotations

import json
from pathlib import Path

import click

from codecairn.cli.index import opened, root_option
from codecairn.cli.search import project_around
from codecairn.errors import CairnError


@click.command(help="List the projects that are linked to this one, and those of them that cannot be searched now.")
@root_option
@click.option("--json", "structured", is_flag=True, help="Print it as JSON.")
def command(root: Path, structured: bool) -> None:
    from codecairn import links

    try:
        _, projects = opened()
        project = projects.named(str(project_around(root)), param="root")
        listed, found = project.links.all(), links.linked(project, projects)
    except CairnError as error:
        raise click.ClickException(f"{error.message}. {error.remedy}") from error
    if structured:
        rows = [{**each._asdict(), "is_there": Path(each.root) in found.names} for each in listed]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for each in listed:
        click.echo(f"{each.name:<24}  {each.linked[:10]}  {each.root}")
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not listed:
        click.echo("Nothing is linked. Link a project with: cairn link PATH")
