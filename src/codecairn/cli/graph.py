"""cairn graph"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around
from codecairn.cli.show import show
from codecairn.reading.references import print_graph


@click.command(help="Who calls a symbol and what it calls, several calls far. Indexes the project if need be.")
@click.argument("symbol")
@root_option
@click.option("--direction", type=click.Choice(["callers", "callees", "both"]), default="both", show_default=True)
@click.option("--depth", default=2, show_default=True, type=click.IntRange(1, 5), help="How many calls away.")
@click.option("-n", "limit", default=60, show_default=True, type=click.IntRange(1, 300), help="Most edges.")
@click.option("--svg", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Draw it into a file.")
@click.option("--ref", metavar="REF", help="A branch, tag or commit instead of the working tree.")
@click.option("--json", "structured", is_flag=True, help="Print what get_call_graph answers.")
def command(
    symbol: str, root: Path, direction: str, depth: int, limit: int, svg: Path | None, structured: bool, ref: str | None
) -> None:
    project = str(project_around(root))
    bring_up(project, ref)
    asked = {"symbol_name": symbol, "direction": direction, "depth": depth, "limit": limit}
    graph = called("get_call_graph", {"workspace": project, "ref": ref, **asked})
    if svg is not None:
        _draw(graph, svg)
    if structured or svg is None:
        show(print_graph, graph, structured=structured, direction=direction)


def _draw(graph: dict[str, Any], file: Path) -> None:
    from codecairn.cli.svg import drawn

    try:
        file.write_text(drawn(graph), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    click.echo(f"{len(graph['nodes'])} symbols, {len(graph['edges'])} edges: {file}", err=True)
