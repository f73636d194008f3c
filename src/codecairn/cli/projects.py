"""cairn projects"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import click

from codecairn import config
from codecairn.errors import CairnError


@click.command(help="List what is indexed on this machine: root, files, size, last use, and roots that are gone.")
@click.option("--prune", "wants_prune", is_flag=True, help="Delete the index of every root that is gone.")
@click.option("--json", "structured", is_flag=True, help="Print it as JSON.")
def command(wants_prune: bool, structured: bool) -> None:
    import msgspec

    from codecairn.index.inventory import indexed_roots, prune

    home = config.data_folder(config.load())
    try:
        listed = prune(home) if wants_prune else indexed_roots(home)
    except CairnError as error:
        raise click.ClickException(f"{error.message}. {error.remedy}") from error
    if structured:
        click.echo(json.dumps([msgspec.to_builtins(each) for each in listed], indent=2, ensure_ascii=False))
        return
    for each in listed:
        used = datetime.fromtimestamp(each.last_used, UTC).strftime("%Y-%m-%d %H:%M") if each.last_used else "never"
        state = each.problem or ("gone" if each.is_gone else f"{each.files} files")
        click.echo(f"{each.size_mb:>8.1f} MB  {used:<16}  {state:<14}  {each.root}")
    if wants_prune:
        click.echo(f"{len(listed)} pruned")
    elif not listed:
        click.echo(f"Nothing is indexed in {home}.")
