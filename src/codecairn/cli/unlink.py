"""cairn unlink"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.tool_call import open_project, project_around, root_option, translate_errors


@click.command(help="Undo a link to another project, named by its name or its path. Its index stays.")
@click.argument("name")
@root_option
def command(name: str, root: Path | None) -> None:
    from codecairn import links

    project = open_project(project_around(root))
    with translate_errors():
        gone = links.unlink(project, name)
    click.echo(f"{gone.name} ({gone.root}) is no longer linked")
