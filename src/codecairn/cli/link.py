"""cairn link"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.tool_call import bring_up, open_project, open_tools, project_around, root_option, translate_errors


@click.command(help="Link another project, so that a search in all linked projects covers it. Indexes it if need be.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="What results call it (default: its folder's name).")
@root_option
@click.option("--no-index", is_flag=True, help="Do not index it now.")
def command(path: Path, name: str | None, root: Path | None, no_index: bool) -> None:
    from codecairn import links

    project = open_project(project_around(root))
    with translate_errors():
        _, projects = open_tools()
        made = links.propose_link(project, projects, project_around(path), name)
        if not no_index:
            bring_up(made.root, None)
        links.link(project, made)
    click.echo(f"{project.root} → {made.root}, as {made.name}")
