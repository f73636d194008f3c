"""cairn pack"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around
from codecairn.context.pack import DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS

_TITLES = {
    "definition": "Definition", "caller": "Caller", "test": "Test", "doc": "Document", "discovery": "Discovery",
    "rule": "Rule",
}  # fmt: skip


@click.command(
    help="Print what is worth reading for a task, within a budget of tokens. Indexes the project if need be."
)
@click.argument("task", nargs=-1, required=True)
@root_option
@click.option(
    "--tokens", default=DEFAULT_TOKENS, show_default=True, type=click.IntRange(LEAST_TOKENS, MOST_TOKENS),
    help="The budget.",
)  # fmt: skip
@click.option("--json", "structured", is_flag=True, help="Print what build_context_pack answers.")
def command(task: tuple[str, ...], root: Path, tokens: int, structured: bool) -> None:
    project = str(project_around(root))
    bring_up(project, None)
    pack = called("build_context_pack", {"workspace": project, "task": " ".join(task), "max_tokens": tokens})
    if structured:
        click.echo(json.dumps(pack, indent=2, ensure_ascii=False))
        return
    for item in pack["items"]:
        click.echo(_section(item))
    for each in pack["left_out"]:
        named = f": {', '.join(each['best'])}" if each["best"] else ""
        click.echo(f"_{each['count']} more of kind {each['kind']} were left out{named}_")
    click.echo(click.style(f"{len(pack['items'])} items, {pack['tokens']} of {tokens} tokens", dim=True), err=True)


def _section(item: dict[str, Any]) -> str:
    from codecairn.text import fence_language, fenced, one_line

    lines = f":{item['line_start']}-{item['line_end']}" if item["line_start"] else ""
    place = f" ({one_line(item['path'])}{lines})" if item["path"] else ""
    head = f"## {_TITLES[item['kind']]}: {one_line(item['name'])}{place}\n_{one_line(item['why'])}_\n"
    if item["kind"] in ("rule", "discovery"):
        return f"{head}\n{item['content']}\n"
    return f"{head}\n{fenced(item['content'], fence_language(item['path']))}\n"
