"""cairn diff"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around
from codecairn.cli.show import show
from codecairn.reading.changes import print_changes

_LIVE = "live"


@click.command(
    help="What HEAD changed since it left BASE, by symbol. BASE defaults to the default branch, HEAD to what is "
    "checked out; `live` is the working tree. Indexes what it needs."
)
@click.argument("base", required=False)
@click.argument("head", required=False)
@root_option
@click.option("--path", metavar="PATH", help="Only below this folder, or matching this glob.")
@click.option("-n", "limit", default=1000, show_default=True, type=click.IntRange(1, 1000), help="Most symbols.")
@click.option("--hunks", is_flag=True, help="With the changed lines of each.")
@click.option("--json", "structured", is_flag=True, help="Print what diff_context answers.")
def command(
    base: str | None, head: str | None, root: Path, path: str | None, limit: int, hunks: bool, structured: bool
) -> None:
    project = str(project_around(root))
    bring_up(project, None, *(ref for ref in (base, head) if ref not in (None, _LIVE)))
    asked = {"workspace": project, "base_ref": base, "head_ref": head, "path_filter": path, "limit": limit}
    answer = called("diff_context", {**asked, "include_hunks": hunks})
    show(print_changes, answer, structured=structured)
