"""cairn projects"""

from __future__ import annotations

import click

from codecairn import config
from codecairn.cli.show import show_json
from codecairn.cli.tool_call import json_option, translate_errors
from codecairn.clock import to_the_minute


@click.command(help="List what is indexed on this machine: root, files, size, last use, and roots that are gone.")
@click.option("--prune", "wants_prune", is_flag=True, help="Delete the index of every root that is gone.")
@json_option
def command(wants_prune: bool, structured: bool) -> None:
    import msgspec

    from codecairn.index.indexed_roots import list_roots, prune

    home = config.data_folder(config.load())
    with translate_errors():
        listed = prune(home) if wants_prune else list_roots(home)
    if structured:
        show_json([msgspec.to_builtins(each) for each in listed])
        return
    for each in listed:
        used = to_the_minute(each.last_used) if each.last_used else "never"
        state = each.problem or ("gone" if each.is_gone else f"{each.files} files")
        click.echo(f"{each.size_mb:>8.1f} MB  {used:<16}  {state:<14}  {each.root}")
    if wants_prune:
        click.echo(f"{len(listed)} pruned")
    elif not listed:
        click.echo(f"Nothing is indexed in {home}.")
