"""cairn unlink"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.index import opened, root_option
from codecairn.cli.search import project_around
from codecairn.errors import CairnError


@click.command(help="Undo a link to another project, named by its name or its path. Its index stays.")
@click.argument("name")
@root_option
def command(name: str, root: Path) -> None:
    from codecairn import links

    try:
        _, projects = opened()
        gone = links.unlink(projects.named(str(project_around(root)), param="root"), name)
    except CairnError as error:
        raise click.ClickException(f"{error.message}. {error.remedy}") from error
    click.echo(f"{gone.name} ({gone.root}) is no longer linked")
