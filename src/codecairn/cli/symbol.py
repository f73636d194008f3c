"""cairn symbol"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around


@click.command(help="The definition of a name with its source, exact before near. Indexes the project if need be.")
@click.argument("name")
@root_option
@click.option("--kind", metavar="KIND", help="Only this kind: fn, method, class, const, field …")
@click.option("--language", metavar="NAME", help="Only this language.")
@click.option("--path", metavar="PATH", help="Only below this folder, or matching this glob.")
@click.option("-n", "limit", default=10, show_default=True, type=click.IntRange(1, 100), help="Most symbols.")
@click.option("--ref", metavar="REF", help="A branch, tag or commit instead of the working tree.")
@click.option("--json", "structured", is_flag=True, help="Print what find_symbol answers.")
def command(
    name: str,
    root: Path,
    kind: str | None,
    language: str | None,
    path: str | None,
    limit: int,
    structured: bool,
    ref: str | None,
) -> None:
    project = str(project_around(root))
    bring_up(project, ref)
    filters = {"ref": ref, "kind": kind, "language": language, "path": path}
    answer = called("find_symbol", {"workspace": project, "symbol_name": name, "limit": limit, **filters})
    if structured:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    for each in answer["symbols"]:
        _print(each)
    shown, total = len(answer["symbols"]), answer["total_symbols"]
    click.echo(click.style(f"{shown} of {total} symbols" if shown < total else f"{total} symbols", dim=True), err=True)


def _print(each: dict[str, Any]) -> None:
    place = click.style(f"{each['path']}:{each['line_start']}", fg="cyan")
    near = "" if each["match"] == "exact" else click.style(f"  {each['match'].replace('_', ' ')}", fg="yellow")
    click.echo(f"{place}  {each['kind']} {click.style(each['qualified_name'], bold=True)}{near}")
    if "body" not in each:
        click.echo(f"        {each['signature'][:160]}")
        return
    for number, line in numbered(each):
        click.echo(f"{click.style(format(number or '', '>6'), dim=True)}  {line}")


def numbered(each: dict[str, Any]) -> list[tuple[int, str]]:
    """The lines of a body with their numbers; 0 after a stretch that was left out."""
    from codecairn.rank.show import ELISION

    lines = each["body"].split("\n")
    until = next((at for at, line in enumerate(lines) if line.strip() == ELISION), len(lines))
    return [(each["body_start_line"] + at if at < until else 0, line) for at, line in enumerate(lines)]
