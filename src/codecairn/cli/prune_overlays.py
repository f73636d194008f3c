"""cairn prune-overlays"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codecairn import config
from codecairn.cli.state import open_for_writing, verbose_option
from codecairn.cli.tool_call import root_option

_PLAINLY_KEPT = "used lately"


@click.command(
    help="Drop indexed branches, tags and commits that nobody has used for a while: never the default branch, nor what "
    "is checked out or what a connection is on. A dropped one can be indexed again at any time."
)
@click.option(
    "--older-than",
    "days",
    default=config.KEPT_DAYS,
    show_default=True,
    metavar="DAYS",
    type=click.FloatRange(0),
    help="Drop what was not used for more than so many days.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be dropped, and drop nothing.")
@root_option
@verbose_option
def command(days: float, dry_run: bool, root: Path | None, verbose: bool) -> None:
    from codecairn.cancel import Cancel
    from codecairn.index.ref_pruning import prune

    with open_for_writing(root, verbose=verbose) as project:
        pruned = prune(project.index, days, Cancel(), dry_run=dry_run)
        checkouts = project.worktrees.clean(Cancel(), dry_run=dry_run)
    did = "would drop" if dry_run else "dropped"
    for each in pruned.dropped:
        click.echo(_line(did, each))
    for each in pruned.kept:
        if verbose or each.reason != _PLAINLY_KEPT:
            click.echo(_line("kept", each))
    for left in checkouts:
        click.echo(f"{did if left.is_removed else 'kept'}  worktree of {left.ref}: {left.reason}, {left.path}")
    click.echo(f"{len(pruned.dropped)} {did}, {len(pruned.kept)} kept")


def _line(what: str, overlay: Any) -> str:
    return f"{what}  {overlay.ref}: {overlay.reason}, {overlay.idle_days:g} days, {overlay.files} files of its own"
