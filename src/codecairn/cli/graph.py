"""cairn graph"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around


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
    if structured:
        click.echo(json.dumps(graph, indent=2, ensure_ascii=False))
    elif svg is None:
        _print(graph, direction)


def _draw(graph: dict[str, Any], file: Path) -> None:
    from codecairn.cli.svg import drawn

    try:
        file.write_text(drawn(graph), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    click.echo(f"{len(graph['nodes'])} symbols, {len(graph['edges'])} edges: {file}", err=True)


def _print(graph: dict[str, Any], direction: str) -> None:
    nodes = {each["id"]: each for each in graph["nodes"]}
    first = graph["nodes"][0]
    click.echo(f"{click.style(first['qualified_name'], bold=True)}  {first['path']}:{first['line_start']}")
    for side, near, far in (("callers", "to", "from"), ("callees", "from", "to")):
        if direction in (side, "both"):
            click.echo(click.style("called by" if side == "callers" else "calls", fg="cyan"))
            edges: dict[int, list[dict[str, Any]]] = defaultdict(list)
            for each in graph["edges"]:
                edges[each[near]].append(each)
            _print_side(nodes, edges, far, first["id"], {first["id"]}, 1)
    for each in graph["candidates"] or ():
        place = f"{each['path']}:{each['line_start']}"
        click.echo(click.style(f"not {each['qualified_name']} ({place}), which has the same name", dim=True), err=True)
    more = "" if graph["next_cursor"] is None else "; more were left out: -n"
    said = f"{graph['unresolved_count']} calls could not be bound, {graph['external_count']} leave the project{more}"
    click.echo(click.style(said, dim=True), err=True)


def _print_side(
    nodes: dict[int, dict[str, Any]], edges: dict[int, list[dict[str, Any]]], far: str, here: int, seen: set[int],
    depth: int,
) -> None:  # fmt: skip
    """The edges outward, each symbol with its own once: where it is met again it only stands."""
    outward = -1 if far == "from" else 1
    for edge in edges[here]:
        other = nodes[edge[far]]
        if other["depth"] * outward <= 0 and other["id"] not in seen:
            continue
        lines = ", ".join(map(str, edge["lines"]))
        again = " ↑" if other["id"] in seen else ""
        place = click.style(f"{edge['path']}:{lines}", dim=True)
        click.echo(f"{'  ' * depth}{other['qualified_name']}{again}  {place}")
        if not again:
            seen.add(other["id"])
            _print_side(nodes, edges, far, other["id"], seen, depth + 1)
