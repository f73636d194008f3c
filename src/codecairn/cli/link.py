"""cairn link"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.index import called, opened, root_option
from codecairn.cli.search import project_around
from codecairn.errors import CairnError


@click.command(help="Link another project, so that a search in all linked projects covers it. Indexes it if need be.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="What results call it (default: its folder's name).")
@root_option
@click.option("--no-index", is_flag=True, help="Do not index it now.")
def command(path: Path, name: str | None, root: Path, no_index: bool) -> None:
    from codecairn import links

    try:
        _, projects = opened()
        project = projects.named(str(project_around(root)), param="root")
        made = links.proposed(project, projects, project_around(path), name)
        if not no_index and called("get_status", {"path": made.root})["metadata"]["freshness_status"] != "fresh":
            called("index_codebase", {"path": made.root})
        links.link(project, made)
    except CairnError as error:
        raise click.ClickException(f"{error.message}. {error.remedy}") from error
    click.echo(f"{project.root} → {made.root}, as {made.name}")
