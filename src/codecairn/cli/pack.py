"""cairn pack"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around
from codecairn.cli.show import show
from codecairn.context.pack import DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS
from codecairn.reading.pack import print_pack


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
    show(print_pack, pack, structured=structured)
